// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <freehca/closed_process/closing.hpp>
#include <freehca/closed_process/permissions.hpp>
#include <freehca/wires/descriptor.hpp>

namespace freehca::wires {

/// The receiver of a wire's packets.
class wire_reader {
 public:
  virtual bool may_receive() = 0;
  virtual void receive(const std::byte* from, std::size_t bytes) = 0;
  /// Reports a fault of the other end, in a sentence.
  virtual void complain(std::string_view what) = 0;

 protected:
  ~wire_reader() = default;
};

/// A wire on its way from one process to another: its sockets as they are, and its bytes under way.
struct handed_wire {
  std::uint8_t stage = 0;  ///< of a connection
  wires::descriptor listener, connection;
  std::vector<std::vector<std::byte>> waiting;  ///< what is sent next; the first part may be gone
  std::vector<std::byte> arrived;               ///< the beginning of a packet
};

/// The connection of a port to another process. Its format is that of one of QEMU's network
/// backends, so that the other end may be a QEMU with the built-in device, or another server.
class wire {
 public:
  virtual ~wire() = default;

  /// Sends a packet without waiting. Returns false if there is no room; the caller keeps the
  /// packet.
  virtual bool send(const std::byte* from, std::size_t bytes) = 0;
  /// Whether there may be another end. A wire of datagrams cannot know, and always returns true.
  virtual bool connected() const { return true; }
  /// Whether all accepted packets have been sent.
  virtual bool idle() const = 0;

  /// The state in a word, such as "open".
  virtual const char* state_name() const = 0;

  /// What the program shall print at its start, in a sentence, or "".
  virtual std::string warning() const { return ""; }

  /// The descriptor and events to wait for. `reading` says whether the caller accepts packets now.
  virtual int descriptor() const = 0;
  virtual short events(bool reading) const = 0;
  /// The time at which work() must be called even without an event. All ones: never.
  virtual std::uint64_t deadline() const { return ~std::uint64_t{0}; }
  virtual void work(short events, std::uint64_t now, wire_reader& to) = 0;

  /// Copies the wire for another process. This process must neither use the wire nor destroy it
  /// from then on, unless the other process refuses it. Returns false if a descriptor cannot be
  /// copied.
  virtual bool hand_over(handed_wire& to) const = 0;

  /// Adds the permissions that the wire needs in a closed process, until its destructor returns.
  virtual void add_permissions(closed_process::permissions&) const {}
};

/// Creates the wire that the text names ("stream:listen=/run/wire,name=host1"). Returns null and a
/// message if the text is wrong or the wire cannot be created. "none" does not name a wire. If the
/// wire has a process of its own, that process is closed in the mode `closed`.
std::unique_ptr<wire> make_wire(const std::string& text, std::string& why,
                                closed_process::mode closed = closed_process::mode::automatic);

/// Continues with the wire of another process, which the same text names. Returns null and a
/// message if it is not a state of such a wire.
std::unique_ptr<wire> adopt_wire(const std::string& text, handed_wire from, std::string& why);

/// Whether the wire carries only Ethernet frames, so that a port of InfiniBand cannot use it.
bool carries_frames_alone(const std::string& text);

}  // namespace freehca::wires
