// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <gtest/gtest.h>

#include <freehca/layouts/diag_rprt.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>
#include <freehca/layouts/query_adapter.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_fw.hpp>

#include "basis/adapter.hpp"
#include "queues/completion_queues.hpp"
#include "tables/icm.hpp"
#include "test_driver.hpp"

namespace freehca::model::test {
namespace {

using layouts::command_status;
using layouts::opcode;

struct core_commands : ::testing::Test {
  test_host host;
  options how = test_options();
  device hca{host, how};
  test_driver driver{host, hca};
};

TEST_F(core_commands, query_fw_tells_version_interface_and_places) {
  using l = layouts::query_fw;
  layouts::image<l> fw;
  ASSERT_EQ(driver.query(opcode::query_fw, fw).status, command_status::ok);
  EXPECT_EQ(fw.get<&l::fw_rev_major>(), 2u);
  EXPECT_EQ(fw.get<&l::fw_rev_minor>(), 42u);
  EXPECT_EQ(fw.get<&l::fw_rev_subminor>(), 5700u);
  EXPECT_EQ(fw.get<&l::cmd_interface_rev>(), 3u);
  EXPECT_EQ(fw.get<&l::log_max_outstanding_cmd>(), how.log_max_commands);
  EXPECT_EQ(fw.get<&l::fw_pages>(), 1024u);
}

TEST_F(core_commands, the_board_identifier_has_its_words_swapped) {
  layouts::image<layouts::query_adapter> a;
  ASSERT_TRUE(driver.start_firmware());
  ASSERT_EQ(driver.query(opcode::query_adapter, a).status, command_status::ok);
  std::string id;
  for (unsigned i = 0; i < 16; ++i)
    id += static_cast<char>(a.bytes_of<&layouts::query_adapter::psid>()[i ^ 3]);
  EXPECT_STREQ(id.c_str(), "MT_1090120019");
}

TEST_F(core_commands, commands_wait_for_their_turn_in_bring_up) {
  // Before MAP_FA, before RUN_FW, before INIT_HCA.
  for (const opcode o :
       {opcode::run_fw, opcode::query_dev_cap, opcode::query_adapter, opcode::nop, opcode::init_hca,
        opcode::set_icm_size, opcode::map_icm, opcode::sw2hw_eq, opcode::unmap_fa})
    EXPECT_EQ(driver.command(o, driver.input, 1, 0, driver.output).status,
              command_status::bad_system_state)
        << layouts::name_of(o);
  ASSERT_TRUE(driver.start_firmware());
  EXPECT_EQ(driver.command(opcode::run_fw).status, command_status::bad_system_state);
  EXPECT_EQ(driver.lend(0, 0), command_status::bad_system_state);  // no SET_ICM_SIZE yet
  EXPECT_EQ(driver.command(opcode::map_eq, 1, 33).status, command_status::bad_system_state);
  EXPECT_EQ(driver.command(opcode::close_hca).status, command_status::bad_system_state);
  ASSERT_TRUE(driver.prepare_context_memory());
  ASSERT_EQ(driver.command_with(opcode::init_hca, driver.profile()).status, command_status::ok);
  EXPECT_EQ(driver.command_with(opcode::init_hca, driver.profile()).status,
            command_status::bad_system_state);
  EXPECT_EQ(driver.command(opcode::unmap_fa).status, command_status::bad_system_state);
  EXPECT_EQ(driver.command(opcode::unmap_icm_aux).status, command_status::bad_system_state);
}

TEST_F(core_commands, too_little_firmware_memory_does_not_run) {
  ASSERT_EQ(driver.map(opcode::map_fa, 0, host.allocate(16, 16 * 4096), 4), command_status::ok);
  EXPECT_EQ(driver.command(opcode::run_fw).status, command_status::exceeds_limits);
}

TEST_F(core_commands, what_no_part_knows_is_a_bad_operation) {
  EXPECT_EQ(driver.command(opcode::sys_en).status, command_status::bad_operation);
  EXPECT_EQ(driver.command(static_cast<opcode>(0x7ff)).status, command_status::bad_operation);
}

TEST_F(core_commands, a_mailbox_off_its_alignment_is_a_bad_parameter) {
  EXPECT_EQ(driver.command(opcode::query_fw, 0, 0, 0, driver.output + 8).status,
            command_status::bad_parameter);
  EXPECT_EQ(driver.command(opcode::map_fa, driver.input + 16, 1).status,
            command_status::bad_parameter);
}

TEST_F(core_commands, a_mailbox_that_the_bus_refuses_is_an_internal_error) {
  EXPECT_EQ(driver.command(opcode::query_fw, 0, 0, 0, 0x1000).status,
            command_status::internal_error);
  host.bus_master_on = false;
  EXPECT_EQ(driver.command(opcode::query_fw, 0, 0, 0, driver.output).status,
            command_status::internal_error);
}

TEST(mailboxes, of_a_driver_that_died_with_a_command_under_way_are_not_complained_of) {
  test_host host;
  options how = test_options();
  how.strict = false;  // a mailbox that cannot be written is taken, and complained of
  device hca{host, how};
  test_driver driver{host, hca};
  host.attach(hca);
  driver.post(opcode::query_fw, 0, 0, 0, driver.output, 0x1111, true);
  host.bus_master_on = false;
  host.run();
  EXPECT_EQ(driver.counter_named("commands_in_flight"), 0u);
  EXPECT_EQ(hca.complaints(), 0u);
  host.bus_master_on = true;
  EXPECT_EQ(driver.command(opcode::query_fw, 0, 0, 0, 0x1000).status, command_status::ok);
  EXPECT_EQ(hca.complaints(), 1u);
}

TEST(mailboxes, of_a_command_that_is_posted_without_bus_mastering_are_complained_of) {
  test_host host;
  options how = test_options();
  how.strict = false;
  device hca{host, how};
  test_driver driver{host, hca};
  host.attach(hca);
  ASSERT_TRUE(driver.start_firmware());
  host.bus_master_on = false;
  EXPECT_EQ(driver.command(opcode::query_fw, 0, 0, 0, driver.output).status, command_status::ok);
  ASSERT_EQ(hca.complaints(), 1u);
  EXPECT_STREQ(host.remarks.back().rule, "mailbox-writable");
  // What needs no memory is nobody's fault.
  EXPECT_EQ(driver.command(opcode::nop).status, command_status::ok);
  EXPECT_EQ(hca.complaints(), 1u);
}

TEST(mailboxes, of_a_command_posted_before_the_bit_fell_are_excused_whatever_is_posted_behind) {
  test_host host;
  options how = test_options();
  how.strict = false;
  fault_options slow;
  slow.command_latency_ns = 1000;
  device hca{host, how};
  test_driver driver{host, hca};
  host.attach(hca);
  hca.set_faults(slow);
  driver.post(opcode::query_fw, 0, 0, 0, driver.output, 0x1111, true);
  host.bus_master_on = false;
  driver.post(opcode::query_fw, 0, 0, 0, driver.output, layouts::polled_token, false);
  host.advance(1'000'000);
  EXPECT_EQ(driver.counter_named("commands_in_flight"), 0u);
  EXPECT_EQ(hca.complaints(), 1u);
}

TEST_F(core_commands, memory_that_is_lent_is_overwritten) {
  const std::uint64_t page = host.allocate();
  ASSERT_EQ(driver.map(opcode::map_fa, 0, page, 0), command_status::ok);
  for (std::size_t i = 0; i < 4096; i += 4)
    ASSERT_EQ(layouts::load_be<std::uint32_t>(host.at(page) + i), 0x9130a470u);
}

TEST_F(core_commands, icm_is_mapped_once_aligned_and_taken_back_whole) {
  ASSERT_TRUE(driver.start_firmware());
  const outcome size = driver.command(opcode::set_icm_size, std::uint64_t{1} << 30);
  ASSERT_EQ(size.status, command_status::ok);
  ASSERT_GT(size.output, 0u);
  EXPECT_EQ(driver.lend(0, 0), command_status::icm_error);  // no auxiliary memory yet
  ASSERT_EQ(driver.map(opcode::map_icm_aux, 0, host.allocate(1024, 1024 * 4096), 10),
            command_status::ok);
  ASSERT_EQ(driver.lend(0x40000, 2), command_status::ok);
  EXPECT_EQ(driver.lend(0x42000, 1), command_status::bad_parameter);  // overlaps
  EXPECT_EQ(driver.map(opcode::map_icm, 0x51000, host.allocate(2, 8192), 1),
            command_status::bad_parameter);  // alignment
  EXPECT_EQ(driver.map(opcode::map_icm, 0x50000, host.allocate(2, 8192) + 4096, 1),
            command_status::bad_parameter);
  EXPECT_EQ(driver.map(opcode::map_icm, std::uint64_t{1} << 41, host.allocate(), 0),
            command_status::exceeds_limits);
  EXPECT_EQ(driver.map(opcode::map_icm, 0x60000, 0, 0),
            command_status::internal_error);  // no such memory
  EXPECT_EQ(driver.command(opcode::unmap_icm_aux).status, command_status::bad_system_state);
  // The middle, then the rest.
  icm& m = *hca.inside().context_memory;
  EXPECT_TRUE(m.mapped(0x40000, 0x4000));
  EXPECT_EQ(driver.command(opcode::unmap_icm, 0x41000, 2).status, command_status::ok);
  EXPECT_TRUE(m.mapped(0x40000, 0x1000));
  EXPECT_FALSE(m.mapped(0x40fff, 2));
  EXPECT_TRUE(m.mapped(0x43000, 0x1000));
  EXPECT_EQ(driver.command(opcode::unmap_icm, 0x41000, 1).status, command_status::bad_parameter);
  // A whole chunk, of which only the ends are mapped.
  EXPECT_EQ(driver.command(opcode::unmap_icm, 0x40000, 64).status, command_status::ok);
  EXPECT_EQ(m.pages_mapped(), 0u);
  EXPECT_EQ(driver.command(opcode::unmap_icm_aux).status, command_status::ok);
  EXPECT_EQ(driver.command(opcode::unmap_fa).status, command_status::ok);
  EXPECT_EQ(hca.complaints(), 0u);
}

TEST_F(core_commands, init_hca_checks_what_it_is_asked_for) {
  using l = layouts::init_hca;
  ASSERT_TRUE(driver.start_firmware());
  ASSERT_TRUE(driver.prepare_context_memory());
  const auto init = [this](auto&& change) {
    auto p = driver.profile();
    change(p);
    return driver.command_with(opcode::init_hca, p).status;
  };
  EXPECT_EQ(init([](auto& p) { p.template set<&l::version>(1); }), command_status::bad_parameter);
  EXPECT_EQ(init([](auto& p) { p.data()[0x1f8] = std::byte{1}; }), command_status::bad_parameter);
  EXPECT_EQ(init([](auto& p) { p.template set<&l::dmfs>(true); }), command_status::bad_parameter);
  EXPECT_EQ(init([](auto& p) { p.template set<&l::log_num_qps>(25); }),
            command_status::exceeds_limits);
  EXPECT_EQ(init([](auto& p) { p.template set<&l::log_num_cqs>(3); }),
            command_status::bad_parameter);
  EXPECT_EQ(init([](auto& p) { p.template set<&l::qpc_base>(0x1234567000); }),
            command_status::icm_error);
  EXPECT_EQ(init([](auto&) {}), command_status::ok);
}

TEST_F(core_commands, b0_steering_is_taken) {
  ASSERT_TRUE(driver.bring_up());
  EXPECT_EQ(driver.counter_named("init_b0_steering"), 1u);
}

TEST(core_commands_of, connectx2_keeps_sixteen_regions_back) {
  using l = layouts::query_dev_cap;
  options how = test_options();
  how.kind = variant::connectx2;
  test_host host(std::size_t{192} << 20);
  device hca{host, how};
  test_driver driver{host, hca};
  ASSERT_TRUE(driver.bring_up());
  layouts::image<l> caps;
  ASSERT_EQ(driver.query(opcode::query_dev_cap, caps).status, command_status::ok);
  EXPECT_EQ(caps.get<&l::log_rsvd_mrws>(), 4u);
  const auto where = driver.make_buffer(1);
  command_status s{};
  driver.make_region(15, 7, where, 0, 4096, &s);
  EXPECT_EQ(s, command_status::bad_resource);
  driver.make_region(16, 7, where, 0, 4096, &s);
  EXPECT_EQ(s, command_status::ok);
}

TEST(core_commands_of, each_variant_takes_the_multicast_table_that_it_reports_and_no_larger) {
  using l = layouts::init_hca;
  for (const variant v : {variant::connectx2, variant::connectx3, variant::connectx3_pro}) {
    options how = test_options();
    how.kind = v;
    test_host host(std::size_t{192} << 20);
    device hca{host, how};
    test_driver driver{host, hca};
    ASSERT_TRUE(driver.start_firmware());
    ASSERT_TRUE(driver.prepare_context_memory());
    layouts::image<layouts::query_dev_cap> caps;
    ASSERT_EQ(driver.query(opcode::query_dev_cap, caps).status, command_status::ok);
    const auto most = caps.get<&layouts::query_dev_cap::log_max_mcgs>();
    EXPECT_EQ(most, v == variant::connectx2 ? 13u : 17u);
    auto p = driver.profile();
    constexpr unsigned log_entry = 6;
    constexpr std::uint64_t table = 0x2'0000'0000;
    const unsigned log_pages = static_cast<unsigned>(most) + log_entry - 12;
    ASSERT_EQ(driver.lend(table, log_pages), command_status::ok);
    p.set<&l::mc_base>(table).set<&l::log_mc_entry_sz>(log_entry);
    p.set<&l::log_mc_table_sz>(most + 1);
    EXPECT_EQ(driver.command_with(opcode::init_hca, p).status, command_status::exceeds_limits);
    p.set<&l::log_mc_table_sz>(most);
    EXPECT_EQ(driver.command_with(opcode::init_hca, p).status, command_status::ok);
  }
}

TEST_F(core_commands, multicast_entries_are_empty_after_init_hca) {
  ASSERT_TRUE(driver.bring_up());
  icm& m = *hca.inside().context_memory;
  std::vector<std::byte> table(std::size_t{1} << (driver.log_mc_table + driver.log_mc_entry));
  ASSERT_TRUE(m.read(driver.mc, table.data(), table.size()));
  for (const std::byte b : table) ASSERT_EQ(b, std::byte{0});
}

TEST_F(core_commands, query_hca_gives_back_what_init_hca_was_given_and_the_clock) {
  ASSERT_TRUE(driver.bring_up());
  layouts::image<layouts::init_hca> out;
  ASSERT_EQ(driver.query(opcode::query_hca, out).status, command_status::ok);
  EXPECT_EQ(out.get<&layouts::init_hca::hca_core_clock>(), 427u);
  out.set<&layouts::init_hca::hca_core_clock>(0);
  EXPECT_EQ(out, driver.profile());
}

TEST_F(core_commands, close_hca_lets_it_be_initialised_again) {
  ASSERT_TRUE(driver.bring_up());
  for (const unsigned modifier : {0u, 1u}) {
    EXPECT_EQ(driver.command(opcode::close_hca, 0, 0, modifier).status, command_status::ok);
    EXPECT_EQ(driver.command_with(opcode::init_hca, driver.profile()).status, command_status::ok);
  }
  EXPECT_EQ(driver.command(opcode::close_hca, 0, 0, 2).status, command_status::bad_operation);
}

TEST_F(core_commands, the_capabilities_are_those_of_the_captured_cards) {
  using l = layouts::query_dev_cap;
  ASSERT_TRUE(driver.start_firmware());
  layouts::image<l> cap;
  ASSERT_EQ(driver.query(opcode::query_dev_cap, cap).status, command_status::ok);
  EXPECT_EQ(cap.get<&l::log_rsvd_qps>(), 6u);
  EXPECT_EQ(cap.get<&l::log_rsvd_cqs>(), 7u);
  EXPECT_EQ(cap.get<&l::log_rsvd_mrws>(), 8u);
  EXPECT_EQ(cap.get<&l::num_rsvd_pds>(), 4u);
  EXPECT_EQ(cap.get<&l::log_max_pds>(), 15u);
  EXPECT_EQ(cap.get<&l::log_max_cq_sz>(), 22u);
  EXPECT_EQ(cap.get<&l::uar_sz>(), 2u);
  EXPECT_EQ(cap.get<&l::num_rsvd_uars>(), 8u);
  EXPECT_EQ(cap.get<&l::num_ports>(), 2u);
  EXPECT_EQ(cap.get<&l::local_ca_ack_delay>(), 15u);
  EXPECT_EQ(cap.get<&l::log_max_msg_sz>(), 30u);
  EXPECT_TRUE(cap.reserved_clear());
}

TEST_F(core_commands, the_uplink_guid_is_the_ports) {
  using l = layouts::mod_stat_cfg;
  ASSERT_TRUE(driver.start_firmware());
  layouts::image<l> out;
  ASSERT_EQ(driver.query(opcode::mod_stat_cfg, out, 2u << 8, 2).status, command_status::ok);
  EXPECT_EQ(out.get<&l::guid_hi>() << 32 | out.get<&l::guid_lo>(), how.node_guid + 2);
  EXPECT_EQ(driver.query(opcode::mod_stat_cfg, out, 3u << 8, 2).status, command_status::bad_index);
}

TEST_F(core_commands, diagnostics_count_completions_in_error) {
  using l = layouts::diag_rprt;
  ASSERT_TRUE(driver.bring_up());
  test_driver::queue eq, cq;
  ASSERT_EQ(driver.make_eq(eq, 40, 0).status, command_status::ok);
  ASSERT_EQ(driver.make_cq(cq, 130, 40).status, command_status::ok);
  layouts::image<layouts::cqe_error> e;
  e.set<&layouts::cqe_error::opcode>(layouts::cqe_opcode::error);
  e.set<&layouts::cqe_error::syndrome>(layouts::cqe_syndrome::remote_access)
      .set<&layouts::cqe_error::is_send>(true);
  ASSERT_TRUE(hca.inside().cqs->complete(cq.number, e, false));
  layouts::image<l> out;
  ASSERT_EQ(driver.query(opcode::diag_rprt, out, 0, 2).status, command_status::ok);
  EXPECT_EQ(out.get<&l::sq_num_rae>(), 1u);
  EXPECT_EQ(out.get<&l::rq_num_rae>(), 0u);
  // By port: only what happened at a queue pair of that port.
  ASSERT_TRUE(hca.inside().cqs->complete(cq.number, e, false, 2));
  ASSERT_EQ(driver.query(opcode::diag_rprt, out, 0, 2).status, command_status::ok);
  EXPECT_EQ(out.get<&l::sq_num_rae>(), 2u);
  ASSERT_EQ(driver.query(opcode::diag_rprt, out, 1, 2).status, command_status::ok);
  EXPECT_EQ(out.get<&l::sq_num_rae>(), 0u);
  ASSERT_EQ(driver.query(opcode::diag_rprt, out, 2, 2).status, command_status::ok);
  EXPECT_EQ(out.get<&l::sq_num_rae>(), 1u);
  EXPECT_EQ(driver.query(opcode::diag_rprt, out, 3, 2).status, command_status::bad_parameter);
  EXPECT_EQ(driver.query(opcode::diag_rprt, out, 0, 0).status, command_status::bad_operation);
}

TEST_F(core_commands, a_polled_command_takes_its_latency) {
  fault_options slow;
  slow.command_latency_ns = 5000;
  hca.set_faults(slow);
  driver.post(opcode::query_fw, 0, 0, 0, driver.output, 1, false);
  host.advance(4999);
  EXPECT_TRUE(driver.go());
  host.advance(1);
  EXPECT_FALSE(driver.go());
}

struct core_command_events : core_commands {
  test_driver::queue eq;
  void SetUp() override {
    ASSERT_TRUE(driver.bring_up());
    ASSERT_EQ(driver.make_eq(eq, 40, 0).status, command_status::ok);
    ASSERT_EQ(driver.command(opcode::map_eq, std::uint64_t{1} << 10, 40).status,
              command_status::ok);
    driver.ring_eq(eq, true);
  }
  void make_slow(std::uint64_t nanoseconds, bool side_by_side) {
    fault_options slow;
    slow.command_latency_ns = nanoseconds;
    slow.commands_side_by_side = side_by_side;
    hca.set_faults(slow);
  }
};

TEST_F(core_command_events, go_drops_on_acceptance_and_the_end_is_an_event) {
  make_slow(1000, true);
  driver.post(opcode::nop, 0, 0x1f, 0, 0, 0xbeef, true);
  EXPECT_FALSE(driver.go());
  layouts::image<layouts::eqe> raw;
  EXPECT_FALSE(driver.next_event(eq, raw));
  host.advance(1000);
  ASSERT_TRUE(driver.next_event(eq, raw));
  const auto e = layouts::image<layouts::eqe_command>::from_bytes(raw.data());
  EXPECT_EQ(e.get<&layouts::eqe_command::event_type>(), layouts::event_type::command_completion);
  EXPECT_EQ(e.get<&layouts::eqe_command::token>(), 0xbeefu);
  EXPECT_EQ(e.get<&layouts::eqe_command::status>(), command_status::ok);
  EXPECT_EQ(host.messages, std::vector<unsigned>{0});
}

TEST_F(core_command_events, acceptance_takes_its_time_and_go_stays_until_then) {
  hca.set_faults({.command_acceptance_ns = 200, .command_latency_ns = 1000});
  driver.post(opcode::nop, 0, 0, 0, 0, 1, true);
  host.advance(199);
  EXPECT_TRUE(driver.go());
  host.advance(1);
  EXPECT_FALSE(driver.go());
  layouts::image<layouts::eqe> e;
  host.advance(999);
  EXPECT_FALSE(driver.next_event(eq, e));
  host.advance(1);
  EXPECT_TRUE(driver.next_event(eq, e));
}

TEST_F(core_command_events, a_reset_drops_a_command_that_is_not_accepted_yet) {
  const std::uint64_t before = driver.counter_named("commands");
  hca.set_faults({.command_acceptance_ns = 200});
  driver.post(opcode::nop, 0, 0, 0, 0, 1, true);
  hca.reset();
  host.advance(1000);
  EXPECT_FALSE(driver.go());
  EXPECT_EQ(driver.counter_named("commands"), before);
}

TEST_F(core_command_events, go_stays_while_more_commands_are_in_flight_than_query_fw_allows) {
  make_slow(1000, true);
  const unsigned most = 1u << how.log_max_commands;
  for (unsigned i = 0; i < most; ++i) {
    driver.post(opcode::nop, 0, 0, 0, 0, static_cast<std::uint16_t>(i), true);
    ASSERT_FALSE(driver.go());
    host.advance(10);
  }
  driver.post(opcode::nop, 0, 0, 0, 0, 99, true);
  EXPECT_TRUE(driver.go());
  host.advance(1000 - 10 * most);
  EXPECT_FALSE(driver.go());
  host.advance(3000);
  layouts::image<layouts::eqe> e;
  for (unsigned i = 0; i <= most; ++i) ASSERT_TRUE(driver.next_event(eq, e)) << i;
  EXPECT_EQ(layouts::image<layouts::eqe_command>::from_bytes(e.data())
                .get<&layouts::eqe_command::token>(),
            99u);
  EXPECT_EQ(hca.complaints(), 0u);
}

TEST_F(core_command_events, latencies_add_up_one_after_the_other_when_asked) {
  make_slow(1000, false);
  for (std::uint16_t i = 0; i < 3; ++i) driver.post(opcode::nop, 0, 0, 0, 0, i, true);
  layouts::image<layouts::eqe> e;
  for (int i = 0; i < 3; ++i) {
    host.advance(999);
    EXPECT_FALSE(driver.next_event(eq, e));
    host.advance(1);
    EXPECT_TRUE(driver.next_event(eq, e));
  }
}

TEST_F(core_command_events, a_second_command_on_the_same_object_finds_it_busy) {
  make_slow(1000, true);
  driver.post(opcode::query_eq, 0, 40, 0, driver.output, 1, true);
  driver.post(opcode::hw2sw_eq, 0, 40, 1, 0, 2, true);
  host.advance(2000);
  layouts::image<layouts::eqe> e;
  ASSERT_TRUE(driver.next_event(eq, e));
  EXPECT_EQ(layouts::image<layouts::eqe_command>::from_bytes(e.data())
                .get<&layouts::eqe_command::status>(),
            command_status::ok);
  ASSERT_TRUE(driver.next_event(eq, e));
  EXPECT_EQ(layouts::image<layouts::eqe_command>::from_bytes(e.data())
                .get<&layouts::eqe_command::status>(),
            command_status::resource_busy);
}

TEST_F(core_command_events, immediate_output_comes_in_the_event) {
  driver.post(opcode::mod_stat_cfg, 0, 1u << 8, 3, 0x1234, 5, true);
  host.run();
  layouts::image<layouts::eqe> e;
  ASSERT_TRUE(driver.next_event(eq, e));
  EXPECT_EQ(layouts::image<layouts::eqe_command>::from_bytes(e.data())
                .get<&layouts::eqe_command::out_param>(),
            0u);
}

TEST_F(core_command_events, a_reset_drops_what_is_in_flight) {
  make_slow(1000, true);
  driver.post(opcode::nop, 0, 0, 0, 0, 1, true);
  driver.write(layouts::bar0::reset, 1);
  host.advance(5000);
  layouts::image<layouts::eqe> e;
  EXPECT_FALSE(driver.next_event(eq, e));
  EXPECT_TRUE(host.idle());
}

}  // namespace
}  // namespace freehca::model::test
