// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The driver's platform: it forwards each call to the inner platform, and records facts about the
// adapter.
#include "listener.hpp"

#include <freehca/layouts/pci_devices.hpp>

namespace freehca::recorder {

using guard = std::lock_guard<std::recursive_mutex>;

namespace {

constexpr unsigned identity = 0x00;

const char* variant_of(layouts::adapter_generation g) {
  switch (g) {
    case layouts::adapter_generation::connectx2:
      return "connectx2";
    case layouts::adapter_generation::connectx3:
      return "connectx3";
    case layouts::adapter_generation::connectx3_pro:
      break;
  }
  return "connectx3-pro";
}

}  // namespace

void listener::note_configuration(unsigned offset, std::uint32_t value) {
  if (offset == identity) {
    const auto* known = layouts::find_pci_device(value & 0xffff, value >> 16);
    if (known != nullptr) facts_.variant = variant_of(known->generation);
  }
  // The driver repeats this read after a reset until the function answers.
  const std::uint64_t key = std::uint64_t{1} << 62 | offset;
  const auto last = last_reads_.find(key);
  if (value == ~std::uint32_t{0} || (last != last_reads_.end() && last->second == value)) return;
  last_reads_[key] = value;
  call("read_configuration", offset, 4, value, true);
}

void listener::wrap_configuration() {
  outer_.map_bar = [](void* c, unsigned number, mmio_region* mapped) {
    listener& me = of(c);
    const status s = me.known_.map_bar(me.inner_.context, number, mapped);
    const guard alone(me.alone_);
    if (s.ok() && (number == 0 || number == 2)) me.bars_[number / 2].region = *mapped;
    if (s.ok() && number == 2) me.facts_.uar_bar_bytes = mapped->bytes;
    return s;
  };
  outer_.read_configuration = [](void* c, unsigned offset, std::uint32_t* value) {
    listener& me = of(c);
    const status s = me.known_.read_configuration(me.inner_.context, offset, value);
    const guard alone(me.alone_);
    if (s.ok()) me.note_configuration(offset, *value);
    return s;
  };
  outer_.write_configuration = [](void* c, unsigned offset, std::uint32_t value) {
    listener& me = of(c);
    {
      const guard alone(me.alone_);
      me.last_reads_.clear();
      me.call("write_configuration", offset, 4, value);
    }
    return me.known_.write_configuration(me.inner_.context, offset, value);
  };
  if (known_.reset_function != nullptr)
    outer_.reset_function = [](void* c) {
      listener& me = of(c);
      const status s = me.known_.reset_function(me.inner_.context);
      const guard alone(me.alone_);
      if (!s.ok()) return s;
      me.call("reset", 0, 0, 0);
      me.awaiting_ = false;
      me.under_way_.clear();
      me.last_reads_.clear();
      me.live_.clear();
      me.rings_.forget();
      return s;
    };
  if (known_.set_bus_master != nullptr)
    outer_.set_bus_master = [](void* c, bool allowed) {
      listener& me = of(c);
      const status s = me.known_.set_bus_master(me.inner_.context, allowed);
      const guard alone(me.alone_);
      entry e = me.make(entry_kind::bus_master);
      e.value = allowed;
      me.records_.push_back(std::move(e));
      return s;
    };
  if (known_.restore_after_reset != nullptr)
    outer_.restore_after_reset = [](void* c) {
      return of(c).known_.restore_after_reset(of(c).inner_.context);
    };
}

void listener::wrap_memory() {
  outer_.allocate_dma = [](void* c, std::size_t count, std::size_t alignment, dma_region* block) {
    listener& me = of(c);
    const status s = me.known_.allocate_dma(me.inner_.context, count, alignment, block);
    const guard alone(me.alone_);
    if (s.ok()) me.memory_.add(*block);
    return s;
  };
  outer_.free_dma = [](void* c, const dma_region& block) {
    listener& me = of(c);
    {
      const guard alone(me.alone_);
      me.memory_.remove(block.device_address);
    }
    me.known_.free_dma(me.inner_.context, block);
  };
  if (known_.map_memory != nullptr)
    outer_.map_memory = [](void* c, std::byte* memory, std::size_t count, std::uint64_t* address) {
      listener& me = of(c);
      const status s = me.known_.map_memory(me.inner_.context, memory, count, address);
      const guard alone(me.alone_);
      if (s.ok()) me.memory_.add({memory, *address, count});
      return s;
    };
  if (known_.map_read_only_memory != nullptr)
    outer_.map_read_only_memory = [](void* c, std::byte* memory, std::size_t count,
                                     std::uint64_t* address) {
      listener& me = of(c);
      const status s = me.known_.map_read_only_memory(me.inner_.context, memory, count, address);
      const guard alone(me.alone_);
      if (s.ok()) me.memory_.add({memory, *address, count});
      return s;
    };
  if (known_.unmap_memory != nullptr)
    outer_.unmap_memory = [](void* c, std::uint64_t address, std::size_t count) {
      listener& me = of(c);
      {
        const guard alone(me.alone_);
        me.memory_.remove(address);
      }
      return me.known_.unmap_memory(me.inner_.context, address, count);
    };
}

void listener::set_notify(void (*notify)(void*, unsigned) noexcept, void* context) {
  const guard alone(alone_);
  notify_ = notify;
  notify_context_ = context;
}

template <entry_kind Kind>
void listener::hear_interrupt(void* listening, unsigned vector) noexcept {
  listener& who = of(listening);
  {
    const guard alone(who.alone_);
    entry e = who.make(Kind);
    e.value = vector;
    who.records_.push_back(std::move(e));
  }
  who.notify_(who.notify_context_, vector);
}

void listener::wrap_interrupts() {
  if (known_.arm_interrupts != nullptr)
    outer_.arm_interrupts = [](void* c, unsigned count, void (*notify)(void*, unsigned) noexcept,
                               void* notify_context) {
      listener& me = of(c);
      me.set_notify(notify, notify_context);
      return me.known_.arm_interrupts(me.inner_.context, count, &hear_interrupt<entry_kind::msix>,
                                      c);
    };
  if (known_.arm_line_interrupt != nullptr)
    outer_.arm_line_interrupt = [](void* c, void (*notify)(void*, unsigned) noexcept,
                                   void* notify_context) {
      listener& me = of(c);
      me.set_notify(notify, notify_context);
      return me.known_.arm_line_interrupt(me.inner_.context, &hear_interrupt<entry_kind::intx>, c);
    };
  if (known_.disarm_interrupts != nullptr)
    outer_.disarm_interrupts = [](void* c) {
      of(c).known_.disarm_interrupts(of(c).inner_.context);
    };
}

}  // namespace freehca::recorder
