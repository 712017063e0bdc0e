// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The doorbell of an event queue, at uar::eq_doorbell_of(eqn) of BAR 2.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Source: Linux 6.1 eq.c eq_set_ci.
struct eq_doorbell {
  static constexpr std::size_t bytes = 4;
  as<bool> arm              {0x00, 31, 31, "arm"};  ///< ask for an interrupt at the next event
  bits     consumer_counter {0x00, 23,  0, "consumer_counter"};
};
static_assert(claimed<eq_doorbell>().sound);

/// The value of the doorbell as the CPU's word, for a big-endian store.
constexpr std::uint32_t eq_doorbell_word(std::uint32_t consumer_counter, bool arm) {
  return (consumer_counter & 0xffffff) | (arm ? 1u << 31 : 0);
}

}  // namespace freehca::layouts
