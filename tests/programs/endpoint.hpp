// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

#include "processes.hpp"

namespace programs {

/// An open device with a protection domain.
struct opened_device {
  opened_device();
  ~opened_device();
  opened_device(const opened_device&) = delete;
  opened_device& operator=(const opened_device&) = delete;

  /// Chooses the GID by which the device is addressed on Ethernet.
  void choose_gid(std::uint8_t index);

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  std::uint16_t lid = 0;
  bool ethernet = false;
  std::uint8_t gid_index = 0;
  ibv_gid gid{};
};

/// What one queue pair needs to know of the other.
struct address {
  std::uint16_t lid;
  std::uint32_t qpn, psn;
  ibv_gid gid{};
};

/// The path from a device to a queue pair: by LID, or on Ethernet by GID.
ibv_ah_attr path_to(const opened_device& from, const address& to);

struct pair_options {
  ibv_qp_type type = IBV_QPT_RC;
  unsigned access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  std::uint8_t timeout = 14, retries = 7, rnr_retries = 7;
  std::uint32_t depth = 16;
  ibv_comp_channel* channel = nullptr;
};

constexpr std::uint32_t common_qkey = 0x11223344;

/// A queue pair with completion queues of its own.
struct endpoint {
  endpoint(opened_device& device, const pair_options& how);
  ~endpoint() { destroy(); }
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  /// Destroys all. Each call has to succeed.
  void destroy();
  address own() const { return {device.lid, qp->qp_num, 0x123456, device.gid}; }
  /// Brings the queue pair to RTS, towards the other one. The first form exchanges addresses.
  address connect(line& other);
  void connect(const address& other);

  int post_receive(std::uint64_t id, const ibv_sge& to);
  int post(ibv_send_wr request);
  /// The next completion. It has to come.
  ibv_wc completion(ibv_cq* cq, const std::string& what);
  ibv_wc sent(const std::string& what) { return completion(send_cq, what); }
  ibv_wc received(const std::string& what) { return completion(receive_cq, what); }
  ibv_qp_state state();

  opened_device& device;
  const pair_options how;
  ibv_cq *send_cq = nullptr, *receive_cq = nullptr;
  ibv_qp* qp = nullptr;
};

/// Memory with a seeded pattern, registered or not.
struct buffer {
  buffer(std::uint64_t seed, std::size_t bytes);
  ~buffer();
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;

  /// Registers a part. A second call makes a second region. It calls the function, whose macro of
  /// the same name warns of signs.
  ibv_mr* register_part(ibv_pd* pd, std::size_t first, std::size_t bytes, unsigned access);
  std::uint64_t at(std::size_t offset) const {
    return reinterpret_cast<std::uintptr_t>(bytes.data()) + offset;
  }
  /// Compares the memory with `expected`.
  void expect_bytes(const std::string& what) const;

  std::vector<unsigned char> bytes, expected;
  std::vector<ibv_mr*> regions;
};

/// The asynchronous event that comes next, acknowledged. It has to come.
ibv_event_type next_event(ibv_context* context, const std::string& what);
/// Whether an asynchronous event is there now.
bool has_event(ibv_context* context);

}  // namespace programs
