// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/general_info.hpp>
#include <freehca/model/options.hpp>

#include "basis/scheduler.hpp"
#include "fabric/mad_packet.hpp"
#include "fabric/management_agent.hpp"

namespace freehca::model {

/// The firmware's agent of the vendor classes 0x09 and 0x0a, which drivers hand to it:
/// ClassPortInfo of both, GeneralInfo of the second. Everything else gets the status that says so.
class vendor_agent {
 public:
  vendor_agent(variant kind, scheduler& work) : kind_(kind), work_(work) {}

  static bool speaks(layouts::mad_class c) {
    return c == layouts::vendor_class_1 || c == layouts::vendor_class_2;
  }
  mad_result process(mad_buffer& mad);

 private:
  using vendor_mad = layouts::mad;
  std::uint16_t answer(layouts::image<vendor_mad>& m, bool is_set);
  layouts::image<layouts::general_info> general_info();

  const variant kind_;
  scheduler& work_;
};

}  // namespace freehca::model
