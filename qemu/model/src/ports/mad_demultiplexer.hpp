// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/mad_ifc.hpp>

#include "basis/command.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class rule_book;

/// MAD_DEMUX: which subnet management packets the firmware answers although the host has a QP0. A
/// port whose QP0 nobody has configured is the firmware's own in any case.
class mad_demultiplexer {
 public:
  layouts::command_status command(rule_book& rules, model::command& c);

  /// Does the firmware's agent take this packet?
  bool firmware_takes(layouts::mad_method method, std::uint64_t attribute_id) const;
  void clear() { taken_ = {}; }

 private:
  layouts::image<layouts::mad_demux> taken_;

 public:
  using saved = saving::fields<&mad_demultiplexer::taken_>;
};

}  // namespace freehca::model
