// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// CONGESTION_CTRL: what Linux asks and tells of the reaction points of an Ethernet port's
// priorities (mlx4/en_dcb_nl.c).
#include <bit>

#include <freehca/layouts/congestion_control.hpp>

#include "command/command_checks.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

using parameters = reaction_point_parameters;

/// Each field that its bit names.
void change(const image<parameters>& in, image<parameters>& told) {
  using p = parameters;
  const auto take = [&in, &told ]<auto Bit, auto Field>() {
    if (in.get<Bit>()) told.set<Field>(in.get<Field>());
  };
  take.operator()<&p::modify_rpg_enable, &p::rpg_enable>();
  take.operator()<&p::modify_cn_tag, &p::cn_tag>();
  take.operator()<&p::modify_rppp_max_rps, &p::rppp_max_rps>();
  take.operator()<&p::modify_rpg_time_reset, &p::rpg_time_reset>();
  take.operator()<&p::modify_rpg_byte_reset, &p::rpg_byte_reset>();
  take.operator()<&p::modify_rpg_threshold, &p::rpg_threshold>();
  take.operator()<&p::modify_rpg_max_rate, &p::rpg_max_rate>();
  take.operator()<&p::modify_rpg_ai_rate, &p::rpg_ai_rate>();
  take.operator()<&p::modify_rpg_hai_rate, &p::rpg_hai_rate>();
  take.operator()<&p::modify_rpg_gd, &p::rpg_gd>();
  take.operator()<&p::modify_rpg_min_dec_fac, &p::rpg_min_dec_fac>();
  take.operator()<&p::modify_rpg_min_rate, &p::rpg_min_rate>();
}

}  // namespace

std::array<image<parameters>, 8> reaction_points_at_power_on() {
  // What IEEE 802.1Q's MIB has (ieee8021CnRpg*, its DEFVALs), in its units; the rate is the link's
  // in Mb/s. No source says what firmware has: chosen.
  using p = parameters;
  image<p> told;
  told.set<&p::rppp_max_rps>(1)
      .set<&p::rpg_time_reset>(15)
      .set<&p::rpg_byte_reset>(150'000)
      .set<&p::rpg_threshold>(5)
      .set<&p::rpg_max_rate>(10'000)
      .set<&p::rpg_ai_rate>(5)
      .set<&p::rpg_hai_rate>(50)
      .set<&p::rpg_gd>(7)
      .set<&p::rpg_min_dec_fac>(50)
      .set<&p::rpg_min_rate>(10);
  std::array<image<p>, 8> all;
  all.fill(told);
  return all;
}

command_status ports::congestion_ctrl(command& c) {
  using m = congestion_control_modifier;
  image<m> asked;
  store_be<std::uint32_t>(asked.data(), c.input_modifier);
  const auto what = static_cast<congestion_ctrl_modifier>(c.opcode_modifier);
  const bool sets = what == congestion_ctrl_modifier::set_params;
  const auto priorities = static_cast<unsigned>(asked.get<&m::priorities>());
  command_checks is(a_.rules);
  ethernet_port* p = named_ethernet(is, asked.get<&m::port>());
  is.must(asked.get<&m::algorithm>() == congestion_algorithm::reaction_point_802_1_qau,
          rule::known_operation, command_status::bad_operation, "input modifier: algorithm %u",
          static_cast<unsigned>(asked.get<&m::algorithm>()))
      .that(sets ? priorities != 0 : std::has_single_bit(priorities), rule::port_setting,
            command_status::bad_parameter, "input modifier: priorities 0x%02x; %s of them",
            priorities, sets ? "some" : "one");
  if (is.refused()) return is.status();
  auto& told = p->told().reaction_points;
  if (!sets) {
    // None ever comes to be: a CNM is not obeyed, and is not told from other frames.
    if (what == congestion_ctrl_modifier::get_statistics)
      return is.answer(c, image<reaction_point_statistics>{}).status();
    const int first = priorities == 0 ? 0 : std::countr_zero(priorities);
    return is.answer(c, told[static_cast<unsigned>(first)]).status();
  }
  image<parameters> in;
  is.read(c, in).no_reserved_bits(in);
  if (is.refused()) return is.status();
  for (unsigned i = 0; i < told.size(); ++i)
    if ((priorities >> i & 1) != 0) change(in, told[i]);
  return is.status();
}

}  // namespace freehca::model
