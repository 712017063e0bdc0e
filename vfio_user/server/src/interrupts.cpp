// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "interrupts.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fmt/format.h>

namespace freehca::device_server {

using vfio_user::descriptor;
using vfio_user::irq_set;
using namespace vfio_user;

namespace {

constexpr std::uint32_t data_bits = irq_set_none | irq_set_bool | irq_set_eventfd;
constexpr std::uint32_t action_bits = irq_set_mask | irq_set_unmask | irq_set_trigger;
constexpr unsigned entry_bytes = 16, vector_control_at = 12;

constexpr bool one_bit(std::uint32_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

// Only eventfds are accepted: a write to another kind of file might block for ever.
bool is_eventfd(const descriptor& file) {
  std::array<char, 64> name;
  const ssize_t n =
      readlink(fmt::format("/proc/self/fd/{}", file.get()).c_str(), name.data(), name.size());
  return n >= 0 &&
         std::string_view(name.data(), static_cast<std::size_t>(n)) == "anon_inode:[eventfd]";
}

// The write fails if the eventfd's counter is full. Then the eventfd is signalled already.
void signal_event(const descriptor& file) {
  if (!file.open()) return;
  pollfd one{file.get(), POLLOUT, 0};
  if (poll(&one, 1, 0) != 1 || (one.revents & POLLOUT) == 0) return;
  const std::uint64_t count = 1;
  static_cast<void>(!write(file.get(), &count, sizeof count));
}

int check(const irq_set& what, unsigned there, std::size_t selection_bytes,
          const std::vector<descriptor>& files) {
  if ((what.flags & ~(data_bits | action_bits)) != 0 || !one_bit(what.flags & data_bits) ||
      !one_bit(what.flags & action_bits))
    return EINVAL;
  if (there == 0 || what.start > there || what.count > there - what.start) return EINVAL;
  const bool all = what.flags == (irq_set_none | irq_set_trigger) && what.start == 0;
  if (what.count == 0 && !all) return EINVAL;
  if (selection_bytes != ((what.flags & irq_set_bool) != 0 ? what.count : 0)) return EINVAL;
  if ((what.flags & irq_set_eventfd) == 0) return files.empty() ? 0 : EINVAL;
  if (!files.empty() && files.size() != what.count) return EINVAL;
  return std::all_of(files.begin(), files.end(), is_eventfd) ? 0 : EINVAL;
}

}  // namespace

std::array<std::uint8_t, msix_table_bytes> interrupts::masked_table() {
  std::array<std::uint8_t, msix_table_bytes> table{};
  for (unsigned i = 0; i < msix_vectors; ++i) table[i * entry_bytes + vector_control_at] = 1;
  return table;
}

unsigned interrupts::count_of(std::uint32_t index) const {
  if (index == msix_irq) return space_.has_msix() ? msix_vectors : 0;
  return index == intx_irq || index == error_irq ? 1 : 0;
}

bool interrupts::describe(irq_info& info) const {
  if (info.index >= pci_irqs) return false;
  info.argsz = sizeof info;
  info.count = count_of(info.index);
  info.flags = info.count == 0 ? 0 : irq_eventfd;
  if (info.index == intx_irq) info.flags |= irq_maskable | irq_automasked;
  if (info.index == msix_irq && info.count != 0) info.flags |= irq_maskable;
  return true;
}

int interrupts::set(const irq_set& what, std::span<const std::byte> selection,
                    std::vector<descriptor> files) {
  const int why = check(what, count_of(what.index), selection.size(), files);
  if (why != 0) return why;
  if (what.index == msix_irq) return set_vectors(what, selection, files);
  if (what.index == error_irq) return set_error(what, files);
  return set_pin(what, selection.empty() || selection[0] != std::byte{0}, files);
}

int interrupts::set_error(const irq_set& what, std::vector<descriptor>& files) {
  if ((what.flags & irq_set_trigger) == 0) return ENOTSUP;
  if ((what.flags & irq_set_eventfd) != 0)
    error_ = files.empty() ? descriptor() : std::move(files[0]);
  else if (what.count == 0) error_.close();
  else signal_event(error_);
  return 0;
}

int interrupts::set_pin(const irq_set& what, bool chosen, std::vector<descriptor>& files) {
  descriptor file = files.empty() ? descriptor() : std::move(files[0]);
  if ((what.flags & irq_set_eventfd) != 0) {
    if ((what.flags & irq_set_mask) != 0) return ENOTSUP;
    if ((what.flags & irq_set_unmask) != 0) {
      unmask_ = std::move(file);
      return 0;
    }
    pin_.trigger = std::move(file);
    pin_.masked = false;
    tell_pin();
    return 0;
  }
  if (what.count == 0) {
    pin_.trigger.close();
    unmask_.close();
    pin_.masked = false;
  } else if (chosen) {
    if ((what.flags & irq_set_trigger) != 0) {
      signal_event(pin_.trigger);
    } else {
      pin_.masked = (what.flags & irq_set_mask) != 0;
      tell_pin();
    }
  }
  return 0;
}

int interrupts::set_vectors(const irq_set& what, std::span<const std::byte> selection,
                            std::vector<descriptor>& files) {
  const bool trigger = (what.flags & irq_set_trigger) != 0;
  const bool by_file = (what.flags & irq_set_eventfd) != 0;
  if (by_file && !trigger) return ENOTSUP;
  if (what.count == 0) {
    disable_vectors();
    return 0;
  }
  // Enable the capability with the first eventfd, as the kernel does.
  if (by_file && !files.empty()) space_.enable_msix(true);
  for (std::uint32_t i = 0; i < what.count; ++i) {
    const unsigned vector = what.start + i;
    if (!selection.empty() && selection[i] == std::byte{0}) continue;
    if (by_file) {
      vectors_[vector] = files.empty() ? descriptor() : std::move(files[i]);
    } else if (trigger) {
      signal_event(vectors_[vector]);
      continue;
    } else {
      masked_[vector] = (what.flags & irq_set_mask) != 0;
    }
    tell_vector(vector);
  }
  return 0;
}

void interrupts::disable_vectors() {
  for (descriptor& one : vectors_) one.close();
  masked_.reset();
  pending_.reset();
  space_.enable_msix(false);
  tell_pin();
}

void interrupts::forget() {
  disable_vectors();
  pin_.trigger.close();
  unmask_.close();
  error_.close();
  pin_.masked = false;
}

void interrupts::msix(unsigned vector) {
  if (vector >= msix_vectors || !space_.msix_enabled()) return;
  pending_[vector] = true;
  tell_vector(vector);
}

void interrupts::tell_vector(unsigned vector) {
  if (!pending_[vector] || masked_[vector] || !vectors_[vector].open() || space_.msix_masked() ||
      !space_.msix_enabled())
    return;
  pending_[vector] = false;
  signal_event(vectors_[vector]);
}

void interrupts::intx(bool asserted) {
  pin_.asserted = asserted;
  tell_pin();
}

void interrupts::tell_pin() {
  const bool asserted = pin_.asserted && !space_.msix_enabled();
  space_.show_intx(asserted);
  if (!asserted || pin_.masked || !pin_.trigger.open() || space_.intx_disabled()) return;
  pin_.masked = true;
  signal_event(pin_.trigger);
}

void interrupts::registers_changed() {
  tell_pin();
  for (unsigned i = 0; i < msix_vectors; ++i) tell_vector(i);
}

void interrupts::reset() {
  pending_.reset();
  table_ = masked_table();
}

void interrupts::unmask_signalled() {
  std::uint64_t count;
  pollfd one{unmask_.get(), POLLIN, 0};
  if (poll(&one, 1, 0) != 1 || read(unmask_.get(), &count, sizeof count) != sizeof count) return;
  pin_.masked = false;
  tell_pin();
}

std::uint8_t interrupts::pending_byte(unsigned at) const {
  unsigned value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= pending_[at * 8 + i] ? 1u << i : 0;
  return static_cast<std::uint8_t>(value);
}

}  // namespace freehca::device_server
