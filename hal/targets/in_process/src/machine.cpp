// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/in_process/machine.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <freehca/hal/clock.hpp>
#include <freehca/in_process/gate.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/process_memory/guarded_copy.hpp>

#include "routed.hpp"
#include "time_steps.hpp"

namespace freehca::in_process {

namespace {

// Reserves addresses that nothing else uses. An access that bypasses the accessors traps.
std::byte* reserve(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("no address space for a BAR");
  return static_cast<std::byte*>(p);
}

// No structure and no packet is longer than a page. A longer write fills lent memory.
constexpr std::size_t longest_but_fills = 4096;

machine_options adjusted(machine_options options) {
  if (machine::adjust_options != nullptr) machine::adjust_options(options);
  return options;
}

}  // namespace

void (*machine::adjust_options)(machine_options& options) = nullptr;

machine::machine(const machine_options& options)
    : how_(adjusted(options)),
      cache_(how_.incoherent ? std::make_unique<processor_cache>() : nullptr),
      memory_(how_.seed),
      configuration_(how_.model.kind, how_.model.ports),
      bar_bytes_{model::device::register_bar_bytes, how_.model.uar_bar_bytes},
      clock_(how_.clock != nullptr ? *how_.clock : own_clock_),
      adapter_(*this, how_.model) {
  for (unsigned i = 0; i < 2; ++i) {
    bars_[i] = reserve(bar_bytes_[i]);
    route(bars_[i], bar_bytes_[i], *this, i * 2);
  }
}

machine::~machine() {
  unroute(*this);
  for (unsigned i = 0; i < 2; ++i) munmap(bars_[i], bar_bytes_[i]);
}

void machine::plug_in() {
  removed_ = false;
  adapter_.reset();
  configuration_.wipe();
  configuration_.configure_as_firmware_does();
}

std::uint64_t machine::due() const {
  if (line_fires()) return time();
  return arrivals_.empty() ? timer_ : std::min(timer_, arrivals_.front().time);
}

bool machine::run_due() {
  bool worked = false;
  for (; due() <= time(); worked = true) {
    if (line_fires()) {
      raise_line();
      continue;
    }
    if (timer_ <= time()) {
      timer_ = model::environment::never;
      adapter_.on_timer();
      continue;
    }
    const arrival a = std::move(arrivals_.front());
    arrivals_.pop_front();
    if (!removed_) adapter_.link_receive(a.port, a.bytes.data(), a.bytes.size());
  }
  return worked;
}

bool machine::work() {
  const bool worked = run_due();
  return std::exchange(writes_seen_, writes_) != writes_ || worked;
}

void machine::deliver(unsigned port, std::uint64_t when, const std::byte* from, std::size_t bytes) {
  arrivals_.push_back({port, when, {from, from + bytes}});
}

void machine::step(std::uint64_t deadline) {
  const gate alone;
  // The driver looks at this work before more time passes.
  if (work()) return clock_.move_to(time() + glance);
  clock_.move_to(next_instant(time(), deadline, due()));
  run_due();
}

void machine::advance(std::uint64_t nanoseconds) {
  const gate alone;
  const std::uint64_t until = clock::after(time(), nanoseconds);
  while (due() <= until) {
    clock_.move_to(due());
    run_due();
  }
  clock_.move_to(until);
}

bool machine::run(const std::function<bool()>& done, const std::function<std::uint64_t()>& poll,
                  std::uint64_t limit_ns) {
  const std::uint64_t until = clock::after(time(), limit_ns);
  for (;;) {
    const std::uint64_t deadline = poll();
    if (done()) return true;
    if (time() >= until) return false;
    step(std::min(deadline, until));
  }
}

std::uint64_t machine::counter(const std::string& name) const {
  model::counter c{};
  for (std::size_t i = 0; adapter_.counter_at(i, c); ++i)
    if (name == c.name) return c.value;
  return 0;
}

std::uint32_t machine::mmio_read_32(unsigned bar, std::size_t offset) {
  if (!reachable()) return ~std::uint32_t{0};
  const std::uint64_t v =
      bar == 0 ? adapter_.read_registers(offset, 4) : adapter_.read_uar(offset, 4);
  const auto value = static_cast<std::uint32_t>(v);
  return alter_register_read ? alter_register_read(bar, offset, value) : value;
}

void machine::mmio_write(unsigned bar, std::size_t offset, std::uint64_t value, unsigned bytes) {
  if (cache_ != nullptr) cache_->on_register_write();
  if (!reachable()) return;
  if (bar == 0 && offset == layouts::bar0::hcr_status) clock_.move_to(time() + how_.post_ns);
  if (bar == 0) adapter_.write_registers(offset, value, bytes);
  else adapter_.write_uar(offset, value, bytes);
  if (line_fires()) raise_line();
}

bool machine::dma_read(std::uint64_t address, void* to, std::size_t bytes) {
  const host_memory_map::found from = memory_.look_up(address, bytes);
  if (from.at == nullptr) return false;
  if (cache_ != nullptr) cache_->read(to, from.at, bytes);
  else if (!from.of_program) std::memcpy(to, from.at, bytes);
  else if (!process_memory::guarded_copy(to, from.at, bytes)) return false;
  ++reads_;
  return true;
}

bool machine::dma_write(std::uint64_t address, const void* from, std::size_t bytes) {
  const host_memory_map::found place = memory_.look_up(address, bytes);
  std::byte* const to = place.at;
  if (to == nullptr || !place.write) return false;
  if (!how_.takes_fills && bytes > longest_but_fills) return true;
  if (on_adapter_write) on_adapter_write(address, bytes);
  if (cache_ != nullptr) cache_->write(to, from, bytes);
  else if (!place.of_program) std::memcpy(to, from, bytes);
  else if (!process_memory::guarded_copy(to, from, bytes)) return false;
  if (alter_adapter_write) alter_adapter_write(address, to, bytes);
  ++writes_;
  return true;
}

void machine::msix(unsigned vector) {
  ++messages_;
  if (notify_ != nullptr && vector < vectors_ && !how_.loses_interrupts)
    notify_(notify_context_, vector);
}

void machine::intx(bool asserted) {
  line_.asserted = asserted && !removed_;
  if (!line_.asserted) line_.masked = line_.in_notify;
}

// Not called inside the adapter, because `notify` writes to it.
void machine::raise_line() {
  ++line_.raised;
  line_.masked = line_.in_notify = true;
  notify_(notify_context_, 0);
  line_.in_notify = false;
  line_.masked = line_.asserted;
  line_.not_cleared += line_.asserted ? 1 : 0;
}

void machine::wipe_configuration_space() {
  configuration_.wipe();
  unreachable_until_ = time() + how_.reset_takes;
}

}  // namespace freehca::in_process
