// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/ethernet_cable.hpp"

#include <string>
#include <utility>

#include "link/packet_receiver.hpp"

namespace freehca::model {

namespace {

// How long a frame that is to be overtaken waits for the one that does it. no source: chosen
constexpr std::uint64_t held_back_ns = 100'000;

}  // namespace

ethernet_cable::ethernet_cable(adapter& a, ethernet_counters& counters, unsigned number)
    : a_(a), counters_(counters), number_(number) {
  faults_.count_in(a.counters, "port" + std::to_string(number));
  a.kept.add_traffic(1, [this] { return waiting_bytes_; });
}

void ethernet_cable::send(std::vector<std::byte> bytes) {
  const link_fault_source::fate what = faults_.decide(bytes, held_back_.empty());
  if (what.lost) return;
  if (what.held_back) {
    held_back_ = std::move(bytes);
    release_ = a_.work.after(held_back_ns, [this] { release_held_back(); });
    return;
  }
  if (what.twice) queue(bytes);
  queue(std::move(bytes));
  release_held_back();
}

void ethernet_cable::release_held_back() {
  a_.work.cancel(release_);
  if (!held_back_.empty()) queue(std::exchange(held_back_, {}));
}

void ethernet_cable::queue(std::vector<std::byte> bytes) {
  if (waiting_.empty() && put(bytes)) return;
  // As many bytes as packets of InfiniBand may take that wait for a cable.
  if (waiting_bytes_ + bytes.size() > a_.kept.waiting * a_.kept.packet_bytes)
    return counters_.not_sent();
  waiting_bytes_ += bytes.size();
  waiting_.push_back(std::move(bytes));
}

bool ethernet_cable::put(std::span<const std::byte> bytes) {
  full_ = full_ || !a_.surroundings.link_send(number_, bytes.data(), bytes.size());
  return !full_;
}

void ethernet_cable::has_room() {
  full_ = false;
  send_waiting();
}

void ethernet_cable::send_waiting() {
  while (!waiting_.empty()) {
    if (a_.account.slice_over()) {
      a_.work.soon(number_, [this] { send_waiting(); });
      return;
    }
    a_.account.charge(work_account::packet);
    if (!put(waiting_.front())) return;
    waiting_bytes_ -= waiting_.front().size();
    waiting_.pop_front();
  }
  a_.above_ports->port_has_room(number_);
}

void ethernet_cable::begin_anew() {
  a_.work.cancel(release_);
  held_back_.clear();
  // There may be room again that nobody has heard of: an adapter that has failed hears nothing.
  full_ = false;
  waiting_bytes_ = 0;
  a_.work.discard(waiting_);
  a_.above_ports->port_has_room(number_);
}

}  // namespace freehca::model
