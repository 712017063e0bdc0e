// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <freehca/hal/platform.hpp>

namespace freehca::blocking {

/// The sleep of an event owner's thread. Created and destroyed on the thread of the
/// control owner.
class owner_wait {
 public:
  virtual ~owner_wait() = default;
  /// Sleeps until an interrupt of its vector, until wake(), or until `deadline` on the platform's
  /// clock. With deadline 0 it does not sleep. Reports interrupts to the driver. One thread at a
  /// time.
  virtual void wait(std::uint64_t deadline) = 0;
  /// Ends the current wait(); if there is none, the next one. Any thread.
  virtual void wake() noexcept = 0;
  /// For event_owner_setup::wake; `self` is an owner_wait.
  static void wake_it(void* self) noexcept { static_cast<owner_wait*>(self)->wake(); }
};

/// The surroundings of a program's driver: the adapter's platform, and a way to sleep.
class host {
 public:
  virtual ~host() = default;
  virtual freehca::platform platform() = 0;
  /// Sleeps until an interrupt or until `deadline` on the platform's clock. With deadline 0 it does
  /// not sleep. Reports interrupts to the driver.
  virtual void wait(std::uint64_t deadline) = 0;
  /// For a program's own poll() or epoll: a file descriptor that is readable while an event waits
  /// for a call of wait(0). The host owns it, and it never changes. -1: there is none.
  virtual int descriptor() = 0;
  /// Ends the current wait(); if there is none, the next one. Any thread: event owners call it when
  /// they send a request to the control owner. A host whose driver runs on one thread does not need
  /// this function.
  virtual void wake() noexcept {}
  /// Moves the waiting for a vector to another thread: until the returned object is destroyed, it
  /// waits for the vector, and wait() does not. The device must be up. Returns null and the reason
  /// in `why` if that is not possible.
  virtual std::unique_ptr<owner_wait> wait_for(unsigned, std::string& why) {
    why = "this host has one thread";
    return nullptr;
  }
  /// The device is gone, or the platform requests its release and the program has no other way to
  /// learn of the request.
  virtual bool gone() const { return false; }
  /// The user wants the program to end. The session then cancels the operation that it waits for.
  virtual bool interrupted() const { return false; }
};

/// Opens the adapter at an address, for a driver that maps `locked_bytes` bytes. An address is that
/// of a PCI function that is bound to vfio-pci ("0000:03:00.0"), or the socket of a server of
/// vfio-user ("/run/hca0" or "vfio-user:/run/hca0"). On failure it returns null, and `why` names
/// the obstacle and the commands that remove it.
///
/// The library that a program is linked with defines this function. The library for VFIO accepts
/// PCI functions, the library for vfio-user accepts both. A program may define its own instead.
std::unique_ptr<host> open_host(const std::string& address, std::size_t locked_bytes,
                                std::string& why);

/// The path of the socket that the address names. Empty if the address is not that of a socket.
inline std::string socket_of(const std::string& address) {
  constexpr const char* prefix = "vfio-user:";
  if (address.starts_with(prefix)) return address.substr(std::char_traits<char>::length(prefix));
  return address.find('/') == std::string::npos ? std::string() : address;
}

/// open_host() for PCI functions only.
std::unique_ptr<host> open_over_vfio(const std::string& pci_address, std::size_t locked_bytes,
                                     std::string& why);

}  // namespace freehca::blocking
