// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Brings the adapter up, prints its identity and the time of each step, tests it, and takes it
// down.
#include <new>

#include <freehca/bare/console.hpp>
#include <freehca/bare/image.hpp>
#include <freehca/firmware_cmds/nop.hpp>

#include "bring_up.hpp"

namespace freehca::bare {

const char image_name[] = "bringup";

namespace {

constexpr unsigned nops = 100;

constexpr budget size_of_device() {
  budget b;
  b.queue_bytes = std::size_t{1} << 20;
  b.log_mtts = 14;
  return b;
}
constexpr budget size = size_of_device();

// Constructed in place, because an image runs no global constructors and no destructors.
alignas(port) std::byte port_room[sizeof(port)];
alignas(device) std::byte device_room[sizeof(device)];
alignas(16) std::byte storage[device::storage_bytes(size)];

/// For a test: accesses an address without memory or device.
void access_nothing() {
  constexpr std::uintptr_t nowhere = 0x7fff'ffff'f000;
  *reinterpret_cast<volatile char*>(nowhere) = 0;
}

/// Sends NOP commands, one after the other, and checks that answers and interrupts arrive.
bool test_commands(const port& in, device& d) {
  const unsigned before = in.interrupts();
  const std::uint64_t began = machine::now();
  for (unsigned i = 0; i < nops; ++i) {
    // With the vector armed, the answer causes an interrupt even if it comes at once.
    for (unsigned look = 0; look < 100 && d.asynchronous_context().due(); ++look) d.poll();
    firmware_command<commands::nop> nop;
    d.commands().submit(nop);
    if (const status s = finish(nop, d); !s.ok()) {
      line("FAILED") << "at the self-test: NOP " << i << ": " << s;
      tell_registers(in, d, registers::now(in));
      line("remedy")
          << "the adapter died while it was tested: look at the error buffer, then switch "
             "the power off and on";
      return false;
    }
  }
  line to("self-test");
  to << nops << " commands by events in ";
  to.seconds(machine::now() - began) << ", " << in.interrupts() - before << " interrupts";
  return true;
}

bool bring_up_and_test(port& in, device& d) {
  device_setup setup;
  setup.platform = in.platform();
  setup.budget = size;
  setup.storage = storage;
  setup.storage_bytes = sizeof storage;
  setup.take_over = asked_for("take_over");
  std::uint64_t since_begin = 0, since_reset = 0;
  if (!bring_up(in, d, setup, &since_begin, &since_reset)) return false;
  {
    line to("up");
    to << "in ";
    to.seconds(since_begin) << ", ";
    to.seconds(since_reset) << " of it from reset to the end of waiting for ports";
  }
  tell_device(d);
  // Overwrites data that the exception handler needs, so that it raises an exception itself.
  if (asked_for("x-fault-port")) __builtin_memset(static_cast<void*>(&in), 0x80, sizeof in);
  if (asked_for("x-fault-access")) access_nothing();
  if (asked_for("x-fault-instruction")) __builtin_trap();
  if (!test_commands(in, d)) return false;
  tell_registers(in, d, registers::now(in));
  return active_port(d) != 0;
}

}  // namespace

bool run_image() {
  port& in = *new (port_room) port;
  device& d = *new (device_room) device;
  if (const trouble why = in.open(device::dma_bytes(size)); !why.ok()) {
    tell(why);
    port::quieten_all();
    return false;
  }
  tell_place(in);
  const bool passed = bring_up_and_test(in, d);
  const bool down = tell_down(d);
  line("arena") << in.arena_bytes_used() << " bytes were used";
  d.close();
  return in.quieten() && passed && down;
}

}  // namespace freehca::bare
