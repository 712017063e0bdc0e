// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "idle_watch.hpp"

#include <algorithm>

#include <freehca/hal/clock.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/register_map.hpp>

#include "finding.hpp"

namespace freehca::fuzz {

// "At once" is for what has just come (an adapter may interrupt without end), and for what only
// looking can tell: answers without an interrupt, a command register that is taken.
void idle_watch::check(unsigned handled, std::uint64_t deadline) {
  const bool interrupted = machine_.messages() != messages_;
  messages_ = machine_.messages();
  if (handled != 0 || interrupted) looks_ = 0;
  if (handled == 0 && interrupted) wait_in_storm();
  else storm_ = 0;
  if (deadline != 0 || handled != 0 || interrupted) {
    idle_looks_ = 0;
    return;
  }
  const channel& commands = device_.commands();
  const bool looks = commands.queued() > 0 && register_taken();
  idle_looks_ = looks ? 0 : idle_looks_ + 1;
  if (idle_looks_ <= most_idle_looks || commands.in_flight() == 0) {
    if (idle_looks_ > 2 * most_idle_looks) found("the driver spins");
    return;
  }
  // Asked last: what info() tells is gathered from all parts of the device.
  if (!commands.uses_events() || !device_.info().interrupts_work) idle_looks_ = 0;
  else if (idle_looks_ > 2 * most_idle_looks) found("the driver spins");
}

// An adapter that interrupts whenever it is armed, and for nothing: for the driver time passes all
// the same.
void idle_watch::wait_in_storm() {
  constexpr unsigned interrupts_each = 8, longest = 20;
  machine_.advance(clock::microseconds(1) << std::min(storm_++ / interrupts_each, longest));
}

bool idle_watch::register_taken() const {
  layouts::image<layouts::hcr> h;
  layouts::store_be(
      h.data() + (layouts::bar0::hcr_status - layouts::bar0::hcr),
      static_cast<std::uint32_t>(machine_.adapter().read_registers(layouts::bar0::hcr_status, 4)));
  return h.get<&layouts::hcr::go>();
}

// A driver that looks again and again at an adapter that is silent: less and less often, up to once
// a second, also when it asked for an earlier look, as on a host that is busy. Or an input would
// take as long as thousands.
std::uint64_t idle_watch::patiently(std::uint64_t deadline) {
  constexpr unsigned looks_each = 4, longest = 20, in_time = 24;
  const unsigned late = deadline == 0 ? looks_ : looks_ < in_time ? 0 : looks_ - in_time;
  ++looks_;
  if (deadline != 0 && late == 0) return deadline;
  const std::uint64_t look =
      machine_.time() + (clock::microseconds(1) << std::min(late / looks_each, longest));
  return std::max(deadline, look);
}

}  // namespace freehca::fuzz
