// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <freehca/switch_common/forwarder.hpp>
#include <freehca/switch_common/surroundings.hpp>
#include <freehca/wires/descriptor.hpp>
#include <freehca/wires/stream_wire.hpp>
#include <freehca/wires/wire.hpp>

#include "callers.hpp"
#include "settings.hpp"

namespace freehca::switch_program {

/// The program: wires on one side, a switch or a bridge on the other, and one thread that hears
/// each of them in turn.
class switch_loop final : public switch_common::surroundings {
 public:
  explicit switch_loop(const settings& how);
  ~switch_loop();
  switch_loop(const switch_loop&) = delete;
  switch_loop& operator=(const switch_loop&) = delete;

  /// "", or what is wrong. From here on SIGTERM and SIGINT are asked for, not suffered.
  std::string begin();
  /// Returns when the process is asked to end.
  void run();

  // switch_common::surroundings
  std::uint64_t now() override;
  bool send(unsigned port, std::span<const std::byte> bytes) override;
  void tell(std::string_view what) override;
  bool listens() const override { return how_.trace; }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  struct port {
    std::unique_ptr<wires::wire> wire;
    bool plugged = false;
    bool full = false;  ///< send() has said that there is no room
    std::string name;   ///< of its last caller, with --listen
    /// The end of the grace time in which the port keeps its link without a connection.
    std::uint64_t held_until = never;
    bool held() const { return held_until != never; }
  };
  class port_reader;
  class caller_reader;
  enum place : unsigned { stop_place, listener_place, first_port_place };

  std::string lay_wires();
  /// Gives up the rights that are not needed from now on. "", or what is wrong.
  std::string close_itself();
  void wait_for_something();
  void serve(unsigned number, short events);
  /// Tells the forwarder that the port's wire has a peer, or has none any more.
  void update_plug(unsigned number);
  void serve_callers();
  /// The caller becomes the peer of the port.
  void give_port(unsigned number, std::unique_ptr<wires::stream_wire> caller);
  /// Reports what peers can cause as often as they like. Only the first lines are printed.
  void report_some(std::string_view what);
  /// What was still to be sent is, for a moment.
  void say_goodbye();

  const settings& how_;
  std::vector<port> ports_;
  std::unique_ptr<switch_common::forwarder> forwarder_;
  wires::descriptor stop_, listener_;
  std::string listener_path_;
  callers callers_;
  unsigned some_reported_ = 0;
  static constexpr unsigned most_reported = 32;
  std::string rights_;  ///< what close_itself() has done, for people
  std::vector<pollfd> watched_;
};

}  // namespace freehca::switch_program
