// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// States of a queue pair in words.
#pragma once

#include <freehca/layouts/qpc.hpp>

namespace freehca::layouts {

constexpr const char* name_of(qp_state s) {
  switch (s) {
    case qp_state::reset:
      return "RESET";
    case qp_state::init:
      return "INIT";
    case qp_state::rtr:
      return "RTR";
    case qp_state::rts:
      return "RTS";
    case qp_state::sq_error:
      return "SQE";
    case qp_state::sq_drained:
    case qp_state::sq_draining:
      return "SQD";
    case qp_state::error:
      return "ERR";
    case qp_state::suspended:
      return "suspended";
  }
  return "unknown";
}

}  // namespace freehca::layouts
