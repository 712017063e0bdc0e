// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <freehca/closed_process/closing.hpp>
#include <freehca/wires/descriptor.hpp>
#include <freehca/wires/wire.hpp>

namespace freehca::wires {

/// A descriptor on which each read and each write is one Ethernet frame: a tap device of the host,
/// or a user network. If there is no room, frames wait. Frames to a tap device that is down are
/// dropped, as without a cable.
class frame_wire : public wire {
 public:
  explicit frame_wire(wires::descriptor frames) : frames_(std::move(frames)) {}

  /// A tap device of the host (tap:ifname=NAME). It exists already, or the process creates it if it
  /// has the permission. A created device is removed with the wire.
  static std::unique_ptr<wire> tap(const std::string& options, std::string& why);
  /// A network that libslirp emulates, like QEMU's -netdev user (user_network.hpp has the options).
  /// It runs in a separate process, so that libslirp parses a guest's frames apart from the server.
  /// This process is closed in the mode `closed`.
  static std::unique_ptr<wire> user(const std::string& options, closed_process::mode closed,
                                    std::string& why);

  /// Continues with a tap device, or a user network, of another process. The process of the network
  /// ends when its socket is closed.
  static std::unique_ptr<wire> adopt_tap(const std::string& options, handed_wire& from,
                                         std::string& why);
  static std::unique_ptr<wire> adopt_user(const std::string& options, handed_wire& from,
                                          std::string& why);

  bool send(const std::byte* from, std::size_t bytes) override;
  bool connected() const override { return frames_.open(); }
  bool idle() const override { return waiting_.empty(); }
  const char* state_name() const override { return frames_.open() ? "open" : "gone"; }
  int descriptor() const override { return frames_.get(); }
  short events(bool reading) const override;
  bool hand_over(handed_wire& to) const override;
  void work(short events, std::uint64_t now, wire_reader& to) override;

 protected:
  void close() { frames_.close(); }
  virtual ssize_t write_frame(const std::byte* from, std::size_t bytes);

 private:
  bool take_over(handed_wire& from, const std::string& options, std::string& why);
  bool put(const std::byte* from, std::size_t bytes);

  static constexpr std::size_t longest = 4096 + 65536;
  static constexpr unsigned most_at_once = 64;

  wires::descriptor frames_;
  std::vector<std::byte> waiting_;  ///< a packet for which there was no room
  std::vector<std::byte> arrived_ = std::vector<std::byte>(longest);
};

}  // namespace freehca::wires
