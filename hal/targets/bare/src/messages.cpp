// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// MSI-X. PCI Local Bus Specification 3.0, section 6.8.2.
#include <freehca/bare/port.hpp>

#include <atomic>

#include <freehca/bare/image.hpp>

namespace freehca::bare {

namespace {

constexpr unsigned msix = 0x11;
constexpr std::uint32_t enable = 1u << 31, all_masked = 1u << 30;
constexpr unsigned table_offset = 4;
constexpr unsigned entry_bytes = 16;
constexpr unsigned address = 0, address_above = 4, data = 8, control = 12;
constexpr std::uint32_t masked = 1;

/// Little-endian, as configuration space is, and unlike the adapter's registers beside it.
void store(std::byte* at, std::uint32_t value) {
  *static_cast<volatile std::uint32_t*>(static_cast<void*>(at)) = value;
}
std::uint32_t load(const std::byte* at) {
  const std::uint32_t value =
      *static_cast<const volatile std::uint32_t*>(static_cast<const void*>(at));
  end_loads();
  return value;
}

}  // namespace

void port::find_messages() {
  messages_at_ = function_.space.capability(msix);
  if (messages_at_ == 0) return;
  const std::uint32_t where = function_.space.read(messages_at_ + table_offset);
  const unsigned bar = where & 7;
  table_messages_ = (function_.space.read(messages_at_) >> 16 & 0x7ff) + 1;
  const std::uint64_t offset = where & ~7u;
  if (bar >= function_.most_bars || function_.bars[bar].bytes == 0 ||
      offset + table_messages_ * entry_bytes > function_.bars[bar].bytes) {
    messages_at_ = 0;
    return;
  }
  std::byte* const at =
      machine::map(function_.bars[bar].address, static_cast<std::size_t>(function_.bars[bar].bytes),
                   caching::device);
  if (at == nullptr) messages_at_ = 0;
  else message_table_ = at + offset;
}

status port::arm_interrupts(void* context, unsigned count, void (*notify)(void*, unsigned) noexcept,
                            void* notify_context) {
  port& p = of(context);
  if (p.messages_at_ == 0 || count > p.table_messages_ || count > most_messages)
    return driver_error::unsupported;
  const bool astray = asked_for("x-fault-message");
  for (unsigned i = 0; i < count; ++i) {
    const result<message> m = machine::message_for(i, p.function_.requester());
    if (!m.ok()) return m.error();
    p.messages_[i] = m.value();
    // For a test: the message goes to memory, where nobody takes it for one.
    if (astray) p.messages_[i] = {p.arena_.device_address + p.arena_.bytes, 0};
  }
  p.notify_ = notify;
  p.notify_context_ = notify_context;
  p.armed_ = count;
  // The handler finds them in place.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  p.write_messages();
  return {};
}

void port::write_messages() const {
  // All are masked while the table changes.
  const std::uint32_t before = function_.space.read(messages_at_);
  function_.space.write(messages_at_, before | enable | all_masked);
  for (unsigned i = 0; i < table_messages_; ++i) {
    std::byte* const entry = message_table_ + i * entry_bytes;
    if (i < armed_) {
      store(entry + address, static_cast<std::uint32_t>(messages_[i].address));
      store(entry + address_above, static_cast<std::uint32_t>(messages_[i].address >> 32));
      store(entry + data, messages_[i].data);
    }
    store(entry + control, i < armed_ ? 0 : masked);
  }
  // Writes of memory are posted and may be overtaken by the one that unmasks, of configuration
  // space; what is read pushes them ahead (PCI Express Base Specification 3.0, 2.4.1).
  static_cast<void>(load(message_table_));
  function_.space.write(messages_at_, (before | enable) & ~all_masked);
}

void port::disarm_interrupts(void* context) {
  port& p = of(context);
  if (p.armed_ == 0) return;
  p.armed_ = 0;
  p.function_.space.write(p.messages_at_, p.function_.space.read(p.messages_at_) & ~enable);
  p.notify_ = nullptr;
}

/// The reset wiped the table; configuration space is the driver's to put back.
status port::restore_after_reset(void* context) {
  const port& p = of(context);
  if (p.armed_ != 0) p.write_messages();
  return {};
}

}  // namespace freehca::bare
