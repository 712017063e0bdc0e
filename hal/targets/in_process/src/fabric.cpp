// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/in_process/fabric.hpp>

#include <algorithm>

#include <freehca/in_process/gate.hpp>

#include "time_steps.hpp"

namespace freehca::in_process {

namespace {

void lead(machine& from, unsigned port, machine& to, unsigned far_port, std::uint64_t flight_ns) {
  auto before = std::move(from.on_link_send);
  from.on_link_send = [&from, before = std::move(before), port, &to, far_port, flight_ns](
                          unsigned p, const std::byte* bytes, std::size_t count) {
    if (p != port) return !before || before(p, bytes, count);
    to.deliver(far_port, from.time() + flight_ns, bytes, count);
    return true;
  };
}

}  // namespace

void fabric::lay_cable(machine& a, unsigned port_of_a, machine& b, unsigned port_of_b,
                       std::uint64_t flight_ns) {
  lead(a, port_of_a, b, port_of_b, flight_ns);
  lead(b, port_of_b, a, port_of_a, flight_ns);
}

void fabric::step(std::uint64_t deadline) {
  const gate alone;
  bool worked = false;
  for (machine* const m : machines_) worked |= m->work();
  if (worked) return clock_.move_to(time() + glance);
  std::uint64_t due = model::environment::never;
  for (const machine* const m : machines_) due = std::min(due, m->due());
  clock_.move_to(next_instant(time(), deadline, due));
  for (machine* const m : machines_) m->work();
}

}  // namespace freehca::in_process
