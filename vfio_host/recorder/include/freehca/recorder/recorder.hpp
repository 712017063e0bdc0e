// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <freehca/hal/platform.hpp>
#include <freehca/layouts/opcode.hpp>

namespace freehca::recorder {

/// How a recording is made.
struct recording_options {
  std::string label;           ///< free text for the header: which card, which host
  bool keep_identity = false;  ///< GUIDs, MAC addresses and descriptions stay as they are
};

/// An object whose context the adapter has, and the command that reads it back.
struct live_object {
  layouts::opcode query;
  std::uint32_t number;  ///< the command's input modifier
};

/// Writes what a driver and an adapter say to each other, in the format of docs/recording.md. It
/// stands between the driver and its platform, and hears each access of the routed flavour of the
/// core (hal/mmio.hpp), so the program is linked with that flavour. One in a process at a time.
/// Calls come from any thread that owns something of the device; they are taken one by one.
///
/// The recording is held in memory until finish(), as what is to be replaced in it may be learnt
/// late. Payload is never looked at: of host memory it tells command mailboxes, rings, and doorbell
/// records, and of an inline segment the length alone.
class recorder {
 public:
  /// `inner` outlives the recorder, and so does what platform() gives outlive the device.
  recorder(const freehca::platform& inner, recording_options how);
  ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// For device_setup, in place of `inner`.
  freehca::platform platform();
  /// What the driver does from here on, in a word or two: differences are told with it.
  void step(const std::string& name);
  /// The event and completion queues, queue pairs and memory regions that were given to the adapter
  /// and not taken back: who queries them has their contexts in the recording.
  std::vector<live_object> live_objects() const;
  /// The recording so far, whole: a header, its records, the last record.
  std::string text() const;
  /// How many records text() has between the first and the last line.
  std::size_t records() const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace freehca::recorder
