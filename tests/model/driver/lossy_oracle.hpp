// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The oracle of a run over a bad cable. It knows the plan, the bytes in memory and the completions.
// It looks into neither driver nor adapter.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/layouts/ethernet.hpp>

#include "lossy_plan.hpp"
#include "lossy_side.hpp"
#include "request_account.hpp"

namespace freehca::testing {

/// How a run ended, according to completions and events.
struct lossy_outcome {
  bool rnr = false, retries = false, link_down = false, reset = false;
  std::uint64_t messages = 0, ended_well = 0;
};

class lossy_oracle : lossy_memory {
 public:
  using completion = queues::work_completion;

  explicit lossy_oracle(const lossy_plan& plan) : plan_(plan) {}

  /// Byte `i` of a message. What host h lets the other host read counts as message `slots` and up.
  /// Frames begin with their header.
  std::byte content(std::size_t connection, unsigned from, unsigned message, std::size_t i) const {
    if (has_frames(connection) && i < header_bytes) return header_byte(from, i);
    return static_cast<std::byte>(plan_.seed * 13 + connection * 57 + from * 101 + message * 31 +
                                  i * 7 + (i >> 8));
  }

  /// Host 1 resets its adapter. From now on it posts no requests and polls no completions.
  void begin_recovery() { recovering_ = true; }
  bool stopped(unsigned h) const { return recovering_ && h == 1; }
  /// The run moves the queue pairs to ERROR. From now on any request may be flushed.
  void begin_flush() { finishing_ = true; }

  /// Judges a completion. `at_reset`: the driver reported it when the adapter was reset.
  void take(std::size_t c, unsigned h, const completion& w, bool at_reset) {
    lossy_side& s = of(c, h);
    if (s.receives.count(w.wr_id) != 0) return take_receive(c, h, w, at_reset);
    while (!s.sends.empty() && s.sends.front().wr_id != w.wr_id) {
      const lossy_side::posted_send earlier = s.sends.front();
      EXPECT_FALSE(planned(c).messages[h][earlier.message].signaled)
          << "a signaled request was passed over";
      accounts[h].imply(earlier.wr_id);
      s.sends.pop_front();
      ended_well(c, h, earlier.message);
    }
    ASSERT_FALSE(s.sends.empty()) << "a completion of request " << w.wr_id << ", which is not out";
    const unsigned message = s.sends.front().message;
    s.sends.pop_front();
    if (at_reset) accounts[h].hand_over(w.wr_id);
    else accounts[h].complete(w.wr_id);
    if (w.ok()) return ended_well(c, h, message);
    if (!s.failed) s.first_error = w.status;
    s.failed = true;
    using queues::completion_status;
    if (w.status == completion_status::rnr_retry_exceeded) outcome.rnr = true;
    else if (w.status == completion_status::transport_retry_exceeded) outcome.retries = true;
    else
      EXPECT_EQ(w.status, completion_status::flushed)
          << "connection " << c << ", host " << h << ": " << queues::name_of(w.status);
    EXPECT_TRUE(reliable(c) || finishing_) << "a send without acknowledgement failed";
  }

  /// Judges a request that the driver reported by verbs_events::request_ended.
  void request_ended(unsigned h, qp_handle pair, const completion& w) {
    EXPECT_TRUE(h == 1 && recovering_) << "nobody reset this host";
    outcome.reset = true;
    for (std::size_t c = 0; c < sides.size(); ++c) {
      lossy_side& s = of(c, h);
      const bool here = s.pair == pair && pair;
      if (w.status != queues::completion_status::device_reset) {
        // The driver names no queue pair for a receive of XRC.
        if (here || (!pair && s.receives.count(w.wr_id) != 0)) return take(c, h, w, true);
        continue;
      }
      // The driver names no queue pair for a receive of a shared queue.
      if (s.receives.count(w.wr_id) != 0) {
        accounts[h].lose(w.wr_id);
        s.receives.erase(w.wr_id);
        return;
      }
      if (here) {
        ASSERT_FALSE(s.sends.empty());
        EXPECT_EQ(s.sends.front().wr_id, w.wr_id) << "not in the order of posting";
        accounts[h].lose(w.wr_id);
        s.sends.pop_front();
        s.failed = true;
        return;
      }
    }
    ADD_FAILURE() << "request " << w.wr_id << " is not out";
  }

  /// Compares all memory with the plan. To be called after the last packet.
  void judge_memory() {
    for (std::size_t c = 0; c < sides.size(); ++c)
      for (unsigned h = 0; h < 2; ++h) {
        lossy_side& s = of(c, h);
        lossy_side& far = of(c, 1 - h);
        const auto& messages = planned(c).messages[h];
        for (unsigned i = 0; i < messages.size(); ++i) {
          expect_bytes(s, at(source, i), slot_bytes, c, h, i);
          expect_bytes(s, at(readable, i), slot_bytes, c, h, i + slots);
          judge_written(c, h, i);
        }
        // A send that ended well has arrived.
        if (reliable(c) && !stopped(1 - h))
          for (const unsigned i : s.ended_well)
            if (takes_receive(messages[i].kind)) {
              EXPECT_TRUE(std::count(far.arrived.begin(), far.arrived.end(), i) == 1)
                  << "connection " << c << ": message " << i << " ended well and did not arrive";
            }
        std::uint64_t sum = 0;
        std::memcpy(&sum, far.buffer->at(counter_at), sizeof sum);
        unsigned least = 0;
        for (const unsigned i : s.ended_well) least += messages[i].kind == message_kind::add;
        EXPECT_GE(sum, least);
        EXPECT_LE(sum, adds_posted(c, h));
      }
  }

  // The run creates the sides and records in them what it posts.
  std::vector<std::array<lossy_side, 2>> sides;  // by connection and host
  request_account accounts[2];                   // by host
  lossy_outcome outcome;

 private:
  const planned_connection& planned(std::size_t c) const { return plan_.connections[c]; }
  lossy_side& of(std::size_t c, unsigned h) { return sides[c][h]; }
  bool reliable(std::size_t c) const { return planned(c).service == layouts::qp_service::rc; }
  bool has_frames(std::size_t c) const { return planned(c).form == lossy_form::frames; }

  static constexpr std::size_t header_bytes = layouts::ethernet_addresses::bytes + 2;
  static std::byte header_byte(unsigned from, std::size_t i) {
    constexpr std::uint16_t local_experiment = 0x88b5;  // IEEE 802, OUI extended EtherType
    const std::uint64_t mac =
        i < 6 ? lossy_addresses::frame_mac_of(1 - from) : lossy_addresses::frame_mac_of(from);
    if (i >= 12) return static_cast<std::byte>(local_experiment >> 8 * (13 - i));
    return static_cast<std::byte>(mac >> 8 * (5 - i % 6));
  }
  /// The message whose frame is at `from`, but for one bit if the cable damages frames. No CRC of
  /// a frame tells, because a switch computes it anew. `slots`: there is none.
  unsigned frame_at(lossy_side& where, std::size_t from, std::size_t bytes, std::size_t c,
                    unsigned sender) {
    const unsigned most = plan_.faults.corruption == 0 ? 0 : 1;
    const auto& messages = planned(c).messages[sender];
    for (unsigned i = 0; i < messages.size(); ++i) {
      if (i >= of(c, sender).posted || messages[i].bytes != bytes) continue;
      unsigned wrong = 0;
      for (std::size_t b = 0; b < bytes && wrong <= most; ++b)
        wrong += static_cast<unsigned>(std::popcount(
            std::to_integer<unsigned>(*where.buffer->at(from + b) ^ content(c, sender, i, b))));
      if (wrong <= most) return i;
    }
    return slots;
  }

  /// Request `i` of host h has ended well. Checks what that promises.
  void ended_well(std::size_t c, unsigned h, unsigned i) {
    lossy_side& s = of(c, h);
    EXPECT_FALSE(s.failed) << "a request behind a failed one ended well";
    EXPECT_TRUE(s.ended_well.insert(i).second);
    ++outcome.ended_well;
    if (!reliable(c)) return;
    const planned_message& m = planned(c).messages[h][i];
    lossy_side& far = of(c, 1 - h);
    switch (m.kind) {
      case message_kind::write:
      case message_kind::write_immediate:
        expect_bytes(far, at(written, i), m.bytes, c, h, i);
        break;
      case message_kind::read:
        expect_bytes(s, at(answer, i), m.bytes, c, 1 - h, i + slots);
        break;
      case message_kind::add: {
        std::uint64_t sum = 0;
        std::memcpy(&sum, s.buffer->at(at(answer, i)), sizeof sum);
        if (s.last_sum) {
          EXPECT_GT(sum, *s.last_sum) << "an atomic was executed out of order";
        }
        EXPECT_LT(sum, adds_posted(c, h)) << "an atomic was executed twice";
        s.last_sum = sum;
        break;
      }
      case message_kind::send:
      case message_kind::send_immediate:
        break;  // judge_memory() looks for the receiver's completion
    }
  }

  void take_receive(std::size_t c, unsigned h, const completion& w, bool at_reset) {
    lossy_side& s = of(c, h);
    const unsigned slot = s.receives.at(w.wr_id);
    s.receives.erase(w.wr_id);
    if (at_reset) accounts[h].hand_over(w.wr_id);
    else accounts[h].complete(w.wr_id);
    if (!w.ok()) {
      EXPECT_EQ(w.status, queues::completion_status::flushed) << queues::name_of(w.status);
      s.flushed = true;
      s.free_slots.insert(slot);
      return;
    }
    const auto& messages = planned(c).messages[1 - h];
    unsigned i = 0;
    if (reliable(c)) {
      // The next message that takes a receive: each arrives once, in order.
      for (i = s.arrived.empty() ? 0 : s.arrived.back() + 1;
           i < messages.size() && !takes_receive(messages[i].kind); ++i)
        continue;
    } else if (has_frames(c)) {
      i = frame_at(s, at(received, slot), w.byte_count, c, 1 - h);
      ASSERT_LT(i, messages.size()) << "a frame of " << w.byte_count << " bytes was never sent";
      expect_allowed(c, s, i);
      s.arrived.push_back(i);
      s.free_slots.insert(slot);
      return;
    } else {
      ASSERT_TRUE(w.has_immediate());
      i = w.immediate();
      expect_allowed(c, s, i);
    }
    ASSERT_LT(i, messages.size()) << "more messages than were sent";
    const planned_message& m = messages[i];
    s.arrived.push_back(i);
    const bool has_immediate =
        m.kind == message_kind::send_immediate || m.kind == message_kind::write_immediate;
    EXPECT_EQ(w.has_immediate(), has_immediate) << "message " << i;
    if (has_immediate) {
      EXPECT_EQ(w.immediate(), i);
    }
    const std::size_t head = s.peer ? grh_bytes : 0;
    EXPECT_EQ(w.byte_count, m.bytes + head) << "message " << i;
    const bool was_written = m.kind == message_kind::write_immediate;
    EXPECT_EQ(w.opcode == queues::work_opcode::receive_rdma_with_immediate, was_written);
    expect_bytes(s, was_written ? at(written, i) : at(received, slot) + head, m.bytes, c, 1 - h, i);
    s.free_slots.insert(slot);
  }
  /// Message `i` of a service without acknowledgements has arrived. Checks that the faults of the
  /// cable explain a message that comes twice or out of order.
  void expect_allowed(std::size_t c, const lossy_side& s, unsigned i) {
    const bool twice = std::count(s.arrived.begin(), s.arrived.end(), i) != 0;
    if (plan_.faults.duplication == 0) {
      EXPECT_FALSE(twice) << "connection " << c << ": message " << i << " arrived twice";
    }
    if (plan_.faults.duplication == 0 && plan_.faults.reordering == 0 && !s.arrived.empty()) {
      EXPECT_GT(i, s.arrived.back()) << "connection " << c << ": messages in another order";
    }
  }

  void expect_bytes(lossy_side& where, std::size_t from, std::size_t bytes, std::size_t c,
                    unsigned sender, unsigned message) {
    for (std::size_t b = 0; b < bytes; ++b)
      if (*where.buffer->at(from + b) != content(c, sender, message, b)) {
        ADD_FAILURE() << "connection " << c << ", message " << message << " of host " << sender
                      << ": byte " << b << " of " << bytes << " is not what was sent";
        return;
      }
  }

  /// Each byte of the area that messages are written to has its first value or that of the message.
  void judge_written(std::size_t c, unsigned h, unsigned i) {
    const planned_message& m = planned(c).messages[h][i];
    const bool writes = i < of(c, h).posted &&
                        (m.kind == message_kind::write || m.kind == message_kind::write_immediate);
    for (std::size_t b = 0; b < slot_bytes; ++b) {
      const std::byte is = *of(c, 1 - h).buffer->at(at(written, i) + b);
      if (is == fill || (writes && b < m.bytes && is == content(c, h, i, b))) continue;
      ADD_FAILURE() << "connection " << c << ": byte " << b << " of area " << i
                    << " was never sent there";
      return;
    }
  }
  unsigned adds_posted(std::size_t c, unsigned h) {
    unsigned n = 0;
    for (unsigned i = 0; i < of(c, h).posted; ++i)
      n += planned(c).messages[h][i].kind == message_kind::add;
    return n;
  }

  const lossy_plan& plan_;
  bool recovering_ = false, finishing_ = false;
};

}  // namespace freehca::testing
