// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/set_port.hpp>

#include "basis/adapter.hpp"
#include "fabric/managed_port.hpp"
#include "fabric/management_agent.hpp"
#include "frames/frame.hpp"
#include "link/roce_address.hpp"
#include "ports/ethernet_cable.hpp"
#include "ports/ethernet_counters.hpp"
#include "ports/ethernet_settings.hpp"
#include "ports/port.hpp"
#include "ports/receive_filter.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// One Ethernet port: its link, its frames, its tables and filters, its counters. The link is up
/// when the port is open and plugged in to a cable; without options::cable it has none.
class ethernet_port final : public port, private work_receiver {
 public:
  ethernet_port(adapter& a, const node_identity& node, unsigned number);

  /// A frame of a local queue pair, for the link: padded, counted, captured. What is longer than
  /// the port takes is dropped and counted. Never calls the receiver from inside.
  void transmit(frame f);
  /// A frame for the port's own queue pairs, past the link. Asynchronous.
  void loop_back(frame f);
  /// Must who sends by that priority wait, because the cable is full or its traffic class has used
  /// up its rate? Then packet_receiver::port_has_room() is called later.
  bool full(unsigned priority = 0) const {
    return cable_.full(told_.class_of_priority[priority & 7]);
  }

  void classes_told() { cable_.classes_told(); }

  /// Does an InfiniBand port speak at the far end of its cable? Then there is no link.
  void face_infiniband(bool faces);

  /// A frame that found no receive.
  void dropped_for_want_of_room() { counters_.dropped_for_want_of_room(); }

  std::uint64_t mac() const;  ///< burned in
  /// Without the FCS, tags included.
  std::size_t frame_bytes_most() const { return told_.mtu - fcs_bytes; }
  std::optional<unsigned> mac_index(std::uint64_t mac) const { return told_.mac_index(mac); }
  std::optional<std::uint64_t> mac_at(unsigned index) const;
  std::optional<std::uint16_t> vlan_at(unsigned index) const;
  /// The entry of the GID table; nothing past it, or where it is empty.
  std::optional<roce_address> gid(unsigned index) const;
  /// The first entry with that GID (16 bytes) and version.
  std::optional<unsigned> gid_index(const std::byte* gid, roce_version version) const {
    return told_.gid_index(gid, version);
  }
  /// Has SET_PORT switched version 2 on?
  bool speaks_roce_v2() const { return told_.roce_mode == layouts::port_roce_mode::v1_and_v2; }
  /// A0 steering, as SET_PORT was told last.
  const layouts::image<layouts::set_port_rqp_calc>& unicast_numbers() const {
    return told_.unicast_numbers;
  }
  bool keeps_bad_frames() const { return told_.ignore_fcs; }
  receive_filter filter() const { return told_.filter(); }

  /// What commands have told it, and tell it.
  ethernet_settings& told() { return told_; }
  const ethernet_settings& told() const { return told_; }
  ethernet_counters& counters() { return counters_; }

  // port
  link_layer layer() const override { return link_layer::ethernet; }
  unsigned number() const override { return number_; }
  void open() override;
  void close() override;
  bool is_open() const override { return open_; }
  bool has_peer() const override { return cabled_ && plugged_ && !faces_infiniband_; }
  bool link_up() const override { return up_; }
  void clear() override;
  void plug(bool plugged) override;
  void arrived(std::span<const std::byte> bytes) override;
  void has_room() override;
  bool set_faults(const link_faults& how) override;
  void transmit(packet p) override;
  void receive_from_link(packet p) override;
  bool held_up(const path& way) const override;
  void capture(const packet& p) override;
  bool active() const override { return up_; }
  unsigned mtu_bytes() const override;
  std::uint16_t base_lid() const override { return 0; }
  bool own_lid(std::uint16_t) const override { return false; }
  std::uint16_t source_lid(unsigned) const override { return 0; }
  unsigned pkey_entries() const override { return managed_.pkey_entries; }
  std::uint16_t pkey(unsigned index) const override { return managed_.pkeys[index]; }
  bool gid(unsigned index, std::byte* to) const override;
  void count_pkey_violation() override {}
  void count_qkey_violation(std::uint32_t, std::uint32_t) override {}
  mad_result local_mad(mad_buffer& mad, bool check_mkey) override;
  void local_change(bool) override {}

 private:
  managed_port at_power_on() const;
  void train();
  void peer_changed();
  void link_comes();
  void link_goes();
  /// Pads it; false: it is too long, and was dropped.
  bool made_ready(frame& f);
  void capture(const frame& f);
  void take_in(frame f);
  void take_looped(work_item& what);
  /// Past the filters, to who is above.
  void let_in(const frame& f, const frame_summary& s);
  /// Where packets of RoCE are told apart from the network driver's frames: whether it was one.
  bool taken_as_rdma_packet(const frame& f);
  /// To the groups of its own queue pairs; asynchronous.
  void loop_to_members(const frame& f);
  /// Tells of a frame that goes no further.
  void discarded(const char* which, const frame_summary& s, const char* why);

  // Of frames, generation: generation_. Of a looped frame, number and value: frame::looped_from.
  enum work : std::uint8_t { train_end, peer_gone, arrival, looped_frame, looped_to_members };
  void run_item(work_item& what) override;

  adapter& a_;
  work_source work_;
  const unsigned number_;
  const bool cabled_;
  ethernet_settings told_;
  ethernet_counters counters_;
  ethernet_cable cable_;
  managed_port managed_;  ///< what MAD_IFC finds
  management_agent agent_;
  bool open_ = false, plugged_ = true, faces_infiniband_ = false, up_ = false;
  scheduler::ticket training_;
  /// Of the open port: frames under way die with the link, or the opening, that they are of.
  std::uint64_t generation_ = 0;
  std::uint64_t sent_ = 0, received_ = 0, looped_back_ = 0, filtered_ = 0;

 public:
  using saved =
      saving::fields<&ethernet_port::told_, &ethernet_port::counters_, &ethernet_port::cable_,
                     &ethernet_port::managed_, &ethernet_port::agent_, &ethernet_port::open_,
                     &ethernet_port::plugged_, &ethernet_port::faces_infiniband_,
                     &ethernet_port::up_, &ethernet_port::training_, &ethernet_port::generation_,
                     &ethernet_port::sent_, &ethernet_port::received_, &ethernet_port::looped_back_,
                     &ethernet_port::filtered_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
  const char* broken_invariant() const {
    return !up_ || (open_ && cabled_) ? nullptr
                                      : "a port has a link, and is closed or has no cable";
  }
};

}  // namespace freehca::model
