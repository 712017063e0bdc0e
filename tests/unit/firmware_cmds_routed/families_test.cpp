// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What each family puts into the command register. Expected values: the callers in Linux 6.1
// drivers/net/ethernet/mellanox/mlx4 (fw.c, qp.c, cq.c, srq.c, eq.c, mr.c) and
// infiniband/hw/mlx4/mad.c.
#include <freehca/firmware_cmds/cq.hpp>
#include <freehca/firmware_cmds/eq.hpp>
#include <freehca/firmware_cmds/ethernet_port.hpp>
#include <freehca/firmware_cmds/firmware.hpp>
#include <freehca/firmware_cmds/mr.hpp>
#include <freehca/firmware_cmds/object_contexts.hpp>
#include <freehca/firmware_cmds/port_settings.hpp>
#include <freehca/firmware_cmds/qp_transitions.hpp>
#include <freehca/firmware_cmds/raw_command.hpp>
#include <freehca/firmware_cmds/special_qp.hpp>
#include <freehca/firmware_cmds/srq.hpp>

#include "support/task.hpp"

#include "channel_fixture.hpp"

namespace freehca::testing {
namespace {

using layouts::image;
using layouts::opcode;

struct register_words {
  opcode code;
  unsigned modifier;
  std::uint32_t input_modifier;
  command_request::form input, output;
  std::uint64_t immediate;
};
using form = command_request::form;

class families : public channel_test {
 protected:
  /// Sends `c` and compares what arrived.
  void expect(command& c, const register_words& e) {
    commands.submit(c);
    commands.poll();
    const posted_command& p = device.last();
    EXPECT_EQ(p.get<&hcr::opcode>(), e.code) << name_of(p.get<&hcr::opcode>());
    EXPECT_EQ(p.get<&hcr::opcode_modifier>(), e.modifier) << name_of(e.code);
    EXPECT_EQ(p.get<&hcr::in_modifier>(), e.input_modifier) << name_of(e.code);
    EXPECT_EQ(!p.input.empty(), e.input == form::mailbox) << name_of(e.code);
    if (e.input != form::mailbox) {
      EXPECT_EQ(p.get<&hcr::in_param>(), e.immediate) << name_of(e.code);
    }
    EXPECT_EQ(p.get<&hcr::out_param>() != 0, e.output == form::mailbox) << name_of(e.code);
    device.answer();
    commands.poll();
    EXPECT_TRUE(c.done());
  }
  template <class F, class... Target>
  void expect_family(const register_words& e, Target... target) {
    firmware_command<F> c{target...};
    expect(c, e);
  }
};

constexpr form none = form::none, immediate_form = form::immediate, box = form::mailbox;

TEST_F(families, firmware_and_context_memory) {
  expect_family<commands::query_fw>({opcode::query_fw, 0, 0, none, box, 0});
  expect_family<commands::run_fw>({opcode::run_fw, 0, 0, none, none, 0});
  expect_family<commands::unmap_fa>({opcode::unmap_fa, 0, 0, none, none, 0});
  expect_family<commands::mod_stat_cfg>({opcode::mod_stat_cfg, 0, 0, box, none, 0});
  expect_family<commands::unmap_icm>({opcode::unmap_icm, 0, 64, immediate_form, none, 0xabc000},
                                     std::uint64_t{0xabc000}, 64u);
  firmware_command<commands::set_icm_size> size;
  size.set_input(0x1'2340'0000);
  expect(size, {opcode::set_icm_size, 0, 0, immediate_form, none, 0x1'2340'0000});
}

TEST_F(families, queries_and_init) {
  expect_family<commands::query_dev_cap>({opcode::query_dev_cap, 0, 0, none, box, 0});
  expect_family<commands::query_adapter>({opcode::query_adapter, 0, 0, none, box, 0});
  expect_family<commands::query_hca>({opcode::query_hca, 0, 0, none, box, 0});
  expect_family<commands::query_port>({opcode::query_port, 0, 2, none, box, 0}, 2u);
  expect_family<commands::init_hca>({opcode::init_hca, 0, 0, box, none, 0});
  expect_family<commands::close_hca>({opcode::close_hca, 0, 0, none, none, 0});
  expect_family<commands::nop>({opcode::nop, 0, 0x1f, none, none, 0});
}

TEST_F(families, queues) {
  expect_family<commands::sw2hw_eq>({opcode::sw2hw_eq, 0, 5, box, none, 0}, 5u);
  expect_family<commands::hw2sw_eq>({opcode::hw2sw_eq, 1, 5, none, none, 0}, 5u);
  expect_family<commands::map_eq>({opcode::map_eq, 0, 5, immediate_form, none, 0x40a}, 5u,
                                  std::uint64_t{0x40a});
  expect_family<commands::unmap_eq>({opcode::map_eq, 0, 0x80000005, immediate_form, none, 0x40a},
                                    5u, std::uint64_t{0x40a});
  expect_family<commands::sw2hw_cq>({opcode::sw2hw_cq, 0, 0x81, box, none, 0}, 0x81u);
  expect_family<commands::hw2sw_cq>({opcode::hw2sw_cq, 1, 0x81, none, none, 0}, 0x81u);
  expect_family<commands::modify_cq>({opcode::modify_cq, 1, 0x81, box, none, 0}, 0x81u,
                                     layouts::modify_cq_modifier::moderation);
  expect_family<commands::sw2hw_srq>({opcode::sw2hw_srq, 0, 0x41, box, none, 0}, 0x41u);
  expect_family<commands::hw2sw_srq>({opcode::hw2sw_srq, 1, 0x41, none, none, 0}, 0x41u);
  expect_family<commands::arm_srq>({opcode::arm_srq, 0, 0x41, immediate_form, none, 16}, 0x41u,
                                   16u);
}

TEST_F(families, contexts_and_protection_entries) {
  expect_family<commands::query_cq>({opcode::query_cq, 0, 0x81, none, box, 0}, 0x81u);
  expect_family<commands::query_eq>({opcode::query_eq, 0, 5, none, box, 0}, 5u);
  expect_family<commands::query_srq>({opcode::query_srq, 0, 0x41, none, box, 0}, 0x41u);
  expect_family<commands::query_mpt>({opcode::query_mpt, 0, 0x100, none, box, 0}, 0x100u);
  expect_family<commands::sync_tpt>({opcode::sync_tpt, 0, 0, none, none, 0});
  expect_family<commands::sw2hw_mpt>({opcode::sw2hw_mpt, 0, 0x100, box, none, 0}, 0x100u);
  expect_family<commands::hw2sw_mpt>({opcode::hw2sw_mpt, 1, 0x100, none, none, 0}, 0x100u);
}

TEST_F(families, queue_pairs) {
  expect_family<commands::any_qp_transition>({opcode::rst2init_qp, 0, 0x48, box, none, 0},
                                             opcode::rst2init_qp, 0x48u);
  expect_family<commands::any_qp_transition>({opcode::init2rtr_qp, 0, 0x48, box, none, 0},
                                             opcode::init2rtr_qp, 0x48u);
  expect_family<commands::any_qp_transition>({opcode::rtr2rts_qp, 0, 0x48, box, none, 0},
                                             opcode::rtr2rts_qp, 0x48u);
  expect_family<commands::init2init_qp>({opcode::init2init_qp, 0, 0x48, box, none, 0}, 0x48u);
  expect_family<commands::rts2rts_qp>({opcode::rts2rts_qp, 0, 0x48, box, none, 0}, 0x48u);
  expect_family<commands::sqerr2rts_qp>({opcode::sqerr2rts_qp, 0, 0x48, box, none, 0}, 0x48u);
  expect_family<commands::rts2sqd_qp>({opcode::rts2sqd_qp, 0, 0x48, box, none, 0}, 0x48u);
  expect_family<commands::sqd2sqd_qp>({opcode::sqd2sqd_qp, 0, 0x48, box, none, 0}, 0x48u);
  expect_family<commands::sqd2rts_qp>({opcode::sqd2rts_qp, 0, 0x48, box, none, 0}, 0x48u);
  expect_family<commands::to_err_qp>({opcode::to_err_qp, 0, 0x48, none, none, 0}, 0x48u);
  expect_family<commands::to_rst_qp>({opcode::to_rst_qp, 2, 0x48, none, none, 0}, 0x48u);
  expect_family<commands::query_qp>({opcode::query_qp, 0, 0x48, none, box, 0}, 0x48u);
}

TEST_F(families, ports_and_datagrams) {
  expect_family<commands::init_port>({opcode::init_port, 0, 1, none, none, 0}, 1u);
  expect_family<commands::close_port>({opcode::close_port, 0, 2, none, none, 0}, 2u);
  expect_family<commands::set_port_ib>({opcode::set_port, 0, 2, box, none, 0}, 2u);
  expect_family<
      commands::set_port_ethernet<layouts::set_port_general, layouts::set_port_selector::general>>(
      {opcode::set_port, 1, 2, box, none, 0}, 2u);
  expect_family<commands::set_config_dev>({opcode::config_dev, 0, 0, box, none, 0});
  expect_family<commands::sense_port>({opcode::sense_port, 0, 1, none, none, 0}, 1u);
  expect_family<commands::dump_eth_stats>({opcode::dump_eth_stats, 0, 2, none, box, 0}, 2u, false);
  expect_family<commands::dump_eth_stats>({opcode::dump_eth_stats, 0, 0x102, none, box, 0}, 2u,
                                          true);
  using filter = layouts::set_mcast_fltr_modifier;
  expect_family<commands::set_mcast_fltr<filter::config>>(
      {opcode::set_mcast_fltr, 0, 1, form::immediate, none, 0x0100'5e00'0001}, 1u,
      std::uint64_t{0x0100'5e00'0001});
  expect_family<commands::set_mcast_fltr<filter::disable>>(
      {opcode::set_mcast_fltr, 1, 1, form::immediate, none, 0}, 1u, std::uint64_t{0});
  expect_family<commands::set_mcast_fltr<filter::enable>>(
      {opcode::set_mcast_fltr, 2, 1, form::immediate, none, 0}, 1u, std::uint64_t{0});
  expect_family<commands::conf_special_qp>({opcode::conf_special_qp, 0, 0x40, none, none, 0},
                                           0x40u);
  expect_family<commands::query_mad_demux>({opcode::mad_demux, 2, 1, none, box, 0});
  expect_family<commands::config_mad_demux>({opcode::mad_demux, 0, 1, box, none, 0});
  expect_family<commands::mad_ifc<layouts::smp>>({opcode::mad_ifc, 3, 1, box, box, 0}, 1u, 3u);
}

TEST_F(families, a_datagram_from_the_wire_brings_what_its_packet_said) {
  firmware_command<commands::mad_ifc_received<>> c{2u, 1u, 0x1234u};
  c.input.set<&layouts::mad::method>(layouts::mad_method::get);
  c.extra.set<&layouts::mad_ifc_extended_info::rqpn>(0x777);
  expect(c, {opcode::mad_ifc, 1 | 4, 0x1234'0002, box, box, 0});
  using info = layouts::mad_ifc_extended_info;
  const auto extra =
      image<info>::from_bytes(device.last().input.data() + layouts::mad_ifc_extended_info_offset);
  EXPECT_EQ(extra.get<&info::rqpn>(), 0x777u);
}

TEST_F(families, sequences_write_all_entries_and_their_number) {
  image<layouts::map_entry> entries[3];
  for (unsigned i = 0; i < 3; ++i) entries[i].set<&layouts::map_entry::pa>((i + 1) * 0x1000ull);
  firmware_command<commands::map_fa> map;
  map.set_input(entries, 3);
  expect(map, {opcode::map_fa, 0, 3, box, none, 0});
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_EQ(image<layouts::map_entry>::from_bytes(device.last().input.data() + 16 * i),
              entries[i]);
  EXPECT_EQ(commands::map_icm::input::most, 256u);

  image<layouts::mtt> mtts[2];
  mtts[1].set<&layouts::mtt::ptag>(0x5000).set<&layouts::mtt::present>(true);
  firmware_command<commands::write_mtt> write;
  write.header.set<&layouts::write_mtt_header::mtt_base_addr>(0x240);
  write.set_input(mtts, 2);
  expect(write, {opcode::write_mtt, 0, 2, box, none, 0});
  EXPECT_EQ(image<layouts::write_mtt_header>::from_bytes(device.last().input.data()), write.header);
  EXPECT_EQ(image<layouts::mtt>::from_bytes(device.last().input.data() + 24), mtts[1]);
  EXPECT_EQ(commands::write_mtt::input::most, 510u);
}

TEST_F(families, a_raw_command_carries_any_opcode_with_plain_bytes) {
  raw_command c;
  c.request.opcode = static_cast<opcode>(0x5a5);
  c.request.opcode_modifier = 0xf;
  c.request.input_modifier = 0x0f0f'0f0f;
  const std::byte in[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::byte out[4] = {};
  c.set_input_mailbox(in, sizeof in);
  c.set_output_mailbox(out, sizeof out);
  commands.submit(c);
  commands.poll();
  const posted_command& p = device.last();
  EXPECT_EQ(static_cast<unsigned>(p.get<&hcr::opcode>()), 0x5a5u);
  EXPECT_EQ(p.get<&hcr::opcode_modifier>(), 0xfu);
  EXPECT_EQ(p.input[2], std::byte{3});
  EXPECT_EQ(p.input[3], std::byte{0});
  device.write(p.get<&hcr::out_param>(), "\x09\x08\x07\x06", 4);
  device.answer();
  commands.poll();
  EXPECT_EQ(out[0], std::byte{9});
  EXPECT_EQ(out[3], std::byte{6});
}

task bring_up_port(channel& ch, std::vector<status>& seen) {
  firmware_command<commands::query_port> query{1u};
  ch.submit(query);
  seen.push_back(co_await query);
  firmware_command<commands::init_port> init{1u};
  ch.submit(init);
  seen.push_back(co_await init);
}

TEST_F(families, a_coroutine_awaits_one_command_after_another) {
  std::vector<status> seen;
  bring_up_port(commands, seen);
  commands.poll();
  device.answer();
  commands.poll();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(device.last().get<&hcr::opcode>(), opcode::init_port)
      << "posted by the poll() that resumed it";
  device.answer(static_cast<std::uint8_t>(command_status::bad_system_state));
  commands.poll();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen[0].ok());
  EXPECT_TRUE(seen[1].is(command_status::bad_system_state));
}

}  // namespace
}  // namespace freehca::testing
