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

/// Options of a recording.
struct recording_options {
  std::string label;           ///< free text for the header: which card, which host
  bool keep_identity = false;  ///< GUIDs, MAC addresses and descriptions stay as they are
};

/// An object whose context the adapter has, and the command that queries the context.
struct live_object {
  layouts::opcode query;
  std::uint32_t number;  ///< the command's input modifier
};

/// Records the accesses between a driver and an adapter, in the format of docs/recording.md. It
/// wraps the driver's platform and observes each access of the routed flavour of the core
/// (hal/mmio.hpp). The program must be linked with that flavour. Only one recorder may exist in a
/// process. Control owner and event owners may call it from their threads; it processes one call at
/// a time.
///
/// The recording stays in memory until text() is called, because values that must be replaced in it
/// may become known late. Payload is never recorded: of host memory the recording has command
/// mailboxes, rings and doorbell records, and of an inline segment only the length.
class recorder {
 public:
  /// `inner` must outlive the recorder, and the result of platform() must outlive the device.
  recorder(const freehca::platform& inner, recording_options how);
  ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// The platform for device_setup, instead of `inner`.
  freehca::platform platform();
  /// Names the driver's next step in a word or two. Replay reports differences with this name.
  void step(const std::string& name);
  /// The event queues, completion queues, queue pairs and memory regions that the adapter has now.
  /// If the caller queries them, their contexts are in the recording.
  std::vector<live_object> live_objects() const;
  /// The complete recording so far: a header, the records, the last record.
  std::string text() const;
  /// The number of records in text() between the first and the last line.
  std::size_t records() const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace freehca::recorder
