// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <freehca/layouts/command_status.hpp>

#include "basis/adapter.hpp"
#include "steering/flow_rule.hpp"
#include "steering/listening.hpp"
#include "steering/member.hpp"

namespace freehca::model {

/// Device-managed flow steering: QP_FLOW_STEERING_ATTACH and _DETACH, FLOW_STEERING_IB_UC_QP_RANGE,
/// and who gets a packet when INIT_HCA has chosen it. Rules are not kept in the table that the host
/// lends, since nothing tells how a card lays them out there: the table only bounds their number.
class flow_steering {
 public:
  explicit flow_steering(adapter& a);
  static constexpr std::size_t bytes_each = 2048;  ///< that a rule takes at most

  bool on() const;
  /// Is InfiniBand unicast to this queue pair given by rules alone?
  bool steers(std::uint32_t qpn) const;
  /// To whom the rules of its port give a datagram: unicast to the first that takes it, multicast
  /// to all of them as far as an exclusive one.
  member_list takers(const transport_packet& v) const;
  /// The same of a frame. One that no regular rule takes goes to defaults, and sniffers have a copy
  /// of each. No queue pair gets a frame twice.
  member_list takers(unsigned port, const frame_view& v) const;
  void tell(unsigned port, listening& to) const;
  void clear();

 private:
  layouts::command_status attach(command& c);
  layouts::command_status detach(command& c);
  layouts::command_status set_range(command& c);

  /// Priority, and the order in which rules of one priority came: negative for those that go before
  /// the others.
  using order = std::pair<std::uint64_t, std::int64_t>;
  using rules = std::map<order, flow_rule>;
  struct place {
    flow_rule::key where;
    order when;
  };

  using candidates = std::vector<std::pair<order, const flow_rule*>>;
  /// Adds the rules found by a key that take what came by the port.
  template <class What>
  void look(const flow_rule::key& where, unsigned port, const What& what, candidates& to) const;
  std::size_t rules_at(const flow_rule::key& where) const;
  /// Those that stand there and take the same packets or frames as `rule`.
  std::size_t rules_like(const flow_rule& rule, const flow_rule::key& where) const;

  adapter& a_;
  std::map<flow_rule::key, rules> rules_;
  std::map<std::uint64_t, place> places_;  ///< by the number that ATTACH answered
  std::uint64_t last_number_ = 0;
  std::uint32_t first_steered_ = 0, steered_ = 0;  ///< queue pairs from the first on
};

}  // namespace freehca::model
