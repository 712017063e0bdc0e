// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/ethernet_cable.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "link/packet_receiver.hpp"

namespace freehca::model {

namespace {

// How long a frame that is to be overtaken waits for the one that does it. no source: chosen
constexpr std::uint64_t held_back_ns = 100'000;

// Of a class that has a share: with less in its queue there would be nothing to choose from when
// the cable takes frames again. No source: chosen.
constexpr std::uint64_t queue_bytes_most = 65536;

}  // namespace

ethernet_cable::ethernet_cable(adapter& a, ethernet_counters& counters,
                               const ethernet_settings& told, unsigned number)
    : a_(a),
      work_(a.work, "Ethernet cable of port " + std::to_string(number), *this),
      counters_(counters),
      told_(told),
      number_(number),
      waiting_(told.classes) {
  const std::string port = "port" + std::to_string(number);
  faults_.count_in(a.counters, port);
  a.counters.add(port + "_frames_held_to_rate", held_to_rate_);
  a.kept.add_traffic(1, [this] { return waiting_.waiting_bytes(); });
}

/// As many bytes as packets of InfiniBand may take that wait for a cable.
std::uint64_t ethernet_cable::waiting_most() const {
  return a_.kept.waiting * a_.kept.packet_bytes;
}

std::uint64_t ethernet_cable::queue_bytes() const {
  return std::min(queue_bytes_most, waiting_most() / (2 * traffic_classes::count));
}

bool ethernet_cable::full(unsigned traffic_class) const {
  const std::uint64_t bytes = waiting_.waiting_bytes(traffic_class);
  return told_.has_shares ? bytes >= queue_bytes() : bytes != 0;
}

void ethernet_cable::send(std::vector<std::byte> bytes, unsigned traffic_class) {
  const link_fault_source::fate what = faults_.decide(bytes, held_back_.empty());
  if (what.lost) return;
  if (what.held_back) {
    held_back_ = std::move(bytes);
    held_back_class_ = traffic_class;
    release_ = work_.after(held_back_ns, {.kind = release});
    return;
  }
  if (what.twice) queue(bytes, traffic_class);
  queue(std::move(bytes), traffic_class);
  release_held_back();
}

void ethernet_cable::release_held_back() {
  a_.work.cancel(release_);
  if (!held_back_.empty()) queue(std::exchange(held_back_, {}), held_back_class_);
}

void ethernet_cable::queue(std::vector<std::byte> bytes, unsigned traffic_class) {
  const std::uint64_t now = a_.work.now();
  if (!full_ && waiting_.may_pass(traffic_class, now) && put(bytes))
    return waiting_.passed(traffic_class, bytes.size(), now);
  if (waiting_.waiting_bytes() + bytes.size() > waiting_most()) return counters_.not_sent();
  if (waiting_.spent(traffic_class, now)) ++held_to_rate_;
  waiting_.push(traffic_class, std::move(bytes));
  if (!go_on_) wait_for_rate();
}

bool ethernet_cable::put(std::span<const std::byte> bytes) {
  full_ = full_ || !a_.surroundings.link_send(number_, bytes.data(), bytes.size());
  return !full_;
}

void ethernet_cable::has_room() {
  full_ = false;
  send_waiting();
}

void ethernet_cable::wait_for_rate() {
  const std::uint64_t now = a_.work.now();
  a_.work.cancel(rate_);
  if (full_ || waiting_.empty()) return;
  rate_ = work_.after(std::max(waiting_.due(), now) - now, {.kind = rate_allows});
}

void ethernet_cable::run_item(work_item& what) {
  if (what.kind == release) return release_held_back();
  if (what.kind == go_on) go_on_ = {};
  send_waiting();
}

/// Behind the cable there may be room for many frames at once, more than wait here. Who sends has
/// his turn before a class that he fills runs dry, or the others would have its share.
void ethernet_cable::send_waiting() {
  a_.work.cancel(go_on_);
  bool room = waiting_.empty(), goes_on = false;
  const std::uint64_t half = queue_bytes() / 2;
  while (const auto traffic_class = full_ ? std::nullopt : waiting_.next(a_.work.now())) {
    if (a_.account.slice_over()) {
      goes_on = true;
      break;
    }
    a_.account.charge(work_account::packet);
    if (!put(waiting_.front(*traffic_class))) break;
    const bool was_full = full(*traffic_class);
    waiting_.pop(*traffic_class, a_.work.now());
    room = room || (was_full && !full(*traffic_class));
    if (told_.has_shares && waiting_.waiting_bytes(*traffic_class) < half) {
      goes_on = true;
      break;
    }
  }
  if (room) a_.above_ports->port_has_room(number_);
  if (goes_on) {
    a_.work.cancel(rate_);
    go_on_ = work_.soon(number_, {.kind = go_on});
  } else {
    wait_for_rate();
  }
}

const char* ethernet_cable::broken_invariant() const {
  if (held_back_class_ >= traffic_classes::count) return "there is no such traffic class";
  return held_back_.empty() || is_frame_length(held_back_.size())
             ? nullptr
             : "no frame of that length is held back";
}

void ethernet_cable::classes_told() {
  waiting_.told_anew();
  if (!go_on_) wait_for_rate();
  // Whoever waited for room did so by what was told before, and would not hear of it by this.
  a_.above_ports->port_has_room(number_);
}

void ethernet_cable::begin_anew() {
  a_.work.cancel(release_);
  a_.work.cancel(rate_);
  a_.work.cancel(go_on_);
  held_back_.clear();
  // There may be room again that nobody has heard of: an adapter that has failed hears nothing.
  full_ = false;
  waiting_.clear(a_.work);
  a_.above_ports->port_has_room(number_);
}

}  // namespace freehca::model
