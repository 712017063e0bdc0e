// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <freehca/wires/socket_address.hpp>
#include <freehca/wires/wire.hpp>

namespace freehca::wires {

/// Like QEMU's -netdev dgram with a local and a remote address: one packet or frame is one
/// datagram. If the other end has no room, packets wait. If there is no other end, they are
/// dropped.
class datagram_wire final : public wire {
 public:
  ~datagram_wire() override;

  static std::unique_ptr<wire> make(const std::string& local, const std::string& remote,
                                    std::string& why);

  /// Continues with a wire of another process between these addresses.
  static std::unique_ptr<wire> adopt(const std::string& local, const std::string& remote,
                                     handed_wire& from, std::string& why);

  bool send(const std::byte* from, std::size_t bytes) override;
  bool idle() const override { return waiting_.empty(); }
  const char* state_name() const override { return "open"; }
  int descriptor() const override { return socket_.get(); }
  short events(bool reading) const override;
  std::uint64_t deadline() const override;
  void work(short events, std::uint64_t now, wire_reader& to) override;
  bool hand_over(handed_wire& to) const override;
  void add_permissions(closed_process::permissions& to) const override {
    if (!path_.empty()) to.removed_files.push_back(path_);
  }

 private:
  bool put(const std::byte* from, std::size_t bytes);

  static constexpr std::size_t longest = 4096 + 65536;
  static constexpr unsigned most_at_once = 64;
  /// Pause before the next attempt. poll() cannot wait for room in the other end's queue: it
  /// reports a unix datagram socket as writeable although that queue is full.
  static constexpr std::uint64_t pause_ns = 100'000;

  wires::descriptor socket_;
  socket_address remote_;
  std::string path_;
  std::vector<std::byte> waiting_;  ///< a packet for which there was no room
  std::uint64_t next_try_ = 0;
  std::vector<std::byte> arrived_ = std::vector<std::byte>(longest);
};

}  // namespace freehca::wires
