// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// BARs, configuration space, memory and time.
#include <freehca/bare/port.hpp>

#include <freehca/bare/console.hpp>
#include <freehca/bare/image.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>

namespace freehca::bare {

namespace {

constexpr const char* memory_step = "taking memory for the adapter";
constexpr std::uint64_t arena_alignment = 4096;
// Behind the arena lies a page for messages that go astray.
constexpr std::size_t spare_bytes = 4096;
constexpr std::uint64_t narrow_bytes = std::uint64_t{4} << 20;

port* opened = nullptr;

}  // namespace

trouble port::open(std::size_t dma_bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(freehca_bare_arena);
  if (machine::memory_end() < begin || machine::memory_end() - begin < dma_bytes + spare_bytes) {
    {
      line to("memory");
      to << "the adapter's arena is " << dma_bytes << " bytes from ";
      to.hex(begin) << " on";
    }
    {
      line to("memory");
      to << "ends at ";
      to.hex(machine::memory_end());
    }
    return {memory_step, "there is too little memory",
            "give the machine more, or the image a smaller budget (freehca/hca/budget.hpp)",
            driver_error::no_memory};
  }
  arena_ = {freehca_bare_arena, begin, dma_bytes};

  pci_host host;
  if (const trouble why = machine::find_pci(&host); !why.ok()) return why;
  // For tests: there are no addresses to give, or too few.
  const bool no_window = asked_for("x-fault-window"), narrow = asked_for("x-fault-narrow");
  if (no_window) host.memory = {};
  if (narrow) host.memory.bytes = narrow_bytes;
  pci_tree tree(host);
  const trouble place = tree.find_adapter(no_window || narrow || asked_for("assign"), &function_);
  if (function_.space.is_there()) opened = this;
  if (!place.ok()) return place;
  if (const trouble why = map_bars(); !why.ok()) return why;
  find_messages();
  master_ = !asked_for("x-fault-dma");
  operations_.map_bar = map_bar;
  operations_.read_configuration = read_configuration;
  operations_.write_configuration = write_configuration;
  operations_.set_bus_master = set_bus_master;
  operations_.restore_after_reset = restore_after_reset;
  operations_.allocate_dma = allocate_dma;
  operations_.free_dma = free_dma;
  operations_.map_memory = map_memory;
  operations_.unmap_memory = unmap_memory;
  operations_.arm_interrupts = arm_interrupts;
  operations_.disarm_interrupts = disarm_interrupts;
  operations_.now = now;
  operations_.log = log;
  operations_.trace = trace;
  return {};
}

trouble port::map_bars() {
  constexpr const char* step = "mapping the adapter's BARs";
  for (unsigned i = 0; i < 2; ++i) {
    const pci_bar& bar = function_.bars[2 * i];
    const auto bytes = static_cast<std::size_t>(bar.bytes);
    std::byte* const at = machine::map(bar.address, bytes, caching::device);
    if (at == nullptr)
      return {step, "there is no room for them in the page tables",
              "give the port larger ones (map() of this architecture)", driver_error::no_memory};
    mapped_[i] = {at, bytes};
  }
  // BlueFlame pages are the second half of BAR 2.
  const pci_bar& doorbells = function_.bars[2];
  operations_.combines_writes = machine::map(doorbells.address + doorbells.bytes / 2,
                                             static_cast<std::size_t>(doorbells.bytes / 2),
                                             caching::write_combining) != nullptr;
  return {};
}

status port::map_bar(void* context, unsigned bar, mmio_region* mapped) {
  if (bar != 0 && bar != 2) return driver_error::bad_argument;
  *mapped = of(context).mapped_[bar / 2];
  return {};
}

status port::read_configuration(void* context, unsigned offset, std::uint32_t* value) {
  *value = of(context).function_.space.read(offset);
  return {};
}

status port::write_configuration(void* context, unsigned offset, std::uint32_t value) {
  of(context).function_.space.write(offset, value);
  return {};
}

status port::set_bus_master(void* context, bool allowed) {
  port& p = of(context);
  p.function_.space.set_command(pci_space::bus_master, allowed && p.master_);
  return {};
}

status port::allocate_dma(void* context, std::size_t bytes, std::size_t alignment,
                          dma_region* block) {
  port& p = of(context);
  if (alignment < arena_alignment) alignment = arena_alignment;
  const std::uint64_t free = p.arena_.device_address + p.used_;
  const auto begin = static_cast<std::size_t>((free + alignment - 1) / alignment * alignment -
                                              p.arena_.device_address);
  if (begin > p.arena_.bytes || bytes > p.arena_.bytes - begin) return driver_error::no_memory;
  *block = p.arena_.part(begin, bytes);
  p.used_ = begin + bytes;
  if (p.used_ > p.most_used_) p.most_used_ = p.used_;
  ++p.blocks_;
  dma::clear(block->host, block->bytes);
  cache::clean(block->host, block->bytes);
  return {};
}

/// The last block goes at once, others when all have gone: the driver takes one or a few.
void port::free_dma(void* context, const dma_region& block) {
  port& p = of(context);
  const auto begin = static_cast<std::size_t>(block.device_address - p.arena_.device_address);
  if (begin + block.bytes == p.used_) p.used_ = begin;
  if (--p.blocks_ == 0) p.used_ = 0;
}

status port::map_memory(void*, std::byte* memory, std::size_t, std::uint64_t* device_address) {
  *device_address = reinterpret_cast<std::uintptr_t>(memory);
  return {};
}

status port::unmap_memory(void*, std::uint64_t, std::size_t) {
  return {};
}

std::uint64_t port::now(void* context) {
  const port& p = of(context);
  const std::uint64_t time = machine::now();
  if (p.look_ != nullptr) p.look_(p.look_context_, time);
  return time;
}

void port::log(void*, const log_record& record) {
  constexpr const char* labels[] = {"ERROR", "WARNING", "info", "debug"};
  line(labels[static_cast<unsigned>(record.level)]) << record;
}

void port::trace(void* context, const trace_record& record) {
  const port& p = of(context);
  if (p.command_look_ != nullptr) p.command_look_(p.command_look_context_, record);
}

bool port::quieten() {
  disarm_interrupts(this);
  function_.space.set_command(pci_space::bus_master, false);
  const std::uint32_t identity = function_.space.read(pci_space::identity);
  const bool gone = (identity & 0xffff) == 0xffff;
  const bool quiet =
      gone || (function_.space.read(pci_space::command) & pci_space::bus_master) == 0;
  line("quiet") << (gone    ? "the adapter is gone: it answers nothing and reaches no memory"
                    : quiet ? "the adapter reaches no memory any more: bus mastering is off"
                            : "NO: the adapter still has bus mastering on");
  return quiet;
}

void port::quieten_all() noexcept {
  if (opened != nullptr) static_cast<void>(opened->quieten());
}

void port::on_message(unsigned vector) noexcept {
  port* const p = opened;
  if (p == nullptr) return;
  p->interrupts_ = p->interrupts_ + 1;
  if (p->notify_ != nullptr && vector < p->armed_) p->notify_(p->notify_context_, vector);
}

void on_message(unsigned vector) noexcept {
  port::on_message(vector);
}

}  // namespace freehca::bare
