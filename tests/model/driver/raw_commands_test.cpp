// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Any firmware command, sent by a user of the device beside the driver's own traffic.
#include <deque>

#include <freehca/firmware_cmds/raw_command.hpp>
#include <freehca/layouts/diag_rprt.hpp>
#include <freehca/layouts/query_dev_cap.hpp>

#include "counts.hpp"

namespace freehca {
namespace {

using namespace testing;
using fate = model::command_verdict::fate;
using layouts::opcode;

class raw_commands : public ::testing::Test {
 protected:
  static rig_options how() {
    rig_options o = testing::exact();
    o.machine.model.faults.command_latency_ns = 20'000;
    return o;
  }
  /// QUERY_DEV_CAP into memory of our own.
  struct capabilities_query : raw_command {
    capabilities_query() {
      request.opcode = opcode::query_dev_cap;
      set_output_mailbox(bytes, sizeof bytes);
    }
    std::byte bytes[layouts::query_dev_cap::bytes]{};
  };
  void hold_all() {
    rig.machine.adapter().judge_commands(
        [](opcode, std::uint32_t) { return model::command_verdict{.what = fate::hold}; });
  }

  verbs_rig rig{how()};
  command_client user{rig.adapter.commands()};
};

TEST_F(raw_commands, work_beside_the_drivers_own) {
  const pd_handle domain = rig.objects.create<protection_domain>().value();
  const auto before = counts(rig);
  std::deque<capabilities_query> queries;
  for (unsigned i = 0; i < 200; ++i) user.submit(queries.emplace_back());
  std::deque<create_completion_queue> made;
  for (unsigned i = 0; i < 10; ++i) made.emplace_back().start(rig.objects, {.entries = 63});
  for (create_completion_queue& each : made) EXPECT_TRUE(rig.await(each).ok());
  EXPECT_GT(user.queued(), 100u) << "the driver had its turns";
  for (capabilities_query& each : queries) EXPECT_TRUE(rig.await(each).ok());
  for (const capabilities_query& each : queries)
    EXPECT_EQ(std::memcmp(each.bytes, rig.adapter.capabilities().raw.data(), sizeof each.bytes), 0);
  for (create_completion_queue& each : made) {
    destroy_completion_queue gone;
    gone.start(rig.objects, each.made());
    EXPECT_TRUE(rig.await(gone).ok());
  }
  EXPECT_EQ(counts(rig), before);

  std::byte report[layouts::diag_rprt::bytes];
  raw_command diagnostics;
  diagnostics.request.opcode = opcode::diag_rprt;
  diagnostics.request.opcode_modifier =
      static_cast<std::uint8_t>(layouts::diag_rprt_modifier::query_transport_ci_errors);
  diagnostics.set_output_mailbox(report, sizeof report);
  user.submit(diagnostics);
  EXPECT_TRUE(rig.await(diagnostics).ok());
  EXPECT_EQ(
      layouts::image<layouts::diag_rprt>::from_bytes(report).get<&layouts::diag_rprt::rq_num_rnr>(),
      0u);

  // A mailbox of which the caller gives or wants no byte.
  raw_command nothing_wanted;
  nothing_wanted.request = diagnostics.request;
  nothing_wanted.set_output_mailbox(nullptr, 0);
  nothing_wanted.set_input_mailbox(nullptr, 0);
  user.submit(nothing_wanted);
  EXPECT_TRUE(rig.await(nothing_wanted).ok()) << words(nothing_wanted.outcome());

  raw_command unknown;
  unknown.request.opcode = static_cast<opcode>(0x7ef);
  user.submit(unknown);
  EXPECT_TRUE(rig.await(unknown).is(layouts::command_status::bad_operation))
      << words(unknown.outcome());
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

TEST_F(raw_commands, of_a_client_that_goes_are_detached_and_settle_late) {
  hold_all();
  std::deque<capabilities_query> queries;
  {
    command_client short_lived(rig.adapter.commands());
    for (unsigned i = 0; i < 40; ++i) short_lived.submit(queries.emplace_back());
    rig.run([&] {
      return short_lived.in_flight() > 1 &&
             rig.machine.adapter().held_commands() == short_lived.in_flight();
    });
  }
  for (capabilities_query& each : queries) EXPECT_TRUE(rig.await(each).is(driver_error::cancelled));
  EXPECT_GT(rig.adapter.holdings().mailboxes_in_doubt, 1u);
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
  for (const capabilities_query& each : queries)
    for (const std::byte b : each.bytes) ASSERT_EQ(b, std::byte{0}) << "written after its end";
}

TEST_F(raw_commands, end_by_the_reset_and_are_refused_while_the_device_is_not_up) {
  hold_all();
  capabilities_query with_firmware, overdue;
  user.submit(with_firmware);
  rig.run([&] { return user.in_flight() == 1; });
  rig.machine.adapter().judge_commands({});
  // Somebody holds a number: the teardown resets.
  const pd_handle domain = rig.objects.create<protection_domain>().value();
  operation down;
  rig.adapter.tear_down(down);
  user.submit(overdue);
  EXPECT_TRUE(rig.await(down).ok());
  EXPECT_TRUE(with_firmware.outcome().is(transport_error::reset));
  EXPECT_TRUE(rig.await(overdue).is(driver_error::bad_state));
  EXPECT_TRUE(rig.adapter.holdings().none());
  EXPECT_EQ(rig.objects.destroy(domain), status(driver_error::stale_handle));

  capabilities_query while_down, again;
  user.submit(while_down);
  EXPECT_TRUE(rig.await(while_down).is(driver_error::bad_state));
  operation up;
  rig.adapter.bring_up(up);
  EXPECT_TRUE(rig.await(up).ok());
  user.submit(again);
  EXPECT_TRUE(rig.await(again).ok());
}

TEST_F(raw_commands, that_are_not_answered_do_not_stand_in_the_way_of_an_orderly_teardown) {
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
  hold_all();
  capabilities_query held;
  user.submit(held);
  rig.run([&] { return user.in_flight() == 1; });
  rig.machine.adapter().judge_commands({});
  const std::uint64_t resets = rig.adapter.info().resets;
  operation down;
  rig.adapter.tear_down(down);
  static_cast<void>(rig.await(down));
  EXPECT_TRUE(held.outcome().is(transport_error::timeout));
  EXPECT_EQ(rig.adapter.state(), device_state::down);
  EXPECT_EQ(rig.adapter.info().resets, resets + 1) << "one in doubt: only a reset takes it back";
  EXPECT_TRUE(rig.adapter.holdings().none());
}

}  // namespace
}  // namespace freehca
