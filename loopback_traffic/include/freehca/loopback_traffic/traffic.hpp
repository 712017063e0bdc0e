// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <freehca/blocking/session.hpp>
#include <freehca/loopback_traffic/scattered_memory.hpp>

namespace freehca::loopback_traffic {

enum class transfer : std::uint8_t { send, rdma_write, rdma_write_with_immediate, rdma_read };
const char* name_of(transfer t);

/// One line of the result: all messages of one kind and size.
struct tally {
  transfer kind{};
  std::size_t bytes = 0;
  unsigned messages = 0;  ///< arrived, and checked
};

/// What the wire must have seen for it: a message of n bytes is ceil(n / MTU) packets of its kind,
/// at least one; a read is one request, and that many responses. Nothing is retried in loopback.
struct packet_counts {
  std::uint64_t sends = 0, writes = 0, read_requests = 0, read_responses = 0;
  friend bool operator==(const packet_counts&, const packet_counts&) = default;
};

struct traffic_options {
  unsigned port = 1;
  unsigned messages = 300;                                ///< of each kind and size
  layouts::qp_service service = layouts::qp_service::rc;  ///< or uc, ud
  bool shared_receives = false;  ///< both sides take them from a shared receive queue
  bool counted = false;          ///< the sends complete to a queue that counts
};

struct traffic_result {
  status outcome;     ///< of the driver
  std::string wrong;  ///< what was wrong with the data; empty: nothing
  unsigned mtu = 0;
  std::vector<tally> tallies;
  std::uint64_t bytes = 0;
  packet_counts expected;
  bool ok() const { return outcome.ok() && wrong.empty(); }
};

/// Bytes of memory that run_traffic() lets the device reach, beside device::dma_bytes().
std::size_t traffic_bytes();

/// Messages between two queue pairs of one port, which addresses itself by its LID: of RC sends,
/// RDMA writes and RDMA reads, of UC sends and RDMA writes with immediate data, of UD sends; at
/// sizes around everything that can go wrong: 0, 1, 63, 64, 65, MTU - 1, MTU, and where a message
/// may have several packets MTU + 1, 64 KiB, 1 MiB. Each message has bytes of its own; the receiver
/// checks them, the length, and the bytes around. The port must be active. The session
/// has every kind of object.
traffic_result run_traffic(blocking::session& driver, traffic_memory& memory,
                           const traffic_options& options,
                           const std::function<void(const tally&)>& progress = {});

}  // namespace freehca::loopback_traffic
