// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "bring_up.hpp"

#include <freehca/bare/console.hpp>
#include <freehca/bare/image.hpp>
#include <freehca/texts/names.hpp>

namespace freehca::bare {

void tell_place(const port& in) {
  const pci_function_place& f = in.function();
  const std::uint32_t identity = f.space.read(pci_space::identity);
  {
    line to("adapter");
    to.digits(f.bus, 2) << ":";
    to.digits(f.device, 2) << "." << f.function << ", behind " << f.depth
                           << " bridges, addresses from "
                           << (f.assigned_here ? "this program" : "firmware");
  }
  {
    line to("PCI");
    to.digits(identity & 0xffff, 4) << ":";
    to.digits(identity >> 16, 4) << (in.combines_writes() ? ", BlueFlame is write-combining"
                                                          : ", no BlueFlame");
  }
  for (unsigned i = 0; i < f.most_bars; ++i) {
    if (f.bars[i].bytes == 0) continue;
    line to("");
    to << "BAR " << i << " at ";
    to.hex(f.bars[i].address) << ", " << f.bars[i].bytes << " bytes";
  }
}

step_times::step_times(port& in, const device& of)
    : port_(in), device_(of), began_(machine::now()), entered_(began_) {
  in.watch_clock(&look, this);
  in.watch_commands(&look_at_command, this);
}

step_times::~step_times() {
  port_.watch_clock(nullptr, nullptr);
  port_.watch_commands(nullptr, nullptr);
}

void step_times::leave(bring_up_step step, std::uint64_t now) {
  line("step").seconds(now - entered_) << "  " << name_of(step);
}

/// Steps that passed between two calls are printed together: the first with the whole time, the
/// others with none.
void step_times::look(void* self, std::uint64_t now) {
  auto& t = *static_cast<step_times*>(self);
  const bring_up_step step = t.device_.step();
  if (step <= t.at_ || t.device_.state() != device_state::bringing_up) return;
  for (; t.at_ < step; t.at_ = static_cast<bring_up_step>(static_cast<unsigned>(t.at_) + 1)) {
    t.leave(t.at_, now);
    now = t.entered_ = machine::now();
    if (t.at_ == bring_up_step::take_ownership) t.reset_ = now;
  }
}

/// Runs before any step is undone, so that the registers still show the failure.
void step_times::look_at_command(void* self, const trace_record& command) {
  auto& t = *static_cast<step_times*>(self);
  if (command.outcome.ok() || !t.failed_.outcome.ok()) return;
  t.failed_ = command;
  t.then_ = registers::now(t.port_);
}

void step_times::end(status outcome) {
  ended_ = machine::now();
  if (!outcome.ok()) tell_failure(outcome);
  else leave(at_, ended_);
}

bool bring_up(port& in, device& hca, const budget& size, std::byte* storage,
              std::size_t storage_bytes) {
  device_setup setup;
  setup.platform = in.platform();
  setup.budget = size;
  setup.storage = storage;
  setup.storage_bytes = storage_bytes;
  setup.take_over = asked_for("take_over");
  std::uint64_t since_begin = 0, since_reset = 0;
  if (!bring_up(in, hca, setup, &since_begin, &since_reset)) return false;
  line to("up");
  to << "in ";
  to.seconds(since_begin) << ", Active ";
  to.seconds(since_reset) << " after the reset began";
  return true;
}

bool tell_down(device& of) {
  if (of.state() == device_state::closed || of.state() == device_state::down) return true;
  operation end;
  end.set_deadline(clock::after(machine::now(), tear_down_limit));
  of.tear_down(end);
  const status outcome = finish(end, of);
  line("down") << outcome;
  return outcome.ok();
}

}  // namespace freehca::bare
