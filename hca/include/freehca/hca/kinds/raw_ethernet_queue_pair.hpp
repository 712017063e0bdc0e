// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca {

/// A queue pair of Ethernet frames: what raw Ethernet queue pairs have in common with receive work
/// queues and with RSS queue pairs. Its path is a raw_ethernet_path.
struct frame_queue_pair : queue_pair {
  // Parameters in the context.
  bool keeps_tags = true, keeps_check_sequence = false;
  const layouts::image<layouts::rss_context>* rss = nullptr;
};

/// `service` is not read, and the queue pair has a receive queue of its own.
struct raw_ethernet_attributes : queue_pair_attributes {
  /// Most bytes of the headers of a large send (queues::send_large_frame). 0: none is posted.
  /// Error: driver_error::unsupported (the device does not cut payloads into frames).
  std::uint16_t header_bytes = 0;
  /// If false, the device removes the tag of a received frame. The completion has the tag in either
  /// case (queues::received_frame).
  bool keep_tags = true;
  /// Received frames end with their frame check sequence of 4 bytes, which byte_count includes.
  /// Error: driver_error::unsupported.
  bool keep_check_sequence = false;
};

/// A queue pair whose requests are frames of an Ethernet port (queues::send_frame). Its transitions
/// are those of modify_queue_pair. They take a raw_ethernet_path, and read no other attribute. The
/// queue pair receives the frames that the steering of the port assigns to it. The operations of
/// queue_pair work on it.
struct raw_ethernet_queue_pair : frame_queue_pair {
  using attributes = raw_ethernet_attributes;
  using stands_in_for = queue_pair;
  static constexpr kind_facts facts =
      facts_like(queue_pair::facts, "raw Ethernet queue pair", 0x56);

  status plan(verbs& in, const attributes& a, creation<creating>& to);

 private:
  queue_pair_service own_;
};

using raw_ethernet_qp_handle = handle<raw_ethernet_queue_pair>;
using create_raw_ethernet_queue_pair = create_object<raw_ethernet_queue_pair>;
using destroy_raw_ethernet_queue_pair = destroy_object<raw_ethernet_queue_pair>;

}  // namespace freehca
