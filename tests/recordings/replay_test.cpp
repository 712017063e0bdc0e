// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A recording replays to the same answers; what differs is told in words.
#include <algorithm>
#include <functional>

#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/recording/compare.hpp>
#include <freehca/recording/replay.hpp>

#include "device_rig.hpp"
#include "session.hpp"

namespace freehca {
namespace {

using namespace testing;
using recording::closeness;
using recording::record;
using recording::record_kind;

std::string all(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& l : lines) text += l + "\n";
  return text;
}

class of_each_variant : public ::testing::TestWithParam<model::variant> {};

TEST_P(of_each_variant, replays_to_the_same_answers) {
  const recording::recording from = read(record_session(GetParam()).text);
  ASSERT_TRUE(from.usable);
  EXPECT_EQ(from.problem, "");
  EXPECT_EQ(from.how.kind, GetParam());
  EXPECT_EQ(from.label, "our driver, in process");
  const recording::replay_result result = recording::replay(from);
  EXPECT_EQ(all(result.remarks), "");
  EXPECT_EQ(result.again.problem, "");
  for (const closeness how : {closeness::exact, closeness::answers}) {
    const recording::differences found = compare(from, result.again, how);
    EXPECT_EQ(found.count, 0u) << all(found.text);
    // Bring-up alone has more commands than that.
    EXPECT_GT(found.compared, 50u);
  }
}
INSTANTIATE_TEST_SUITE_P(recordings, of_each_variant,
                         ::testing::Values(model::variant::connectx3_pro, model::variant::connectx3,
                                           model::variant::connectx2));

/// The adapter looks at the host's settings when it is to write the output.
void ask_for_firmware(in_process::machine& m) {
  layouts::image<layouts::hcr> command;
  command.set<&layouts::hcr::opcode>(layouts::opcode::query_fw)
      .set<&layouts::hcr::out_param>(0x10000)
      .set<&layouts::hcr::go>(true);
  for (unsigned at = 0; at < layouts::hcr::bytes; at += 4)
    m.adapter().write_registers(layouts::bar0::hcr + at,
                                layouts::load_be<std::uint32_t>(command.data() + at), 4);
  m.advance(1000);
}

// In a replay both are off behind a wipe: what the host puts back before the adapter looks is told
// again.
TEST(recording, a_host_that_puts_its_configuration_space_back_is_told_of) {
  std::string text;
  in_process::machine_options how;
  record_into(how, text);
  {
    in_process::machine m(how);
    m.configuration().set_bus_master(true);
    ask_for_firmware(m);
    m.adapter().write_registers(layouts::bar0::reset, layouts::bar0::reset_value, 4);
    m.configuration().set_bus_master(true);
    ask_for_firmware(m);
  }
  std::string told;
  for (const record& r : read(text).records)
    if (r.kind == record_kind::wipe || r.kind == record_kind::bus_master)
      told += r.kind == record_kind::wipe ? "wipe " : r.value != 0 ? "on " : "off ";
  EXPECT_EQ(told, "on wipe on ");
}

TEST(recording, a_recorded_run_is_the_run_that_is_not_recorded) {
  rig_options plain = exact();
  const asked without = run_session(plain);
  EXPECT_EQ(without.qpn[0], the_session().told.qpn[0]);
  EXPECT_EQ(without.rkey, the_session().told.rkey);
  EXPECT_EQ(record_session().text, the_session().text) << "the same run gives another recording";
}

/// The recording with one record changed, the first that `which` names.
recording::recording changed(const std::function<bool(const record&)>& which,
                             const std::function<void(record&)>& change) {
  recording::recording r = read(the_session().text);
  const auto found = std::find_if(r.records.begin(), r.records.end(), which);
  EXPECT_NE(found, r.records.end());
  if (found != r.records.end()) change(*found);
  return r;
}

std::string told_of(const recording::recording& card, closeness how) {
  const recording::recording model = read(the_session().text);
  const recording::differences found = compare(card, model, how);
  EXPECT_EQ(found.count, 1u) << all(found.text);
  return all(found.text);
}

TEST(recording, a_field_of_an_output_mailbox_that_differs_is_named) {
  const recording::recording card = changed(
      [](const record& r) {
        return r.kind == record_kind::write && r.what == "output_mailbox" &&
               r.of == static_cast<std::uint64_t>(layouts::opcode::query_fw);
      },
      [](record& r) { r.data[0x11] ^= std::byte{1}; });
  for (const closeness how : {closeness::exact, closeness::answers}) {
    const std::string text = told_of(card, how);
    EXPECT_NE(text.find("QUERY_FW: query_fw."), std::string::npos) << text;
    EXPECT_NE(text.find("was recorded, now query_fw."), std::string::npos) << text;
  }
}

TEST(recording, a_status_that_differs_is_named) {
  const recording::recording card = changed(
      [](const record& r) {
        return r.kind == record_kind::answer && r.opcode == layouts::opcode::rst2init_qp;
      },
      [](record& r) { r.status = layouts::command_status::bad_parameter; });
  const std::string text = told_of(card, closeness::answers);
  EXPECT_NE(text.find("RST2INIT_QP"), std::string::npos) << text;
  EXPECT_NE(text.find("with status 0x3"), std::string::npos) << text;
  EXPECT_NE(text.find("with status 0x0"), std::string::npos) << text;
}

TEST(recording, a_completion_that_differs_is_named) {
  const recording::recording card =
      changed([](const record& r) { return r.kind == record_kind::write && r.what == "cqe"; },
              [](record& r) { r.data[3] ^= std::byte{1}; });
  EXPECT_NE(told_of(card, closeness::answers).find("completion queue 0x"), std::string::npos);
}

TEST(recording, interrupts_and_register_reads_count_in_the_exact_comparison) {
  const recording::recording without = changed(
      [](const record& r) { return r.kind == record_kind::msix; }, [](record& r) { r.value += 1; });
  EXPECT_NE(told_of(without, closeness::exact).find("interrupt message"), std::string::npos);
  const recording::recording read_otherwise =
      changed([](const record& r) { return r.kind == record_kind::result; },
              [](record& r) { r.value ^= 0x100; });
  EXPECT_NE(told_of(read_otherwise, closeness::exact).find("read_bar0 0x"), std::string::npos);
}

// The host's memory is what the recording's adapter read: another input gives another answer.
TEST(recording, the_replay_takes_its_input_from_the_recording) {
  const recording::recording wrong = changed(
      [](const record& r) {
        return r.kind == record_kind::read && r.what == "input_mailbox" &&
               r.of == static_cast<std::uint64_t>(layouts::opcode::init2rtr_qp);
      },
      [](record& r) { std::fill(r.data.begin(), r.data.end(), std::byte{0xff}); });
  const recording::differences found =
      compare(wrong, recording::replay(wrong).again, closeness::answers);
  ASSERT_GT(found.count, 0u);
  EXPECT_NE(all(found.text).find("INIT2RTR_QP"), std::string::npos) << all(found.text);
}

TEST(recording, a_call_that_cannot_be_made_again_ends_the_replay_with_a_remark) {
  std::string text;
  rig_options how = exact();
  record_into(how.machine, text);
  {
    verbs_rig rig(how);
    rig.machine.adapter().judge_commands(
        [](layouts::opcode, std::uint32_t) { return model::command_verdict{}; });
  }
  const recording::replay_result result = recording::replay(read(text));
  ASSERT_EQ(result.remarks.size(), 1u);
  EXPECT_NE(result.remarks[0].find("judge_commands"), std::string::npos) << result.remarks[0];
}

TEST(recording, memory_that_the_recording_does_not_hold_is_told) {
  recording::recording cut = read(the_session().text);
  std::size_t gone = 0;
  for (auto i = cut.records.begin(); i != cut.records.end();) {
    const bool wqe = i->kind == record_kind::read && i->what == "send_wqe";
    gone += wqe;
    i = wqe ? cut.records.erase(i) : i + 1;
  }
  ASSERT_GT(gone, 0u);
  const recording::replay_result result = recording::replay(cut);
  EXPECT_NE(all(result.remarks).find("which the recording does not hold"), std::string::npos);
}

TEST(recording, one_of_an_adapter_that_reads_ahead_is_replayed_on_such_a_one) {
  std::string text;
  rig_options how = exact();
  how.machine.model.prefetch = true;
  record_into(how.machine, text);
  run_session(how);
  const recording::recording from = read(text);
  ASSERT_TRUE(from.usable);
  EXPECT_TRUE(from.how.prefetch);
  EXPECT_EQ(all(recording::replay(from).remarks), "");
  EXPECT_FALSE(read(the_session().text).how.prefetch);
}

TEST(recording, one_of_an_adapter_with_vpi_ports_is_replayed_on_such_a_one) {
  std::string text;
  rig_options how = exact();
  how.machine.model.vpi[0] = how.machine.model.vpi[1] = true;
  how.machine.model.link[1] = model::link_layer::ethernet;
  record_into(how.machine, text);
  run_session(how);
  const recording::recording from = read(text);
  ASSERT_TRUE(from.usable);
  EXPECT_TRUE(from.how.vpi[0] && from.how.vpi[1]);
  EXPECT_TRUE(from.how.link[0] == model::link_layer::infiniband &&
              from.how.link[1] == model::link_layer::ethernet);
  const recording::replay_result result = recording::replay(from);
  EXPECT_EQ(all(result.remarks), "");
  const recording::differences found = compare(from, result.again, closeness::exact);
  EXPECT_EQ(found.count, 0u) << all(found.text);
  EXPECT_FALSE(read(the_session().text).how.vpi[0]);
}

// What finds no room goes later, and leads the adapter another way.
TEST(recording, a_cable_that_was_full_is_full_again_in_the_replay) {
  std::string text;
  in_process::machine_options how = exact().machine;
  how.model.cable[0] = true;
  record_into(how, text);
  unsigned sends = 0, refusals = 0;
  {
    testing::device_rig rig(how);
    rig.machine.on_link_send = [&](unsigned, const std::byte*, std::size_t) {
      const bool room = ++sends % 3 != 0;
      refusals += !room;
      return room;
    };
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(rig.bring_up().ok());
    for (unsigned i = 0; i < 10; ++i) {
      rig.machine.advance(1'000'000'000);
      rig.machine.adapter().link_has_room(1);
    }
    rig.adapter.close();
  }
  EXPECT_GT(refusals, 3u);
  const recording::recording from = read(text);
  ASSERT_TRUE(from.usable);
  const recording::replay_result result = recording::replay(from);
  EXPECT_EQ(all(result.remarks), "");
  const recording::differences found = compare(from, result.again, closeness::exact);
  EXPECT_EQ(found.count, 0u) << all(found.text);
}

// The cost of a turn decides where long work is cut; fixtures_test.cpp shows what that changes.
TEST(recording, one_of_an_adapter_with_other_turns_is_replayed_with_such_turns) {
  std::string text;
  rig_options how = exact();
  how.machine.model.turn_units = 96;
  record_into(how.machine, text);
  run_session(how);
  const recording::recording from = read(text);
  ASSERT_TRUE(from.usable);
  EXPECT_EQ(from.how.turn_units, 96u);
  EXPECT_EQ(all(recording::replay(from).remarks), "");

  // Older recordings do not say it.
  const std::string field = "\"turn_units\":96,";
  ASSERT_NE(text.find(field), std::string::npos);
  const recording::recording older = read(text.erase(text.find(field), field.size()));
  ASSERT_TRUE(older.usable);
  EXPECT_EQ(older.how.turn_units, 4096u);
}

// The driver gives up where the firmware says its revision.
TEST(recording, one_of_firmware_of_another_age_is_replayed_on_such_firmware) {
  std::string text;
  in_process::machine_options how = exact().machine;
  how.model.command_interface = 2;
  record_into(how, text);
  {
    testing::device_rig rig(how);
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    EXPECT_TRUE(rig.bring_up().is(driver_error::unsupported));
    EXPECT_EQ(rig.adapter.info().command_interface, 2u);
    rig.adapter.close();
  }
  const recording::recording from = read(text);
  ASSERT_TRUE(from.usable);
  EXPECT_EQ(from.how.command_interface, 2u);
  EXPECT_EQ(all(recording::replay(from).remarks), "");
  EXPECT_EQ(read(the_session().text).how.command_interface, 3u);
}

// A disk that is full, at any moment: the driver notices nothing, and what was written is whole.
TEST(recording, one_that_cannot_be_kept_costs_the_driver_nothing) {
  const std::string& whole = the_session().text;
  for (const std::size_t room : {std::size_t{0}, whole.size() / 3, whole.size() - 10}) {
    std::string text;
    rig_options how = exact();
    how.machine.model.record = true;
    how.machine.model.record_label = "our driver, in process";
    unsigned refusals = 0;
    how.machine.record = [&](const char* from, std::size_t bytes) {
      if (text.size() + bytes > room) {
        ++refusals;
        return false;
      }
      text.append(from, bytes);
      return true;
    };
    run_session(how);
    EXPECT_EQ(refusals, 1u) << "asked again after a refusal";
    EXPECT_EQ(whole.compare(0, text.size(), text), 0);
    EXPECT_NE(read(text).problem, "");
  }
}

}  // namespace
}  // namespace freehca
