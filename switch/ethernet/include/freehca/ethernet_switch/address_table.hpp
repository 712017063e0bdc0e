// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace freehca::ethernet_switch {

/// Which port each address was last heard at.
class address_table {
 public:
  /// IEEE 802.1D-2004, 7.9.2: the recommended default. The bound: no source, chosen.
  static constexpr std::uint64_t age_ns = 300'000'000'000;
  static constexpr std::size_t most_addresses = 8192;

  /// An address whose table has no room is not learnt: frames to it are flooded.
  void learn(std::uint64_t address, unsigned port, std::uint64_t now);
  /// 0: nobody has been heard from there for long.
  unsigned port_of(std::uint64_t address, std::uint64_t now) const;
  void forget_port(unsigned port);
  void forget_old(std::uint64_t now);
  std::size_t size() const { return places_.size(); }

 private:
  struct place {
    unsigned port;
    std::uint64_t heard_at;
  };
  std::unordered_map<std::uint64_t, place> places_;
};

}  // namespace freehca::ethernet_switch
