// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <freehca/layouts/command_status.hpp>

#include "basis/adapter.hpp"
#include "basis/work_account.hpp"
#include "saving/fields.hpp"
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

  /// A search for the receivers of a frame. A frame that no regular rule takes goes to the default
  /// rules, and sniffer rules get a copy of every frame. No queue pair gets a frame twice.
  class frame_search {
    friend class flow_steering;
    enum class part : std::uint8_t { regular, defaults, sniffers };
    part next_ = part::regular;
    member_list found_;
    std::unordered_set<std::uint32_t> numbers_;  ///< of the queue pairs in `found_`

   public:
    using saved = saving::fields<saving::up_to(&frame_search::next_, part::sniffers),
                                 &frame_search::found_, &frame_search::numbers_>;
  };
  /// Does the next part of the search. True: it has ended, and `to`, empty before, has the
  /// receivers. The port and the frame are those of the first call.
  bool go_on(frame_search& s, unsigned port, const frame_view& v, member_list& to) const;

  /// Rules of frames that one key finds. A frame is compared with the rules of three keys in one
  /// step of a search (of its address, of its connection, of any frame), and so is a datagram with
  /// rules_per_group of each. More than ethtool's 256 (mlx4_en.h MAX_NUM_OF_FS_RULES) and the rules
  /// that mlx4_en and users make for the same address. No source: chosen.
  static constexpr std::size_t rules_per_key = 280;
  static constexpr std::size_t keys_per_step = 3;
  /// What a rule costs that takes what it was compared with, besides the comparison: it is sorted
  /// in among the others, and its queue pair is looked for among those found.
  static constexpr work_account::units match = 2 * work_account::entry;
  /// The most that one step of a search costs.
  static constexpr work_account::units step_at_most =
      keys_per_step * rules_per_key * (work_account::entry + match);
  static_assert(step_at_most <= work_account::step);

  void tell(unsigned port, listening& to) const;
  void clear();

  void transfer_state(saving::writer& to);
  void transfer_state(saving::reader& from);

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

  using candidate = std::pair<order, const flow_rule*>;
  /// In the order of the rules.
  using candidates = std::vector<candidate>;
  /// Adds the rules found by a key that take what came by the port.
  template <class What>
  void look(const flow_rule::key& where, unsigned port, const What& what, candidates& to) const;
  static void add(const candidates& from, bool all, frame_search& to);
  /// Adds a rule. Its number is above 0.
  void keep(std::uint64_t number, const flow_rule::key& where, const flow_rule& rule);
  std::size_t rules_at(const flow_rule::key& where) const;
  /// Those that stand there and take the same packets or frames as `rule`.
  std::size_t rules_like(const flow_rule& rule, const flow_rule::key& where) const;

  adapter& a_;
  std::map<flow_rule::key, rules> rules_;
  std::map<std::uint64_t, place> places_;  ///< by the number that ATTACH answered
  std::uint64_t last_number_ = 0;
  std::uint32_t first_steered_ = 0, steered_ = 0;  ///< queue pairs from the first on
  mutable std::uint64_t compared_ = 0, matched_ = 0;

  /// No adapter has so many in its life. A load refuses more.
  static constexpr std::uint64_t last_number_most = std::uint64_t{1} << 62;
  template <class Archive>
  void transfer_members(Archive& archive);

 public:
  using saved =
      saving::fields<&flow_steering::last_number_, &flow_steering::first_steered_,
                     &flow_steering::steered_, &flow_steering::compared_, &flow_steering::matched_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"rules_", "transfer_state() writes the rules by their numbers, and makes it of them"},
      {"places_", "transfer_state() writes the rules by their numbers, and makes it of them"}};
};

}  // namespace freehca::model
