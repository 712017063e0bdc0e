// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "channel_fixture.hpp"

namespace freehca::testing {
namespace {

class polled : public channel_test {};

TEST_F(polled, open_refuses_what_is_too_small_or_misaligned) {
  reactor own_loop;
  channel c(own_loop);
  auto refused = [&](auto change) {
    channel_resources r = resources;
    change(r);
    return c.open(r).is(driver_error::bad_argument);
  };
  EXPECT_TRUE(refused([](auto& r) { r.slots = 0; }));
  EXPECT_TRUE(refused([](auto& r) { r.slots = channel::most_slots + 1; }));
  EXPECT_TRUE(refused([](auto& r) { r.storage_bytes = channel::storage_bytes_for(r.slots) - 1; }));
  EXPECT_TRUE(refused([](auto& r) { r.storage += 1; }));
  EXPECT_TRUE(refused([](auto& r) { r.mailboxes.bytes -= 1; }));
  EXPECT_TRUE(refused([](auto& r) { r.mailboxes.device_address += 512; }));
  EXPECT_TRUE(refused([](auto& r) { r.hcr.bytes = 24; }));
  EXPECT_TRUE(refused([](auto& r) { r.platform.operations = nullptr; }));
  EXPECT_TRUE(commands.open(resources).is(driver_error::bad_state));
}

TEST_F(polled, submit_alone_touches_nothing) {
  nop_command c;
  commands.submit(c);
  EXPECT_EQ(c.where(), operation::phase::queued);
  EXPECT_TRUE(device.posted.empty());
  EXPECT_EQ(commands.next_deadline(), 0u);
  finish();
}

TEST_F(polled, the_words_of_the_register) {
  firmware_command<commands::unmap_icm> c{std::uint64_t{0x12'3456'7000}, 0x89u};
  commands.submit(c);
  commands.poll();
  ASSERT_EQ(device.posted.size(), 1u);
  const posted_command& p = device.last();
  EXPECT_EQ(p.get<&hcr::in_param>(), 0x12'3456'7000u);
  EXPECT_EQ(p.get<&hcr::in_modifier>(), 0x89u);
  EXPECT_EQ(p.get<&hcr::out_param>(), 0u);
  EXPECT_EQ(p.get<&hcr::opcode>(), layouts::opcode::unmap_icm);
  EXPECT_EQ(p.get<&hcr::opcode_modifier>(), 0u);
  EXPECT_TRUE(p.get<&hcr::go>());
  EXPECT_FALSE(p.get<&hcr::e>());
  EXPECT_TRUE(p.get<&hcr::t>()) << "the register's t is clear after a reset";
  EXPECT_TRUE(p.words.reserved_clear());
  EXPECT_EQ(c.where(), operation::phase::in_flight);

  device.answer();
  EXPECT_EQ(commands.poll(), 1u);
  EXPECT_TRUE(c.done());
  EXPECT_EQ(c.outcome(), status());
  finish();
}

TEST_F(polled, t_toggles_and_tokens_differ) {
  for (unsigned i = 0; i < 8; ++i) {
    nop_command c;
    commands.submit(c);
    commands.poll();
    EXPECT_EQ(device.last().get<&hcr::t>(), i % 2 == 0);
    for (unsigned j = 0; j < i; ++j) EXPECT_NE(token_of(j), token_of(i));
    device.answer();
    commands.poll();
    EXPECT_TRUE(c.done());
  }
  finish();
}

TEST_F(polled, a_clear_go_with_the_old_t_is_not_an_answer) {
  nop_command c;
  commands.submit(c);
  commands.poll();
  // The register still shows the state before the command: go clear, t of the command before.
  device.command_register().base[hcr{}.go.offset + 1] = std::byte{0};
  commands.poll();
  EXPECT_FALSE(c.done());
  device.command_register().base[hcr{}.go.offset + 1] = std::byte{0x20};
  commands.poll();
  EXPECT_TRUE(c.done());
  finish();
}

TEST_F(polled, one_at_a_time) {
  nop_command a, b;
  commands.submit(a);
  commands.submit(b);
  commands.poll();
  commands.poll();
  EXPECT_EQ(device.posted.size(), 1u);
  EXPECT_EQ(commands.queued(), 1u);
  device.answer();
  commands.poll();
  EXPECT_TRUE(a.done());
  EXPECT_EQ(device.posted.size(), 2u);
  device.answer();
  commands.poll();
  EXPECT_TRUE(b.done());
  EXPECT_TRUE(commands.idle());
  EXPECT_EQ(commands.statistics().most_in_flight, 1u);
  finish();
}

TEST_F(polled, immediate_output_stands_in_the_register) {
  firmware_command<commands::set_icm_size> c;
  c.set_input(0x1234'0000'5678);
  commands.submit(c);
  commands.poll();
  EXPECT_EQ(device.last().get<&hcr::in_param>(), 0x1234'0000'5678u);
  device.answer(0, 0xabcd'ef01'2345'6789);
  commands.poll();
  EXPECT_EQ(c.output_immediate(), 0xabcd'ef01'2345'6789u);
  finish();
}

TEST_F(polled, an_input_mailbox_is_filled_when_it_is_posted_and_zero_behind) {
  sw2hw_cq_command c{0x81u};
  c.input.set<&layouts::cqc::log_cq_size>(9);
  commands.submit(c);
  commands.poll();
  const posted_command& p = device.last();
  ASSERT_EQ(p.input.size(), 4096u);
  EXPECT_EQ(layouts::image<layouts::cqc>::from_bytes(p.input.data()), c.input);
  for (std::size_t i = layouts::cqc::bytes; i < 4096; ++i) ASSERT_EQ(p.input[i], std::byte{0}) << i;
  EXPECT_EQ(p.get<&hcr::in_modifier>(), 0x81u);
  EXPECT_EQ(p.get<&hcr::in_param>() % 4096, 0u);
  device.answer();
  commands.poll();
  finish();
}

TEST_F(polled, an_output_mailbox_is_read_before_the_callback) {
  firmware_command<commands::query_port> c{1u};
  bool seen = false;
  struct context {
    firmware_command<commands::query_port>* c;
    bool* seen;
  } x{&c, &seen};
  c.then(
      [](operation&, void* p) noexcept {
        auto& ctx = *static_cast<context*>(p);
        *ctx.seen = ctx.c->output.get<&layouts::query_port::max_vl>() == 4;
      },
      &x);
  commands.submit(c);
  commands.poll();
  const std::uint64_t box = device.last().get<&hcr::out_param>();
  ASSERT_NE(device.host_of(box), nullptr);
  for (std::size_t i = 0; i < 4096; ++i)
    ASSERT_EQ(device.host_of(box)[i], std::byte{0}) << "not cleared at " << i;
  layouts::image<layouts::query_port> reply;
  reply.set<&layouts::query_port::max_vl>(4);
  device.write(box, reply.data(), reply.size());
  device.answer();
  commands.poll();
  EXPECT_TRUE(seen);
  finish();
}

TEST_F(polled, a_firmware_status_comes_through_as_it_is_and_output_is_not_read) {
  firmware_command<commands::query_port> c{1u};
  commands.submit(c);
  commands.poll();
  device.answer(static_cast<std::uint8_t>(command_status::bad_index));
  commands.poll();
  EXPECT_TRUE(c.outcome().is(command_status::bad_index));
  EXPECT_EQ(c.outcome().where(), static_cast<unsigned>(layouts::opcode::query_port));
  EXPECT_EQ(c.output, layouts::image<layouts::query_port>());
  EXPECT_EQ(commands.statistics().answered_with_error, 1u);
  finish();
}

TEST_F(polled, a_status_that_has_no_name_is_still_an_error) {
  nop_command c;
  commands.submit(c);
  commands.poll();
  device.answer(0x77);
  commands.poll();
  EXPECT_EQ(c.outcome().who(), origin::firmware);
  EXPECT_EQ(c.outcome().code(), 0x77);
  finish();
}

TEST_F(polled, requests_that_cannot_be_sent_are_refused_by_poll_not_by_submit) {
  command wide;
  wide.request.opcode_modifier = 16;
  command no_encoder;
  no_encoder.request.input = command_request::form::mailbox;
  commands.submit(wide);
  commands.submit(no_encoder);
  EXPECT_FALSE(wide.done());
  EXPECT_EQ(commands.poll(), 2u);
  EXPECT_TRUE(wide.outcome().is(driver_error::bad_argument));
  EXPECT_TRUE(no_encoder.outcome().is(driver_error::bad_argument));
  EXPECT_TRUE(device.posted.empty());
  finish();
}

TEST_F(polled, a_channel_that_is_not_open_says_so) {
  reactor own;
  channel closed(own);
  nop_command c;
  closed.submit(c);
  EXPECT_EQ(closed.next_deadline(), 0u);
  EXPECT_EQ(closed.poll(), 1u);
  EXPECT_TRUE(c.outcome().is(driver_error::bad_state));
  finish();
}

/// Submits its command again whenever it completes, `left` times.
struct restarter {
  channel* ch;
  int left;
  static void again(operation& op, void* p) noexcept {
    auto& self = *static_cast<restarter*>(p);
    if (self.left-- == 0) return;
    op.restart();
    op.then(&restarter::again, p);
    self.ch->submit(static_cast<command&>(op));
  }
};

TEST_F(polled, a_callback_may_restart_its_command) {
  nop_command c;
  restarter x{&commands, 3};
  c.then(&restarter::again, &x);
  device.answers_at_once = true;
  commands.submit(c);
  for (int i = 0; i < 6; ++i) commands.poll();
  EXPECT_TRUE(c.done());
  EXPECT_EQ(device.posted.size(), 4u);
  finish();
}

TEST_F(polled, a_callback_that_restarts_a_refused_command_does_not_hang_poll) {
  commands.fail_all(transport_error::gone);
  nop_command c;
  restarter x{&commands, 3};
  c.then(&restarter::again, &x);
  commands.submit(c);
  for (int i = 3; i >= 0; --i) {
    EXPECT_EQ(x.left, i);
    EXPECT_EQ(commands.poll(), 1u);
  }
  EXPECT_TRUE(c.outcome().is(transport_error::gone));
  finish();
}

TEST_F(polled, every_command_leaves_one_trace) {
  nop_command c;
  commands.submit(c);
  pass(10);
  commands.poll();
  device.answer();
  pass(20);
  commands.poll();
  ASSERT_EQ(device.traces.size(), 1u);
  const trace_record& t = device.traces[0];
  EXPECT_EQ(t.opcode, static_cast<unsigned>(layouts::opcode::nop));
  EXPECT_EQ(t.input_modifier, 0x1fu);
  EXPECT_EQ(t.posted - t.queued, 10u);
  EXPECT_EQ(t.completed - t.posted, 20u);
  EXPECT_TRUE(t.outcome.ok());
  finish();
}

}  // namespace
}  // namespace freehca::testing
