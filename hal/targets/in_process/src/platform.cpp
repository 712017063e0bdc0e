// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The platform of a machine: the functions of platform_operations.

#include <cerrno>
#include <cstdio>

#include <freehca/in_process/gate.hpp>
#include <freehca/in_process/machine.hpp>
#include <freehca/process_memory/guarded_copy.hpp>
#include <freehca/process_memory/memory_rights.hpp>
#include <freehca/texts/text.hpp>

namespace freehca::in_process {

const platform_operations machine::operations = {
    .bytes = sizeof(platform_operations),
    .map_bar = map_bar,
    .read_configuration = read_configuration,
    .write_configuration = write_configuration,
    .reset_function = reset_function,
    .set_bus_master = set_bus_master,
    .restore_after_reset = restore_after_reset,
    .allocate_dma = allocate_dma,
    .free_dma = free_dma,
    .map_memory = map_memory,
    .unmap_memory = unmap_memory,
    .arm_interrupts = arm_interrupts,
    .disarm_interrupts = disarm_interrupts,
    .now =
        [](void* context) {
          const gate alone;
          return of(context).time();
        },
    .log =
        [](void*, const log_record& record) {
          char line[200];
          describe(record, line, sizeof line);
          std::fprintf(stderr, "freehca: %s\n", line);
        },
    .trace = nullptr,
    .combines_writes = true,
    .map_read_only_memory = map_read_only_memory,
    .arm_line_interrupt = arm_line_interrupt,
};

freehca::platform machine::platform() {
  return {&operations, this};
}

status machine::map_bar(void* context, unsigned bar, mmio_region* mapped) {
  if (bar != 0 && bar != 2) return driver_error::bad_argument;
  machine& m = of(context);
  *mapped = {m.bars_[bar / 2], m.bar_bytes_[bar / 2]};
  return {};
}

status machine::read_configuration(void* context, unsigned offset, std::uint32_t* value) {
  const gate alone;
  machine& m = of(context);
  *value = !m.there() ? ~std::uint32_t{0} : m.configuration_.read(offset);
  return {};
}

status machine::write_configuration(void* context, unsigned offset, std::uint32_t value) {
  const gate alone;
  machine& m = of(context);
  if (m.there()) m.configuration_.write(offset, value);
  return {};
}

status machine::reset_function(void* context) {
  const gate alone;
  machine& m = of(context);
  if (!m.how_.function_level_reset) return driver_error::unsupported;
  if (m.removed_) return transport_error::gone;
  m.adapter_.reset();
  // The platform restores the registers that the reset cleared. Bus mastering stays off until the
  // driver switches it on.
  m.configuration_.wipe();
  m.configuration_.configure_as_firmware_does();
  return {};
}

status machine::set_bus_master(void* context, bool allowed) {
  const gate alone;
  of(context).configuration_.set_bus_master(allowed);
  return {};
}

status machine::restore_after_reset(void*) {
  return {};
}

status machine::allocate_dma(void* context, std::size_t bytes, std::size_t alignment,
                             dma_region* block) {
  const gate alone;
  machine& m = of(context);
  if (bytes > m.how_.dma_limit - m.dma_bytes_) return driver_error::no_memory;
  *block = m.memory_.allocate(bytes, alignment);
  m.dma_bytes_ += bytes;
  ++m.dma_blocks_;
  return {};
}

void machine::free_dma(void* context, const dma_region& block) {
  const gate alone;
  machine& m = of(context);
  if (m.cache_ != nullptr) m.cache_->forget(block.host, block.bytes);
  m.memory_.release(block);
  m.dma_bytes_ -= block.bytes;
  --m.dma_blocks_;
}

status machine::map_memory(void* context, std::byte* memory, std::size_t bytes,
                           std::uint64_t* device_address) {
  return of(context).lend(memory, bytes, true, device_address);
}

status machine::map_read_only_memory(void* context, std::byte* memory, std::size_t bytes,
                                     std::uint64_t* device_address) {
  return of(context).lend(memory, bytes, false, device_address);
}

status machine::lend(std::byte* memory, std::size_t bytes, bool write,
                     std::uint64_t* device_address) {
  const gate alone;
  // VFIO refuses such memory too.
  if (!process_memory::rights_to(memory, bytes).allow(write))
    return status(transport_error::refused, EFAULT);
  process_memory::install_guard();
  *device_address = memory_.map_program(memory, bytes, write, how_.similar_addresses);
  return {};
}

status machine::unmap_memory(void* context, std::uint64_t device_address, std::size_t) {
  const gate alone;
  return of(context).memory_.unmap(device_address) ? status() : status(driver_error::bad_argument);
}

status machine::arm_interrupts(void* context, unsigned count,
                               void (*notify)(void*, unsigned) noexcept, void* notify_context) {
  const gate alone;
  machine& m = of(context);
  if (!m.how_.interrupts || m.how_.line_interrupt || count > m.how_.vectors)
    return driver_error::unsupported;
  m.notify_ = notify;
  m.notify_context_ = notify_context;
  m.vectors_ = count;
  return {};
}

void machine::disarm_interrupts(void* context) {
  const gate alone;
  machine& m = of(context);
  m.notify_ = nullptr;
  m.vectors_ = 0;
  m.line_.armed = false;
}

status machine::arm_line_interrupt(void* context, void (*notify)(void*, unsigned) noexcept,
                                   void* notify_context) {
  const gate alone;
  machine& m = of(context);
  if (!m.how_.line_interrupt) return driver_error::unsupported;
  m.notify_ = notify;
  m.notify_context_ = notify_context;
  m.line_.armed = true;
  m.line_.masked = false;
  return {};
}

}  // namespace freehca::in_process
