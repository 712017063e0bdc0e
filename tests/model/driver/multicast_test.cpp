// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Datagram queue pairs that join and leave multicast groups.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "counts.hpp"

namespace freehca {
namespace {

using namespace testing;
using fate = model::command_verdict::fate;
using layouts::opcode;
using layouts::qp_service;
using layouts::qp_state;

constexpr std::uint32_t qkey = 0x1234567;
constexpr unsigned slot_bytes = 256;

gid group(unsigned n) {
  gid g;
  g.raw[0] = 0xff;
  g.raw[1] = 0x12;
  g.raw[14] = static_cast<std::uint8_t>(n >> 8);
  g.raw[15] = static_cast<std::uint8_t>(n);
  return g;
}

/// A rig with datagram queue pairs that share a completion queue.
class multicast_rig : public verbs_rig {
 public:
  explicit multicast_rig(const rig_options& how = exact(), unsigned pairs = 3)
      : verbs_rig(how), empty(counts(*this)) {
    domain = objects.create<protection_domain>().value();
    create_completion_queue create;
    create.start(objects, {.entries = 127});
    EXPECT_TRUE(await(create).ok());
    cq = create.made();
    memory.emplace(*this, domain, 64 * slot_bytes, 0, memory_access{.local_write = true});
    for (unsigned i = 0; i < pairs; ++i) add_pair(qp_service::ud);
    make_table();
    before = counts(*this);
  }
  ~multicast_rig() {
    if (!table) return;
    settle();
    EXPECT_EQ(counts(*this), before);
    EXPECT_TRUE(objects.destroy(table).ok());
    for (const qp_handle q : queue) {
      destroy_queue_pair destroy;
      destroy.start(objects, q);
      EXPECT_TRUE(await(destroy).ok());
    }
    memory.reset();
    destroy_completion_queue destroy;
    destroy.start(objects, cq);
    EXPECT_TRUE(await(destroy).ok());
    EXPECT_TRUE(objects.destroy(domain).ok());
    EXPECT_EQ(counts(*this), empty);
    expect_no_complaint();
  }
  /// A reset has taken every object.
  void abandon() { table = {}; }

  void make_table() {
    const auto made = objects.create<multicast_table>();
    ASSERT_TRUE(made.ok()) << words(made.error());
    table = made.value();
  }
  void add_pair(qp_service service) {
    create_queue_pair create;
    create.start(objects, {.pd = domain,
                           .send_cq = cq,
                           .receive_cq = cq,
                           .service = service,
                           .sends = 16,
                           .receives = 16});
    EXPECT_TRUE(await(create).ok());
    queue.push_back(create.made());
    if (service != qp_service::ud) return;
    connection_attributes a;
    a.qkey = qkey;
    a.address = infiniband_path{.dlid = adapter.port(1).lid};
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
      modify_queue_pair move;
      move.start(objects, queue.back(), to, a);
      EXPECT_TRUE(await(move).ok());
    }
  }
  void expect_no_complaint() {
    std::string all;
    for (const std::string& c : machine.complaints()) all += c + "\n";
    EXPECT_EQ(machine.adapter().complaints(), 0u) << all;
  }
  /// Lets context memory come back that nothing waits for.
  void settle() {
    run([] { return false; }, clock::milliseconds(1));
  }

  status join(std::size_t pair, unsigned n, membership_handle* made = nullptr,
              bool block_loopback = false) {
    join_group op;
    op.start(objects, {table, queue[pair], group(n), block_loopback});
    const status s = await(op);
    if (made != nullptr) *made = op.made();
    return s;
  }
  membership_handle must_join(std::size_t pair, unsigned n) {
    membership_handle made;
    const status s = join(pair, n, &made);
    EXPECT_TRUE(s.ok()) << words(s);
    EXPECT_TRUE(made);
    return made;
  }
  status leave(membership_handle which) {
    leave_group op;
    op.start(objects, which);
    return await(op);
  }

  /// Sends a datagram to a group. Returns the queue pairs that got it, by their places.
  std::vector<std::size_t> receivers(std::size_t from, unsigned n) {
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const queues::data_entry to = memory->entry((1 + i) * slot_bytes, slot_bytes);
      auto& ring = objects.find(queue[i])->rings.receive;
      EXPECT_TRUE(ring.post_and_ring({.wr_id = i, .list = &to, .entries = 1}).ok());
    }
    const auto made = objects.create<address_handle>(
        {.pd = domain,
         .address =
             infiniband_path{.dlid = 0xc001, .global = true, .hop_limit = 1, .dgid = group(n)}});
    EXPECT_TRUE(made.ok());
    for (unsigned i = 0; i < 32; ++i) *memory->at(i) = static_cast<std::byte>(n + i);
    EXPECT_TRUE(objects.find(queue[from])
                    ->rings.send
                    .post_and_ring(queues::send_datagram{
                        .wr_id = 99,
                        .to = {&objects.find(made.value())->address, 0xffffff, qkey},
                        .data = memory->entry(0, 32)})
                    .ok());
    settle();
    std::vector<std::size_t> got;
    queues::work_completion w;
    auto& rings = objects.find(cq)->rings;
    while (rings.poll(&w, 1) == 1) {
      EXPECT_TRUE(w.ok()) << name_of(w.status);
      if (w.wr_id == 99) continue;
      EXPECT_EQ(w.byte_count, queues::grh_bytes + 32);
      EXPECT_EQ(std::memcmp(memory->at((1 + w.wr_id) * slot_bytes + queues::grh_bytes),
                            memory->at(0), 32),
                0);
      got.push_back(w.wr_id);
    }
    EXPECT_TRUE(objects.destroy(made.value()).ok());
    std::sort(got.begin(), got.end());
    drain();
    return got;
  }

  std::vector<std::uint64_t> empty, before;
  pd_handle domain;
  cq_handle cq;
  multicast_table_handle table;
  std::vector<qp_handle> queue;
  std::optional<registered_buffer> memory;

 private:
  /// Takes the receives back that were not used.
  void drain() {
    connection_attributes a;
    a.qkey = qkey;
    a.address = infiniband_path{.dlid = adapter.port(1).lid};
    for (const qp_handle q : queue) {
      if (objects.find(q)->service->code != qp_service::ud) continue;
      for (const qp_state to : {qp_state::reset, qp_state::init, qp_state::rtr, qp_state::rts}) {
        modify_queue_pair move;
        move.start(objects, q, to, a);
        EXPECT_TRUE(await(move).ok());
      }
    }
  }
};

using places = std::vector<std::size_t>;

rig_options with_groups(unsigned log_mcgs, unsigned log_entry_bytes = 8) {
  rig_options how = exact();
  how.budget.log_mcgs = log_mcgs;
  how.budget.log_mcg_entry_bytes = log_entry_bytes;
  return how;
}

TEST(multicast, reaches_every_member_and_no_other) {
  multicast_rig rig;
  const membership_handle a = rig.must_join(0, 1), b = rig.must_join(1, 1);
  const membership_handle other = rig.must_join(2, 2);
  EXPECT_EQ(rig.receivers(2, 1), (places{0, 1}));
  EXPECT_EQ(rig.receivers(0, 2), (places{2}));
  EXPECT_EQ(rig.receivers(0, 3), (places{}));
  EXPECT_TRUE(rig.leave(a).ok());
  EXPECT_EQ(rig.receivers(2, 1), (places{1}));
  EXPECT_TRUE(rig.leave(a).is(driver_error::stale_handle));
  EXPECT_TRUE(rig.leave(other).ok());
  EXPECT_EQ(rig.receivers(0, 2), (places{}));
  const membership_handle again = rig.must_join(0, 1);
  EXPECT_EQ(rig.receivers(2, 1), (places{0, 1}));
  EXPECT_TRUE(rig.leave(b).ok());
  EXPECT_TRUE(rig.leave(again).ok());
  EXPECT_EQ(rig.receivers(2, 1), (places{}));
}

TEST(multicast, a_member_may_block_what_it_sends_itself) {
  multicast_rig rig;
  membership_handle mine;
  ASSERT_TRUE(rig.join(0, 1, &mine, true).ok());
  const membership_handle other = rig.must_join(1, 1);
  EXPECT_EQ(rig.receivers(0, 1), (places{1}));
  EXPECT_EQ(rig.receivers(1, 1), (places{0, 1}));
  EXPECT_TRUE(rig.leave(mine).ok());
  EXPECT_TRUE(rig.leave(other).ok());
}

/// With one place for hashes, all groups are in one chain. With more, there are several.
TEST(multicast, groups_with_one_hash_are_a_chain_that_can_lose_each_of_them) {
  for (const unsigned log : {1u, 2u, 3u, 4u}) {
    multicast_rig rig(with_groups(log), 2);
    const unsigned reserved = static_cast<unsigned>(
        rig.adapter.capabilities().raw.get<&layouts::query_dev_cap::num_rsvd_mcgs>());
    EXPECT_LT(reserved, 1u << log);
    std::vector<std::pair<unsigned, membership_handle>> members;
    status end;
    unsigned n = 0;
    for (; members.size() < 12; ++n) {
      membership_handle made;
      end = rig.join(n % 2, n, &made);
      if (!end.ok()) break;
      members.emplace_back(n, made);
    }
    if (!end.ok()) {
      EXPECT_TRUE(end.is(driver_error::no_resource)) << words(end);
      EXPECT_EQ(end.where(), static_cast<unsigned>(budget::item::multicast_groups));
    }
    EXPECT_GE(members.size(), 1u + (1u << log) / 2);
    unsigned seed = log;
    while (!members.empty()) {
      for (const auto& [g, member] : members)
        EXPECT_EQ(rig.receivers(0, g), (places{g % 2})) << log << ": " << g;
      EXPECT_EQ(rig.receivers(0, n), places{});
      seed = seed * 1103515245 + 12345;
      const std::size_t gone = (seed >> 16) % members.size();
      const unsigned left = members[gone].first;
      EXPECT_TRUE(rig.leave(members[gone].second).ok());
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(gone));
      EXPECT_EQ(rig.receivers(0, left), places{}) << log << ": " << left;
    }
  }
}

TEST(multicast, an_entry_has_room_for_so_many_members) {
  multicast_rig rig(with_groups(7, 6), 9);  // 64 bytes: 8 members
  std::vector<membership_handle> all;
  for (std::size_t i = 0; i < 8; ++i) all.push_back(rig.must_join(i, 5));
  EXPECT_TRUE(rig.join(8, 5).is(driver_error::exceeds_limits));
  EXPECT_EQ(rig.receivers(8, 5), (places{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(rig.leave(all[3]).ok());
  all[3] = rig.must_join(8, 5);
  EXPECT_EQ(rig.receivers(3, 5), (places{0, 1, 2, 4, 5, 6, 7, 8}));
  for (const membership_handle m : all) EXPECT_TRUE(rig.leave(m).ok());
}

TEST(multicast, what_cannot_be_is_refused_without_a_command) {
  multicast_rig rig;
  rig.add_pair(qp_service::rc);
  const auto commands = [&] { return rig.adapter.commands().statistics().posted; };
  const std::uint64_t posted = commands();
  EXPECT_TRUE(rig.join(3, 1).is(driver_error::unsupported)) << "a connection";
  const auto outcome = [&](const group_attributes& a) {
    join_group op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    EXPECT_FALSE(op.made());
    return s;
  };
  gid host = group(1);
  host.raw[0] = 0xfe;
  EXPECT_TRUE(outcome({rig.table, rig.queue[0], host}).is(driver_error::bad_argument));
  EXPECT_EQ(rig.objects.refused().what, attribute_id::multicast_gid);
  EXPECT_EQ(rig.objects.refused().value, 0xfeu);
  EXPECT_TRUE(outcome({rig.table, rig.queue[0], gid{}}).is(driver_error::bad_argument));
  EXPECT_TRUE(
      outcome({rig.table, rig.queue[0], gid_of_ipv4(0x0a000001)}).is(driver_error::bad_argument));
  EXPECT_TRUE(outcome({{}, rig.queue[0], group(1)}).is(driver_error::stale_handle));
  EXPECT_TRUE(outcome({rig.table, {}, group(1)}).is(driver_error::stale_handle));
  EXPECT_TRUE(rig.leave({}).is(driver_error::stale_handle));
  const auto second = rig.objects.create<multicast_table>();
  EXPECT_TRUE(!second.ok() && second.error().is(driver_error::no_resource));
  EXPECT_EQ(commands(), posted);
  destroy_queue_pair destroy;
  destroy.start(rig.objects, rig.queue[3]);
  EXPECT_TRUE(rig.await(destroy).ok());
  rig.queue.pop_back();
}

TEST(multicast, members_are_in_use_and_there_are_so_many_of_them) {
  multicast_rig rig;
  std::vector<membership_handle> all{rig.must_join(0, 0)};
  EXPECT_TRUE(rig.join(0, 0).is(driver_error::busy)) << "a member already";
  EXPECT_TRUE(rig.objects.destroy(rig.table).is(driver_error::busy));
  destroy_queue_pair destroy;
  destroy.start(rig.objects, rig.queue[0]);
  EXPECT_TRUE(rig.await(destroy).is(driver_error::busy));
  EXPECT_TRUE(rig.objects.destroy(all[0]).is(driver_error::busy)) << "an operation does that";
  for (unsigned n = 1; n < every_kind().count<group_membership>(); ++n)
    all.push_back(rig.must_join(n % 3, n));
  const status s = rig.join(1, 99);
  EXPECT_TRUE(s.is(driver_error::no_resource)) << words(s);
  EXPECT_EQ(s.where(), group_membership::facts.item);
  for (const membership_handle m : all) EXPECT_TRUE(rig.leave(m).ok());
}

TEST(multicast, one_change_is_under_way_at_a_time) {
  multicast_rig rig;
  const membership_handle first = rig.must_join(0, 1);
  join_group a, b;
  leave_group c;
  a.start(rig.objects, {rig.table, rig.queue[1], group(1)});
  b.start(rig.objects, {rig.table, rig.queue[2], group(1)});
  c.start(rig.objects, first);
  EXPECT_TRUE(rig.objects.destroy(rig.table).is(driver_error::busy));
  EXPECT_TRUE(rig.await(b).is(driver_error::busy));
  EXPECT_TRUE(rig.await(c).is(driver_error::busy));
  EXPECT_TRUE(rig.await(a).ok());
  EXPECT_EQ(rig.receivers(2, 1), (places{0, 1}));
  EXPECT_TRUE(rig.leave(first).ok());
  EXPECT_TRUE(rig.leave(a.made()).ok());
}

TEST(multicast, an_ipv4_group_is_one) {
  multicast_rig rig;
  join_group op;
  op.start(rig.objects, {rig.table, rig.queue[0], gid_of_ipv4(0xe0000001)});
  EXPECT_TRUE(rig.await(op).ok());
  EXPECT_TRUE(rig.leave(op.made()).ok());
}

TEST(multicast, a_table_that_the_driver_did_not_write_is_a_bad_reply) {
  multicast_rig rig(with_groups(1), 2);  // one chain
  const membership_handle a = rig.must_join(0, 1), b = rig.must_join(1, 2);
  using head = layouts::mcg_header;
  const auto spoil = [&](std::uint32_t entry, auto change) {
    std::byte* const at = rig.adapter.contexts().memory(context_table::mcg, entry).host;
    const auto was = layouts::image<head>::from_bytes(at);
    auto now = was;
    change(now);
    std::memcpy(at, now.data(), head::bytes);
    EXPECT_TRUE(rig.join(0, 7).is(transport_error::bad_reply)) << entry;
    std::memcpy(at, was.data(), head::bytes);
  };
  spoil(0, [](auto& h) { h.template set<&head::members_count>(57); });
  spoil(0, [](auto& h) { h.template set<&head::next_gid_index>(2); });
  spoil(1, [](auto& h) { h.template set<&head::members_count>(0); });
  spoil(1, [](auto& h) { h.template set<&head::next_gid_index>(1); });
  EXPECT_EQ(rig.receivers(0, 1), (places{0}));
  EXPECT_EQ(rig.receivers(0, 2), (places{1}));
  std::byte* const at = rig.adapter.contexts().memory(context_table::mcg, 0).host;
  const auto was = layouts::image<head>::from_bytes(at);
  std::memset(at, 0, head::bytes);
  EXPECT_TRUE(rig.leave(a).is(transport_error::bad_reply));
  std::memcpy(at, was.data(), head::bytes);
  EXPECT_TRUE(rig.leave(a).ok());
  EXPECT_TRUE(rig.leave(b).ok());
}

/// The memory of an entry, which a test spoils as a device could that is not to be trusted.
class spoiled_entry {
 public:
  using head = layouts::mcg_header;
  spoiled_entry(multicast_rig& rig, std::uint32_t entry)
      : at_(rig.adapter.contexts().memory(context_table::mcg, entry).host),
        was_(layouts::image<head>::from_bytes(at_)) {}
  ~spoiled_entry() { std::memcpy(at_, was_.data(), head::bytes); }
  template <auto Row, class Value>
  void set(const Value& value) {
    auto now = was_;
    now.template set<Row>(value);
    std::memcpy(at_, now.data(), head::bytes);
  }
  void set_group(const gid& to) {
    auto now = was_;
    now.template set_bytes<&head::gid>(reinterpret_cast<const std::byte*>(to.raw));
    std::memcpy(at_, now.data(), head::bytes);
  }

 private:
  std::byte* at_;
  layouts::image<head> was_;
};

// The fuzzer found it: the memory of an entry that the device named came back, and was never lent.
TEST(multicast, a_chain_that_leads_to_an_entry_without_a_member_is_a_bad_reply) {
  multicast_rig rig;
  const membership_handle a = rig.must_join(0, 1);
  {
    spoiled_entry first(rig, rig.objects.find(a)->entry);
    first.set<&layouts::mcg_header::next_gid_index>((1u << rig.adapter.opened_with().log_mcgs) - 1);
    EXPECT_TRUE(rig.leave(a).is(transport_error::bad_reply));
  }
  EXPECT_EQ(rig.receivers(1, 1), places{0});
  EXPECT_TRUE(rig.leave(a).ok());
}

TEST(multicast, a_member_leaves_its_own_entry_or_none) {
  multicast_rig rig(with_groups(1), 2);  // one chain
  const membership_handle a = rig.must_join(0, 1), b = rig.must_join(0, 2);
  {
    spoiled_entry first(rig, rig.objects.find(a)->entry);
    first.set_group(group(2));
    EXPECT_TRUE(rig.leave(b).is(transport_error::bad_reply));
  }
  EXPECT_EQ(rig.receivers(1, 1), places{0});
  EXPECT_EQ(rig.receivers(1, 2), places{0});
  EXPECT_TRUE(rig.leave(b).ok());
  EXPECT_TRUE(rig.leave(a).ok());
}

/// A change of a chain of three groups. Each way to end an entry is one of them.
struct change {
  const char* name;
  bool joins;
  unsigned group;  // 1 is the first in the chain
};
void PrintTo(const change& c, std::ostream* to) {
  *to << c.name;
}

class multicast_trouble : public ::testing::TestWithParam<change> {
 protected:
  multicast_trouble() {
    rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
    if (GetParam().group != 0)
      for (unsigned i = 1; i <= 2; ++i) members.push_back(rig.must_join(0, nth(i)));
  }
  ~multicast_trouble() override {
    if (!rig.table) return;
    for (const membership_handle m : members)
      EXPECT_TRUE(rig.objects.find(m) == nullptr || rig.leave(m).ok());
  }
  /// The hash of the modelled adapter is the same for all of them.
  static unsigned nth(unsigned group) { return 1u << group; }
  unsigned number() const { return nth(joins() ? 3 : GetParam().group); }
  bool joins() const { return GetParam().joins; }

  /// Starts the change. Joins are of queue pair 1.
  operation& start() {
    join.reset();
    leave.reset();
    if (joins()) {
      join.emplace();
      join->start(rig.objects, {rig.table, rig.queue[1], group(number())});
      return *join;
    }
    leave.emplace();
    leave->start(rig.objects, members[GetParam().group - 1]);
    return *leave;
  }
  /// The n-th command from now on, counted from 1, gets this fate.
  void strike(unsigned n, fate what) {
    struck = {};
    rig.machine.adapter().judge_commands(
        [this, n, what, seen = 0u](opcode code, std::uint32_t) mutable -> model::command_verdict {
          if (code == opcode::mad_ifc || ++seen != n) return {};
          struck = code;
          return {.what = what, .status = layouts::command_status::internal_error};
        });
  }
  void calm() { rig.machine.adapter().judge_commands({}); }
  void run_until_held(operation& op) {
    rig.run([&] { return op.done() || rig.machine.adapter().held_commands() != 0; });
  }
  /// Runs until the late answers have come, and nothing is under way.
  void end_doubt() {
    EXPECT_TRUE(rig.run(
        [&] {
          return rig.adapter.commands().slots_in_use() == 0 && rig.objects.holdings().in_doubt == 0;
        },
        clock::seconds(1)));
    rig.settle();
  }
  void expect_groups(bool changed) {
    for (unsigned i = 1; i <= members.size(); ++i) {
      const bool gone = changed && !joins() && i == GetParam().group;
      EXPECT_EQ(rig.receivers(2, nth(i)), (gone ? places{} : places{0})) << i;
    }
    if (!joins()) return;
    EXPECT_EQ(rig.receivers(2, number()), (changed ? places{1} : places{}));
  }
  /// Takes back what a change that was carried out has changed.
  void undo() {
    if (!joins()) members[GetParam().group - 1] = rig.must_join(0, number());
    else EXPECT_TRUE(rig.leave(join->made()).ok());
  }

  multicast_rig rig{with_groups(2), 3};
  std::vector<membership_handle> members;
  std::optional<join_group> join;
  std::optional<leave_group> leave;
  opcode struck{};
};

TEST_P(multicast_trouble, a_refusal_changes_nothing) {
  const auto before = counts(rig);
  unsigned n = 1;
  for (;; ++n) {
    strike(n, fate::refuse);
    const status s = rig.await(start());
    calm();
    if (s.ok()) break;
    EXPECT_EQ(s.who(), origin::firmware) << words(s);
    EXPECT_EQ(s.where(), static_cast<unsigned>(struck));
    rig.settle();
    EXPECT_EQ(counts(rig), before) << n;
    expect_groups(false);
  }
  EXPECT_GT(n, 3u);
  expect_groups(true);
  undo();
}

TEST_P(multicast_trouble, a_cancelled_change_is_made_or_not) {
  const auto before = counts(rig);
  unsigned n = 1;
  for (;; ++n) {
    strike(n, fate::hold);
    operation& op = start();
    run_until_held(op);
    if (op.done()) break;
    op.cancel();
    EXPECT_TRUE(rig.await(op).is(driver_error::cancelled));
    calm();
    rig.machine.adapter().release_held_commands();
    end_doubt();
    if (!joins() && rig.objects.find(members[GetParam().group - 1]) == nullptr) {
      expect_groups(true);
      undo();
    } else {
      expect_groups(false);
    }
    EXPECT_EQ(counts(rig), before) << n << layouts::name_of(struck);
  }
  calm();
  EXPECT_GT(n, 3u);
  undo();
}

TEST_P(multicast_trouble, a_dropped_change_is_made_or_not) {
  const auto before = counts(rig);
  for (unsigned n = 1;; ++n) {
    strike(n, fate::hold);
    operation& op = start();
    run_until_held(op);
    if (op.done()) break;
    join.reset();
    leave.reset();
    calm();
    rig.machine.adapter().release_held_commands();
    end_doubt();
    if (!joins() && rig.objects.find(members[GetParam().group - 1]) == nullptr) undo();
    expect_groups(false);
    EXPECT_EQ(counts(rig), before) << n << layouts::name_of(struck);
  }
  calm();
  undo();
}

/// An unanswered command: with a late answer that does the work, and with one that refuses.
TEST_P(multicast_trouble, an_unanswered_change_is_in_doubt_until_the_late_answer) {
  const auto before = counts(rig);
  for (const bool refused : {true, false}) {
    for (unsigned n = 1;; ++n) {
      strike(n, fate::hold);
      const status s = rig.await(start());
      calm();
      if (s.ok()) break;
      ASSERT_TRUE(s.is(transport_error::timeout)) << words(s);
      const bool written = struck == opcode::write_mcg;
      EXPECT_EQ(rig.objects.holdings().in_doubt, written ? 2u : 0u) << n;
      if (written) {
        EXPECT_TRUE(rig.join(2, 50).is(driver_error::busy)) << "the table is in doubt";
        destroy_queue_pair destroy;
        destroy.start(rig.objects, rig.queue[joins() ? 1 : 0]);
        EXPECT_TRUE(rig.await(destroy).is(driver_error::busy));
      }
      ASSERT_TRUE(rig.machine.adapter().answer_held_command(
          0, {refused ? fate::refuse : fate::run, layouts::command_status::internal_error}));
      end_doubt();
      if (!joins() && rig.objects.find(members[GetParam().group - 1]) == nullptr) {
        EXPECT_TRUE(written && !refused);
        expect_groups(true);
        undo();
      }
      expect_groups(false);
      EXPECT_EQ(counts(rig), before) << n << layouts::name_of(struck);
    }
    undo();
  }
}

TEST_P(multicast_trouble, a_reset_ends_it) {
  for (unsigned n = 1; n < 20; ++n) {
    strike(n, fate::hold);
    operation& op = start();
    run_until_held(op);
    calm();
    const bool last = op.done();
    operation again;
    rig.adapter.recover(again);
    EXPECT_TRUE(rig.await(again).ok());
    EXPECT_TRUE(op.done());
    EXPECT_TRUE(last || op.outcome().is(transport_error::reset)) << words(op.outcome());
    EXPECT_TRUE(rig.objects.holdings().none()) << n;
    rig.abandon();
    if (last) break;
    // The next one begins from the same objects.
    rig.queue.clear();
    members.clear();
    rig.memory->region = {};
    rig.memory.reset();
    rig.domain = rig.objects.create<protection_domain>().value();
    create_completion_queue create;
    create.start(rig.objects, {.entries = 127});
    ASSERT_TRUE(rig.await(create).ok());
    rig.cq = create.made();
    rig.memory.emplace(rig, rig.domain, 64 * slot_bytes, 0, memory_access{.local_write = true});
    for (unsigned i = 0; i < 3; ++i) rig.add_pair(qp_service::ud);
    rig.make_table();
    rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
    if (GetParam().group != 0)
      for (unsigned i = 1; i <= 2; ++i) members.push_back(rig.must_join(0, nth(i)));
  }
  EXPECT_FALSE(rig.table);
  rig.memory->region = {};
}

INSTANTIATE_TEST_SUITE_P(of, multicast_trouble,
                         ::testing::Values(change{"the_first_member", true, 0},
                                           change{"a_further_group", true, 1},
                                           change{"the_first_group", false, 1},
                                           change{"the_last_group", false, 2}),
                         [](const auto& p) { return p.param.name; });

TEST(multicast_owners, an_event_owner_has_no_table) {
  rig_options how = exact();
  how.budget.completion_event_queues = 2;
  verbs_rig rig(how);
  static constexpr verbs_budget all = every_kind();
  testing::storage room(verbs::event_owner_storage_bytes(all));
  verbs owner;
  ASSERT_TRUE(
      owner.open(rig.adapter, all, {.completion_context = 1}, room.at(), room.bytes()).ok());
  const auto made = owner.create<multicast_table>();
  EXPECT_TRUE(!made.ok() && made.error().is(driver_error::unsupported));
  EXPECT_TRUE(owner.close().ok());
}

}  // namespace
}  // namespace freehca
