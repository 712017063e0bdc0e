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

/// Queue pairs of one port that send messages to and fro, and what they need. Each message is
/// verified where it arrives, and so is the byte behind it.
class players {
 public:
  /// What a device is lent for them, and what `n` of them make at a time.
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
  /// What was not as it should be; null: nothing.
  const char* wrong() const { return wrong_; }

 protected:
  static constexpr std::size_t side_bytes = std::size_t{128} << 10;
  static constexpr std::size_t most_message = side_bytes / 2 - 1;

  struct side {
    dma_region memory;  // what is sent in the first half, what comes in the second
    mr_handle region;
    std::uint32_t key = 0;
    cq_handle completions;
    qp_handle pair;
  };

  players(device& hca, verbs& in, unsigned port) : hca_(hca), verbs_(in), port_(port) {}

  bool datagrams() const { return service_ == layouts::qp_service::ud; }
  const char* service_name() const { return datagrams() ? "UD" : "RC"; }
  /// The most that a message may have.
  std::size_t most_bytes() const;
  /// In a domain that all sides share.
  status open_side(side& s);
  /// From RESET to RTS.
  status connect(const side& s, const connection_attributes& a);
  /// Datagrams go there.
  status make_way(std::uint16_t lid);
  status close_side(side& s);
  status close_domain();
  /// For the next message, of so many bytes.
  status receive(const side& at, std::size_t bytes);
  /// What was filled in before.
  status send(const side& from, std::uint32_t to_qpn, std::uint32_t qkey, std::size_t bytes);
  /// The next completion of a side; not ok: none came until then, or a request failed.
  status await(const side& at, std::uint64_t limit);
  /// Is it this message, of this length, with nothing written behind it?
  status check(const side& at, std::size_t bytes, std::size_t came, std::uint64_t number);
  status complain(const char* what);

  /// A datagram's first 40 bytes are for a header that others may have.
  std::size_t ahead() const { return datagrams() ? grh_bytes : 0; }
  /// Where a message stands that is sent, and one that has come.
  static std::byte* outgoing(const side& s) { return s.memory.host; }
  std::byte* incoming(const side& s) const { return s.memory.host + side_bytes / 2 + ahead(); }
  /// A pattern that no other message has, and no other place in it.
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
