// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The parts of the sequences outside of the steps: the reset that takes everything back, late
// answers, and close().
#include <freehca/hal/barrier.hpp>
#include <freehca/layouts/register_map.hpp>

#include "steps.hpp"

namespace freehca {

namespace {
// The maximum time that a reset waits until the event owners have stopped. An operation that is
// told to end early waits no longer than this after the reset until they no longer use the device.
// No source: chosen.
constexpr std::uint64_t owners_limit = clock::seconds(10);
}  // namespace

void device::begin_reset() {
  sequence_.drop_command();
  // From now on nothing is posted, because the device would answer with the state before the reset.
  if (control_.commands.is_open() && control_.commands.failure().ok())
    control_.commands.fail_all(transport_error::reset);
  for (event_context& e : events_) e.end_arming();
  sequence_.clear_stop_request();
  sequence_.turn(device_sequence::course::reset);
}

void device::reset_done(status outcome) {
  // If the reset failed, switch bus mastering off, so that the device cannot access memory. Do this
  // even if the device looks gone (all registers read as ones). The device may still perform DMA
  // although its registers do not answer. If the device is gone, a failure to switch bus mastering
  // off is ignored.
  const bool quiet = outcome.ok() || function_.set_bus_master(false).ok();
  if (!quiet && !outcome.is(transport_error::gone)) {
    sequence_.record_failure(bring_up_step::reset, outcome);
    state_ = device_state::failed;
    return sequence_.end();
  }
  sequence_.phase = steps::owners_release;
  sequence_.patience = clock::after(setup_.platform.now(), owners_limit);
  owners_.request_release();
}

/// Asks the event owners to stop, so that none writes a doorbell of a device that does not run. An
/// event owner that does not answer does not poll. The reset therefore waits for at most
/// owners_limit. Returns true if the reset may begin.
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

/// Wakes the sequence if it waits for event owners. If the answer of an event owner comes late, the
/// reset is in another phase with a wait of its own, which must not be cut short.
void device::go_on() {
  if (sequence_.way() == device_sequence::course::reset &&
      (sequence_.phase == steps::owners_stop || sequence_.phase == steps::owners_release))
    sequence_.wake_at(0);
}

/// Returns true if all event owners have stopped using the device. Before that, nothing is taken
/// back, because they may still read what the device wrote before the reset. The sequence waits for
/// them without a limit, unless there is a request to end early. With such a request it waits for
/// owners_limit at most. The reset then fails with transport_error::timeout.
bool device::owners_have_released() {
  if (owners_.awaited() == nullptr) return true;
  if (!sequence_.stop_requested()) return false;
  if (setup_.platform.now() < sequence_.patience) {
    sequence_.wake_at(sequence_.patience);
    return false;
  }
  sequence_.record_failure(bring_up_step::reset, transport_error::timeout);
  state_ = device_state::failed;
  sequence_.end();
  return false;
}

void device::forget_everything() {
  // Called while every object is still complete, because operations that the reset ends destroy
  // their objects.
  if (sinks_.was_reset != nullptr) sinks_.was_reset(sinks_.context);
  control_.commands.device_was_reset();
  ports_.forget();
  for (bool& e : event_queue_exists_) e = false;
  for (bool& r : reserved_mapped_) r = false;
  firmware_.lent = auxiliary_.lent = false;
  sequence_.forget_effect();
  control_.contexts.forget();
  if (sinks_.forgotten != nullptr) sinks_.forgotten(sinks_.context);
  sequence_.device_forgot();
}

/// Undoes the other steps of a bring-up when all late answers have come.
void device::wait_for_late_answers() {
  if (control_.commands.is_open() && !control_.commands.failure().ok()) {
    state_ = device_state::failed;
    return;
  }
  // Operations that were refused and wait for their callbacks do not delay the undo of the
  // bring-up. A callback that starts a refused operation again and again would delay it for ever.
  if (control_.commands.slots_in_use() + control_.commands.queued() > 0 ||
      !control_.contexts.idle())
    return;
  state_ = device_state::tearing_down;
  sequence_.turn(device_sequence::course::down);
}

/// Keeps the device from memory that is given back, without waiting. A reset through the register
/// would need a second before configuration space can be restored.
void device::keep_from_memory() {
  if (function_.reset().ok()) return;
  if (function_.set_bus_master(false).ok()) {
    // A reset may be half done. Restore what it cleared, if the device answers already.
    static_cast<void>(function_.repair());
  } else if (!function_.wiped()) {
    // Only the reset register is left to stop the device. The next bring-up restores the
    // configuration space that this reset clears.
    if (!function_.saved() && function_.answers()) static_cast<void>(function_.save());
    function_.begin_wipe();
    mmio::write_32(bar0_, layouts::bar0::reset, layouts::bar0::reset_value);
    barrier::mmio_store_to_mmio_store();
    // A read does not pass the write. When the read has completed, with any result, the register
    // has been written, before memory is given back.
    static_cast<void>(function_.answers());
  }
}

void device::close() {
  if (state_ == device_state::closed) return;
  FREEHCA_ASSERT(!owners_.any());
  if (state_ != device_state::down) {
    // Callbacks of operations that end below may start new operations. These are refused from now
    // on.
    state_ = device_state::tearing_down;
    keep_from_memory();
    control_.commands.admit_clients(false);
    forget_everything();
    // After a reset no undo function waits.
    sequence_.abandon();
    run_sequence();
  }
  // If a reset through the register could not be finished, the next owner would find no BARs. By
  // now the platform may allow accesses again.
  static_cast<void>(function_.repair());
  control_.close();
  state_ = device_state::closed;
  // Calls the callbacks of operations that have ended. A program need not call poll() of a closed
  // device, which would do so.
  control_.reactor.deliver();
}

}  // namespace freehca
