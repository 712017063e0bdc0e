// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "order.hpp"
#include "players.hpp"

namespace freehca::bare {

/// One queue pair that exchanges messages with a queue pair of another machine. The other machine
/// runs this image too, or rdma-core's ibv_rc_pingpong or ibv_ud_pingpong (libibverbs/examples),
/// whose parameters are used. The client sends the first message. Each side sends one message for
/// each message that it has received.
class pair : public players {
 public:
  static constexpr verbs_budget objects = objects_of(1);

  pair(device& hca, verbs& in, unsigned port) : players(hca, in, port) {}

  /// Creates the queue pair; there must be none yet. address() then returns its address.
  status open(layouts::qp_service service);
  pair_address address() const;
  bool is_open() const { return open_; }
  /// The maximum message size of an order, in bytes.
  std::uint32_t most() const { return static_cast<std::uint32_t>(most_bytes()); }
  /// Connects the queue pair to the other side. After this the other side may send.
  status meet(const pair_order& o);
  /// Exchanges all messages and prints one line about them. After a failure, doing() and wrong()
  /// say what failed.
  status play(const pair_order& o);
  /// Destroys the queue pair. Do not call it directly after play(): the other side may still wait
  /// for an acknowledgement of its last message.
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
  bool answered_ = false;  // a message has arrived, so the other side runs and answers quickly
  std::uint32_t psn_ = 0, arrived_ = 0, departed_ = 0, bytes_ = 0;
};

}  // namespace freehca::bare
