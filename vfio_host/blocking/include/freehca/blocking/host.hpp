// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <freehca/hal/platform.hpp>

namespace freehca::blocking {

/// How the thread of another owner (event_verbs) sleeps. Made and destroyed on the thread of the
/// control owner.
class owner_wait {
 public:
  virtual ~owner_wait() = default;
  /// Until an interrupt of its vector, wake(), or `deadline` on the platform's clock; 0: does not
  /// sleep. Tells the driver of the interrupt. One thread at a time.
  virtual void wait(std::uint64_t deadline) = 0;
  /// Ends the wait() that is under way, or else the next one. Any thread.
  virtual void wake() noexcept = 0;
  /// For event_owner_setup::wake; `self` is an owner_wait.
  static void wake_it(void* self) noexcept { static_cast<owner_wait*>(self)->wake(); }
};

/// Where a program finds its adapter, and what it sleeps by.
class host {
 public:
  virtual ~host() = default;
  virtual freehca::platform platform() = 0;
  /// Sleeps until an interrupt or `deadline` on the platform's clock; 0: does not sleep. Tells the
  /// driver of interrupts.
  virtual void wait(std::uint64_t deadline) = 0;
  /// For a program's own poll() or epoll: a file descriptor that can be read when wait(0) has
  /// something to tell of, until that was called. It is the host's, and the same for its whole
  /// life. -1: there is none.
  virtual int descriptor() = 0;
  /// Ends the wait() that is under way, or else the next one. Any thread: other owners call it when
  /// they ask the control owner for something. A host whose driver runs on one thread need not have
  /// it.
  virtual void wake() noexcept {}
  /// From here on, until the object is destroyed, another thread waits for the vector, and wait()
  /// does not. The device is up. Null: nobody can, and `why` says so.
  virtual std::unique_ptr<owner_wait> wait_for(unsigned, std::string& why) {
    why = "this host has one thread";
    return nullptr;
  }
  /// The platform knows that the device is lost; or it wants the device back, and the program has
  /// no other way to learn of that.
  virtual bool lost() const { return false; }
  /// Whoever runs the program wants it to end: what is waited for is cancelled.
  virtual bool interrupted() const { return false; }
};

/// Opens the adapter at an address, for a driver that maps so many bytes. An address is that of a
/// PCI function that vfio-pci has ("0000:03:00.0"), or the socket of a server of vfio-user
/// ("/run/hca0" or "vfio-user:/run/hca0"). Null: `why` says what stands in the way, and which
/// commands put it right.
///
/// The library that a program is linked with has this function: that for VFIO knows PCI functions,
/// that for vfio-user both. A program may bring one of its own instead.
std::unique_ptr<host> open_host(const std::string& address, std::size_t locked_bytes,
                                std::string& why);

/// The path of the socket that the address names; empty: it names none.
inline std::string socket_of(const std::string& address) {
  constexpr const char* prefix = "vfio-user:";
  if (address.starts_with(prefix)) return address.substr(std::char_traits<char>::length(prefix));
  return address.find('/') == std::string::npos ? std::string() : address;
}

/// open_host() for PCI functions alone.
std::unique_ptr<host> open_over_vfio(const std::string& pci_address, std::size_t locked_bytes,
                                     std::string& why);

}  // namespace freehca::blocking
