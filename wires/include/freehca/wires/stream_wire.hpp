// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <freehca/wires/hello.hpp>
#include <freehca/wires/hello_options.hpp>
#include <freehca/wires/socket_address.hpp>
#include <freehca/wires/wire.hpp>

namespace freehca::wires {

/// Like QEMU's -netdev stream: each packet or frame follows four bytes with its length, most
/// significant first. There is one connection at a time. Without a connection packets are dropped,
/// as without a fibre. A connection begins with a hello (class hello). QEMU's backend has none. A
/// wire without a secret and without a name therefore sends exactly QEMU's bytes.
class stream_wire final : public wire {
 public:
  /// The greatest number of waiting packets; the same as in QEMU's device.
  static constexpr std::size_t most_waiting = 512;
  /// The greatest length; QEMU refuses longer frames too (its NET_BUFSIZE).
  static constexpr std::size_t longest = 4096 + 65536;

  explicit stream_wire(hello_options options = {}) : options_(std::move(options)) {}
  ~stream_wire() override;

  /// `text` is an address and the options of the hello (read_hello_options()).
  static std::unique_ptr<wire> listen(const std::string& text, std::string& why);
  /// A host's addresses are tried one after the other: one that nobody listens at may stand first,
  /// as ::1 does for "localhost".
  static std::unique_ptr<wire> connect(const std::string& text, std::string& why);
  /// The same. There must be at least one address.
  static std::unique_ptr<wire> connect(std::vector<socket_address> addresses,
                                       hello_options options = {});
  /// A wire that neither listens nor connects. The caller gives it a connection later.
  static std::unique_ptr<stream_wire> to_be_given(hello_options options = {}) {
    return std::make_unique<stream_wire>(std::move(options));
  }
  /// Begins with a connection that a listener has accepted.
  void take(wires::descriptor connection, std::uint64_t now);
  /// The name in the hello of the present peer, or "".
  std::string peer_name() const { return hello_ ? hello_->peer_name() : std::string(); }

  /// Continues with a wire of another process that listens at the address, or connects to it.
  static std::unique_ptr<wire> adopt_listener(const std::string& text, handed_wire& from,
                                              std::string& why);
  static std::unique_ptr<wire> adopt_caller(const std::string& text, handed_wire& from,
                                            std::string& why);

  bool send(const std::byte* from, std::size_t bytes) override;
  bool connected() const override {
    return state_ == state::connected && hello_.has_value() && hello_->open();
  }
  bool idle() const override { return waiting_.empty(); }
  std::string warning() const override { return warning_; }
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
  void accept_one(std::uint64_t now);
  void call(std::uint64_t now);
  void check_call(std::uint64_t now);
  void begin(hello_role role, std::uint64_t now);
  void call_failed(std::uint64_t now);
  void hang_up(std::uint64_t now);
  bool work_connection(short events, std::uint64_t now, wire_reader& to);
  bool flush();
  bool receive();
  bool work_hello(std::uint64_t now, bool lives, wire_reader& to);
  bool deliver(wire_reader& to);
  void put_frame(const std::byte* from, std::size_t bytes);
  void drop_arrived(std::size_t bytes);
  void complain_of_refusal(wire_reader& to);

  static constexpr std::size_t prefix_bytes = 4;
  /// The pauses between two attempts to connect. The longer one follows a refusal.
  static constexpr std::uint64_t pause_ns = 200'000'000, refused_pause_ns = 1'000'000'000;
  /// The most refusals in a row that are reported.
  static constexpr unsigned most_refusals = 32;

  const hello_options options_;
  std::string warning_;
  state state_ = state::apart;
  std::optional<hello> hello_;  ///< of the present connection
  unsigned refusals_ = 0;       ///< in a row
  /// The hello has ended, and what arrived behind it has not been delivered yet.
  bool undelivered_ = false;
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
