// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the list makes of an adapter that answers otherwise, or not at all.
#include <freehca/model/command_fault.hpp>

#include "conformance_rig.hpp"

namespace freehca::conformance {
namespace {

using fate = model::command_verdict::fate;
using layouts::command_status;
using layouts::opcode;

class changed_answers : public ::testing::Test {
 protected:
  /// The adapter's answer to a command is another one.
  void judge(opcode what, model::command_verdict verdict) {
    rig.host.machine.adapter().judge_commands([what, verdict](opcode o, std::uint32_t) {
      return o == what ? verdict : model::command_verdict{};
    });
  }
  void take_down() {
    rig.host.machine.adapter().judge_commands({});
    EXPECT_TRUE(rig.tear_down().ok());
    EXPECT_TRUE(rig.driver.adapter().hardware().holdings().none());
  }
  conformance_rig rig;
};

TEST_F(changed_answers, of_one_command_are_told_in_each_of_its_rows_and_in_no_other) {
  judge(opcode::query_eq, {fate::refuse, command_status::internal_error});
  const told all = rig.run();
  const std::vector<std::string> wanted = {
      "event-queues/query_eq: DIFFERS (expected: taken; got: refused: internal error (0x01))",
      "event-queues/query_eq-size: DIFFERS (expected: holds; got: refused: internal error (0x01))",
      "event-queues/query_eq-number-past-the-table: DIFFERS (expected: refused: bad index (0x0a); "
      "got: refused: internal error (0x01))",
      "event-queues/query_eq-not-in-hardwares-hands: DIFFERS (expected: refused: bad resource "
      "state "
      "(0x09); got: refused: internal error (0x01))"};
  EXPECT_EQ(all.differing, wanted);
  EXPECT_EQ(all.sum.differ, wanted.size());
  EXPECT_EQ(all.sum.rows(), count_rows()) << "the run goes on";
  EXPECT_FALSE(all.sum.all_well());
  take_down();
}

TEST_F(changed_answers, that_take_what_should_be_refused_are_told) {
  // The firmware takes a transition that begins elsewhere, and does nothing.
  judge(opcode::sqerr2rts_qp, {fate::refuse, command_status::ok});
  const told all = rig.run();
  unsigned transitions = 0;
  for (const std::string& row : all.differing)
    transitions += row.find("transitions/sqerr2rts_qp-in-") == 0 ? 1u : 0u;
  EXPECT_EQ(transitions, 6u);
  take_down();
}

TEST(lax_adapter, that_takes_back_what_is_in_use_is_told_and_gives_all_back) {
  in_process::machine_options how;
  how.model.rules_off = *model::rule_set::named("srq-unused,cq-room");
  conformance_rig rig(how);
  const told all = rig.run();
  const std::vector<std::string> wanted = {
      "in-use/hw2sw_srq-while-a-queue-pair-uses-it: DIFFERS (expected: refused, by whatever "
      "status; got: taken)",
      "in-use/modify_cq-size-below-what-it-holds: DIFFERS (expected: refused: bad size (0x40); "
      "got: taken)"};
  EXPECT_EQ(all.differing, wanted);
  EXPECT_EQ(all.sum.rows(), count_rows()) << "the run goes on";
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_TRUE(rig.driver.adapter().hardware().holdings().none());
}

TEST_F(changed_answers, of_a_request_and_an_event_are_told) {
  model::device& adapter = rig.host.machine.adapter();
  adapter.judge_requests([](layouts::wqe_opcode o) { return o != layouts::wqe_opcode::nop; });
  adapter.judge_events([](layouts::event_type t) {
    return t == layouts::event_type::srq_limit ? model::event_fate::lose
                                               : model::event_fate::deliver;
  });
  const told all = rig.run();
  const std::vector<std::string> wanted = {
      "requests/rc-nothing: DIFFERS (expected: completes; got: completes with local queue pair "
      "operation error)",
      "events/srq-limit: DIFFERS (expected: event: shared receive queue limit (0x14); got: "
      "nothing)"};
  EXPECT_EQ(all.differing, wanted);
  take_down();
}

TEST_F(changed_answers, that_do_not_come_end_the_run) {
  judge(opcode::hw_health_check, {fate::hold});
  const told all = rig.run();
  EXPECT_TRUE(all.sum.ended.is(transport_error::timeout)) << blocking::words(all.sum.ended);
  ASSERT_EQ(all.differing.size(), 1u);
  EXPECT_EQ(all.rows.back(), all.differing.back()) << "no row is run after it";
  EXPECT_EQ(all.rows.back().find("queries/hw_health_check: DIFFERS (expected: taken; got: "), 0u)
      << all.rows.back();
  EXPECT_LT(all.sum.rows(), count_rows());
  EXPECT_FALSE(all.sum.all_well());
  take_down();
}

TEST_F(changed_answers, to_what_the_list_needs_first_leave_nothing_behind) {
  judge(opcode::map_icm, {fate::refuse, command_status::internal_error});
  const told all = rig.run();
  // Context memory of some objects is there already.
  EXPECT_FALSE(all.sum.all_well());
  take_down();
}

/// The adapter is pulled out of its slot while it carries out a request or a command.
TEST_F(changed_answers, of_an_adapter_that_is_gone_end_the_run_wherever_it_is) {
  rig.host.machine.adapter().judge_requests([this](layouts::wqe_opcode o) {
    if (o == layouts::wqe_opcode::nop) rig.host.machine.remove();
    return true;
  });
  const told all = rig.run();
  EXPECT_TRUE(all.sum.ended.is(transport_error::gone)) << blocking::words(all.sum.ended);
  EXPECT_EQ(all.rows.back().find("requests/rc-nothing: DIFFERS"), 0u) << all.rows.back();
}

class gone_at : public changed_answers, public ::testing::WithParamInterface<opcode> {};

TEST_P(gone_at, a_command) {
  unsigned calls = 0;
  rig.host.machine.adapter().judge_commands([&](opcode o, std::uint32_t) {
    // Not the first one: those of scenes of requests come late.
    if (o == GetParam() && ++calls == 70) rig.host.machine.remove();
    return model::command_verdict{};
  });
  const told all = rig.run();
  EXPECT_GE(calls, 70u);
  EXPECT_FALSE(all.sum.ended.ok());
  EXPECT_LT(all.sum.rows(), count_rows());
}

INSTANTIATE_TEST_SUITE_P(changed_answers, gone_at,
                         ::testing::Values(opcode::sw2hw_cq, opcode::rst2init_qp,
                                           opcode::init2rtr_qp, opcode::rtr2rts_qp,
                                           opcode::to_rst_qp, opcode::hw2sw_cq, opcode::sw2hw_mpt,
                                           opcode::hw2sw_mpt),
                         [](const auto& of) {
                           return std::string(layouts::name_of(of.param)).substr(0, 1) == "2"
                                      ? "to_reset"
                                      : std::string(layouts::name_of(of.param));
                         });

unsigned count(const std::vector<std::string>& rows, const std::string& part) {
  unsigned n = 0;
  for (const std::string& row : rows) n += row.find(part) != std::string::npos ? 1u : 0u;
  return n;
}

unsigned count_in_state(const std::vector<std::string>& rows, const std::string& state) {
  unsigned n = 0;
  for (const std::string& row : rows)
    n += row.find("transitions/") == 0 && row.find("-in-" + state + ":") != std::string::npos;
  return n;
}

TEST_F(changed_answers, to_a_preparation_are_no_answer_to_the_row) {
  // The very status that the rows behind it expect.
  judge(opcode::rst2init_qp, {fate::refuse, command_status::bad_qp_state});
  const told all = rig.run();
  EXPECT_EQ(all.sum.rows(), count_rows()) << "the run goes on";
  const unsigned in_reset = count_in_state(all.rows, "reset");
  EXPECT_GT(in_reset, 0u);
  EXPECT_EQ(count(all.differing, "transitions/"), count(all.rows, "transitions/") - in_reset);
  EXPECT_EQ(count_in_state(all.differing, "reset"), 0u) << "nothing had to be prepared";
  EXPECT_EQ(count(all.differing,
                  "transitions/rts2rts_qp-in-rtr: DIFFERS (expected: refused: bad "
                  "QP state (0x10); got: could not be prepared: refused: bad QP "
                  "state (0x10))"),
            1u);
  EXPECT_EQ(count(all.differing, "requests/"), count(all.rows, "requests/")) << "no scene opens";
  take_down();
}

TEST_F(changed_answers, to_what_makes_an_object_are_no_answer_to_what_asks_for_it) {
  judge(opcode::sw2hw_mpt, {fate::refuse, command_status::bad_resource_state});
  const told all = rig.run();
  EXPECT_EQ(all.sum.rows(), count_rows()) << "the run goes on";
  EXPECT_EQ(count(all.differing,
                  "regions/sw2hw_mpt-in-hardwares-hands: DIFFERS (expected: "
                  "refused: bad resource state (0x09); got: could not be prepared: "
                  "refused: bad resource state (0x09))"),
            1u);
  EXPECT_EQ(count(all.differing,
                  "regions/hw2sw_mpt: DIFFERS (expected: taken; got: could not be "
                  "prepared: "),
            1u);
  take_down();
}

TEST_F(changed_answers, of_a_queue_that_does_not_drain_differ_and_the_run_goes_on) {
  judge(opcode::rts2sqd_qp, {fate::refuse, command_status::ok});
  const told all = rig.run();
  EXPECT_TRUE(all.sum.ended.ok()) << blocking::words(all.sum.ended);
  EXPECT_EQ(all.sum.rows(), count_rows());
  EXPECT_EQ(count_in_state(all.differing, "sqd"), count_in_state(all.rows, "sqd"));
  EXPECT_GE(count(all.differing, "got: could not be prepared: state: ready to send)"), 6u);
  take_down();
}

TEST_F(changed_answers, of_a_datagram_that_is_to_fail_first_differ_and_the_run_goes_on) {
  rig.host.machine.adapter().judge_requests(
      [](layouts::wqe_opcode o) { return o != layouts::wqe_opcode::send; });
  const told all = rig.run();
  EXPECT_TRUE(all.sum.ended.ok()) << blocking::words(all.sum.ended);
  EXPECT_EQ(all.sum.rows(), count_rows());
  EXPECT_EQ(count(all.differing,
                  "datagrams/sent-again: DIFFERS (expected: completes; got: could "
                  "not be prepared: completes with local queue pair operation "
                  "error)"),
            1u);
  take_down();
}

TEST_F(changed_answers, by_another_status_are_as_expected_where_no_source_names_one) {
  judge(opcode::arm_srq, {fate::refuse, command_status::bad_size});
  const told all = rig.run();
  const std::string row = "shared-receive-queues/arm_srq-limit-above-the-queue: ";
  EXPECT_EQ(count(all.rows, row + "as expected (refused: bad size (0x40))"), 1u);
  // The source of its neighbour names the status.
  EXPECT_EQ(count(all.differing, "shared-receive-queues/arm_srq-not-in-hardwares-hands: "), 1u);
  judge(opcode::arm_srq, {fate::refuse, command_status::ok});
  EXPECT_EQ(count(rig.run().differing,
                  row + "DIFFERS (expected: refused, by whatever status; got: taken)"),
            1u);
  take_down();
}

std::string in_words(const expectation& e) {
  char line[200];
  text_writer to(line);
  to << e;
  return to.text();
}

TEST(expectations, are_met_by_what_the_sources_leave_open_and_by_nothing_else) {
  using queues::completion_status;
  const expectation refused = expectation::refused();
  EXPECT_TRUE(refused.met_by(command_status::bad_parameter));
  EXPECT_TRUE(refused.met_by(command_status::bad_index));
  EXPECT_FALSE(refused.met_by(command_status::ok));
  EXPECT_FALSE(refused.met_by(answer(command_status::bad_index).unprepared()));
  EXPECT_FALSE(refused.met_by(status(transport_error::timeout)));
  EXPECT_FALSE(refused.met_by(answer()));
  EXPECT_FALSE(refused.is_one());

  const expectation two =
      expectation::either(completion_status::local_length, completion_status::local_protection);
  EXPECT_TRUE(two.met_by(completion_status::local_length));
  EXPECT_TRUE(two.met_by(completion_status::local_protection));
  EXPECT_FALSE(two.met_by(completion_status::ok));
  EXPECT_FALSE(two.met_by(answer(completion_status::local_length).unprepared()));
  EXPECT_EQ(in_words(two),
            "completes with local length error, or completes with local protection error");

  const expectation one = command_status::bad_index;
  EXPECT_TRUE(one.is_one());
  EXPECT_TRUE(one.met_by(command_status::bad_index));
  EXPECT_FALSE(one.met_by(command_status::bad_parameter));
}

/// A command that is never answered, the first of its kind or one of those of scenes.
using held_command = std::tuple<opcode, unsigned>;

class never_answered : public changed_answers,
                       public ::testing::WithParamInterface<held_command> {};

TEST_P(never_answered, ends_the_run_and_nothing_is_asked_after_it) {
  const auto [what, which] = GetParam();
  unsigned calls = 0, later = 0;
  rig.host.machine.adapter().judge_commands([&, what = what, which = which](opcode o, unsigned) {
    model::command_verdict v;
    // The driver gives context memory of objects back by itself, when no command on them is open.
    if (calls >= which) later += o == opcode::unmap_icm && which > 1 ? 0u : 1u;
    else if (o == what && ++calls == which) v.what = fate::hold;
    return v;
  });
  const device& held = rig.driver.adapter().hardware();
  const std::uint64_t before = held.holdings().numbers;
  const told all = rig.run();
  ASSERT_EQ(calls, which);
  EXPECT_EQ(later, 0u) << "commands were asked after the one that was not answered";
  EXPECT_TRUE(all.sum.ended.is(transport_error::timeout)) << blocking::words(all.sum.ended);
  // It is the row's finding, whether the row asked or only took back what it had made.
  ASSERT_FALSE(all.differing.empty());
  EXPECT_EQ(all.rows.back(), all.differing.back()) << "no row is run after it";
  EXPECT_NE(all.rows.back().find("no answer"), std::string::npos) << all.rows.back();
  EXPECT_EQ(all.differing.size(), 1u);
  EXPECT_LT(all.sum.rows(), count_rows());
  EXPECT_GE(held.holdings().numbers, before + 10) << "hardware may have them still";
  take_down();
}

std::string name_of_held(const ::testing::TestParamInfo<held_command>& of) {
  const std::string name = layouts::name_of(std::get<0>(of.param));
  return (name[0] == '2' ? "to" + name.substr(1) : name) + "_" +
         std::to_string(std::get<1>(of.param));
}

INSTANTIATE_TEST_SUITE_P(changed_answers, never_answered,
                         ::testing::Combine(::testing::Values(opcode::sw2hw_cq, opcode::hw2sw_cq,
                                                              opcode::rst2init_qp,
                                                              opcode::to_rst_qp),
                                            ::testing::Values(1u, 150u)),
                         name_of_held);

/// What takes an object back is refused: hardware has it still, and may write through it.
class taking_back : public changed_answers, public ::testing::WithParamInterface<held_command> {};

TEST_P(taking_back, that_is_refused_ends_the_run_and_leaves_all_to_the_reset) {
  const auto [what, which] = GetParam();
  unsigned calls = 0, later = 0;
  rig.host.machine.adapter().judge_commands([&, what = what, which = which](opcode o, unsigned) {
    model::command_verdict v;
    if (calls >= which) ++later;
    else if (o == what && ++calls == which) v = {fate::refuse, command_status::internal_error};
    return v;
  });
  const device& held = rig.driver.adapter().hardware();
  const device_holdings before = held.holdings();
  const told all = rig.run();
  ASSERT_EQ(calls, which);
  EXPECT_EQ(later, 0u) << "the adapter was asked on";
  EXPECT_TRUE(all.sum.ended.is(command_status::internal_error)) << blocking::words(all.sum.ended);
  EXPECT_TRUE(all.sum.left_behind);
  EXPECT_FALSE(all.sum.all_well());
  EXPECT_TRUE(all.differing.empty()) << "the row's own finding stays: " << all.differing.back();
  EXPECT_LT(all.sum.rows(), count_rows());
  EXPECT_GE(held.holdings().numbers, before.numbers + 10);
  EXPECT_GE(held.holdings().pages, before.pages + 5);
  EXPECT_GT(held.holdings().doorbells, before.doorbells);
  take_down();
}

INSTANTIATE_TEST_SUITE_P(changed_answers, taking_back,
                         ::testing::Values(held_command{opcode::hw2sw_cq, 1},
                                           held_command{opcode::to_rst_qp, 1},
                                           held_command{opcode::hw2sw_mpt, 1},
                                           held_command{opcode::hw2sw_eq, 1}),
                         name_of_held);

}  // namespace
}  // namespace freehca::conformance
