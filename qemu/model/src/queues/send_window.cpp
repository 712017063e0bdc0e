// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/send_window.hpp"

#include <algorithm>
#include <cassert>

#include "basis/adapter_limits.hpp"

namespace freehca::model {

namespace {

constexpr std::uint32_t psn_span_most = 1u << 22;
// The longest message fits alone, with the smallest MTU.
static_assert((std::uint64_t{1} << log_message_bytes) / 256 <= psn_span_most);

// Debug builds check windows of at most this size after each change. The check looks at each
// request.
[[maybe_unused]] constexpr std::size_t checked_most = 16;

bool is_before(std::uint32_t a, std::uint32_t b) {
  return psn_distance(a, b) < 0;
}

std::uint32_t end_of(const send_request& r) {
  return psn_add(r.first_psn, r.psns);
}

}  // namespace

void send_window::begin(std::uint32_t psn, bool reliable, retry_limits most) {
  next_psn_ = unacked_psn_ = sent_psn_ = psn;
  reliable_ = reliable;
  retries_left_ = most.retries;
  rnr_retries_left_ = most.rnr_retries;
}

send_request send_window::take_oldest() {
  send_request r = std::move(requests_.front());
  if (counts_as_awaited(r)) {
    --responses_awaited_;
    response_psns_ -= r.psns - r.responses;
  }
  requests_.pop_front();
  if (cursor_ != 0) --cursor_;
  check();
  return r;
}

void send_window::finish_current() {
  current().done = true;
  ++cursor_;
}

bool send_window::has_room(std::uint32_t psns) const {
  const auto span = static_cast<std::uint32_t>(psn_distance(next_psn_, unacked_psn_));
  return span == 0 || span + psns <= psn_span_most;
}

void send_window::start_current() {
  send_request& r = current();
  r.first_psn = next_psn_;
  next_psn_ = psn_add(next_psn_, r.psns);
  r.started = true;
}

bool send_window::may_send_current(std::uint32_t responses_most) const {
  const send_request& r = requests_[cursor_];
  // Negative when a read is asked again for its rest.
  const std::int32_t unacked = psn_distance(psn_add(r.first_psn, r.next_packet), unacked_psn_);
  if (unacked >= static_cast<std::int32_t>(response_psns_ + packets_ahead_most)) return false;
  return !r.expects_response() || r.next_packet != 0 || responses_awaited_ < responses_most;
}

std::uint32_t send_window::psn_of_current() const {
  const send_request& r = requests_[cursor_];
  return psn_add(r.first_psn, r.next_packet + (r.is_read() ? r.responses : 0));
}

void send_window::packet_sent() {
  send_request& r = current();
  const std::uint32_t rest = r.psns - r.responses;
  const std::uint32_t behind = psn_add(psn_of_current(), r.expects_response() ? rest : 1);
  if (is_before(sent_psn_, behind)) sent_psn_ = behind;
  ++r.next_packet;
  if (!r.expects_response()) return;
  r.asked = true;
  r.asked_from = r.responses;
  ++responses_awaited_;
  response_psns_ += rest;
}

bool send_window::message_sent() {
  send_request& r = current();
  if (r.next_packet < r.packets()) return false;
  r.done = !reliable_;
  ++cursor_;
  check();
  return true;
}

send_window::acknowledgement send_window::acknowledge_before(std::uint32_t psn) {
  acknowledgement found;
  for (send_request& r : requests_) {
    if (!r.started || !is_before(r.first_psn, psn)) break;
    if (r.done || r.is_local()) continue;
    if (r.expects_response()) {
      const std::uint32_t missing = psn_add(r.first_psn, r.responses);
      if (is_before(missing, psn)) found.missing = missing;
      break;
    }
    if (is_before(psn, end_of(r))) break;
    r.done = true;
  }
  if (found.missing || !is_before(unacked_psn_, psn)) return found;
  unacked_psn_ = psn;
  found.progress = true;
  check();
  return found;
}

template <class Matches>
send_request* send_window::awaited(Matches matches) {
  // No request behind one that has not started has started. A queue can hold many of them.
  const auto found = std::find_if(requests_.begin(), requests_.end(),
                                  [&](const send_request& r) { return !r.started || matches(r); });
  return found != requests_.end() && found->started ? &*found : nullptr;
}

send_request* send_window::awaited_read(std::uint32_t psn) {
  return awaited([psn](const send_request& r) {
    return r.is_read() && r.asked && !r.done && psn_add(r.first_psn, r.responses) == psn;
  });
}

send_request* send_window::awaited_atomic(std::uint32_t psn) {
  return awaited([psn](const send_request& r) {
    return r.is_atomic() && r.asked && !r.done && r.first_psn == psn;
  });
}

void send_window::response_came(send_request& r) {
  // The response can be late: the request is about to be sent again, and is not counted until then.
  const bool counted = counts_as_awaited(r);
  ++r.responses;
  r.done = r.responses == r.psns;
  if (counted) {
    --response_psns_;
    if (r.done) --responses_awaited_;
  }
  unacked_psn_ = psn_add(r.first_psn, r.responses);
  check();
}

void send_window::restore_retries(retry_limits most) {
  retry_started_ = false;
  retries_left_ = most.retries;
  rnr_retries_left_ = most.rnr_retries;
}

bool send_window::use_retry() {
  if (retries_left_ == 0) return false;
  --retries_left_;
  return true;
}

bool send_window::use_rnr_retry() {
  if (rnr_retries_left_ == 0) return false;
  if (rnr_retries_left_ != endless_rnr_retries) --rnr_retries_left_;
  return true;
}

void send_window::rewind(std::uint32_t psn) {
  responses_awaited_ = 0;
  response_psns_ = 0;
  std::size_t first = requests_.size();
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    send_request& r = requests_[i];
    if (r.done) continue;
    if (!r.started || r.is_local()) {
      first = std::min(first, i);
      break;
    }
    if (!is_before(psn, end_of(r))) {  // sent, and not to be sent again
      if (counts_as_awaited(r)) {
        ++responses_awaited_;
        response_psns_ += r.psns - r.responses;
      }
      continue;
    }
    const std::int32_t into = psn_distance(psn, r.first_psn);
    r.next_packet = r.expects_response() || into < 0 ? 0 : static_cast<std::uint32_t>(into);
    first = std::min(first, i);
  }
  cursor_ = first;
  check();
}

void send_window::fail_oldest(failure why, rule_book& rules) {
  const auto found = std::find_if(requests_.begin(), requests_.end(),
                                  [](const send_request& r) { return !r.done; });
  if (found != requests_.end()) found->blame(why, rules);
}

void send_window::stop() {
  cursor_ = 0;
  if (responses_awaited_ == 0) return;
  responses_awaited_ = 0;
  response_psns_ = 0;
  for (send_request& r : requests_) {
    if (!r.started && !r.done) break;
    if (r.expects_response()) r.next_packet = 0;
  }
}

void send_window::forget_done() {
  for (send_request& r : requests_) {
    if (!r.started && !r.done) break;
    r.done = false;
    if (r.expects_response()) r.next_packet = 0;
  }
}

const char* send_window::broken_invariant() const {
  if (cursor_ > requests_.size()) return "the current request is one of the queue, or none";
  if (reliable_ && is_before(sent_psn_, unacked_psn_))
    return "no packet is acknowledged that was not sent";
  if (reliable_ && is_before(next_psn_, sent_psn_)) return "no packet is sent without a number";
  unsigned awaited = 0;
  std::uint32_t psns = 0;
  const send_request* before = nullptr;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const send_request& r = requests_[i];
    if (i < cursor_ && !r.started && !r.done)
      return "each request before the current one was sent, or is done";
    if (r.done && r.started && reliable_ && is_before(sent_psn_, end_of(r)))
      return "no request is done before all its packets were sent";
    if (r.started && before != nullptr && r.first_psn != end_of(*before))
      return "the numbers of a message follow those of the message before it";
    if (r.started) before = &r;
    if (!counts_as_awaited(r)) continue;
    ++awaited;
    psns += r.psns - r.responses;
  }
  if (awaited != responses_awaited_ || psns != response_psns_)
    return "the responses that are awaited are those of requests that were sent";
  return nullptr;
}

const char* send_window::broken_order() const {
  if (next_psn_ > psn_mask || unacked_psn_ > psn_mask || sent_psn_ > psn_mask)
    return "sequence numbers have 24 bits";
  if (!reliable_ && responses_awaited_ != 0) return "only reliable queue pairs have responses";
  bool some_wait = false, some_undone = false;
  const send_request* last = nullptr;
  for (const send_request& r : requests_) {
    if (r.first_psn > psn_mask) return "sequence numbers have 24 bits";
    if (r.psns == 0 || r.responses > r.psns) return "a message has a packet, and its responses";
    if (r.started && r.is_local()) return "a request without packets has no numbers";
    const bool begun = r.started || r.done;
    if (begun && some_wait) return "no request is sent before the one before it";
    if (r.done && some_undone) return "no request is done before the one before it";
    if (!begun && (r.next_packet != 0 || r.responses != 0 || r.asked))
      return "a request has its numbers before its first packet is sent";
    some_wait = some_wait || !begun;
    some_undone = some_undone || !r.done;
    if (r.started) last = &r;
  }
  if (last != nullptr && end_of(*last) != next_psn_)
    return "the next number follows those of the last message";
  return nullptr;
}

const char* send_window::broken_progress() const {
  const std::int32_t span = psn_distance(next_psn_, unacked_psn_);
  if (span < 0 || span > static_cast<std::int32_t>(psn_span_most))
    return "half of the circle of numbers stays unused";
  std::uint64_t psns = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const send_request& r = requests_[i];
    if (!r.started) continue;
    // The oldest message may be acknowledged but for its last packet. As many numbers follow it.
    psns += r.psns;
    if (psns >= 2 * psn_span_most) return "half of the circle of numbers stays unused";
    if (r.asked && is_before(sent_psn_, end_of(r))) return "what was asked for was sent";
    if (r.done) continue;
    if (!is_before(unacked_psn_, end_of(r))) return "a message that is acknowledged is done";
    if (r.expects_response() && r.responses == r.psns) return "a request that is answered is done";
    if (i >= cursor_ && r.next_packet >= r.packets())
      return "a request that has its turn has a packet to send";
  }
  return nullptr;
}

void send_window::check() const {
  assert(requests_.size() > checked_most || broken_invariant() == nullptr);
}

}  // namespace freehca::model
