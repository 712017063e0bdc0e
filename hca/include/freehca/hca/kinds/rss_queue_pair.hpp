// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/receive_work_queue.hpp>

namespace freehca {

/// The headers that go into the hash: the bits of layouts::rss_context. TCP and UDP need the bit of
/// their IP version. They add the ports to the addresses.
namespace rss_headers {
inline constexpr std::uint8_t ipv4 = 1 << 5, tcp_ipv4 = 1 << 4, ipv6 = 1 << 3, tcp_ipv6 = 1 << 2,
                              udp_ipv4 = 1 << 1, udp_ipv6 = 1 << 0;
}

struct rss_queue_pair_attributes {
  /// The device wants completion queues, but does not use them. Linux gives it that of the first
  /// receive work queue (6.1 hw/mlx4/qp.c __mlx4_ib_modify_qp). `receives` is 0, `service` is not
  /// read.
  queue_pair_attributes queue{};
  /// The indirection table: an array of `count` receive work queues. `count` is a power of two. The
  /// numbers of the queues are consecutive, and the first one is a multiple of `count`. start()
  /// reads the array.
  const handle<receive_work_queue>* table = nullptr;
  std::uint32_t count = 0;
  std::uint32_t default_queue = 0;  ///< index of the queue for frames that are not hashed
  layouts::rss_hash hash = layouts::rss_hash::toeplitz;
  std::uint8_t headers = 0;  ///< of rss_headers
  /// The key of the Toeplitz hash, 40 bytes. start() reads it. The other hash has no key.
  const std::uint8_t* key = nullptr;
  std::uint32_t key_bytes = 0;
};

/// Distributes Ethernet frames among receive work queues by a hash of their headers (receive-side
/// scaling). Its number stands in a steering entry or a flow rule, which gives it the frames. It
/// has no work requests of its own. The operations of queue_pair work on it, with frames_of() as
/// its path. The transition to INIT fixes its parameters.
struct rss_queue_pair : frame_queue_pair {
  using attributes = rss_queue_pair_attributes;
  using stands_in_for = queue_pair;
  static constexpr kind_facts facts = facts_like(queue_pair::facts, "RSS queue pair", 0x5c);

  receive_work_queue* first = nullptr;
  std::uint32_t count = 0;
  layouts::image<layouts::rss_context> spreading;

  /// Errors besides those of a queue pair: driver_error::unsupported (the device does not have the
  /// hash, or no UDP in it; a shared receive queue), ::stale_handle and ::busy (of a receive work
  /// queue).
  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes& a, creation<creating>& to) {
    FREEHCA_TRY(queue_pair::build(in, a.queue, to));
    rings.receive.close();
    return {};
  }
  void strip(verbs& in);
};

using create_rss_queue_pair = create_object<rss_queue_pair>;
using destroy_rss_queue_pair = destroy_object<rss_queue_pair>;

/// The hash of a frame that an RSS queue pair has distributed. 0 if the frame was not hashed.
inline std::uint32_t hash_of(const queues::work_completion& done) {
  return static_cast<std::uint32_t>(done.get<&layouts::cqe::immediate>());
}

}  // namespace freehca
