// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the images have in common: the way from nothing to a device that is up, told step by step on
// the console, and back.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/bare/console.hpp>
#include <freehca/bare/port.hpp>
#include <freehca/hca/device.hpp>

namespace freehca::bare {

/// How long bring-up may take before it is broken off, and teardown.
inline constexpr std::uint64_t bring_up_limit = clock::seconds(25);
inline constexpr std::uint64_t tear_down_limit = clock::seconds(20);

/// Says where the adapter is, and who gave it addresses.
void tell_place(const port& in);

/// Polls until it is over.
template <class Polled>
status finish(operation& what, Polled& polled) {
  while (!what.done()) {
    polled.poll();
    machine::pause();
  }
  return what.outcome();
}

/// What registers said at a moment.
struct registers {
  std::uint32_t pci_command = 0;
  std::uint32_t command_word = 0;  ///< the last of the command register's
  static registers now(const port& in);
};

/// Tells each step of a bring-up when it is over, with the time it took, and keeps what registers
/// said when the first command failed. As long as this lives it watches the port.
class step_times {
 public:
  step_times(port& in, const device& of);
  step_times(const step_times&) = delete;
  step_times& operator=(const step_times&) = delete;
  ~step_times();
  /// It is over. Tells the last step too, when it was done; else what went wrong, with registers
  /// and error buffer, and what to do about it.
  void end(status outcome);
  std::uint64_t since_reset() const { return ended_ - reset_; }
  std::uint64_t since_begin() const { return ended_ - began_; }

 private:
  static void look(void* self, std::uint64_t now);
  static void look_at_command(void* self, const trace_record& command);
  void leave(bring_up_step step, std::uint64_t now);
  void tell_failure(status outcome) const;

  port& port_;
  const device& device_;
  bring_up_step at_{};
  std::uint64_t began_, entered_, ended_ = 0, reset_ = 0;
  trace_record failed_;  // the first command that did; its outcome is ok when none has
  registers then_;
};

/// What an image makes a device of that has a handful of objects at a time.
constexpr budget size_of_a_small_device() {
  budget b;
  b.log_srqs = 7;
  b.log_mpts = 9;
  b.log_mtts = 12;
  b.log_mcgs = 4;
  b.log_mcg_entry_bytes = 6;
  b.log_asynchronous_eq_entries = 6;
  b.log_completion_eq_entries = 6;
  b.command_slots = 4;
  b.context_bytes = std::size_t{1} << 20;
  b.queue_bytes = std::size_t{1} << 20;
  b.doorbell_bytes = 4096;
  return b;
}

/// Opens the driver on the port and brings the device up, told step by step. Nanoseconds that it
/// took, and that of them which went by since the reset began. False: why was told.
inline bool bring_up(port& in, device& hca, const device_setup& how, std::uint64_t* since_begin,
                     std::uint64_t* since_reset) {
  if (const status s = hca.open(how); !s.ok()) {
    tell({"opening the device", "the driver does not take the port", "see its status", s});
    return false;
  }
  step_times times(in, hca);
  operation up;
  up.set_deadline(clock::after(machine::now(), bring_up_limit));
  hca.bring_up(up);
  const status outcome = finish(up, hca);
  times.end(outcome);
  *since_begin = times.since_begin();
  *since_reset = times.since_reset();
  return outcome.ok();
}

/// The same with nothing chosen but the size, for images that need an active port: how long that
/// took is told. `storage` is the device's, device::storage_bytes(size) of it.
bool bring_up(port& in, device& hca, const budget& size, std::byte* storage,
              std::size_t storage_bytes);

/// Command register, identification, error buffer.
void tell_registers(const port& in, const device& of, const registers& said);
/// What the adapter is, its capabilities, ports and the memory that it was lent.
void tell_device(const device& of);

/// Takes a device down that is not, and tells how that ended.
bool tell_down(device& of);

/// The first InfiniBand port that is active; 0: there is none, and why was told.
unsigned active_port(const device& of);

}  // namespace freehca::bare
