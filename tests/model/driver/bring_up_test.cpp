// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Bring-up and teardown as a whole.
#include "device_rig.hpp"

namespace freehca {
namespace {

using testing::device_rig;

void expect_up(device_rig& rig) {
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure() << "\n" << rig.complaints();
  EXPECT_EQ(rig.adapter.state(), device_state::up);
}

void expect_down(device_rig& rig) {
  ASSERT_TRUE(rig.tear_down().ok()) << rig.failure() << "\n" << rig.complaints();
  EXPECT_EQ(rig.adapter.state(), device_state::down);
  EXPECT_TRUE(rig.adapter.holdings().none());
  EXPECT_EQ(rig.machine.counter("firmware_pages"), 0u);
  EXPECT_EQ(rig.machine.counter("auxiliary_pages"), 0u);
  EXPECT_EQ(rig.machine.counter("icm_pages"), 0u);
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
  rig.adapter.close();
  EXPECT_EQ(rig.machine.dma_blocks(), 0u);
}

TEST(bring_up, tells_what_the_device_is) {
  device_rig rig;
  expect_up(rig);
  const device_info i = rig.adapter.info();
  EXPECT_EQ(i.pci_vendor, 0x15b3);
  EXPECT_EQ(i.pci_device, 0x1007);
  EXPECT_EQ(i.hardware_id, 0x000001f7u);
  EXPECT_NE(i.firmware_major, 0);
  EXPECT_EQ(i.ports, 2u);
  EXPECT_EQ(i.node_guid, rig.machine.options().model.node_guid);
  EXPECT_EQ(i.system_image_guid, i.node_guid + 3);
  for (unsigned n = 1; n <= 2; ++n) {
    const port_attributes& p = rig.adapter.port(n);
    EXPECT_EQ(p.link_layer, layouts::port_type::ib);
    EXPECT_TRUE(p.active());
    EXPECT_NE(p.lid, 0);
    EXPECT_EQ(p.guid, i.node_guid + n);
    EXPECT_EQ(p.active_mtu, layouts::ib_mtu::mtu_4096);
  }
  EXPECT_TRUE(i.interrupts_work);
  EXPECT_GT(std::string(i.board_id).size(), 0u);
  EXPECT_EQ(i.commands_issued, rig.machine.counter("commands"));
  EXPECT_EQ(i.lent_firmware, rig.machine.counter("firmware_pages") * 4096);
  EXPECT_EQ(i.lent_auxiliary, rig.machine.counter("auxiliary_pages") * 4096);
  std::uint64_t context = 0;
  for (const std::uint64_t bytes : i.lent_context) context += bytes;
  EXPECT_EQ(context, rig.machine.counter("icm_pages") * 4096);
  expect_down(rig);
}

TEST(bring_up, again_and_again) {
  device_rig rig;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  for (unsigned i = 0; i < 5; ++i) {
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
    ASSERT_TRUE(rig.tear_down().ok()) << rig.failure();
    ASSERT_TRUE(rig.adapter.holdings().none());
  }
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
  EXPECT_EQ(rig.adapter.info().resets, 5u);
}

TEST(bring_up, resets_through_the_register_and_restores_configuration_space) {
  in_process::machine_options how;
  how.function_level_reset = false;
  device_rig rig(how);
  std::uint32_t before[64];
  for (unsigned i = 0; i < 64; ++i) before[i] = rig.machine.configuration().read(i * 4);
  expect_up(rig);
  EXPECT_EQ(rig.machine.counter("software_resets"), 1u);
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint32_t mastering = i == 1 ? 4u : 0u;
    EXPECT_EQ(rig.machine.configuration().read(i * 4), before[i] | mastering) << "dword " << i;
  }
  EXPECT_EQ(rig.machine.configuration().gateway_writes(), 0u);
  expect_down(rig);
  EXPECT_FALSE(rig.machine.configuration().bus_master());
}

TEST(bring_up, without_interrupts) {
  in_process::machine_options how;
  how.interrupts = false;
  device_rig rig(how);
  expect_up(rig);
  EXPECT_FALSE(rig.adapter.info().interrupts_work);
  expect_down(rig);
}

TEST(bring_up, interrupts_that_get_lost_are_found_out_by_the_self_test) {
  in_process::machine_options how;
  how.loses_interrupts = true;
  device_rig rig(how);
  expect_up(rig);
  EXPECT_GT(rig.machine.messages(), 0u);
  EXPECT_FALSE(rig.adapter.info().interrupts_work);
  expect_down(rig);
}

TEST(bring_up, lends_single_pages) {
  freehca::budget b;
  b.log_largest_lent_run = 0;
  device_rig rig({}, b);
  // The modifier of both commands is the number of their entries.
  std::uint64_t entries = 0, auxiliary_entries = 0;
  rig.machine.adapter().judge_commands([&](layouts::opcode code, std::uint32_t modifier) {
    if (code == layouts::opcode::map_fa) entries += modifier;
    if (code == layouts::opcode::map_icm_aux) auxiliary_entries += modifier;
    return model::command_verdict{};
  });
  expect_up(rig);
  EXPECT_GT(entries, 1u);
  EXPECT_EQ(entries, rig.machine.counter("firmware_pages"));
  EXPECT_EQ(auxiliary_entries, rig.machine.counter("auxiliary_pages"));
  expect_down(rig);
}

TEST(bring_up, needs_no_memory_that_users_can_take) {
  device_rig rig;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  const result<dma_region> all = rig.adapter.arena().allocate(rig.setup.budget.queue_bytes);
  ASSERT_TRUE(all.ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  ASSERT_TRUE(rig.tear_down().ok()) << rig.failure();
  EXPECT_EQ(rig.adapter.holdings().pages, all.value().bytes / dma_arena::page);
  rig.adapter.arena().free(all.value());
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
}

TEST(bring_up, event_queues_need_a_line_of_translations_each) {
  freehca::budget b;
  b.log_mtts = 7;
  for (const bool fits : {true, false}) {
    b.completion_event_queues = fits ? 7 : 8;  // behind the 64 entries that the firmware keeps
    device_rig rig({}, b);
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    const status s = rig.bring_up();
    ASSERT_EQ(rig.adapter.capabilities().reserved_mtts, 64u);
    EXPECT_EQ(s.ok(), fits) << testing::words(s);
    if (!fits) {
      EXPECT_TRUE(rig.adapter.failure().cause.is(driver_error::bad_argument));
      EXPECT_EQ(rig.adapter.failure().cause.where(), static_cast<unsigned>(budget::item::mtts));
    }
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
  }
}

TEST(bring_up, of_every_variant) {
  for (const model::variant v :
       {model::variant::connectx2, model::variant::connectx3, model::variant::connectx3_pro}) {
    for (const unsigned ports : {1u, 2u}) {
      in_process::machine_options how;
      how.model.kind = v;
      how.model.ports = ports;
      device_rig rig(how);
      expect_up(rig);
      EXPECT_EQ(rig.adapter.info().ports, ports);
      expect_down(rig);
    }
  }
}

TEST(bring_up, a_port_without_a_subnet_manager_is_no_error) {
  in_process::machine_options how;
  how.model.subnet_manager = false;
  device_rig rig(how);
  rig.setup.port_wait = clock::milliseconds(100);
  expect_up(rig);
  EXPECT_FALSE(rig.adapter.port(1).active());
  expect_down(rig);
}

TEST(bring_up, finds_the_device_owned_by_somebody_else) {
  device_rig rig;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_EQ(rig.machine.mmio_read_32(0, layouts::bar0::ownership), 0u);  // somebody takes it
  const status s = rig.bring_up();
  EXPECT_TRUE(s.is(driver_error::busy));
  EXPECT_EQ(s.where(), static_cast<unsigned>(bring_up_step::take_ownership));
  EXPECT_TRUE(rig.adapter.holdings().none());
  EXPECT_NE(rig.machine.mmio_read_32(0, layouts::bar0::ownership), 0u) << "it is still theirs";
}

TEST(bring_up, says_which_budget_is_too_small) {
  freehca::budget b;
  b.firmware_bytes = b.auxiliary_bytes = b.context_bytes = b.queue_bytes = 4096;
  device_rig rig({}, b);
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  const status s = rig.bring_up();
  EXPECT_TRUE(s.is(driver_error::exceeds_limits));
  EXPECT_EQ(rig.adapter.failure().step, bring_up_step::query_fw);
  EXPECT_EQ(rig.adapter.failure().cause.where(),
            static_cast<unsigned>(budget::item::firmware_area));
  EXPECT_TRUE(rig.adapter.holdings().none());
}

TEST(bring_up, out_of_order_calls_are_refused) {
  device_rig rig;
  operation early;
  rig.adapter.bring_up(early);
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  EXPECT_TRUE(rig.await(early).is(driver_error::bad_state));
  operation up, twice;
  rig.adapter.bring_up(up);
  rig.adapter.bring_up(twice);
  EXPECT_TRUE(rig.await(twice).is(driver_error::bad_state));
  EXPECT_TRUE(rig.await(up).ok());
  EXPECT_TRUE(rig.bring_up().is(driver_error::bad_state));
  EXPECT_TRUE(rig.tear_down().ok());
}

}  // namespace
}  // namespace freehca
