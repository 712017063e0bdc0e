// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The cold half of the HAL over an adapter inside the program.
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>

#include <freehca/in_program/adapter.hpp>
#include <freehca/process_memory/guarded_copy.hpp>
#include <freehca/process_memory/memory_rights.hpp>
#include <freehca/texts/text.hpp>

namespace freehca::in_program {

namespace {

/// Device addresses are the program's pointers. Takes the handlers of SIGSEGV and SIGBUS again, if
/// the program has installed its own since. Faults of the program still reach those.
status lend(const std::byte* memory, std::size_t bytes, bool write, std::uint64_t* address) {
  // As VFIO refuses it.
  if (!process_memory::rights_to(memory, bytes).allow(write))
    return status(transport_error::refused, EFAULT);
  process_memory::install_guard();
  *address = reinterpret_cast<std::uintptr_t>(memory);
  return {};
}

}  // namespace

const platform_operations adapter::operations = {
    .bytes = sizeof(platform_operations),
    .map_bar = map_bar,
    .read_configuration = read_configuration,
    .write_configuration = write_configuration,
    .reset_function = reset_function,
    .set_bus_master = set_bus_master,
    .restore_after_reset = [](void*) -> status { return {}; },
    .allocate_dma = allocate_dma,
    .free_dma = free_dma,
    .map_memory = [](void*, std::byte* memory, std::size_t bytes,
                     std::uint64_t* address) { return lend(memory, bytes, true, address); },
    .unmap_memory = [](void*, std::uint64_t, std::size_t) -> status { return {}; },
    .arm_interrupts = arm_interrupts,
    .disarm_interrupts = disarm_interrupts,
    .now = [](void* context) { return of(context).time(); },
    .log =
        [](void*, const log_record& record) {
          char line[200];
          describe(record, line, sizeof line);
          std::fprintf(stderr, "freehca: %s\n", line);
        },
    .trace = nullptr,
    // BlueFlame would cost a call for each word; a doorbell costs one.
    .combines_writes = false,
    .map_read_only_memory =
        [](void*, std::byte* memory, std::size_t bytes, std::uint64_t* address) {
          return lend(memory, bytes, false, address);
        },
};

freehca::platform adapter::platform() {
  return {&operations, this};
}

status adapter::map_bar(void* context, unsigned bar, mmio_region* mapped) {
  if (bar != 0 && bar != 2) return driver_error::bad_argument;
  const adapter& a = of(context);
  *mapped = {a.bars_[bar / 2], a.bar_bytes_[bar / 2]};
  return {};
}

status adapter::read_configuration(void* context, unsigned offset, std::uint32_t* value) {
  *value = of(context).configuration_.read(offset);
  return {};
}

status adapter::write_configuration(void* context, unsigned offset, std::uint32_t value) {
  of(context).configuration_.write(offset, value);
  return {};
}

status adapter::reset_function(void* context) {
  adapter& a = of(context);
  const std::lock_guard held(a.running_);
  a.device_.reset();
  a.configuration_.wipe();
  a.configuration_.configure_as_firmware_does();
  return {};
}

status adapter::set_bus_master(void* context, bool on) {
  adapter& a = of(context);
  const std::lock_guard held(a.running_);
  a.configuration_.set_bus_master(on);
  return {};
}

status adapter::allocate_dma(void*, std::size_t bytes, std::size_t alignment, dma_region* block) {
  // Pages that nothing touches stay out of memory.
  const std::size_t room = bytes + alignment;
  void* const made = mmap(nullptr, room, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return driver_error::no_memory;
  const auto begin = reinterpret_cast<std::uintptr_t>(made);
  const std::uintptr_t at = (begin + alignment - 1) / alignment * alignment;
  if (at != begin) munmap(made, at - begin);
  if (const std::size_t rest = begin + room - (at + bytes); rest != 0)
    munmap(reinterpret_cast<void*>(at + bytes), rest);
  *block = {reinterpret_cast<std::byte*>(at), at, bytes};
  return {};
}

void adapter::free_dma(void*, const dma_region& block) {
  munmap(block.host, block.bytes);
}

status adapter::arm_interrupts(void* context, unsigned count,
                               void (*notify)(void*, unsigned) noexcept, void* notify_context) {
  adapter& a = of(context);
  const std::lock_guard held(a.running_);
  a.notify_ = notify;
  a.notify_context_ = notify_context;
  a.vectors_ = count;
  return {};
}

void adapter::disarm_interrupts(void* context) {
  adapter& a = of(context);
  const std::lock_guard held(a.running_);
  a.notify_ = nullptr;
  a.vectors_ = 0;
}

}  // namespace freehca::in_program
