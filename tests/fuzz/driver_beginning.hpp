// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

namespace freehca::fuzz {

/// Which machine it is, and how far it has come when the adapter begins to lie.
struct beginning {
  // Without interrupts none can be lost.
  static constexpr unsigned no_function_reset = 1, no_interrupts = 2, interrupts_lost = 4,
                            one_command = 8, no_manager = 16, connectx2 = 32, ethernet = 64,
                            by_rules = 128;
  // All of them are kept at the same time: each point of the first ones, and one of the last ones,
  // whose second port is an Ethernet port.
  static constexpr unsigned infiniband_machines = 8;
  static constexpr std::array<unsigned, 12> machines{
      0,
      no_function_reset | interrupts_lost | one_command,
      no_interrupts,
      no_function_reset,
      interrupts_lost,
      one_command | no_manager,
      connectx2,
      connectx2 | one_command | no_interrupts,
      ethernet,
      ethernet | by_rules,
      ethernet | by_rules | one_command | no_interrupts,
      ethernet | connectx2,
  };
  // Points: nothing was done; so many commands of a bring-up were sent; the device is up; queue
  // pairs are connected; there are objects of every kind.
  static constexpr std::array<unsigned, 4> commands{0, 6, 20, 48};
  static constexpr unsigned up = commands.size(), connected = up + 1, every_object = connected + 1;

  unsigned machine = 0;
  unsigned point = 0;
  /// A bring-up that the adapter lies in is carried to its end, and what it gave is used.
  bool goes_on = true;

  std::uint32_t number() const {
    return static_cast<std::uint32_t>((point * machines.size() + machine) * 2 + (goes_on ? 0 : 1));
  }
  static beginning numbered(std::uint32_t n) {
    const auto rest = static_cast<unsigned>(n / 2);
    return {static_cast<unsigned>(rest % machines.size()),
            static_cast<unsigned>(rest / machines.size()), n % 2 == 0};
  }
};

}  // namespace freehca::fuzz
