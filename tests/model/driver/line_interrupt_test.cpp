// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An adapter without MSI-X: one level-triggered line for all event queues. It stays asserted until
// the driver writes the clear-interrupt register.
#include <cstring>

#include <freehca/layouts/query_fw.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "owners_rig.hpp"
#include "rc_pair.hpp"

namespace freehca::testing {
namespace {

constexpr unsigned line_queues = 3;

in_process::machine_options on_line(unsigned pin = 0) {
  in_process::machine_options how;
  how.line_interrupt = true;
  how.model.interrupt_pin = pin;
  return how;
}

void expect_on_line(const device& adapter, const in_process::machine& machine) {
  const device_info i = adapter.info();
  EXPECT_TRUE(i.interrupts_work);
  EXPECT_TRUE(i.line_interrupt);
  EXPECT_EQ(i.interrupt_vectors, 1u);
  EXPECT_EQ(adapter.next_look_at_events(), clock::never) << "the control owner polls nothing";
  EXPECT_GT(machine.line_interrupts(), 0u);
  EXPECT_EQ(machine.lines_not_cleared(), 0u);
  EXPECT_EQ(machine.messages(), 0u);
}

/// The pin chooses the word and the bit of the register.
class line_interrupt : public ::testing::TestWithParam<unsigned> {};

TEST_P(line_interrupt, comes_for_each_completion_and_is_cleared) {
  unsigned told = 0;
  rig_options how;
  how.budget = with_contexts(line_queues);
  how.machine = on_line(GetParam());
  how.events.context = &told;
  how.events.completion = [](void* context, cq_handle, void*) noexcept {
    ++*static_cast<unsigned*>(context);
  };
  verbs_rig rig(how);
  expect_on_line(rig.adapter, rig.machine);
  for (unsigned c = 0; c < line_queues; ++c) {
    EXPECT_TRUE(rig.adapter.completion_context(c).shares_vector());
    rc_pair pair(rig, {.sends = 16, .receives = 16}, c);
    pair.connect();
    const unsigned before = told;
    const std::uint64_t interrupts = rig.machine.line_interrupts();
    pair.cq(0).arm();
    ASSERT_TRUE(pair.receive(1).post_and_ring({}).ok());
    ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {}).ok());
    rig.machine.advance(1'000'000'000);
    EXPECT_EQ(rig.machine.line_interrupts(), interrupts + 1);
    EXPECT_TRUE(rig.adapter.completion_context(c).due()) << "context " << c;
    rig.objects.poll();
    EXPECT_EQ(told, before + 1) << "context " << c;
    EXPECT_TRUE(pair.next(0).ok());
    EXPECT_TRUE(pair.next(1).ok());
  }
  expect_on_line(rig.adapter, rig.machine);
  EXPECT_EQ(rig.machine.complaints(), std::vector<std::string>());
}

TEST_P(line_interrupt, is_armed_again_by_recovery) {
  device_rig rig(on_line(GetParam()), with_contexts(line_queues));
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  operation again;
  rig.adapter.recover(again);
  const std::uint64_t before = rig.machine.line_interrupts();
  ASSERT_TRUE(rig.await(again).ok()) << rig.failure();
  EXPECT_GT(rig.machine.line_interrupts(), before);
  expect_on_line(rig.adapter, rig.machine);
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_FALSE(rig.adapter.info().line_interrupt);
  EXPECT_EQ(rig.adapter.info().interrupt_vectors, 0u);
  EXPECT_EQ(rig.complaints(), "");
}

INSTANTIATE_TEST_SUITE_P(of_a_pin, line_interrupt, ::testing::Values(0u, 5u, 31u, 32u, 63u));

TEST(line_interrupts, serve_event_owners) {
  owners_rig rig(line_queues, on_line(37));
  rig.open_all();
  for (owners_rig::owner& o : rig.owners) {
    rc_pair_of<owners_rig::owner> pair(o);
    pair.connect();
    const unsigned before = o.completions;
    pair.cq(0).arm();
    ASSERT_TRUE(pair.receive(1).post_and_ring({}).ok());
    ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {}).ok());
    EXPECT_TRUE(o.run([&] { return o.completions > before; }, clock::seconds(1)));
    EXPECT_TRUE(pair.next(0).ok());
    EXPECT_TRUE(pair.next(1).ok());
  }
  EXPECT_TRUE(rig.recover().ok()) << rig.failure();
  expect_on_line(rig.adapter, rig.machine);
}

struct line_of_device_rig : ::testing::Test {
  line_of_device_rig() : rig(on_line()), operations(*rig.setup.platform.operations) {
    rig.setup.platform.operations = &operations;
    operations.log = nullptr;
  }
  void bring_up() {
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  }
  void expect_polling() {
    EXPECT_FALSE(rig.adapter.info().interrupts_work);
    EXPECT_FALSE(rig.adapter.info().line_interrupt);
    EXPECT_EQ(rig.adapter.info().interrupt_vectors, 0u);
    EXPECT_NE(rig.adapter.next_look_at_events(), clock::never);
    EXPECT_EQ(rig.machine.line_interrupts(), 0u);
  }
  void put_register(unsigned bar, std::uint64_t at) {
    rig.machine.adapter().judge_commands([this](layouts::opcode code, std::uint32_t) {
      last = code;
      return model::command_verdict{};
    });
    rig.machine.alter_adapter_write = [this, bar, at](std::uint64_t, std::byte* to,
                                                      std::size_t count) {
      using fw = layouts::query_fw;
      if (last != layouts::opcode::query_fw || count < fw::bytes) return;
      auto answer = layouts::image<fw>::from_bytes(to);
      answer.set<&fw::clr_int_bar>(bar).set<&fw::clr_int_base>(at);
      std::memcpy(to, answer.data(), fw::bytes);
    };
  }
  void TearDown() override {
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none());
  }

  device_rig rig;
  platform_operations operations;
  layouts::opcode last{};
};

TEST_F(line_of_device_rig, is_not_used_if_the_register_is_outside_the_bars) {
  constexpr std::uint64_t end = model::device::register_bar_bytes;
  const struct {
    unsigned bar;
    std::uint64_t at;
  } places[] = {{0, end - 4}, {0, end},        {0, ~std::uint64_t{0}},
                {0, ~7ull},   {0, 1ull << 32}, {0, 0xf005a},
                {0, 0xf0059}, {1, 8u << 20},   {1, (8u << 20) - 4},
                {2, 0xf0058}, {3, 0xf0058},    {0, 0xffff'ffff'0000'0000ull}};
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  for (const auto& p : places) {
    SCOPED_TRACE(::testing::Message() << "BAR " << 2 * p.bar << " at 0x" << std::hex << p.at);
    put_register(p.bar, p.at);
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
    expect_polling();
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
  }
  rig.machine.alter_adapter_write = {};
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  expect_on_line(rig.adapter, rig.machine);
}

/// The adapter names another place of its BARs. The line stays asserted and masked, and the driver
/// goes on by deadlines.
TEST_F(line_of_device_rig, stays_asserted_if_the_register_is_elsewhere) {
  put_register(1, 0x7f'fff8);  // in the last BlueFlame page
  bring_up();
  EXPECT_TRUE(rig.adapter.info().line_interrupt);
  EXPECT_EQ(rig.machine.line_interrupts(), 1u);
  EXPECT_EQ(rig.machine.lines_not_cleared(), 1u);
}

TEST_F(line_of_device_rig, is_polled_instead_if_the_port_has_no_function_for_it) {
  operations.arm_line_interrupt = nullptr;
  bring_up();
  expect_polling();
}

TEST_F(line_of_device_rig, is_polled_instead_if_the_port_refuses_it) {
  operations.arm_line_interrupt = [](void*, void (*)(void*, unsigned) noexcept, void*) -> status {
    return {transport_error::refused, 16};
  };
  bring_up();
  expect_polling();
}

TEST_F(line_of_device_rig, needs_no_function_for_vectors) {
  operations.arm_interrupts = nullptr;
  bring_up();
  expect_on_line(rig.adapter, rig.machine);
}

TEST_F(line_of_device_rig, is_armed_after_any_failure_of_vectors) {
  operations.arm_interrupts = [](void*, unsigned, void (*)(void*, unsigned) noexcept,
                                 void*) -> status {
    return {transport_error::refused, 16};
  };
  bring_up();
  expect_on_line(rig.adapter, rig.machine);
}

TEST_F(line_of_device_rig, is_not_armed_if_interrupts_are_off) {
  rig.setup.use_interrupts = false;
  bring_up();
  expect_polling();
}

/// With MSI-X the line is not asked for.
TEST(line_interrupts, are_not_armed_beside_vectors) {
  device_rig rig;
  platform_operations operations = *rig.setup.platform.operations;
  operations.arm_line_interrupt = [](void*, void (*)(void*, unsigned) noexcept, void*) -> status {
    ADD_FAILURE() << "the line was armed";
    return {};
  };
  rig.setup.platform.operations = &operations;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  EXPECT_FALSE(rig.adapter.info().line_interrupt);
  EXPECT_TRUE(rig.adapter.info().interrupts_work);
  EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
}

}  // namespace
}  // namespace freehca::testing
