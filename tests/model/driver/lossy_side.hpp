// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// One end of a connection in a run over a bad cable, and the memory that it registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "cabled_hosts.hpp"
#include "lossy_plan.hpp"

namespace freehca::testing {

/// The layout of the buffer that a host registers for one connection.
struct lossy_memory {
  static constexpr unsigned slots = 16;
  static constexpr std::size_t grh_bytes = 40, slot_bytes = 6144;
  static constexpr std::byte fill{0xa5};
  static_assert(lossy_plan::messages_each <= slots &&
                lossy_plan::most_bytes + grh_bytes <= slot_bytes);
  /// Each area has one slot per message. Atomics add to the word behind the areas.
  enum area : std::uint8_t { source, answer, readable, written, received, areas };
  static constexpr std::size_t counter_at = areas * slots * slot_bytes;

  static std::size_t at(area where, unsigned slot) {
    return (static_cast<std::size_t>(where) * slots + slot) * slot_bytes;
  }
};

/// The addresses of both hosts on Ethernet.
struct lossy_addresses {
  static constexpr std::uint16_t vlan = 0x123;

  static std::uint64_t mac_of(unsigned host) { return 0x0002'c900'0010 + host; }
  /// The destination of frames, which differs from those of RoCE in many bits.
  static std::uint64_t frame_mac_of(unsigned host) { return 0x0002'c9ff'ff20 + host; }
  /// The GIDs at the places of planned_connection::gid_index.
  static port_gid gid_at(unsigned host, unsigned index) {
    if (index == 2) return {gid_of_ipv4(0x0a000001 + host), roce_version::v2};
    return {gid_of_mac(mac_of(host)), index == 0 ? roce_version::v1 : roce_version::v2};
  }
};

/// Objects and requests of one host in one connection.
struct lossy_side {
  struct posted_send {
    std::uint64_t wr_id;
    unsigned message;
  };

  cq_handle completions;
  qp_handle pair;
  srq_handle shared;
  // Of XRC: `pair` is the initiator.
  xrcd_handle domain;
  xrc_qp_handle target;
  xrc_srq_handle extended;
  xrc_cq_handle extended_completions;
  std::uint32_t extended_number = 0;
  mw_handle window;
  flow_rule_handle rule;  // of frames
  ah_handle peer;
  std::unique_ptr<registered_buffer_of<cabled_host>> buffer;
  std::uint32_t key = 0;  // for the peer: of the buffer, or of the window
  // As the sender:
  std::deque<posted_send> sends;
  unsigned posted = 0;
  bool failed = false;
  queues::completion_status first_error = queues::completion_status::ok;
  std::set<unsigned> ended_well;
  std::optional<std::uint64_t> last_sum;
  // As the receiver:
  std::map<std::uint64_t, unsigned> receives;  // slot by wr_id
  std::set<unsigned> free_slots;
  unsigned depth = 0;
  bool keeps_receives() const { return shared || extended; }
  bool flushed = false;           // a receive was flushed: the queue pair is in ERROR
  std::vector<unsigned> arrived;  // messages in the order of their completions
};

}  // namespace freehca::testing
