// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <deque>
#include <memory>

#include <freehca/work_requests/send_request.hpp>

#include "rc_pair.hpp"
#include "request_account.hpp"

namespace freehca::testing {

/// Sends, writes and reads in both directions of a pair, as many as the windows allow, each byte
/// looked at when its request ends, and each request in the account. Completions are asked for by
/// events; now and then the queues are looked at all the same, for the event that does not come.
class verified_traffic {
 public:
  verified_traffic(verbs_rig& rig, request_account& account)
      : rig_(rig), account_(account), pair(rig) {
    pair.connect();
    const memory_access all{.local_write = true, .remote_read = true, .remote_write = true};
    for (side& s : sides_)
      s.buffer = std::make_unique<registered_buffer>(rig, pair.domain, areas * area, 24, all);
    for (unsigned i = 0; i < 2; ++i) {
      write(i, read_area, i);
      pair.cq(i).arm();
    }
  }
  verified_traffic(const verified_traffic&) = delete;
  verified_traffic& operator=(const verified_traffic&) = delete;

  /// Takes what completed and posts what there is room for.
  void pump() {
    const bool look = rig_.machine.time() >= next_look_;
    if (look) next_look_ = rig_.machine.time() + clock::microseconds(20);
    for (unsigned i = 0; i < 2; ++i) {
      side& s = sides_[i];
      if (s.told || look) take(i);
      refill(i);
    }
  }
  /// verbs_events::completion
  void on_event(cq_handle queue) {
    for (unsigned i = 0; i < 2; ++i)
      if (pair.completion[i] == queue) sides_[i].told = true;
    ++events;
  }
  /// verbs_events::request_ended
  void on_ended(qp_handle queue, const queues::work_completion& how, status why) {
    const unsigned i = pair.queue[1] == queue ? 1 : 0;
    ASSERT_TRUE(pair.queue[i] == queue) << "of a queue pair that there is not";
    EXPECT_NE(qpn_of(rig_.objects, queue), 0u) << "the handle is stale already";
    EXPECT_TRUE(work_requests::post(pair.send(i), {}).is(driver_error::bad_state))
        << "nothing would come of it";
    if (how.status != queues::completion_status::device_reset) {
      EXPECT_TRUE(why.ok()) << words(why);
      return complete(i, how, true);
    }
    cause = why;
    auto& posted =
        how.opcode == queues::work_opcode::receive ? sides_[i].receives : sides_[i].sends;
    ASSERT_FALSE(posted.empty());
    EXPECT_EQ(how.wr_id, posted.front().wr_id) << "not in the order of posting";
    account_.lose(how.wr_id);
    posted.pop_front();
  }
  /// The device was reset: there is nothing to destroy.
  void abandon() {
    for (side& s : sides_) s.buffer->region = {};
    pair.abandon();
  }
  /// When pump() looks at the queues even if no event comes.
  std::uint64_t next_look() const { return next_look_; }
  std::uint64_t verified() const { return verified_; }

  std::uint64_t events = 0;
  std::uint64_t found_by_looking = 0;
  status cause;  ///< of the requests that ended by the reset

 private:
  static constexpr std::size_t bytes = 96, slots = 16;
  static constexpr std::size_t area = bytes * slots, areas = 5;
  // The areas of each buffer: sent from, received into, written into by the other side, read by it,
  // and what was read.
  static constexpr std::size_t send_area = 0, receive_area = 1, write_area = 2, read_area = 3,
                               answer_area = 4;
  static constexpr unsigned most_sends = 12;

  struct request {
    std::uint64_t wr_id;
    std::uint64_t serial;
    bool signaled;
  };
  struct side {
    std::unique_ptr<registered_buffer> buffer;
    std::deque<request> sends, receives;
    std::uint64_t sent = 0, posted_receives = 0;
    std::uint64_t messages_sent = 0, messages_received = 0;
    std::uint64_t message_serials[slots] = {};  // what the other side expects, by message
    bool told = false;
  };
  enum class kind : std::uint8_t { message, quiet_message, rdma_write, rdma_read };
  static kind kind_of(std::uint64_t serial) { return static_cast<kind>(serial % 4); }

  static std::size_t at(std::size_t which, std::uint64_t serial) {
    return which * area + serial % slots * bytes;
  }
  static std::byte content(unsigned from, std::uint64_t serial, std::size_t i) {
    return static_cast<std::byte>(serial * 31 + i * 7 + from * 101 + (serial >> 8));
  }
  void write(unsigned i, std::size_t which, unsigned from) {
    for (std::size_t b = 0; b < area; ++b)
      *sides_[i].buffer->at(which * area + b) = content(from, 0, b);
  }
  void fill(unsigned i, std::size_t to, std::uint64_t serial) {
    for (std::size_t b = 0; b < bytes; ++b) *sides_[i].buffer->at(to + b) = content(i, serial, b);
  }
  void expect_content(unsigned i, std::size_t where, unsigned from, std::uint64_t serial,
                      std::size_t skip = 0) {
    for (std::size_t b = 0; b < bytes; ++b)
      if (*sides_[i].buffer->at(where + b) != content(from, serial, skip + b)) {
        ADD_FAILURE() << "byte " << b << " of request " << serial << " is not what was sent";
        return;
      }
    ++verified_;
  }

  void take(unsigned i) {
    side& s = sides_[i];
    queues::work_completion all[8];
    bool found = false;
    for (unsigned n = 8; n == 8;) {
      n = pair.cq(i).poll(all, 8);
      for (unsigned k = 0; k < n; ++k) complete(i, all[k], false);
      found |= n > 0;
    }
    if (found && !s.told) {
      ++found_by_looking;
      pair.cq(i).on_event();
    }
    if (found || s.told) pair.cq(i).arm();
    s.told = false;
  }
  void complete(unsigned i, const queues::work_completion& w, bool at_reset) {
    EXPECT_EQ(w.status, queues::completion_status::ok);
    side& s = sides_[i];
    const bool received = w.opcode == queues::work_opcode::receive;
    auto& posted = received ? s.receives : s.sends;
    while (!posted.empty() && posted.front().wr_id != w.wr_id) {
      EXPECT_FALSE(posted.front().signaled) << "a signaled request was passed over";
      account_.imply(posted.front().wr_id);
      posted.pop_front();
    }
    ASSERT_FALSE(posted.empty()) << "a completion of request " << w.wr_id << ", which is not out";
    const std::uint64_t serial = posted.front().serial;
    posted.pop_front();
    if (at_reset) account_.hand_over(w.wr_id);
    else account_.complete(w.wr_id);
    if (received) {
      const std::uint64_t from = sides_[1 - i].message_serials[s.messages_received++ % slots];
      expect_content(i, at(receive_area, serial), 1 - i, from);
    } else if (kind_of(serial) == kind::rdma_write) {
      expect_content(1 - i, at(write_area, serial), i, serial);
    } else if (kind_of(serial) == kind::rdma_read) {
      expect_content(i, at(answer_area, serial), 1 - i, 0, serial % slots * bytes);
    }
  }
  void refill(unsigned i) {
    side& s = sides_[i];
    side& other = sides_[1 - i];
    while (s.receives.size() < slots) {
      const std::uint64_t serial = s.posted_receives;
      const auto into = s.buffer->entry(at(receive_area, serial), bytes);
      if (!pair.receive(i).post_and_ring({account_.posted + 1, &into, 1}).ok()) break;
      s.receives.push_back({account_.post(), serial, true});
      ++s.posted_receives;
    }
    while (s.sends.size() < most_sends) {
      const std::uint64_t serial = s.sent;
      const kind what = kind_of(serial);
      const bool message = what == kind::message || what == kind::quiet_message;
      // No more than the other side has receives for: nothing is refused and tried again.
      if (message && s.messages_sent - other.messages_received >= slots / 2) break;
      auto local = s.buffer->entry(at(send_area, serial), bytes);
      fill(i, at(send_area, serial), serial);
      work_requests::send_request r{.wr_id = account_.posted + 1, .list = &local, .entries = 1};
      r.signaled = what != kind::quiet_message;
      r.rkey = other.buffer->key;
      if (what == kind::rdma_write) {
        r.opcode = work_requests::send_opcode::rdma_write;
        r.remote_address = other.buffer->address(at(write_area, serial));
      } else if (what == kind::rdma_read) {
        r.opcode = work_requests::send_opcode::rdma_read;
        r.remote_address = other.buffer->address(at(read_area, serial));
        local = s.buffer->entry(at(answer_area, serial), bytes);
      }
      if (!work_requests::post_and_ring(pair.send(i), r).ok()) break;
      s.sends.push_back({account_.post(), serial, r.signaled});
      if (message) s.message_serials[s.messages_sent++ % slots] = serial;
      ++s.sent;
    }
  }

  verbs_rig& rig_;
  request_account& account_;

 public:
  rc_pair pair;

 private:
  side sides_[2];
  std::uint64_t next_look_ = 0;
  std::uint64_t verified_ = 0;
};

}  // namespace freehca::testing
