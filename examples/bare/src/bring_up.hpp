// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The common part of the images: they bring the device up and take it down, and print each step on
// the console.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/bare/console.hpp>
#include <freehca/bare/port.hpp>
#include <freehca/hca/device.hpp>

namespace freehca::bare {

/// Time limit of bring-up, and of teardown.
inline constexpr std::uint64_t bring_up_limit = clock::seconds(25);
inline constexpr std::uint64_t tear_down_limit = clock::seconds(20);

/// Prints the adapter's PCI address, and whether firmware or the image assigned its BARs.
void tell_place(const port& in);

/// Polls until the operation is done.
template <class Polled>
status finish(operation& what, Polled& polled) {
  while (!what.done()) {
    polled.poll();
    machine::pause();
  }
  return what.outcome();
}

/// Values of registers at one time.
struct registers {
  std::uint32_t pci_command = 0;
  std::uint32_t command_word = 0;  ///< the last of the command register's
  static registers now(const port& in);
};

/// Prints each step of a bring-up when it has ended, with its time. Stores the registers when the
/// first command fails. Observes the port during its whole lifetime.
class step_times {
 public:
  step_times(port& in, const device& of);
  step_times(const step_times&) = delete;
  step_times& operator=(const step_times&) = delete;
  ~step_times();
  /// Called at the end of the bring-up. On success prints the last step. On failure prints the
  /// failed step, the registers, the error buffer and a remedy.
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
  trace_record failed_;  // the first command that failed; if none failed, its outcome is ok
  registers then_;
};

/// The budget of an image that has only a few objects.
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
  b.context_bytes = std::size_t{2} << 20;  // firmware that keeps 1088 QPs needs more than 1 MiB
  b.queue_bytes = std::size_t{1} << 20;
  b.doorbell_bytes = 4096;
  return b;
}

/// Opens the driver on the port, brings the device up, and prints each step. `since_begin` and
/// `since_reset` receive the nanoseconds since the call and since the reset began. Returns false
/// after a failure, whose reason was printed.
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

/// The same with the default set-up, for images that need an active port. Prints the time.
/// `storage` is for the device and has device::storage_bytes(size) bytes.
bool bring_up(port& in, device& hca, const budget& size, std::byte* storage,
              std::size_t storage_bytes);

/// Prints the command register, the identification and the error buffer.
void tell_registers(const port& in, const device& of, const registers& said);
/// Prints the adapter's identity, capabilities, ports and lent memory.
void tell_device(const device& of);

/// Takes the device down unless it is down already, and prints the outcome.
bool tell_down(device& of);

/// Returns the first active InfiniBand port. If there is none, prints the reason and returns 0.
unsigned active_port(const device& of);

}  // namespace freehca::bare
