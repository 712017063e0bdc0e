// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/in_program/adapter.hpp>

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <freehca/layouts/headers.hpp>
#include <freehca/packets/link_packets.hpp>
#include <freehca/process_memory/guarded_copy.hpp>

#include "machine_time.hpp"

namespace freehca::in_program {

using process_memory::guarded_copy;
using process_memory::install_guard;

namespace {

constexpr unsigned port = 1;
/// The most packets and timers of one call.
constexpr unsigned most_packets = 32, most_timers = 64;

}  // namespace

adapter* adapter::present_ = nullptr;

adapter::adapter(const adapter_options& options)
    : how_(options),
      configuration_(options.model.kind, options.model.ports),
      bar_bytes_{model::device::register_bar_bytes,
                 static_cast<std::size_t>(options.model.uar_bar_bytes)},
      device_(*this, options.model) {
  configuration_.configure_as_firmware_does();
  for (unsigned i = 0; i < 2; ++i) {
    void* const made =
        mmap(nullptr, bar_bytes_[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) throw std::runtime_error("no addresses are left for registers");
    bars_[i] = static_cast<std::byte*>(made);
  }
  install_guard();
  present_ = this;
}

adapter::~adapter() {
  stop_helper();
  if (present_ == this) present_ = nullptr;
  for (unsigned i = 0; i < 2; ++i) munmap(bars_[i], bar_bytes_[i]);
}

bool adapter::find(const std::byte* at, unsigned& bar, std::size_t& offset) const {
  for (unsigned i = 0; i < 2; ++i) {
    if (at < bars_[i] || at >= bars_[i] + bar_bytes_[i]) continue;
    bar = 2 * i;
    offset = static_cast<std::size_t>(at - bars_[i]);
    return true;
  }
  return false;
}

std::uint32_t adapter::mmio_read_32(unsigned bar, std::size_t offset) {
  const std::lock_guard held(running_);
  refresh_clock(machine_time());
  return static_cast<std::uint32_t>(bar == 0 ? device_.read_registers(offset, 4)
                                             : device_.read_uar(offset, 4));
}

void adapter::mmio_write(unsigned bar, std::size_t offset, std::uint64_t value, unsigned bytes) {
  {
    const std::lock_guard held(running_);
    const std::uint64_t machine_now = machine_time();
    refresh_clock(machine_now);
    if (bar == 0) {
      device_.write_registers(offset, value, bytes);
    } else {
      device_.write_uar(offset, value, bytes);
      // Run the work that the doorbell caused.
      if (real_time_) run_due(machine_now);
      last_doorbell_.store(machine_now, std::memory_order_relaxed);
    }
  }
  wake_helper_for_timer();
}

// ---- What surrounds the model

bool adapter::dma_read(std::uint64_t address, void* to, std::size_t bytes) {
  return guarded_copy(to, reinterpret_cast<const void*>(address), bytes);
}

bool adapter::dma_write(std::uint64_t address, const void* from, std::size_t bytes) {
  return guarded_copy(reinterpret_cast<void*>(address), from, bytes);
}

void adapter::msix(unsigned vector) {
  if (notify_ != nullptr && vector < vectors_) notify_(notify_context_, vector);
  interrupted_.store(true, std::memory_order_release);
}

void adapter::wipe_configuration_space() {
  configuration_.wipe();
  configuration_.configure_as_firmware_does();
}

bool adapter::link_send(unsigned, const std::byte* from, std::size_t bytes) {
  using layouts::link_packet;
  using layouts::link_packet_op;
  if (const auto packet = packets::link_packet_of({from, bytes})) {
    // The switch port trains when the adapter does, and has the credits that the adapter has.
    layouts::image<link_packet> answer = *packet;
    if (answer.get<&link_packet::op>() == link_packet_op::training_1) {
      answer.set<&link_packet::op>(link_packet_op::training_2);
      packets::seal(answer);
    }
    answers_.emplace_back(answer.data(), answer.data() + link_packet::bytes);
    idle_.store(false, std::memory_order_relaxed);
    return true;
  }
  if (how_.link == nullptr) return true;
  blocked_ = !how_.link->send(from, bytes);
  if (blocked_) idle_.store(false, std::memory_order_relaxed);
  return !blocked_;
}

// ---- Running it

void adapter::refresh_clock(std::uint64_t machine_now) {
  if (!real_time_) return;
  // A thread that waited for the lock may be late with its reading.
  const std::uint64_t machine = std::max(machine_now, refreshed_at_);
  if (backlog_) lag_.fetch_add(machine - refreshed_at_, std::memory_order_relaxed);
  refreshed_at_ = machine;
  now_ = std::max(now_, machine + offset_ - lag_.load(std::memory_order_relaxed));
}

/// A peer that takes no packets for longer than this is not only slow.
constexpr std::uint64_t longest_block = 1'000'000'000;

void adapter::note_backlog() {
  if (how_.link == nullptr) return;
  if (!blocked_) blocked_since_ = refreshed_at_;
  backlog_ = how_.link->pending() || (blocked_ && refreshed_at_ - blocked_since_ < longest_block);
  idle_.store(!backlog_ && !blocked_ && answers_.empty(), std::memory_order_relaxed);
}

bool adapter::has_work(std::uint64_t machine_now) const {
  if (!idle_.load(std::memory_order_relaxed) || how_.link->pending()) return true;
  const std::uint64_t now = machine_now + offset_ - lag_.load(std::memory_order_relaxed);
  return timer_.load(std::memory_order_relaxed) <= now;
}

std::uint64_t adapter::time() {
  if (real_time_) return machine_time() + offset_;
  return now_;
}

void adapter::skip_to(std::uint64_t deadline) {
  now_ = std::max(now_, std::min(deadline, timer_.load(std::memory_order_relaxed)));
}

void adapter::run_in_real_time() {
  const std::lock_guard held(running_);
  refreshed_at_ = machine_time();
  offset_ = now_ - refreshed_at_;
  real_time_ = true;
}

void adapter::leave_link() {
  const std::lock_guard held(running_);
  idle_.store(false, std::memory_order_relaxed);
  how_.link = nullptr;
}

bool adapter::receive_packets() {
  bool any = false;
  for (unsigned i = 0; i < most_packets && device_.link_may_receive(); ++i) {
    const std::span<const std::byte> packet = how_.link->receive();
    if (packet.empty()) break;
    device_.link_receive(port, packet.data(), packet.size());
    how_.link->release();
    any = true;
  }
  return any;
}

bool adapter::run_due(std::uint64_t machine_now) {
  bool any = false;
  refresh_clock(machine_now);
  if (!answers_.empty()) {
    for (const auto& answer : std::exchange(answers_, {}))
      device_.link_receive(port, answer.data(), answer.size());
    any = true;
  }
  if (how_.link != nullptr) {
    if (blocked_ && how_.link->has_room_again()) {
      blocked_ = false;
      device_.link_has_room(port);
      any = true;
    }
    any |= receive_packets();
  }
  for (unsigned i = 0; i < most_timers && timer_.load(std::memory_order_relaxed) <= now_; ++i) {
    timer_.store(never, std::memory_order_relaxed);
    device_.on_timer();
    any = true;
  }
  note_backlog();
  return any;
}

bool adapter::work() {
  return work_at(machine_time());
}

bool adapter::work_at(std::uint64_t machine_now) {
  bool any = false;
  {
    const std::unique_lock held(running_, std::try_to_lock);
    if (!held.owns_lock()) return false;
    any = run_due(machine_now);
  }
  wake_helper_for_timer();
  return any;
}

bool adapter::work_while_polling() {
  const std::uint64_t machine_now = machine_time();
  last_poll_.store(machine_now, std::memory_order_relaxed);
  return has_work(machine_now) && work_at(machine_now);
}

void adapter::polls_after_doorbell() {
  last_poll_.store(last_doorbell_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace freehca::in_program
