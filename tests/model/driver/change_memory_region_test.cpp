// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Regions whose rights or domain change. The key stays. Each of the two commands is refused, held
// and answered late; the operation is cancelled, dropped and cut off by a reset.
#include <memory>
#include <vector>

#include <freehca/hca/kinds/change_memory_region.hpp>
#include <freehca/hca/kinds/replace_memory_region.hpp>
#include <freehca/queues/memory_requests.hpp>

#include "counts.hpp"
#include "owners_rig.hpp"
#include "rc_pair.hpp"

// Compiled with others of the folder as one source.
namespace freehca::change_memory_region_tests {
namespace {

using namespace testing;
using fate = model::command_verdict::fate;
using layouts::opcode;
using queues::completion_status;
using phase = object_record::phase;

constexpr std::uint64_t region_address = 0x5500'0000'0000;
constexpr memory_access writable{.local_write = true, .remote_write = true};
constexpr memory_access closed{.local_write = true};

/// Side 0 of a pair writes to a region of side 1.
struct change_memory_region_test : ::testing::Test {
  verbs_rig rig{exact()};
  rc_pair pair{rig};
  in_process::host_memory_map::scattered_pages memory{rig.machine.memory().allocate_scattered(3)};
  registered_buffer source{rig, pair.domain, 4096, 0, {.local_write = true}};
  mr_handle region = make(writable);
  std::vector<std::uint64_t> before = counts(rig);
  const std::uint32_t first_key = key();

  change_memory_region_test() {
    pair.connect();
    source.fill(std::byte{0x77});
  }
  ~change_memory_region_test() override {
    if (region) {
      EXPECT_EQ(counts(rig), before);
      EXPECT_TRUE(destroy().ok());
    }
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
    rig.machine.memory().release(memory);
  }
  memory_region_attributes attributes(const memory_access& access) {
    return {.pd = pair.domain,
            .pages = page_list(memory.addresses.data(), 12, 0, memory.addresses.size() * 4096),
            .virtual_address = region_address,
            .access = access};
  }
  mr_handle make(const memory_access& access) {
    create_memory_region op;
    op.start(rig.objects, attributes(access));
    EXPECT_TRUE(rig.await(op).ok());
    return op.made();
  }
  status destroy() {
    destroy_memory_region op;
    op.start(rig.objects, region);
    region = {};
    return rig.await(op);
  }
  status change(const memory_access& access, pd_handle domain = {}) {
    change_memory_region op;
    op.start(rig.objects, region, domain, access);
    return rig.await(op);
  }
  std::uint32_t key() { return key_of(rig.objects, region); }
  phase state() { return rig.objects.find(region)->state; }
  pd_handle new_domain() { return rig.objects.create<protection_domain>().value(); }

  completion_status write() {
    const queues::rdma_write r{.remote = {region_address + 100, first_key},
                               .data = source.entry(0, 64)};
    EXPECT_TRUE(pair.send(0).post_and_ring(r).ok());
    return pair.next(0).status;
  }
  /// A write by the first key of the region reaches its memory.
  void expect_open() {
    EXPECT_EQ(key(), first_key);
    std::memset(memory.memory, 0, memory.addresses.size() * 4096);
    ASSERT_EQ(write(), completion_status::ok);
    for (std::size_t i = 0; i < 4096; ++i)
      ASSERT_EQ(memory.memory[i] == std::byte{0x77}, i >= 100 && i < 164) << i;
  }
  void expect_closed() {
    EXPECT_EQ(key(), first_key);
    EXPECT_EQ(write(), completion_status::remote_access);
    for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(pair.move(i, layouts::qp_state::reset).ok());
    pair.connect();
  }
  /// The device has no entry of the region. Its destruction sends no command.
  void expect_without_entry() {
    EXPECT_EQ(state(), phase::blank);
    expect_closed();
    EXPECT_TRUE(change(writable).is(driver_error::bad_state));
    EXPECT_EQ(counts(rig), before);
    const auto sent = rig.adapter.commands().statistics().submitted;
    EXPECT_TRUE(destroy().ok());
    EXPECT_EQ(rig.adapter.commands().statistics().submitted, sent);
  }
  /// Commands with this code have this fate.
  void judge(opcode struck, fate what) {
    rig.machine.adapter().judge_commands([=](opcode code, std::uint32_t) {
      return model::command_verdict{.what = code == struck ? what : fate::run};
    });
  }
  void judge_no_more() { rig.machine.adapter().judge_commands({}); }
  /// A change to other rights and another domain, whose command with this code is not answered.
  void leave_in_doubt(opcode held, bool refused, pd_handle domain) {
    rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(5));
    judge(held, refused ? fate::hold_and_refuse : fate::hold);
    const status s = change(closed, domain);
    EXPECT_TRUE(s.is(transport_error::timeout)) << words(s);
    judge_no_more();
    EXPECT_EQ(state(), phase::doubtful_change);
    EXPECT_TRUE(change(writable).is(driver_error::busy));
    destroy_memory_region gone;
    gone.start(rig.objects, region);
    EXPECT_TRUE(rig.await(gone).is(driver_error::busy));
    EXPECT_TRUE(rig.objects.destroy(pair.domain).is(driver_error::busy));
    EXPECT_TRUE(rig.objects.destroy(domain).is(driver_error::busy));
  }
  void answer_late() {
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(rig.run([&] { return rig.objects.holdings().in_doubt == 0; }, clock::seconds(1)));
  }
};

TEST_F(change_memory_region_test, changes_the_rights_and_keeps_the_key) {
  std::vector<opcode> sent;
  for (unsigned i = 0; i < 3; ++i) {
    expect_open();
    rig.machine.adapter().judge_commands([&](opcode code, std::uint32_t) {
      sent.push_back(code);
      return model::command_verdict{};
    });
    const status s = change(closed);
    judge_no_more();
    ASSERT_TRUE(s.ok()) << words(s);
    EXPECT_EQ(sent, (std::vector{opcode::hw2sw_mpt, opcode::sw2hw_mpt}));
    sent.clear();
    EXPECT_EQ(state(), phase::live);
    expect_closed();
    ASSERT_TRUE(change(writable).ok());
    EXPECT_EQ(counts(rig), before);
  }
  expect_open();
}

TEST_F(change_memory_region_test, grants_each_right) {
  ASSERT_TRUE(
      change(
          {.local_write = true, .remote_read = true, .remote_atomic = true, .bind_windows = true})
          .ok());
  expect_closed();
  const auto post = [&](const auto& request) {
    EXPECT_TRUE(pair.send(0).post_and_ring(request).ok());
    return pair.next(0).status;
  };
  const queues::rdma_read read{.remote = {region_address, first_key}, .data = source.entry(0, 64)};
  EXPECT_EQ(post(read), completion_status::ok);
  const queues::fetch_and_add add{
      .remote = {region_address, first_key}, .operand = 1, .data = source.entry(0, 8)};
  EXPECT_EQ(post(add), completion_status::ok);
  ASSERT_TRUE(change({}).ok());
  expect_closed();
  EXPECT_EQ(post(read), completion_status::remote_access);
}

TEST_F(change_memory_region_test, changes_the_domain_and_ends_the_reference_to_the_old_one) {
  const pd_handle other = new_domain();
  ASSERT_TRUE(change(writable, other).ok());
  expect_closed();
  EXPECT_TRUE(rig.objects.destroy(other).is(driver_error::busy));
  ASSERT_TRUE(change(writable, other).ok()) << "the domain that it has";
  EXPECT_TRUE(rig.objects.destroy(other).is(driver_error::busy));
  ASSERT_TRUE(change(closed).ok()) << "the domain stays";
  expect_closed();
  ASSERT_TRUE(change(writable, pair.domain).ok());
  EXPECT_TRUE(rig.objects.destroy(other).ok());
  expect_open();
}

TEST_F(change_memory_region_test, bad_attributes_send_no_command) {
  const auto sent = rig.adapter.commands().statistics().submitted;
  for (const memory_access& bad :
       {memory_access{.remote_write = true}, memory_access{.remote_atomic = true}}) {
    rig.objects.refused() = {};
    EXPECT_TRUE(change(bad).is(driver_error::bad_argument));
    EXPECT_EQ(rig.objects.refused().what, attribute_id::remote_rights);
  }
  const pd_handle gone = new_domain();
  ASSERT_TRUE(rig.objects.destroy(gone).ok());
  EXPECT_TRUE(change(writable, gone).is(driver_error::stale_handle));
  EXPECT_TRUE(change(writable, {region.index, region.generation}).is(driver_error::stale_handle));
  EXPECT_EQ(rig.adapter.commands().statistics().submitted, sent);
  expect_open();
}

TEST_F(change_memory_region_test, needs_a_plain_region_that_exists) {
  const auto change_of = [&](mr_handle which) {
    change_memory_region op;
    op.start(rig.objects, which, {}, closed);
    return rig.await(op);
  };
  EXPECT_TRUE(change_of({}).is(driver_error::stale_handle));
  EXPECT_TRUE(change_of({region.index, region.generation + 1}).is(driver_error::stale_handle));
  EXPECT_TRUE(
      change_of({pair.domain.index, pair.domain.generation}).is(driver_error::stale_handle));
  create_fast_memory_region fast;
  fast.start(rig.objects, {.pd = pair.domain, .most_pages = 4});
  ASSERT_TRUE(rig.await(fast).ok());
  EXPECT_TRUE(change_of(fast.made()).is(driver_error::unsupported));
  destroy_fast_memory_region undo;
  undo.start(rig.objects, fast.made());
  EXPECT_TRUE(rig.await(undo).ok());
  const mr_handle gone = region;
  ASSERT_TRUE(destroy().ok());
  EXPECT_TRUE(change_of(gone).is(driver_error::stale_handle));
}

TEST_F(change_memory_region_test, a_region_under_change_is_busy) {
  change_memory_region op;
  op.start(rig.objects, region, {}, closed);
  EXPECT_TRUE(change(writable).is(driver_error::busy));
  destroy_memory_region gone;
  gone.start(rig.objects, region);
  EXPECT_TRUE(rig.await(gone).is(driver_error::busy));
  EXPECT_TRUE(rig.await(op).ok());
  expect_closed();
}

TEST_F(change_memory_region_test, a_region_with_a_bound_window_stays_as_it_was) {
  const memory_access bindable{.local_write = true, .remote_write = true, .bind_windows = true};
  ASSERT_TRUE(change(bindable).ok());
  create_memory_window window;
  window.start(rig.objects, {.pd = pair.domain});
  ASSERT_TRUE(rig.await(window).ok());
  const queues::window_binding b{.key = rig.objects.find(window.made())->next_key(),
                                 .region = first_key,
                                 .address = region_address,
                                 .length = 4096,
                                 .rights = queues::window_rights::remote_write};
  ASSERT_TRUE(pair.send(1).post_and_ring(queues::bind_window{.memory = b}).ok());
  ASSERT_TRUE(pair.next(1).ok());
  const pd_handle other = new_domain();
  const status s = change(closed, other);
  EXPECT_TRUE(s.is(layouts::command_status::region_bound)) << words(s);
  EXPECT_TRUE(rig.objects.destroy(other).ok());
  EXPECT_EQ(state(), phase::live);
  expect_open();
  destroy_memory_window undo;
  undo.start(rig.objects, window.made());
  ASSERT_TRUE(rig.await(undo).ok());
  ASSERT_TRUE(change(closed).ok());
  expect_closed();
}

TEST_F(change_memory_region_test, stays_as_it_was_if_the_first_command_is_refused) {
  const pd_handle other = new_domain();
  judge(opcode::hw2sw_mpt, fate::refuse);
  EXPECT_EQ(change(closed, other).who(), origin::firmware);
  judge_no_more();
  EXPECT_TRUE(rig.objects.destroy(other).ok());
  EXPECT_EQ(state(), phase::live);
  expect_open();
  ASSERT_TRUE(change(closed).ok());
  expect_closed();
}

TEST_F(change_memory_region_test, has_no_entry_if_the_second_command_is_refused) {
  const pd_handle other = new_domain();
  judge(opcode::sw2hw_mpt, fate::refuse);
  EXPECT_EQ(change(writable, other).who(), origin::firmware);
  judge_no_more();
  EXPECT_TRUE(rig.objects.destroy(other).ok());
  expect_without_entry();
}

TEST_F(change_memory_region_test, without_an_entry_is_replaced) {
  judge(opcode::sw2hw_mpt, fate::refuse);
  EXPECT_FALSE(change(writable).ok());
  // The new region is refused too.
  replace_memory_region refused;
  refused.start(rig.objects, region, attributes(writable));
  EXPECT_EQ(rig.await(refused).who(), origin::firmware);
  judge_no_more();
  EXPECT_EQ(state(), phase::blank);
  replace_memory_region op;
  op.start(rig.objects, region, attributes(writable));
  const status s = rig.await(op);
  ASSERT_TRUE(s.ok()) << words(s);
  EXPECT_EQ(state(), phase::live);
  EXPECT_NE(key(), first_key);
  EXPECT_EQ(write(), completion_status::remote_access) << "the old key";
  ASSERT_TRUE(change(closed).ok());
}

TEST_F(change_memory_region_test, a_late_answer_to_the_first_command_leaves_no_entry) {
  const pd_handle other = new_domain();
  leave_in_doubt(opcode::hw2sw_mpt, false, other);
  answer_late();
  EXPECT_TRUE(rig.objects.destroy(other).ok());
  expect_without_entry();
}

TEST_F(change_memory_region_test, a_late_refusal_of_the_first_command_changes_nothing) {
  const pd_handle other = new_domain();
  leave_in_doubt(opcode::hw2sw_mpt, true, other);
  answer_late();
  EXPECT_TRUE(rig.objects.destroy(other).ok());
  EXPECT_EQ(state(), phase::live);
  expect_open();
}

TEST_F(change_memory_region_test, a_late_answer_to_the_second_command_makes_the_change) {
  const pd_handle other = new_domain();
  leave_in_doubt(opcode::sw2hw_mpt, false, other);
  answer_late();
  EXPECT_EQ(state(), phase::live);
  EXPECT_TRUE(rig.objects.destroy(other).is(driver_error::busy));
  expect_closed();
  ASSERT_TRUE(change(writable, pair.domain).ok());
  EXPECT_TRUE(rig.objects.destroy(other).ok());
  expect_open();
}

TEST_F(change_memory_region_test, a_late_refusal_of_the_second_command_leaves_no_entry) {
  const pd_handle other = new_domain();
  leave_in_doubt(opcode::sw2hw_mpt, true, other);
  answer_late();
  EXPECT_TRUE(rig.objects.destroy(other).ok());
  expect_without_entry();
}

/// A cancelled or dropped operation: nothing changed, no entry, or the change was made.
TEST(changed_region_test, ends_early_at_each_moment) {
  for (const bool dropped : {false, true}) {
    rig_options how = exact();
    how.machine.model.faults.command_latency_ns = 20'000;
    verbs_rig rig(how);
    const auto domain = rig.objects.create<protection_domain>().value();
    const auto other = rig.objects.create<protection_domain>().value();
    const auto pages = rig.machine.memory().allocate_scattered(2);
    const auto before = counts(rig);
    unsigned moment = 0, without_entry = 0;
    for (bool done = false; moment < 500 && !done; ++moment) {
      create_memory_region create;
      create.start(rig.objects,
                   {.pd = domain, .pages = page_list(pages.addresses.data(), 12, 0, 2 * 4096)});
      ASSERT_TRUE(rig.await(create).ok());
      const mr_handle region = create.made();
      const std::uint32_t key = key_of(rig.objects, region);
      auto op = std::make_unique<change_memory_region>();
      op->start(rig.objects, region, other, closed);
      if (moment != 0) rig.run([&] { return op->done(); }, moment * clock::microseconds(3));
      done = op->done();
      if (!done && !dropped) {
        op->cancel();
        EXPECT_TRUE(rig.await(*op).is(driver_error::cancelled)) << moment;
      }
      op.reset();
      rig.run([] { return false; }, clock::milliseconds(100));
      ASSERT_EQ(rig.objects.holdings().in_doubt, 0u) << moment;
      ASSERT_EQ(key_of(rig.objects, region), key) << moment;
      const object_record& o = *rig.objects.find(region);
      without_entry += o.state == phase::blank ? 1u : 0u;
      EXPECT_EQ(rig.objects.find(domain)->users + rig.objects.find(other)->users, 1u) << moment;
      destroy_memory_region destroy;
      destroy.start(rig.objects, region);
      ASSERT_TRUE(rig.await(destroy).ok()) << moment;
      rig.run([] { return false; }, clock::milliseconds(100));
      ASSERT_EQ(counts(rig), before) << moment;
    }
    EXPECT_GT(moment, 4u);
    EXPECT_LT(moment, 500u);
    EXPECT_GT(without_entry, 0u);
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
    EXPECT_TRUE(rig.objects.destroy(other).ok());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
    rig.machine.memory().release(pages);
  }
}

/// A reset at each moment of the change, and with each of its commands in doubt.
TEST(changed_region_test, ends_by_a_reset_at_each_moment) {
  rig_options how = exact();
  how.machine.model.faults.command_latency_ns = 20'000;
  verbs_rig rig(how);
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(5));
  const auto pages = rig.machine.memory().allocate_scattered(2);
  const auto attempt = [&](opcode struck, fate what, std::uint64_t time) {
    const auto domain = rig.objects.create<protection_domain>().value();
    const auto other = rig.objects.create<protection_domain>().value();
    create_memory_region create;
    create.start(rig.objects,
                 {.pd = domain, .pages = page_list(pages.addresses.data(), 12, 0, 2 * 4096)});
    EXPECT_TRUE(rig.await(create).ok());
    const object_record& record = *rig.objects.find(create.made());
    rig.machine.adapter().judge_commands([=](opcode code, std::uint32_t) {
      return model::command_verdict{.what = code == struck ? what : fate::run};
    });
    change_memory_region op;
    op.start(rig.objects, create.made(), other, closed);
    if (time != 0) rig.run([&] { return op.done(); }, time);
    const bool done = op.done();
    rig.machine.adapter().judge_commands({});
    operation again;
    rig.adapter.recover(again);
    EXPECT_TRUE(rig.await(again).ok());
    EXPECT_TRUE(rig.await(op).ok() == (done && what == fate::run));
    EXPECT_TRUE(rig.objects.holdings().none());
    EXPECT_EQ(rig.objects.find(create.made()), nullptr);
    EXPECT_EQ(record.state, phase::free);
    return done;
  };
  unsigned moment = 0;
  while (moment < 100 && !attempt(opcode::nop, fate::run, moment * clock::microseconds(3)))
    ++moment;
  EXPECT_GT(moment, 4u);
  EXPECT_LT(moment, 100u);
  for (const opcode struck : {opcode::hw2sw_mpt, opcode::sw2hw_mpt})
    for (const fate what : {fate::hold, fate::lose_answer, fate::refuse})
      attempt(struck, what, clock::seconds(1));
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
  rig.machine.memory().release(pages);
}

TEST(changed_region_test, of_an_event_owner) {
  owners_rig rig(1);
  rig.open_all();
  verbs& objects = rig.owners[0].objects;
  const auto domain = objects.create<protection_domain>().value();
  const auto other = objects.create<protection_domain>().value();
  const auto pages = rig.machine.memory().allocate_scattered(2);
  create_memory_region create;
  create.start(objects,
               {.pd = domain, .pages = page_list(pages.addresses.data(), 12, 0, 2 * 4096)});
  ASSERT_TRUE(rig.await(create).ok());
  const std::uint32_t key = key_of(objects, create.made());
  for (const pd_handle to : {other, domain}) {
    change_memory_region op;
    op.start(objects, create.made(), to, closed);
    const status s = rig.await(op);
    EXPECT_TRUE(s.ok()) << words(s);
    EXPECT_EQ(objects.find(to)->users, 1u);
  }
  EXPECT_EQ(key_of(objects, create.made()), key);
  {
    change_memory_region op;
    op.start(objects, create.made(), other, closed);
  }
  EXPECT_TRUE(rig.run([&] { return objects.holdings().in_doubt == 0; }, clock::seconds(100)));
  EXPECT_EQ(objects.find(domain)->users, 1u);
  EXPECT_EQ(objects.find(other)->users, 0u);
  destroy_memory_region destroy;
  destroy.start(objects, create.made());
  EXPECT_TRUE(rig.await(destroy).ok());
  EXPECT_TRUE(objects.destroy(domain).ok());
  EXPECT_TRUE(objects.destroy(other).ok());
  rig.machine.memory().release(pages);
}

TEST(changed_region_test, of_an_event_owner_ends_by_a_reset_at_each_moment) {
  owners_rig rig(1);
  rig.open_all();
  owners_rig::owner& o = rig.owners[0];
  const auto pages = rig.machine.memory().allocate_scattered(2);
  for (unsigned attempt = 0; attempt < 48; ++attempt) {
    const unsigned turns = attempt / 2;
    const auto domain = o.objects.create<protection_domain>().value();
    const auto other = o.objects.create<protection_domain>().value();
    create_memory_region create;
    create.start(o.objects,
                 {.pd = domain, .pages = page_list(pages.addresses.data(), 12, 0, 2 * 4096)});
    ASSERT_TRUE(rig.await(create).ok());
    const object_record& record = *o.objects.find(create.made());
    const unsigned up_before = o.up_again;
    change_memory_region op;
    op.start(o.objects, create.made(), other, closed);
    for (unsigned i = 0; i < turns; ++i) {
      if (i % 2 == 0) rig.adapter.poll();
      else o.objects.poll();
      if (i % 3 == 0) rig.machine.step();
    }
    // The stop request and the answer are under way at the same time.
    if (attempt % 2 != 0) op.cancel();
    operation again;
    rig.adapter.recover(again);
    EXPECT_TRUE(rig.run([&] { return again.done() && op.done(); }));
    EXPECT_TRUE(again.outcome().ok());
    ASSERT_TRUE(rig.run([&] { return o.up_again == up_before + 1; }, 1'000'000'000));
    EXPECT_TRUE(o.objects.holdings().none()) << "after " << turns << " turns";
    EXPECT_EQ(record.state, phase::free) << "after " << turns << " turns";
  }
  rig.machine.memory().release(pages);
}

/// Memory of the program that the device may only read gets no right to write.
TEST(changed_region_test, of_memory_that_is_mapped_for_reading) {
  verbs_rig rig(exact());
  const auto domain = rig.objects.create<protection_domain>().value();
  alignas(4096) static std::byte memory[4096];
  for (const bool for_reading : {true, false}) {
    create_memory_region create;
    create.start(rig.objects, {.pd = domain,
                               .access = {.local_write = !for_reading},
                               .memory = {.first = memory, .bytes = sizeof memory}});
    ASSERT_TRUE(rig.await(create).ok());
    const auto change = [&](const memory_access& to) {
      change_memory_region op;
      op.start(rig.objects, create.made(), {}, to);
      return rig.await(op);
    };
    EXPECT_TRUE(change({.remote_read = true}).ok());
    const status s = change(writable);
    EXPECT_TRUE(for_reading ? s.is(driver_error::unsupported) : s.ok()) << words(s);
    destroy_memory_region destroy;
    destroy.start(rig.objects, create.made());
    EXPECT_TRUE(rig.await(destroy).ok());
  }
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
}

}  // namespace
}  // namespace freehca::change_memory_region_tests
