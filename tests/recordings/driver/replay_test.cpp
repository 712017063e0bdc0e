// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a driver recorded of the modelled adapter replays on the model with no difference.
#include <freehca/layouts/pci_devices.hpp>
#include <freehca/model/recording_format.hpp>

#include "driver_session.hpp"

namespace freehca {
namespace {

using namespace testing;

class driver_recording_of : public ::testing::TestWithParam<model::variant> {};

TEST_P(driver_recording_of, replays_with_no_difference) {
  const recording::recording from = load_text(record_driver(GetParam()));
  EXPECT_EQ(from.problem, "");
  ASSERT_TRUE(from.usable);
  EXPECT_TRUE(from.by_driver);
  EXPECT_FALSE(from.of_model);
  EXPECT_EQ(from.how.kind, GetParam());
  EXPECT_EQ(from.label, "in process");
  const recording::driver_replay_result result = recording::replay_driver(from);
  EXPECT_EQ(all_words(result), "");
  // Bring-up alone has fifty commands; most of what is compared are completions.
  EXPECT_GT(result.compared, 5000u);
}
INSTANTIATE_TEST_SUITE_P(recordings, driver_recording_of,
                         ::testing::Values(model::variant::connectx3_pro, model::variant::connectx3,
                                           model::variant::connectx2));

// Packets go by LIDs: the model's manager gives the port what the card's gave it.
TEST(driver_replay, a_card_of_a_fabric_with_other_lids_replays_too) {
  constexpr std::uint16_t lid = 0x123;
  in_process::machine_options how;
  for (std::uint16_t& of_port : how.model.lid) of_port = lid;
  const recording::recording from = load_text(record_driver(how));
  EXPECT_EQ(from.problem, "");
  EXPECT_EQ(from.how.lid[0], lid);
  EXPECT_EQ(all_words(recording::replay_driver(from)), "");
}

// No LID is above 0xbfff, also where the manager's is put beside the port's.
TEST(driver_replay, the_last_unicast_lid_replays_too) {
  constexpr std::uint16_t last = 0xbfff;
  in_process::machine_options how;
  for (std::uint16_t* both : {how.model.lid, how.model.sm_lid}) both[0] = both[1] = last;
  const recording::recording from = load_text(record_driver(how));
  EXPECT_EQ(from.problem, "");
  EXPECT_EQ(from.how.lid[0], last);
  EXPECT_EQ(from.how.sm_lid[0], last - 1);
  EXPECT_EQ(all_words(recording::replay_driver(from)), "");
}

// What docs/your-card.md invites to: bring-up alone.
TEST(driver_replay, a_card_without_a_subnet_manager_replays_too) {
  in_process::machine_options how;
  how.model.subnet_manager = false;
  const recording::recording from = load_text(record_driver(how, false, 0));
  EXPECT_EQ(from.problem, "");
  EXPECT_FALSE(from.how.subnet_manager);
  const recording::driver_replay_result result = recording::replay_driver(from);
  EXPECT_EQ(all_words(result), "");
  EXPECT_GT(result.compared, 1000u);
}

TEST(driver_replay, a_card_with_a_cable_in_one_port_replays_too) {
  for (const unsigned bare : {0u, 1u}) {
    in_process::machine_options how;
    how.model.cable[bare] = true;  // it leads nowhere
    const recording::recording from = load_text(record_driver(how, false, bare == 0 ? 2 : 1));
    EXPECT_EQ(from.problem, "");
    EXPECT_TRUE(from.how.subnet_manager);
    EXPECT_TRUE(from.how.cable[bare]);
    EXPECT_FALSE(from.how.cable[1 - bare]);
    EXPECT_EQ(all_words(recording::replay_driver(from)), "");
  }
}

TEST(driver_replay, a_card_with_a_vpi_port_replays_too) {
  in_process::machine_options how;
  how.model.vpi[0] = true;
  const recording::recording from = load_text(record_driver(how));
  EXPECT_EQ(from.problem, "");
  EXPECT_TRUE(from.how.vpi[0]);
  EXPECT_FALSE(from.how.vpi[1]);
  EXPECT_EQ(from.how.link[0], model::link_layer::infiniband);
  EXPECT_EQ(all_words(recording::replay_driver(from)), "");
}

/// What a recorder's header says of a card with the device number.
std::string variant_of_device(std::uint32_t device) {
  static std::uint32_t identity;
  identity = device << 16 | layouts::mellanox_vendor;
  blocking::in_process_host host{in_process::machine_options{}};
  freehca::platform inner = host.platform();
  platform_operations changed = *inner.operations;
  changed.read_configuration = [](void*, unsigned, std::uint32_t* value) {
    *value = identity;
    return status{};
  };
  inner.operations = &changed;
  recorder::recorder listening(inner, {.label = "a number"});
  const freehca::platform heard = listening.platform();
  std::uint32_t read = 0;
  EXPECT_TRUE(heard.operations->read_configuration(heard.context, 0, &read).ok());
  EXPECT_EQ(read, identity);
  const recording::recording from = load_text(listening.text());
  EXPECT_EQ(from.problem, "");
  const recording::driver_replay_result result = recording::replay_driver(from);
  const bool unknown = layouts::find_pci_device(layouts::mellanox_vendor, device) == nullptr;
  EXPECT_EQ(result.remarks.size(), unknown ? 1u : 0u) << all_words(result);
  return std::string(model::variant_names[static_cast<std::size_t>(from.how.kind)]);
}

TEST(driver_replay, each_device_number_of_a_generation_is_a_model_of_it) {
  for (const std::uint32_t n :
       {0x6368u, 0x6372u, 0x6732u, 0x673cu, 0x6746u, 0x6750u, 0x675au, 0x6764u, 0x676eu, 0x6778u})
    EXPECT_EQ(variant_of_device(n), "connectx2") << n;
  EXPECT_EQ(variant_of_device(0x1003), "connectx3");
  EXPECT_EQ(variant_of_device(0x1007), "connectx3-pro");
  // Another number is a remark, and a difference.
  EXPECT_EQ(variant_of_device(0x1013), "connectx3-pro");
}

// The driver saves configuration space, resets by a register, and writes it back.
TEST(driver_replay, a_card_without_a_reset_of_its_function_replays_too) {
  in_process::machine_options how;
  how.function_level_reset = false;
  const std::string text = record_driver(how);
  EXPECT_NE(text.find("\"call\":\"write_configuration\""), std::string::npos);
  const recording::driver_replay_result result = recording::replay_driver(load_text(text));
  EXPECT_EQ(all_words(result), "");
}

// One port, no interrupts, slow commands: whatever the driver did is done again.
TEST(driver_replay, a_slow_card_with_one_port_that_is_polled_replays_too) {
  in_process::machine_options how;
  how.model.ports = 1;
  how.interrupts = false;
  how.model.faults.command_latency_ns = 3'000'000;
  const recording::recording from = load_text(record_driver(how));
  EXPECT_EQ(from.how.ports, 1u);
  EXPECT_EQ(all_words(recording::replay_driver(from)), "");
}

}  // namespace
}  // namespace freehca
