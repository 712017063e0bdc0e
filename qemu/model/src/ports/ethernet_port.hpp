// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <freehca/layouts/set_port.hpp>

#include "basis/adapter.hpp"
#include "frames/frame.hpp"
#include "frames/frame_view.hpp"

namespace freehca::model {

/// One Ethernet port: its link, its frames, its tables and filters, its counters.
class ethernet_port {
 public:
  ethernet_port(adapter& a, unsigned number);

  void open();   ///< INIT_PORT
  void close();  ///< CLOSE_PORT
  bool is_open() const;
  bool link_up() const;
  void plug(bool plugged);

  /// A frame of a local queue pair, for the link: padded, counted, captured. What is longer than
  /// the port takes is dropped and counted. Never calls the receiver from inside.
  void transmit(frame f);
  /// A frame for the port's own queue pairs, past the link. Asynchronous.
  void loop_back(frame f);
  /// Must who sends wait, because the cable is full? Then packet_receiver::port_has_room() is
  /// called later.
  bool full() const;

  // As their namesakes in class device.
  void arrived(std::span<const std::byte> bytes);
  void has_room();

  /// A frame that found no receive, or no queue pair.
  void dropped_for_want_of_room();

  std::uint64_t mac() const;             ///< burned in
  std::size_t frame_bytes_most() const;  ///< without the FCS, tags included
  std::optional<unsigned> mac_index(std::uint64_t mac) const;
  std::optional<std::uint64_t> mac_at(unsigned index) const;
  std::optional<std::uint16_t> vlan_at(unsigned index) const;
  /// A0 steering, as SET_PORT was told last.
  const layouts::image<layouts::set_port_rqp_calc>& unicast_numbers() const;
  bool keeps_bad_frames() const;  ///< ignore_fcs

  void clear();
};

}  // namespace freehca::model
