// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <freehca/vfio_user/descriptor.hpp>
#include <freehca/wires/wire.hpp>

namespace freehca::wires {

/// A descriptor of which each read and each write is one Ethernet frame: a tap device of the host,
/// or a user network. What there is no room for waits; what is written to a tap device that is down
/// is lost, as it is without a cable.
class frame_wire : public wire {
 public:
  explicit frame_wire(vfio_user::descriptor frames) : frames_(std::move(frames)) {}

  /// A tap device of the host (tap:ifname=NAME). It is there already, or the process may make one,
  /// which then goes with the wire.
  static std::unique_ptr<wire> tap(const std::string& options, std::string& why);
  /// A network that libslirp emulates, as QEMU's -netdev user (user_network.hpp has the options).
  /// It is a process of its own: what a guest sends is taken apart there, where nothing else is.
  static std::unique_ptr<wire> user(const std::string& options, std::string& why);

  bool send(const std::byte* from, std::size_t bytes) override;
  bool connected() const override { return frames_.open(); }
  bool idle() const override { return waiting_.empty(); }
  const char* standing() const override { return frames_.open() ? "open" : "gone"; }
  int descriptor() const override { return frames_.get(); }
  short events(bool reading) const override;
  void work(short events, std::uint64_t now, wire_reader& to) override;

 protected:
  void close() { frames_.close(); }
  virtual ssize_t write_frame(const std::byte* from, std::size_t bytes);

 private:
  bool put(const std::byte* from, std::size_t bytes);

  static constexpr std::size_t longest = 4096 + 65536;
  static constexpr unsigned most_at_once = 64;

  vfio_user::descriptor frames_;
  std::vector<std::byte> waiting_;  ///< one that found no room
  std::vector<std::byte> arrived_ = std::vector<std::byte>(longest);
};

}  // namespace freehca::wires
