// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Values of a port's fields in words.
#pragma once

#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca::layouts {

constexpr const char* name_of(port_state s) {
  switch (s) {
    case port_state::down:
      return "Down";
    case port_state::initialize:
      return "Initialize";
    case port_state::armed:
      return "Armed";
    case port_state::active:
      return "Active";
    default:
      return "unknown";
  }
}

constexpr const char* name_of(port_type t) {
  switch (t) {
    case port_type::ib:
      return "InfiniBand";
    case port_type::ethernet:
      return "Ethernet";
    default:
      return "none";
  }
}

}  // namespace freehca::layouts
