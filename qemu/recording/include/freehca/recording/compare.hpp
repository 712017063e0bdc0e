// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <freehca/recording/recording.hpp>

namespace freehca::recording {

/// How closely two recordings must agree.
enum class closeness : std::uint8_t {
  /// All that the adapter answers and does, in each call, in the same order.
  exact,
  /// What a driver is told, in the order of each teller: how each command ended with its output,
  /// the entries of each event and completion queue, the data of each key. Not when, not in how
  /// many pieces, and no context memory; so a card's recording, or one of an older model, can be
  /// compared.
  answers,
};

struct differences {
  std::vector<std::string> text;  ///< one for each, in words; at most `limit` of them
  std::size_t count = 0;          ///< all
  std::size_t compared = 0;       ///< records of `recorded` that were looked at
};

/// Where `again` differs from `recorded`.
differences compare(const recording& recorded, const recording& again, closeness how,
                    std::size_t limit = 20);

}  // namespace freehca::recording
