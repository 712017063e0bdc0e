// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <freehca/layouts/set_port.hpp>

#include "basis/adapter.hpp"
#include "frames/frame_view.hpp"
#include "link/transport_packet.hpp"
#include "saving/fields.hpp"
#include "steering/flow_steering.hpp"
#include "steering/listening.hpp"
#include "steering/member.hpp"
#include "steering/multicast_groups.hpp"

namespace freehca::model {

/// Who gets what arrives: multicast packets, datagrams that rules steer, and Ethernet frames, in
/// whichever mode INIT_HCA chose.
class steering {
 public:
  explicit steering(adapter& a) : a_(a), groups_(a), flows_(a) {}

  /// What A0 steering asks of an Ethernet port.
  struct port_tables {
    std::function<layouts::image<layouts::set_port_rqp_calc>(unsigned port)> unicast_numbers;
    std::function<std::optional<unsigned>(unsigned port, std::uint64_t mac)> mac_index;
  };
  /// Before it is told, A0 steering gives nobody a frame.
  void ask(port_tables tables) { tables_ = std::move(tables); }

  /// A search for members, which goes on in slices. Points to nothing of what arrived.
  class search {
    friend class steering;
    std::optional<multicast_groups::search> chain_;
    std::optional<flow_steering::frame_search> rules_;
    member_list known_;  ///< with neither of them

   public:
    using saved = saving::fields<&search::chain_, &search::rules_, &search::known_>;
  };
  /// `v`: to a group, or to a queue pair that rules steer.
  search begin(const transport_packet& v) const;
  search begin(unsigned port, const frame_view& v) const;
  /// As far as the slice goes; true: it has ended, and `found`, empty before, has the members in
  /// the order in which they get it. What arrived is what the search began with.
  bool go_on(search& s, const transport_packet& v, member_list& found);
  bool go_on(search& s, unsigned port, const frame_view& v, member_list& found);

  /// Is steering device managed?
  bool on() const { return flows_.on(); }
  /// Is unicast of datagrams to this queue pair given by rules alone?
  bool steers(std::uint32_t qpn) const { return flows_.steers(qpn); }
  /// What an Ethernet port's queue pairs listen to. With A0 steering the addresses are those of the
  /// port's own table, and not told here.
  listening listens(unsigned port);

  void clear();

 private:
  adapter& a_;
  multicast_groups groups_;
  flow_steering flows_;
  port_tables tables_;

 public:
  using saved = saving::fields<&steering::groups_, &steering::flows_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"tables_", "functions, which the transport sets when it is made"}};
};

}  // namespace freehca::model
