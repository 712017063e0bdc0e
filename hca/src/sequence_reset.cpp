// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the sequences do beside their steps: the reset that takes everything back, late answers, and
// closing.
#include <freehca/hal/barrier.hpp>
#include <freehca/layouts/register_map.hpp>

#include "steps.hpp"

namespace freehca {

namespace {
// No source: chosen.
constexpr std::uint64_t owners_limit = clock::seconds(10);
}  // namespace

void device::begin_reset() {
  sequence_.drop_command();
  // From here on nothing is posted: the device would answer it with the state of before.
  if (control_.commands.is_open() && control_.commands.failure().ok())
    control_.commands.fail_all(transport_error::reset);
  for (event_context& e : events_) e.end_arming();
  sequence_.heed();
  sequence_.turn(device_sequence::course::reset);
}

void device::reset_done(status outcome) {
  // A device that may not master the bus reaches no memory either. One that is gone is told all the
  // same: its registers may be deaf while the rest of it lives. Whether that one hears it does not
  // matter.
  const bool quiet = outcome.ok() || function_.set_bus_master(false).ok();
  if (!quiet && !outcome.is(transport_error::gone)) {
    sequence_.blame(bring_up_step::reset, outcome);
    state_ = device_state::failed;
    return sequence_.end();
  }
  sequence_.phase = steps::owners_let_go;
  sequence_.patience = clock::after(setup_.platform.now(), owners_limit);
  owners_.ask_to_let_go();
}

/// Whoever goes on posting would ring a device that does not run. One who does not answer does not
/// poll: the reset does not wait for ever.
bool device::owners_have_stopped() {
  const std::uint64_t now = setup_.platform.now();
  if (sequence_.phase == steps::reset_begin) {
    if (!owners_.ask_to_stop()) return true;
    sequence_.phase = steps::owners_stop;
    sequence_.patience = clock::after(now, owners_limit);
  }
  if (!owners_.all_have_stopped() && now < sequence_.patience) {
    sequence_.wake_at(sequence_.patience);
    return false;
  }
  sequence_.phase = steps::reset_begin;
  return true;
}

/// An answer that comes late finds the reset at something else, which has a time of its own.
void device::go_on() {
  if (sequence_.way() == device_sequence::course::reset &&
      (sequence_.phase == steps::owners_stop || sequence_.phase == steps::owners_let_go))
    sequence_.wake_at(0);
}

/// Until then nothing is taken back: they may still read what the device wrote before it was reset.
/// False: they are waited for, or the sequence has ended because it was told to; then too they had
/// time to hear of it.
bool device::owners_have_let_go() {
  if (owners_.awaited() == nullptr) return true;
  if (!sequence_.told_to_end()) return false;
  if (setup_.platform.now() < sequence_.patience) {
    sequence_.wake_at(sequence_.patience);
    return false;
  }
  sequence_.blame(bring_up_step::reset, transport_error::timeout);
  state_ = device_state::failed;
  sequence_.end();
  return false;
}

void device::forget_everything() {
  // While every object is still whole: operations that end by the reset take theirs along.
  if (sinks_.was_reset != nullptr) sinks_.was_reset(sinks_.context);
  control_.commands.device_was_reset();
  ports_.forget();
  for (event_queue_parts& q : queue_parts_) q.created = q.mapped = false;
  for (bool& r : reserved_mapped_) r = false;
  firmware_.lent = auxiliary_.lent = false;
  sequence_.forget_effect();
  control_.contexts.forget();
  if (sinks_.forgotten != nullptr) sinks_.forgotten(sinks_.context);
  sequence_.device_forgot();
}

/// Undoes the rest of a bring-up when the answers that were missing have come.
void device::wait_for_late_answers() {
  if (control_.commands.is_open() && !control_.commands.failure().ok()) {
    state_ = device_state::failed;
    return;
  }
  // Refused operations that a callback starts again and again do not count.
  if (control_.commands.slots_in_use() + control_.commands.queued() > 0 ||
      !control_.contexts.idle())
    return;
  state_ = device_state::tearing_down;
  sequence_.turn(device_sequence::course::down);
}

/// Whatever the device was about to do must not reach memory that is given back. Without waiting: a
/// reset through the register would need a second before configuration space can be restored.
void device::keep_from_memory() {
  if (function_.reset().ok()) return;
  if (function_.set_bus_master(false).ok()) {
    // In the midst of a reset: put back what was wiped, if the device is there already.
    static_cast<void>(function_.repair());
  } else if (!function_.wiped()) {
    // Nothing else is left that stops it. The next bring-up puts back what this wipes.
    if (!function_.saved() && function_.answers()) static_cast<void>(function_.save());
    function_.begin_wipe();
    mmio::write_32(bar0_, layouts::bar0::reset, layouts::bar0::reset_value);
    barrier::mmio_store_to_mmio_store();
    // No read passes the write on its way: when this one has come back, whatever it says, the
    // register has been written, ahead of memory being given back.
    static_cast<void>(function_.answers());
  }
}

void device::close() {
  if (state_ == device_state::closed) return;
  FREEHCA_ASSERT(!owners_.any());
  if (state_ != device_state::down) {
    // What ends below may start the next thing: that is refused from here on.
    state_ = device_state::tearing_down;
    keep_from_memory();
    control_.commands.admit_clients(false);
    forget_everything();
    // After a reset no undo waits for anything.
    sequence_.abandon();
    run_sequence();
  }
  // If a reset through the register could not be finished, the next owner would find no BARs. The
  // platform may work again by now.
  static_cast<void>(function_.repair());
  control_.close();
  state_ = device_state::closed;
  // What has ended is told here: nobody has to poll any more.
  control_.reactor.deliver();
}

}  // namespace freehca
