// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "order.hpp"
#include "players.hpp"

namespace freehca::bare {

/// One queue pair, which plays with one of another machine: another image of this kind, or
/// rdma-core's ibv_rc_pingpong or ibv_ud_pingpong (libibverbs/examples), whose parameters it has.
/// The client sends the first message, and each side one for each that it has got.
class pair : public players {
 public:
  static constexpr verbs_budget objects = objects_of(1);

  pair(device& hca, verbs& in, unsigned port) : players(hca, in, port) {}

  /// Makes a queue pair, in whose place there is none yet. address() is where it is.
  status open(layouts::qp_service service);
  pair_address address() const;
  bool is_open() const { return open_; }
  /// The most bytes that an order may ask of a message.
  std::uint32_t most() const { return static_cast<std::uint32_t>(most_bytes()); }
  /// Makes it know the other side, which may send from then on.
  status meet(const pair_order& o);
  /// All messages; tells of them in a line. Not ok: doing() and wrong().
  status play(const pair_order& o);
  /// The other side may still want an acknowledgement of its last message: not right after play().
  status close();

 private:
  status play_client(const pair_order& o);
  status play_server(const pair_order& o);
  status hit(const pair_order& o, std::uint32_t number);
  status next();
  status until_arrived(std::uint32_t count);
  status until_departed(std::uint32_t count);
  bool is_first_of_ibv(std::size_t bytes) const;

  side side_;
  bool open_ = false;
  bool answered_ = false;  // the other side is at work, and answers soon
  std::uint32_t psn_ = 0, arrived_ = 0, departed_ = 0, bytes_ = 0;
};

}  // namespace freehca::bare
