// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <freehca/infiniband_switch/switch_port.hpp>
#include <freehca/layouts/headers.hpp>
#include <freehca/switch_common/out_queue.hpp>
#include <freehca/switch_common/surroundings.hpp>

namespace freehca::infiniband_switch {

using switch_common::out_queue;
using switch_common::surroundings;

inline constexpr std::uint64_t never = ~std::uint64_t{0};

/// Is told when a port's link has come up or was lost. `asked_for`: a Set(PortInfo) took it down.
class link_listener {
 public:
  virtual void link_changed(unsigned port, bool asked_for) = 0;

 protected:
  ~link_listener() = default;
};

/// A port's end of its cable: whether somebody is at the other end, told by link packets, as the
/// model's class `cable` speaks them. A port that has no link sends training_1, and training_2 when
/// it has heard the other end for as long as training takes; it is up when it has heard training_2
/// or flow control too. From then on it sends flow control packets as a sign of life, one for each
/// data lane. A port whose transmitter goes off says so. The link is lost when the other end says
/// that, trains anew, or is not heard for long, and when the wire is gone.
class port_link {
 public:
  // As the model's. no source: chosen
  static constexpr std::uint64_t beat_ns = 250'000'000, silence_ns = 10'000'000'000;
  /// From the first word of the other end. no source: chosen; an adapter takes longer.
  static constexpr std::uint64_t training_ns = 50'000'000;
  /// From a Set(PortInfo) that takes the link down to its fall: the answer gets away first.
  static constexpr std::uint64_t linger_ns = 100'000'000;

  port_link(unsigned number, switch_port& port, out_queue& out, link_listener& listener)
      : number_(number), port_(port), out_(out), listener_(listener) {}

  /// The wire has somebody at its other end, or has nobody.
  void plug(bool plugged, std::uint64_t now);
  bool plugged() const { return plugged_; }
  /// Bytes of the length of a link packet. False: it is of no known form.
  bool link_packet_arrived(std::span<const std::byte> bytes, std::uint64_t now);
  /// A packet has come, or is about to go.
  void packet_arrived(unsigned lane, std::size_t bytes, std::uint64_t now);
  void packet_leaves(unsigned lane, std::size_t bytes);
  void has_room();
  /// A Set(PortInfo) that is valid asks for these states.
  void state_wanted(layouts::port_state state, layouts::port_physical_state physical,
                    std::uint64_t now);

  /// The transmitter goes off for good, and says so.
  void end();

  void run(std::uint64_t now);
  std::uint64_t deadline() const;

 private:
  enum class partner : std::uint8_t { absent, training, ready };
  static constexpr unsigned lanes = 16;

  bool transmits() const;
  void begin(std::uint64_t now);
  void heard(partner what, std::uint64_t now);
  void lost(std::uint64_t now);
  void come_up();
  void go_down(layouts::port_physical_state next, bool asked_for);
  void signal();
  void tell(layouts::link_packet_op op, unsigned lane);

  const unsigned number_;
  switch_port& port_;
  out_queue& out_;
  link_listener& listener_;
  bool plugged_ = false;
  bool said_ready_ = false;
  bool missed_signal_ = false;  ///< a link packet found no room
  partner partner_ = partner::absent;
  std::uint64_t heard_at_ = 0;
  std::uint64_t beat_at_ = never, trained_at_ = never, fall_at_ = never;
  layouts::port_physical_state falls_to_{};
  std::array<std::uint16_t, lanes> blocks_sent_{}, blocks_received_{};
};

}  // namespace freehca::infiniband_switch
