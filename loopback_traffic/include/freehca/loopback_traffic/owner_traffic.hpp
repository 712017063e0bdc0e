// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include <freehca/hca/every_kind.hpp>
#include <freehca/hca/objects/verbs.hpp>

#include <freehca/loopback_traffic/message.hpp>
#include <freehca/loopback_traffic/scattered_memory.hpp>

namespace freehca::loopback_traffic {

/// How the thread of an owner sleeps.
class owner_sleep {
 public:
  virtual ~owner_sleep() = default;
  /// Until the owner's waker was called, an interrupt of its vector came, or `deadline` of the
  /// platform's clock.
  virtual void sleep(std::uint64_t deadline) = 0;
};

/// The port that addresses itself.
struct owner_port {
  unsigned port = 1;
  std::uint16_t lid = 0;
  layouts::ib_mtu mtu = layouts::ib_mtu::mtu_1024;
};

/// Traffic of an owner with a thread of its own: sends and RDMA writes from one reliable queue pair
/// to another, each byte looked at when it has arrived, and the bytes around it. Queries of a queue
/// pair go on beside it. After a reset of the device, it checks that each request has ended exactly
/// once and that no object is left. Then it makes its objects again. Nothing of it is shared with
/// other threads but `messages`.
class owner_traffic {
 public:
  static constexpr unsigned slots = 8;  ///< messages under way at a time
  static constexpr std::size_t message_bytes = 1500;
  static constexpr std::size_t slot_bytes = message_bytes + 2 * message::guard;
  /// What run() is given at least.
  static constexpr std::size_t buffer_bytes = 2 * slots * slot_bytes;

  /// What verbs::open() is given.
  static verbs_budget objects_needed();
  verbs_events events();

  /// Runs on the owner's thread until `stop` is set and all objects are taken back, or something is
  /// wrong. `buffer` was allocated by the control owner's thread. `stop` does not end a sleep.
  void run(verbs& objects, const owner_port& at, scattered_memory& buffer, owner_sleep& sleep,
           const std::atomic<bool>& stop);

  /// Arrived, and checked. Any thread may read it.
  std::atomic<std::uint64_t> messages{0};
  // When run() has returned.
  unsigned resets = 0;               ///< how often it began anew
  std::uint64_t requests_ended = 0;  ///< work requests that a reset ended with an error
  std::uint64_t queries_ended = 0;   ///< queries that a reset ended with an error
  status outcome;                    ///< of the driver
  std::string wrong;                 ///< what arrived and should not have; empty: nothing
  bool ok() const { return outcome.ok() && wrong.empty(); }

 private:
  status connect();
  status post_idle_receive();
  status move();
  status take_back();
  status one_round();
  void check(const message& m);
  status wait_for_completions();
  status posted(status s, unsigned request);
  void end_request(const queues::work_completion& completion);
  void check_nothing_left();
  status finish(operation& op);
  void turn();
  bool working() const;

  verbs* objects_ = nullptr;
  owner_port at_;
  scattered_memory* buffer_ = nullptr;
  owner_sleep* sleep_ = nullptr;
  const std::atomic<bool>* stop_ = nullptr;
  std::uint64_t number_ = 0;
  std::uint32_t outstanding_ = 0;  // a bit for each work request, at its wr_id
  unsigned resets_seen_ = 0;
  std::uint32_t key_ = 0;
  pd_handle domain_;
  mr_handle region_;
  cq_handle completions_;
  qp_handle queues_[2];
};

}  // namespace freehca::loopback_traffic
