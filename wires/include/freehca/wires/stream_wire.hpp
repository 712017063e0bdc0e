// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <freehca/wires/socket_address.hpp>
#include <freehca/wires/wire.hpp>

namespace freehca::wires {

/// Like QEMU's -netdev stream: each packet or frame follows four bytes with its length, most
/// significant first. There is one connection at a time. Without a connection packets are dropped,
/// as without a fibre.
class stream_wire final : public wire {
 public:
  /// The greatest number of waiting packets; the same as in QEMU's device.
  static constexpr std::size_t most_waiting = 512;
  /// The greatest length; QEMU refuses longer frames too (its NET_BUFSIZE).
  static constexpr std::size_t longest = 4096 + 65536;

  ~stream_wire() override;

  static std::unique_ptr<wire> listen(const std::string& address, std::string& why);
  /// A host's addresses are tried one after the other: one that nobody listens at may stand first,
  /// as ::1 does for "localhost".
  static std::unique_ptr<wire> connect(const std::string& address, std::string& why);
  /// The same. There must be at least one address.
  static std::unique_ptr<wire> connect(std::vector<socket_address> addresses);
  /// A wire that neither listens nor connects. The caller gives it a connection later.
  static std::unique_ptr<stream_wire> to_be_given() { return std::make_unique<stream_wire>(); }
  void take(wires::descriptor connection);

  /// Continues with a wire of another process that listens at the address, or connects to it.
  static std::unique_ptr<wire> adopt_listener(const std::string& address, handed_wire& from,
                                              std::string& why);
  static std::unique_ptr<wire> adopt_caller(const std::string& address, handed_wire& from,
                                            std::string& why);

  bool send(const std::byte* from, std::size_t bytes) override;
  bool connected() const override { return state_ == state::connected; }
  bool idle() const override { return waiting_.empty(); }
  const char* state_name() const override;
  int descriptor() const override;
  short events(bool reading) const override;
  std::uint64_t deadline() const override;
  void work(short events, std::uint64_t now, wire_reader& to) override;
  bool hand_over(handed_wire& to) const override;
  void add_permissions(closed_process::permissions& to) const override;

 private:
  enum class state { listening, apart, connecting, connected };

  bool take_over(handed_wire& from);
  void accept_one();
  void call(std::uint64_t now);
  void check_call(std::uint64_t now);
  void call_failed(std::uint64_t now);
  void hang_up(std::uint64_t now);
  bool flush();
  bool read_frames(wire_reader& to);

  static constexpr std::size_t prefix_bytes = 4;
  static constexpr std::uint64_t pause_ns = 200'000'000;  ///< between two attempts to connect

  state state_ = state::apart;
  wires::descriptor listener_, connection_;
  std::vector<socket_address> addresses_;  ///< to connect to, when not connected; or none
  std::size_t next_address_ = 0;
  std::string path_;  ///< the listener's path, removed by the destructor
  std::uint64_t next_call_ = 0;
  std::deque<std::vector<std::byte>> waiting_;
  std::size_t sent_of_first_ = 0;
  std::vector<std::byte> arrived_;
};

}  // namespace freehca::wires
