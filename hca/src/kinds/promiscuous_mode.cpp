// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/promiscuous_mode.hpp>

#include <freehca/firmware_cmds/multicast.hpp>

#include <freehca/hca/device.hpp>

namespace freehca {

status set_promiscuous_mode::check(verbs& owner, qp_handle pair) {
  using flag = layouts::dev_cap_flag;
  device& d = *device_;
  FREEHCA_TRY(d.check_ethernet(port_));
  if (!owner.is_control_owner() || d.steers_by_rules() ||
      !d.capabilities().has(flag::vep_uc_steering) || !d.capabilities().has(flag::vep_mc_steering))
    return driver_error::unsupported;
  const queue_pair* const receiver = owner.find(pair);
  FREEHCA_TRY(verbs::usable(receiver));
  qpn_ = receiver->number;
  return {};
}

void set_promiscuous_mode::start(verbs& owner, unsigned port, qp_handle pair, bool all_unicast,
                                 bool all_multicast) {
  if (!startable()) return;
  aim(owner.adapter(), port);
  all_multicast_ = all_multicast;
  last_ = false;
  if (begin(check(owner, pair), &advance)) write(layouts::mcg_steering::unicast, all_unicast);
}

void set_promiscuous_mode::write(layouts::mcg_steering what, bool on) {
  using head = layouts::mcg_header;
  using where = layouts::mcg_promiscuous_modifier;
  using member = layouts::mcg_member;
  const auto header = layouts::image<head>{}
                          .set<&head::protocol>(layouts::mcg_protocol::ethernet)
                          .set<&head::members_count>(on);
  __builtin_memcpy(entry_, header.data(), head::bytes);
  const auto receiver = layouts::image<member>{}.set<&member::qpn>(qpn_);
  __builtin_memcpy(entry_ + head::bytes, receiver.data(), member::bytes);
  command_request& r = next_request();
  r.opcode = commands::write_mcg::code;
  r.opcode_modifier = static_cast<std::uint8_t>(layouts::write_mcg_modifier::promiscuous);
  r.input_modifier = layouts::load_be<std::uint32_t>(
      layouts::image<where>{}.set<&where::port>(port_).set<&where::steering>(what).data());
  // A late answer to a command of another operation on the port comes first.
  r.key = {object_kind::port, port_};
  send_mailbox(entry_, sizeof entry_);
}

void set_promiscuous_mode::advance(stepper& self, status outcome) noexcept {
  auto& o = static_cast<set_promiscuous_mode&>(self);
  if (outcome.ok() && !o.last_) outcome = o.stop_reason();
  if (outcome.ok() && !o.last_) {
    o.last_ = true;
    return o.write(layouts::mcg_steering::multicast, o.all_multicast_);
  }
  o.end(outcome);
}

}  // namespace freehca
