// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/access_reg.hpp>
#include <freehca/layouts/query_port.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

constexpr std::uint32_t bits_of(layouts::ethernet_link_mode m) {
  return static_cast<std::uint32_t>(m);
}

/// The modes that an Ethernet port's link can have (ACCESS_REG, register PTYS), those that the
/// driver wants, and the one that it has when it is up: what is at the other end takes any.
class link_modes {
 public:
  using mode = layouts::ethernet_link_mode;

  /// Captures: a ConnectX-3 of 10 Gb/s with a copper cable.
  static constexpr std::uint32_t able() {
    return bits_of(mode::sgmii_1000base_cx) | bits_of(mode::cr_10gbase) | bits_of(mode::sr_10gbase);
  }
  std::uint32_t asked() const { return asked_; }
  /// False, and nothing changes: the port has none of these modes.
  bool ask(std::uint32_t modes) {
    if ((modes & able()) == 0) return false;
    asked_ = modes & able();
    return true;
  }

  /// The fastest of those that the driver wants; of two as fast the one for copper.
  mode best() const {
    for (const mode m : {mode::cr_10gbase, mode::sr_10gbase})
      if ((asked_ & bits_of(m)) != 0) return m;
    return mode::sgmii_1000base_cx;
  }
  /// The same for QUERY_PORT.
  layouts::ethernet_speed speed() const {
    return best() == mode::sgmii_1000base_cx ? layouts::ethernet_speed::gigabit
                                             : layouts::ethernet_speed::xfi_10g;
  }
  void clear() { asked_ = able(); }

 private:
  std::uint32_t asked_ = able();

 public:
  using saved = saving::fields<&link_modes::asked_>;
  const char* broken_invariant() const {
    return asked_ != 0 && (asked_ & ~able()) == 0 ? nullptr : "the port has no such link mode";
  }
};

}  // namespace freehca::model
