// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "strict_calls.hpp"

#include <map>
#include <string>

#include <freehca/layouts/access_reg.hpp>
#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/diag_rprt.hpp>
#include <freehca/layouts/ethernet_filters.hpp>
#include <freehca/layouts/flow_rule.hpp>
#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>
#include <freehca/layouts/set_node.hpp>
#include <freehca/layouts/set_port.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca::model::test {

using namespace layouts;

namespace {

/// All that the adapter counts but its commands and complaints.
/// Without what every command moves.
std::map<std::string, std::uint64_t> counters_of(const device& hca) {
  std::map<std::string, std::uint64_t> all;
  counter c;
  for (std::size_t i = 0; hca.counter_at(i, c); ++i) {
    const std::string_view name = c.name;
    if (!name.starts_with("command") && !name.starts_with("turns") &&
        !name.starts_with("work_units") && name != "complaints")
      all.emplace(name, c.value);
  }
  return all;
}

}  // namespace

void strict_world::begin(bool strict) {
  how.strict = strict;
  start(how, std::make_unique<test_host>(96u << 20));
}

void strict_world::go_to(stage s) {
  driver->write(bar0::reset, 1);
  if (s == stage::cold) return;
  if (s == stage::lent) {
    EXPECT_EQ(driver->map(opcode::map_fa, 0, host->allocate(1024, 1024 * 4096), 10),
              command_status::ok);
    return;
  }
  EXPECT_TRUE(driver->start_firmware());
  if (s == stage::sized) {
    EXPECT_EQ(driver->command(opcode::set_icm_size, std::uint64_t{1} << 30).status,
              command_status::ok);
  }
  if (s == stage::firmware || s == stage::sized) return;
  EXPECT_TRUE(driver->read_capabilities());
  EXPECT_TRUE(driver->prepare_context_memory());
  if (s == stage::context_memory) return;
  const command_status started = driver->command_with(opcode::init_hca, driver->profile()).status;
  EXPECT_EQ(started, command_status::ok);
  // Without a capability that the profile needs: the test fails, and the program goes on.
  if (started != command_status::ok) return;
  EXPECT_EQ(driver->make_eq(eq, eqn, 1).status, command_status::ok);
  EXPECT_EQ(driver->make_cq(cq, cqn, eqn).status, command_status::ok);
}

void strict_world::steer_by_rules() {
  driver->multicast = steering::by_rules;
  go_to(stage::running);
}

command_status strict_world::issue(const call& c, std::uint64_t& output) {
  if (c.in != 0 && host->inside(c.in, c.mailbox.size())) {
    std::memset(host->at(c.in / mailbox_bytes * mailbox_bytes), 0, mailbox_bytes);
    std::copy(c.mailbox.begin(), c.mailbox.end(), host->at(c.in));
  }
  const auto before = counters_of(*hca);
  const outcome o = driver->command(c.what, c.mailbox.empty() ? c.immediate : c.in, c.modifier,
                                    c.opcode_modifier, c.out);
  if (o.status != command_status::ok && !refused_in_part) {
    EXPECT_EQ(counters_of(*hca), before);
  }
  output = o.output;
  return o.status;
}

command_status strict_world::issue(const call& c) {
  std::uint64_t output = 0;
  return issue(c, output);
}

void strict_world::make_eq() {
  EXPECT_EQ(driver->make_eq(other_eq, a_eqn, 2).status, command_status::ok);
}
void strict_world::make_cq() {
  EXPECT_EQ(driver->make_cq(other_cq, a_cqn, eqn).status, command_status::ok);
}
void strict_world::make_srq() {
  srq = transport_fixture::make_srq(a_srqn);
}
void strict_world::make_mpt() {
  driver->make_region(an_mpt, pd, data, region_start, 4096);
}

call strict_world::qp_call(opcode o, const image<qpc>& context) const {
  image<qp_mailbox> m;
  m.set_bytes<&qp_mailbox::context>(context.data());
  return call{o}.with(m).numbered(a_qpn);
}

test_qp strict_world::fresh_qp(qp_service service) {
  return qp = make_qp(a_qpn, service);
}

void strict_world::make_qp_in(qp_state s) {
  fresh_qp(s == qp_state::sq_error ? qp_service::ud : qp_service::rc);
  if (s == qp_state::reset) return;
  const auto step = [this](opcode o, const image<qpc>& c) {
    EXPECT_EQ(modify(o, a_qpn, c), command_status::ok) << name_of(o);
  };
  step(opcode::rst2init_qp, first_context(qp));
  if (s == qp_state::init) return;
  step(opcode::init2rtr_qp, ready());
  if (s == qp_state::rtr) return;
  step(opcode::rtr2rts_qp, ready());
  if (s == qp_state::sq_drained) {
    EXPECT_EQ(driver->command(opcode::rts2sqd_qp, 0, a_qpn).status, command_status::ok);
    host->run();
  }
  if (s == qp_state::sq_error) {
    test_send wrong = transfer(wqe_opcode::send, 8, region_start, 0);
    wrong.lkey ^= 1;
    send(qp, wrong);
    host->run();
  }
  EXPECT_EQ(state_of(qp), s);
}

namespace {

using w = strict_world;

call map_call(w& world, opcode o, std::uint64_t va) {
  return call{o}
      .with(image<map_entry>{}.set<&map_entry::va>(va).set<&map_entry::pa>(world.host->allocate()))
      .numbered(1);
}

template <opcode O>
call bare(w&) {
  return call{O};
}
template <opcode O>
call query(w&) {
  return call{O}.answered();
}
template <opcode O>
call of_port(w&) {
  return call{O}.numbered(2);
}
/// On an adapter whose port 2 is Ethernet.
void with_ethernet(w& world) {
  world.how.link[1] = link_layer::ethernet;
  world.begin(world.how.strict);
}
template <opcode O>
call of_eq(w& world) {
  world.make_eq();
  return call{O}.numbered(w::a_eqn);
}
template <opcode O>
call of_cq(w& world) {
  world.make_cq();
  return call{O}.numbered(w::a_cqn);
}
template <opcode O>
call of_srq(w& world) {
  world.make_srq();
  return call{O}.numbered(w::a_srqn);
}
template <opcode O>
call of_mpt(w& world) {
  world.make_mpt();
  return call{O}.numbered(w::an_mpt);
}
template <opcode O, qp_state From>
call of_qp(w& world) {
  world.make_qp_in(From);
  return world.qp_call(O, From == qp_state::reset ? world.first_context(world.qp) : world.ready());
}
template <opcode O>
call to_qp(w& world) {
  world.make_qp_in(qp_state::rts);
  return call{O}.numbered(w::a_qpn);
}

const good_call calls[] = {
    {opcode::query_fw, stage::cold, query<opcode::query_fw>},
    {opcode::map_fa, stage::cold, [](w& x) { return map_call(x, opcode::map_fa, 0); }},
    {opcode::unmap_fa, stage::lent, bare<opcode::unmap_fa>},
    {opcode::run_fw, stage::lent, bare<opcode::run_fw>},
    {opcode::query_dev_cap, stage::firmware, query<opcode::query_dev_cap>},
    {opcode::query_adapter, stage::firmware, query<opcode::query_adapter>},
    {opcode::query_hca, stage::firmware, query<opcode::query_hca>},
    {opcode::hw_health_check, stage::firmware, bare<opcode::hw_health_check>},
    {opcode::nop, stage::firmware, bare<opcode::nop>},
    {opcode::mod_stat_cfg, stage::firmware,
     [](w&) {
       image<mod_stat_cfg_input_modifier> m;
       m.set<&mod_stat_cfg_input_modifier::port>(1);
       return call{opcode::mod_stat_cfg}
           .numbered(load_be<std::uint32_t>(m.data()))
           .by(static_cast<unsigned>(mod_stat_cfg_modifier::query))
           .answered();
     }},
    {opcode::set_icm_size, stage::firmware,
     [](w&) { return call{opcode::set_icm_size}.given(std::uint64_t{1} << 30); }},
    {opcode::map_icm_aux, stage::sized, [](w& x) { return map_call(x, opcode::map_icm_aux, 0); }},
    {opcode::unmap_icm_aux, stage::firmware, bare<opcode::unmap_icm_aux>},
    {opcode::map_icm, stage::context_memory,
     [](w& x) { return map_call(x, opcode::map_icm, 0x2000'0000); }},
    {opcode::unmap_icm, stage::context_memory,
     [](w&) { return call{opcode::unmap_icm}.given(test_driver::qpc).numbered(1); }},
    {opcode::init_hca, stage::context_memory,
     [](w& x) { return call{opcode::init_hca}.with(x.driver->profile()); }},
    {opcode::close_hca, stage::running, bare<opcode::close_hca>},
    {opcode::init_port, stage::running, of_port<opcode::init_port>},
    {opcode::close_port, stage::running, of_port<opcode::close_port>},
    {opcode::set_port, stage::running,
     [](w&) { return call{opcode::set_port}.with(image<set_port_ib>{}).numbered(2); }},
    {opcode::query_port, stage::firmware,
     [](w&) { return call{opcode::query_port}.numbered(2).answered(); }},
    {opcode::sense_port, stage::firmware, of_port<opcode::sense_port>},
    {opcode::get_op_req, stage::running, [](w&) { return call{opcode::get_op_req}.answered(); }},
    {opcode::set_node, stage::running,
     [](w&) {
       return call{opcode::set_node}.with(image<set_node>{}).numbered(set_node_input_modifier);
     }},
    {opcode::set_vlan_fltr, stage::running,
     [](w& x) {
       with_ethernet(x);
       return call{opcode::set_vlan_fltr}.with(image<vlan_filter_word>{}).numbered(2);
     }},
    {opcode::set_mcast_fltr, stage::running,
     [](w& x) {
       with_ethernet(x);
       return call{opcode::set_mcast_fltr}.given(0xffff'ffff'ffff).numbered(2);
     }},
    {opcode::dump_eth_stats, stage::running,
     [](w& x) {
       with_ethernet(x);
       return call{opcode::dump_eth_stats}.numbered(2).answered();
     }},
    {opcode::query_if_stat, stage::running,
     [](w&) { return call{opcode::query_if_stat}.numbered(1).answered(); }},
    {opcode::sw2hw_mpt, stage::running,
     [](w& x) {
       return call{opcode::sw2hw_mpt}
           .with(x.driver->mpt_context(key_of_mpt(w::an_mpt), w::pd, x.data, w::region_start, 4096))
           .numbered(w::an_mpt);
     }},
    {opcode::query_mpt, stage::running,
     [](w& x) { return of_mpt<opcode::query_mpt>(x).answered(); }},
    {opcode::hw2sw_mpt, stage::running,
     [](w& x) { return of_mpt<opcode::hw2sw_mpt>(x).answered(); }},
    {opcode::write_mtt, stage::running,
     [](w&) {
       using h = write_mtt_header;
       return call{opcode::write_mtt}.with(image<h>{}.set<&h::mtt_base_addr>(0x8000)).numbered(1);
     }},
    {opcode::read_mtt, stage::running,
     [](w&) { return call{opcode::read_mtt}.given(0x8000).numbered(1).answered(); }},
    {opcode::sync_tpt, stage::running, bare<opcode::sync_tpt>},
    {opcode::map_eq, stage::running,
     [](w&) { return call{opcode::map_eq}.given(1u << 9).numbered(w::eqn); }},
    {opcode::sw2hw_eq, stage::running,
     [](w& x) {
       x.make_eq();
       EXPECT_EQ(x.driver->command(opcode::hw2sw_eq, 0, w::a_eqn, 1).status, command_status::ok);
       return call{opcode::sw2hw_eq}.with(x.driver->eq_context(x.other_eq, 2)).numbered(w::a_eqn);
     }},
    {opcode::hw2sw_eq, stage::running, [](w& x) { return of_eq<opcode::hw2sw_eq>(x).answered(); }},
    {opcode::query_eq, stage::running, [](w& x) { return of_eq<opcode::query_eq>(x).answered(); }},
    {opcode::sw2hw_cq, stage::running,
     [](w& x) {
       x.make_cq();
       EXPECT_EQ(x.driver->command(opcode::hw2sw_cq, 0, w::a_cqn, 1).status, command_status::ok);
       return call{opcode::sw2hw_cq}
           .with(x.driver->cq_context(x.other_cq, w::eqn))
           .numbered(w::a_cqn);
     }},
    {opcode::hw2sw_cq, stage::running, [](w& x) { return of_cq<opcode::hw2sw_cq>(x).answered(); }},
    {opcode::query_cq, stage::running, [](w& x) { return of_cq<opcode::query_cq>(x).answered(); }},
    {opcode::modify_cq, stage::running,
     [](w& x) {
       x.make_cq();
       return call{opcode::modify_cq}
           .with(x.driver->cq_context(x.other_cq, w::eqn))
           .numbered(w::a_cqn)
           .by(static_cast<unsigned>(modify_cq_modifier::moderation));
     }},
    {opcode::sw2hw_srq, stage::running,
     [](w& x) {
       x.srq = x.make_srq_buffer(w::a_srqn);
       return call{opcode::sw2hw_srq}.with(x.srq_context(x.srq)).numbered(w::a_srqn);
     }},
    {opcode::hw2sw_srq, stage::running,
     [](w& x) { return of_srq<opcode::hw2sw_srq>(x).answered(); }},
    {opcode::query_srq, stage::running,
     [](w& x) { return of_srq<opcode::query_srq>(x).answered(); }},
    {opcode::arm_srq, stage::running, [](w& x) { return of_srq<opcode::arm_srq>(x).given(1); }},
    {opcode::rst2init_qp, stage::running, of_qp<opcode::rst2init_qp, qp_state::reset>},
    {opcode::init2init_qp, stage::running, of_qp<opcode::init2init_qp, qp_state::init>},
    {opcode::init2rtr_qp, stage::running, of_qp<opcode::init2rtr_qp, qp_state::init>},
    {opcode::rtr2rts_qp, stage::running, of_qp<opcode::rtr2rts_qp, qp_state::rtr>},
    {opcode::rts2rts_qp, stage::running, of_qp<opcode::rts2rts_qp, qp_state::rts>},
    {opcode::sqerr2rts_qp, stage::running, of_qp<opcode::sqerr2rts_qp, qp_state::sq_error>},
    {opcode::rts2sqd_qp, stage::running, to_qp<opcode::rts2sqd_qp>},
    {opcode::sqd2rts_qp, stage::running, of_qp<opcode::sqd2rts_qp, qp_state::sq_drained>},
    {opcode::sqd2sqd_qp, stage::running, of_qp<opcode::sqd2sqd_qp, qp_state::sq_drained>},
    {opcode::to_err_qp, stage::running, to_qp<opcode::to_err_qp>},
    {opcode::to_rst_qp, stage::running,
     [](w& x) { return to_qp<opcode::to_rst_qp>(x).answered(); }},
    {opcode::query_qp, stage::running, [](w& x) { return to_qp<opcode::query_qp>(x).answered(); }},
    {opcode::conf_special_qp, stage::running,
     [](w&) { return call{opcode::conf_special_qp}.numbered(0x60); }},
    {opcode::mad_ifc, stage::running,
     [](w&) {
       return call{opcode::mad_ifc}
           .with(image<smp>{}
                     .set<&smp::base_version>(1)
                     .set<&smp::mgmt_class>(mad_class::subnet_lid_routed)
                     .set<&smp::class_version>(1)
                     .set<&smp::method>(mad_method::get)
                     .set<&smp::attribute_id>(static_cast<unsigned>(smp_attribute::node_info)))
           .numbered(1)
           .by(3)
           .answered();
     }},
    {opcode::mad_demux, stage::running,
     [](w&) {
       return call{opcode::mad_demux}
           .with(image<mad_demux>{})
           .numbered(mad_demux_subnet_management);
     }},
    {opcode::read_mcg, stage::running,
     [](w&) { return call{opcode::read_mcg}.numbered(1).answered(); }},
    {opcode::write_mcg, stage::running,
     [](w&) { return call{opcode::write_mcg}.with(image<mcg_header>{}).numbered(1); }},
    {opcode::mgid_hash, stage::running,
     [](w&) { return call{opcode::mgid_hash}.with(image<mcg_header>{}); }},
    {opcode::flow_steering_ib_uc_qp_range, stage::running,
     [](w& x) {
       x.steer_by_rules();
       image<steered_qp_range> r;
       r.set<&steered_qp_range::first>(0x100).set<&steered_qp_range::last>(0x10f);
       return call{opcode::flow_steering_ib_uc_qp_range}.given(load_be<std::uint64_t>(r.data()));
     }},
    {opcode::qp_flow_steering_attach, stage::running,
     [](w& x) {
       x.steer_by_rules();
       using k = flow_rule_control;
       using l = flow_header_infiniband;
       return call{opcode::qp_flow_steering_attach}
           .with(image<k>{}.set<&k::port>(1).set<&k::qpn>(w::a_qpn))
           .with(image<l>{}.set<&l::words>(l::bytes / 4).set<&l::id>(flow_header_id::infiniband),
                 k::bytes)
           .numbered((k::bytes + l::bytes) / 4);
     }},
    {opcode::qp_flow_steering_detach, stage::running,
     [](w& x) {
       call attach = good_call_of(opcode::qp_flow_steering_attach).make(x);
       attach.in = x.driver->input;
       std::uint64_t rule = 0;
       EXPECT_EQ(x.issue(attach, rule), command_status::ok);
       return call{opcode::qp_flow_steering_detach}.given(rule);
     }},
    {opcode::diag_rprt, stage::running,
     [](w&) {
       return call{opcode::diag_rprt}
           .by(static_cast<unsigned>(diag_rprt_modifier::query_transport_ci_errors))
           .answered();
     }},
    {opcode::config_dev, stage::firmware,
     [](w&) { return call{opcode::config_dev}.with(image<config_dev>{}); }, true},
    {opcode::virt_port_map, stage::running,
     [](w&) {
       using l = virt_port_map;
       return call{opcode::virt_port_map}
           .with(image<l>{}.set<&l::v_port1>(1).set<&l::v_port2>(2))
           .by(static_cast<unsigned>(virt_port_map_modifier::set));
     },
     true},
    {opcode::access_reg, stage::running,
     [](w&) {
       using h = access_reg;
       return call{opcode::access_reg}
           .with(image<h>{}
                     .set<&h::register_id>(access_reg_id::ptys)
                     .set<&h::method>(access_reg_method::query))
           .with(image<ptys>{}.set<&ptys::local_port>(2).set<&ptys::proto_mask>(
                     ptys_protocol::ethernet),
                 h::bytes)
           .answered();
     },
     true},
    {opcode::update_qp, stage::running,
     [](w& x) {
       x.make_qp_in(qp_state::init);
       return call{opcode::update_qp}.with(image<update_qp_mailbox>{}).numbered(w::a_qpn);
     },
     true},
};

}  // namespace

std::span<const good_call> good_calls() {
  return calls;
}

const good_call& good_call_of(opcode o) {
  for (const good_call& c : calls)
    if (c.what == o) return c;
  __builtin_trap();
}

}  // namespace freehca::model::test
