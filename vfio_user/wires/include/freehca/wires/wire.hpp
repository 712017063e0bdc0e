// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace freehca::wires {

/// What a wire brings goes there.
class wire_reader {
 public:
  virtual bool may_receive() = 0;
  virtual void receive(const std::byte* from, std::size_t bytes) = 0;
  /// What the other end does wrong, in a sentence.
  virtual void complain(std::string_view what) = 0;

 protected:
  ~wire_reader() = default;
};

/// The way out of a port: bytes as one of QEMU's network backends carries them, so that at the
/// other end there may be a QEMU with the built-in device, or another server.
class wire {
 public:
  virtual ~wire() = default;

  /// Never waits. False: there is no room now; the caller keeps the bytes.
  virtual bool send(const std::byte* from, std::size_t bytes) = 0;
  /// Somebody may be at the other end. A wire of datagrams cannot tell, and says so always.
  virtual bool connected() const { return true; }
  /// All that was taken has gone.
  virtual bool idle() const = 0;

  /// How it stands, in a word.
  virtual const char* standing() const = 0;

  /// What to wait for; `reading` says whether bytes are wanted.
  virtual int descriptor() const = 0;
  virtual short events(bool reading) const = 0;
  /// When work() is to be called whatever happens; never: all ones.
  virtual std::uint64_t deadline() const { return ~std::uint64_t{0}; }
  virtual void work(short events, std::uint64_t now, wire_reader& to) = 0;
};

/// The wire that the text names ("stream:listen=/run/wire"); null and a message when there is none,
/// or it cannot be laid. "none" is no name of a wire.
std::unique_ptr<wire> make_wire(const std::string& text, std::string& why);

/// Such a wire leads to an Ethernet; packets of InfiniBand would be nonsense there.
bool carries_frames_alone(const std::string& text);

}  // namespace freehca::wires
