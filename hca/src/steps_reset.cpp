// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The steps for ownership, reset, bus mastering, and the command channel. Sources: Linux 6.1 main.c
// mlx4_get_ownership and reset.c; registers in register_map.hpp.
#include <freehca/hal/barrier.hpp>
#include <freehca/layouts/register_map.hpp>

#include "steps.hpp"

namespace freehca {

namespace {

namespace bar0 = layouts::bar0;

constexpr std::uint32_t all_ones = ~std::uint32_t{0};
constexpr std::uint64_t flash_semaphore_limit =
    clock::seconds(10);                                    // reset.c MLX4_SEM_TIMEOUT_JIFFIES
constexpr std::uint64_t answer_limit = clock::seconds(2);  // reset.c MLX4_RESET_TIMEOUT_JIFFIES
constexpr std::uint64_t poll_interval = clock::milliseconds(1);

}  // namespace

status device::steps::take_ownership(device& d) {
  const pci_function& f = d.function_;
  std::uint32_t identity = 0, revision = 0, subsystem = 0;
  FREEHCA_TRY(d.function_.repair());
  FREEHCA_TRY(f.read(f.identity, identity));
  FREEHCA_TRY(f.read(f.revision, revision));
  FREEHCA_TRY(f.read(f.subsystem, subsystem));
  const std::uint64_t issued = d.info_.commands_issued, resets = d.info_.resets;
  d.info_ = {};
  d.ports_.begin(0);
  d.info_.commands_issued = issued;
  d.info_.resets = resets;
  d.info_.pci_vendor = static_cast<std::uint16_t>(identity);
  d.info_.pci_device = static_cast<std::uint16_t>(identity >> 16);
  d.info_.pci_revision = static_cast<std::uint8_t>(revision);
  d.info_.pci_subsystem_vendor = static_cast<std::uint16_t>(subsystem);
  d.info_.pci_subsystem = static_cast<std::uint16_t>(subsystem >> 16);

  // If this read returns 0, it has taken the ownership semaphore.
  const std::uint32_t held = mmio::read_32(d.bar0_, bar0::ownership);
  if (held == all_ones) return transport_error::gone;
  if (held != 0 && !d.setup_.take_over) return driver_error::busy;
  return {};
}

status device::steps::release_ownership(device& d) {
  // The next owner first resets the device, so the driver need not wait until the write arrives.
  if (d.sequence_.has(bring_up_step::take_ownership)) mmio::write_32(d.bar0_, bar0::ownership, 0);
  return {};
}

status device::steps::reset(device& d) {
  const std::uint64_t now = d.setup_.platform.now();
  switch (d.sequence_.phase) {
    case reset_begin: {
      const status s = d.function_.reset();
      if (s.is(transport_error::gone)) return s;
      if (s.ok()) {
        d.sequence_.committed = true;
        d.sequence_.patience = clock::after(now, answer_limit);
        return d.sequence_.again(registers_answer);
      }
      // The configuration space is saved before the flash semaphore is taken, so that the semaphore
      // is held for a short time only. If a process dies while it holds the semaphore, only a
      // bring-up with take_over can reset the card.
      FREEHCA_TRY(d.function_.save());
      d.sequence_.patience = clock::after(now, flash_semaphore_limit);
      return d.sequence_.again(take_flash);
    }
    case take_flash: {
      // The driver holds the semaphore so that no tool writes the flash during the reset. The reset
      // releases it.
      const std::uint32_t held = mmio::read_32(d.bar0_, bar0::flash_semaphore);
      if (held == all_ones) return transport_error::gone;
      if (held != 0) {
        if (now < d.sequence_.patience) return later(d, poll_interval);
        // With take_over, the caller guarantees that no tool uses the flash. Only a reset releases
        // the semaphore of a tool that died.
        if (!d.setup_.take_over) return driver_error::busy;
      }
      d.function_.begin_wipe();
      d.sequence_.committed = true;
      mmio::write_32(d.bar0_, bar0::reset, bar0::reset_value);
      barrier::mmio_store_to_mmio_store();
      d.sequence_.patience =
          clock::after(now, clock::milliseconds(bar0::reset_wait_ms) + answer_limit);
      d.sequence_.phase = rest;
      return later(d, clock::milliseconds(bar0::reset_wait_ms));
    }
    case rest:
      if (!d.function_.answers())
        return now < d.sequence_.patience ? later(d, poll_interval) : status(transport_error::gone);
      FREEHCA_TRY(d.function_.restore());
      d.sequence_.patience = clock::after(now, answer_limit);
      return d.sequence_.again(registers_answer);
    default: {
      // The reset may have released the ownership semaphore or not. After this read it is taken.
      if (mmio::read_32(d.bar0_, bar0::ownership) == all_ones)
        return now < d.sequence_.patience ? later(d, poll_interval) : status(transport_error::gone);
      ++d.info_.resets;
      d.info_.hardware_id = mmio::read_32(d.bar0_, bar0::hardware_id);
      return {};
    }
  }
}

status device::steps::enable_bus_master(device& d) {
  return d.function_.set_bus_master(true);
}

status device::steps::disable_bus_master(device& d) {
  if (d.sequence_.has(bring_up_step::enable_bus_master))
    static_cast<void>(d.function_.set_bus_master(false));
  return {};
}

status device::steps::open_commands(device& d) {
  d.info_.commands_issued += d.control_.commands.statistics().posted;
  return d.control_.open_commands(d.bar0_.part(bar0::hcr, bar0::hcr_size));
}

status device::steps::close_commands(device& d) {
  if (!d.control_.commands.is_open()) return {};
  if (d.control_.commands.in_flight() > 0) return later(d, 0);
  // A command was not answered.
  if (d.control_.commands.slots_in_use() > 0) return driver_error::busy;
  d.control_.commands.fail_all(transport_error::reset);
  d.control_.commands.close();
  return {};
}

}  // namespace freehca
