// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include "players.hpp"

namespace freehca::bare {

/// Two queue pairs of one port that send messages to each other.
class rally : public players {
 public:
  /// The objects that exist at the same time.
  static constexpr verbs_budget objects = objects_of(2);

  rally(device& hca, verbs& in, unsigned port) : players(hca, in, port) {}

  /// Exchanges all messages and prints a line for each size. After a failure, doing() names the
  /// failed action, and the created objects still exist.
  status play();

 private:
  static constexpr std::uint32_t datagram_key = 0x1ee7;

  status open();
  status connect(unsigned i);
  status close();
  status play_service(layouts::qp_service service);
  status play_size(std::size_t bytes);
  status hit(side& from, side& to, std::size_t bytes);
  status await(const side& at);

  side sides_[2];
};

}  // namespace freehca::bare
