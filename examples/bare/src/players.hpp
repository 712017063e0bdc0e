// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/device.hpp>
#include <freehca/hca/kinds/address_handle.hpp>
#include <freehca/hca/kinds/completion_queue.hpp>
#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/protection_domain.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/objects/verbs.hpp>

#include "bring_up.hpp"

namespace freehca::bare {

/// Queue pairs of one port that send messages to each other, with the objects that they need. The
/// receiver verifies each message, and the byte after it.
class players {
 public:
  /// The budget of the device, and the objects of `n` queue pairs.
  static constexpr budget size = size_of_a_small_device();
  static constexpr verbs_budget objects_of(unsigned n) {
    verbs_budget b = verbs_budget{}
                         .with<protection_domain>(1)
                         .with<memory_region>(n)
                         .with<address_handle>(1)
                         .with<completion_queue>(n)
                         .with<queue_pair>(n);
    b.requests = 256;
    return b;
  }

  players(const players&) = delete;
  players& operator=(const players&) = delete;

  const char* doing() const { return doing_; }
  /// The fault that was found; null: none.
  const char* wrong() const { return wrong_; }

 protected:
  static constexpr std::size_t side_bytes = std::size_t{128} << 10;
  static constexpr std::size_t most_message = side_bytes / 2 - 1;

  struct side {
    dma_region memory;  // first half: sent messages; second half: received messages
    mr_handle region;
    std::uint32_t key = 0;
    cq_handle completions;
    qp_handle pair;
  };

  players(device& hca, verbs& in, unsigned port) : hca_(hca), verbs_(in), port_(port) {}

  bool datagrams() const { return service_ == layouts::qp_service::ud; }
  const char* service_name() const { return datagrams() ? "UD" : "RC"; }
  /// The maximum size of a message.
  std::size_t most_bytes() const;
  /// Creates the objects of a side, in the protection domain that all sides share.
  status open_side(side& s);
  /// Moves the queue pair from RESET to RTS.
  status connect(const side& s, const connection_attributes& a);
  /// Creates the address handle for datagrams.
  status make_way(std::uint16_t lid);
  status close_side(side& s);
  status close_domain();
  /// Posts a receive request for the next message, of `bytes` bytes.
  status receive(const side& at, std::size_t bytes);
  /// Sends the message that fill() has written to outgoing().
  status send(const side& from, std::uint32_t to_qpn, std::uint32_t qkey, std::size_t bytes);
  /// Waits for the next completion of a side. Fails after `limit` nanoseconds, or if a request
  /// failed.
  status await(const side& at, std::uint64_t limit);
  /// Checks content and length of the arrived message, and that the byte after it is unchanged.
  status check(const side& at, std::size_t bytes, std::size_t came, std::uint64_t number);
  status complain(const char* what);

  /// Bytes before the message in a receive buffer: a datagram's first 40 bytes are for its GRH.
  std::size_t header_bytes() const { return datagrams() ? grh_bytes : 0; }
  /// The place of the message to send, and of the received message.
  static std::byte* outgoing(const side& s) { return s.memory.host; }
  std::byte* incoming(const side& s) const {
    return s.memory.host + side_bytes / 2 + header_bytes();
  }
  /// A pattern that differs from message to message and from place to place.
  static std::byte pattern(std::uint64_t number, std::size_t i) {
    return static_cast<std::byte>(i * 7 + (i >> 8) + number);
  }
  static void fill(std::byte* at, std::size_t bytes, std::uint64_t number) {
    for (std::size_t i = 0; i < bytes; ++i) at[i] = pattern(number, i);
  }
  static bool holds(const std::byte* at, std::size_t bytes, std::uint64_t number) {
    for (std::size_t i = 0; i < bytes; ++i)
      if (at[i] != pattern(number, i)) return false;
    return true;
  }

  device& hca_;
  verbs& verbs_;
  unsigned port_;
  layouts::qp_service service_ = layouts::qp_service::rc;
  queues::work_completion came_;
  std::uint64_t number_ = 0;  // of the message
  const char* doing_ = "";

 private:
  static constexpr std::size_t grh_bytes = 40;

  template <class K>
  status make(const typename K::attributes& a, handle<K>& to);
  template <class K>
  status destroy(handle<K> h);

  pd_handle domain_;
  ah_handle way_;  // of datagrams
  const char* wrong_ = nullptr;
};

}  // namespace freehca::bare
