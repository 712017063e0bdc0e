// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "steering/flow_steering.hpp"

#include <algorithm>
#include <array>

#include <freehca/layouts/hcr.hpp>

#include "basis/capabilities.hpp"
#include "command/command_checks.hpp"
#include "saving/transfer.hpp"

namespace freehca::model {

using namespace layouts;

flow_steering::flow_steering(adapter& a) : a_(a) {
  if (!offers(a.how, capability::device_managed_steering)) return;
  using handler = command_status (flow_steering::*)(command&);
  const auto on_command = [this](opcode o, handler h) {
    a_.commands.on(o, [this, h](command& c) {
      command_checks is(a_.rules);
      is.must(on(), rule::steering_on, command_status::bad_system_state,
              "dmfs was not set in INIT_HCA");
      return is.refused() ? is.status() : (this->*h)(c);
    });
  };
  on_command(opcode::qp_flow_steering_attach, &flow_steering::attach);
  on_command(opcode::qp_flow_steering_detach, &flow_steering::detach);
  on_command(opcode::flow_steering_ib_uc_qp_range, &flow_steering::set_range);
  static_assert(sizeof(flow_rule) + sizeof(place) + 512 <= bytes_each);
  static_assert(adapter_limits{}.rules_per_group <= rules_per_key);
  a.kept.add_objects(bytes_each, [this] { return places_.size(); });
  a.counters.add("flow_rules", [this] { return places_.size(); });
  a.counters.add("flow_rules_compared", compared_);
  a.counters.add("flow_rules_matched", matched_);
}

bool flow_steering::on() const {
  return a_.profile.device_managed_steering;
}

bool flow_steering::steers(std::uint32_t qpn) const {
  return qpn - first_steered_ < steered_;
}

void flow_steering::clear() {
  a_.work.discard(rules_);
  a_.work.discard(places_);
  first_steered_ = steered_ = 0;
}

// Linux reads "bad system state" as "device-managed steering is off", and "exceeds limits" as "the
// table is full" (mcg.c mlx4_flow_attach, by cmd.c mlx4_status_to_errno). A rule that is taken
// though nothing can be made of it takes no packet.
command_status flow_steering::attach(command& c) {
  std::array<std::byte, mailbox_bytes> text;
  command_checks is(a_.rules);
  is.at_most(rule::input_modifier, "input modifier: words", c.input_modifier, text.size() / 4);
  const std::size_t bytes = std::min<std::size_t>(c.input_modifier, text.size() / 4) * 4;
  is.was_read(a_.memory.read(c.input_parameter, text.data(), bytes), c);
  if (is.refused()) return is.status();
  const flow_rule rule = flow_rule::read(text.data(), bytes, a_.layers);
  // mlx4_ib attaches both for a sniffer (hw/mlx4/main.c mlx4_ib_create_flow): who asks for one that
  // would stay silent is told. No source for the status: chosen.
  const auto type = rule.control.get<&flow_rule_control::type>();
  is.must(type != flow_rule_type::mirror_receive && type != flow_rule_type::mirror_send,
          rule::steering_rule, command_status::bad_parameter,
          "type %u, a mirror, which the model has none of", static_cast<unsigned>(type))
      .that(rule.malformed == nullptr, rule::steering_rule, command_status::bad_parameter, "%s",
            rule.malformed == nullptr ? "" : rule.malformed)
      .that(!rule.looks_at_ip() || offers(a_.how, capability::ipoib_steering),
            rule::capability_reported, command_status::bad_parameter,
            "a header of IPv4, and steering of IPoIB is not reported");
  using head = flow_rule_control;
  const auto port = rule.control.get<&head::port>();
  const flow_rule::key where = rule.found_by();
  const std::size_t in_group = rules_like(rule, where), beside = rules_at(where);
  is.port(rule.malformed != nullptr || (port >= 1 && port <= a_.how.ports), "port", port,
          a_.how.ports)
      .that(rule.control.get<&head::function>() == 0, rule::steering_rule,
            command_status::bad_parameter, "function %u; there is function 0 alone",
            static_cast<unsigned>(rule.control.get<&head::function>()))
      .in_table("qpn", rule.control.get<&head::qpn>(), a_.profile.log_qps)
      .must(places_.size() >> a_.profile.log_mc_table == 0, rule::steering_room,
            command_status::exceeds_limits, "%zu rules; the table has 0x%x", places_.size(),
            1u << a_.profile.log_mc_table)
      .must(in_group < a_.limits().rules_per_group, rule::steering_room,
            command_status::exceeds_limits, "%zu rules for this %s; at most %u", in_group,
            rule.for_frames() ? "address or connection" : "group or queue pair",
            a_.limits().rules_per_group)
      .must(!rule.for_frames() || beside < rules_per_key, rule::steering_room,
            command_status::exceeds_limits, "%zu rules beside it for this address; at most %zu",
            beside, rules_per_key)
      .host_memory(a_.kept, bytes_each);
  if (is.refused()) return is.status();

  keep(++last_number_, where, rule);
  c.output_parameter = last_number_;
  return command_status::ok;
}

void flow_steering::keep(std::uint64_t number, const flow_rule::key& where, const flow_rule& rule) {
  using head = flow_rule_control;
  const auto counted = static_cast<std::int64_t>(number);
  const place p{
      where,
      {rule.control.get<&head::priority>(), rule.control.get<&head::lifo>() ? -counted : counted}};
  rules_[p.where].emplace(p.when, rule);
  places_.emplace(number, p);
}

std::size_t flow_steering::rules_at(const flow_rule::key& where) const {
  const auto found = rules_.find(where);
  return found == rules_.end() ? 0 : found->second.size();
}

std::size_t flow_steering::rules_like(const flow_rule& rule, const flow_rule::key& where) const {
  const auto found = rules_.find(where);
  if (found == rules_.end()) return 0;
  if (!rule.for_frames()) return found->second.size();
  a_.account.charge(found->second.size() * work_account::entry);
  return static_cast<std::size_t>(
      std::count_if(found->second.begin(), found->second.end(),
                    [&rule](const auto& other) { return rule.matches_as(other.second); }));
}

command_status flow_steering::detach(command& c) {
  const auto found = places_.find(c.input_parameter);
  command_checks is(a_.rules);
  is.must(found != places_.end(), rule::steering_rule_exists, command_status::bad_index,
          "immediate: there is no rule 0x%llx", static_cast<unsigned long long>(c.input_parameter));
  if (is.refused()) return is.status();
  const auto where = rules_.find(found->second.where);
  where->second.erase(found->second.when);
  if (where->second.empty()) rules_.erase(where);
  places_.erase(found);
  return command_status::ok;
}

command_status flow_steering::set_range(command& c) {
  command_checks is(a_.rules);
  is.must(offers(a_.how, capability::ipoib_steering), rule::known_command,
          command_status::bad_operation, "steering of IPoIB is not reported");
  image<steered_qp_range> range;
  store_be(range.data(), c.input_parameter);
  const std::uint64_t first = range.get<&steered_qp_range::first>(),
                      last = range.get<&steered_qp_range::last>();
  using ull = unsigned long long;
  is.that(last >= first, rule::steered_range, command_status::bad_parameter,
          "last 0x%llx is before first 0x%llx", ull{last}, ull{first})
      .in_table("last", last, a_.profile.log_qps)
      .not_reserved("first", first, a_.limits().reserved_qps())
      .that(last < first || (last - first) >> a_.limits().log_steered_qps == 0, rule::steered_range,
            command_status::exceeds_limits, "first 0x%llx to last 0x%llx; at most 0x%x", ull{first},
            ull{last}, 1u << a_.limits().log_steered_qps);
  if (is.refused() || last < first) return is.status();
  first_steered_ = static_cast<std::uint32_t>(first);
  steered_ = static_cast<std::uint32_t>(last - first + 1);
  return command_status::ok;
}

template <class Archive>
void flow_steering::transfer_members(Archive& archive) {
  saving::transfer_members(archive, *this);
  std::map<std::uint64_t, flow_rule> numbered;
  if constexpr (!Archive::loads)
    for (const auto& [number, at] : places_)
      numbered.emplace(number, rules_.find(at.where)->second.find(at.when)->second);
  archive.enter("rules");
  transfer(archive, numbered);
  if constexpr (Archive::loads) {
    rules_.clear();
    places_.clear();
    if (last_number_ > last_number_most) archive.refuse("2^62 rules were attached before");
    for (const auto& [number, rule] : numbered) {
      const flow_rule::key where = rule.found_by();
      if (number == 0 || number > last_number_)
        archive.refuse("no rule had the number 0x%llx", static_cast<unsigned long long>(number));
      if (rule.for_frames() && rules_at(where) >= rules_per_key)
        archive.refuse("more than %zu rules for an address", rules_per_key);
      if (!archive.ok()) break;
      keep(number, where, rule);
    }
  }
  archive.leave();
}

void flow_steering::transfer_state(saving::writer& to) {
  transfer_members(to);
}

void flow_steering::transfer_state(saving::reader& from) {
  transfer_members(from);
}

}  // namespace freehca::model
