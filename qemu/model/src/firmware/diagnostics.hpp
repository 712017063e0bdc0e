// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/command_status.hpp>

#include "basis/adapter.hpp"

namespace freehca::model {

/// DIAG_RPRT: the error counters of completions and transport, as the parts count them.
class diagnostics {
 public:
  explicit diagnostics(adapter& a);

 private:
  layouts::command_status report(command& c);

  adapter& a_;
};

}  // namespace freehca::model
