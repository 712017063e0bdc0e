// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include <freehca/hca/device.hpp>
#include <freehca/hca/every_kind.hpp>
#include <freehca/verified_traffic/scattered_memory.hpp>

namespace freehca::verified_traffic {

/// What differs between the places that the driver runs in.
class surroundings {
 public:
  virtual ~surroundings() = default;
  virtual freehca::platform platform() = 0;
  /// Sleeps until an interrupt or `deadline` on the platform's clock; 0: returns at once.
  virtual void wait(std::uint64_t deadline) = 0;
  /// The user wants it to end: what is under way is cancelled and everything given back.
  virtual bool interrupted() const = 0;
  /// The platform wants the device back; interrupted() then too.
  virtual bool wanted_back() const { return false; }
  /// The platform knows that the device is lost.
  virtual bool lost() const { return false; }
};

/// How large the driver is made in a session.
struct session_options {
  freehca::budget budget;
  verbs_budget objects = every_kind();
};

/// The driver's objects with the storage that they stand on, and a loop that drives them.
class session {
 public:
  explicit session(surroundings& host, const session_options& how = {});
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Bytes of memory that the device will be able to reach, for limits that have to be checked
  /// before.
  static std::size_t dma_bytes(const session_options& how = {});
  /// Bytes of the driver's own memory, taken by the constructor; the device does not reach it.
  static std::size_t memory_bytes(const session_options& how = {});

  /// driver_error::no_memory, budget::item::storage: the system did not give memory_bytes().
  status open(bool take_over);
  /// `progress` is called with the name of each step that bring-up enters.
  status bring_up(const std::function<void(const char* step)>& progress = {});
  /// Resets the device, frees its ownership, and leaves it down: the beginning of bring-up and its
  /// undoing.
  status reset();
  /// Ends in a device that holds nothing. Also after a failure, and after an interruption. Objects
  /// that are still there, because the firmware did not take them back, are ended by a reset.
  status tear_down();

  /// Drives the device until the operation is done; cancels it when the user interrupts.
  status await(operation& op);
  /// The same for what gives something back: the user's interruption is why it runs, not why it
  /// should stop.
  status await_cleanup(operation& op);
  /// Drives it once, and sleeps until something can have changed.
  void turn(bool sleep = true);

  /// Memory for the device to work in. It lives until tear_down() has succeeded: an operation that
  /// failed may have left the device with it.
  result<scattered_memory*> allocate_memory(std::size_t bytes);

  device& adapter() { return device_; }
  verbs& objects() { return verbs_; }
  surroundings& host() { return host_; }
  const session_options& options() const { return how_; }

 private:
  struct release {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{16}); }
  };
  using storage = std::unique_ptr<std::byte[], release>;
  static storage allocate(std::size_t bytes);

  surroundings& host_;
  session_options how_;
  storage device_storage_, verbs_storage_;
  device device_;
  verbs verbs_;
  std::vector<std::unique_ptr<scattered_memory>> memory_;
  bool told_lost_ = false;
  static constexpr unsigned most_turns_without_host = 16;
  unsigned turns_without_host_ = 0;
};

}  // namespace freehca::verified_traffic
