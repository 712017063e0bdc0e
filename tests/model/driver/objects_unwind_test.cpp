// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every command in the life of verbs objects fails once: refused, answered late in both ways, never answered.
#include <functional>

#include "counts.hpp"
#include "hoard.hpp"

namespace freehca {
namespace {

using namespace testing;
using fate = model::command_verdict::fate;
using layouts::opcode;
using layouts::qp_state;

/// A region, a completion queue and a queue pair, from the cradle to the grave.
class life {
 public:
  explicit life(verbs_rig& rig) : rig_(rig), pages_(rig.machine.memory().allocate_scattered(3)) {}
  ~life() { rig_.machine.memory().release(pages_); }
  life(const life&) = delete;
  life& operator=(const life&) = delete;

  /// The first error, with what was made so far still there.
  status live() {
    domain_ = rig_.objects.create_protection_domain().value();
    create_memory_region mr;
    mr.start(rig_.objects, {.pd = domain_,
                            .pages = page_list(pages_.addresses.data(), 12, 8, 9000),
                            .virtual_address = 8});
    FREEHCA_TRY(rig_.await(mr));
    region_ = mr.region();
    create_completion_queue cq;
    cq.start(rig_.objects, {.entries = 100});
    FREEHCA_TRY(rig_.await(cq));
    completion_ = cq.queue();
    create_queue_pair qp;
    qp.start(rig_.objects, {.pd = domain_,
                            .send_cq = completion_,
                            .receive_cq = completion_,
                            .sends = 4,
                            .receives = 4});
    FREEHCA_TRY(rig_.await(qp));
    queue_ = qp.queue();
    connection_attributes a;
    a.remote_qpn = rig_.objects.qpn(queue_);
    a.address.dlid = rig_.adapter.port(1).lid;
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts, qp_state::error,
                              qp_state::reset, qp_state::init}) {
      modify_queue_pair change;
      change.start(rig_.objects, queue_, to, a);
      FREEHCA_TRY(rig_.await(change));
      query_queue_pair query;
      if (to == qp_state::reset) continue;
      query.start(rig_.objects, queue_);
      FREEHCA_TRY(rig_.await(query));
      EXPECT_EQ(query.context().get<&layouts::qpc::state>(), to);
    }
    return die();
  }
  /// Destroys what is there; what the failed attempt took along is gone already.
  status die() {
    FREEHCA_TRY(gone<destroy_queue_pair>(queue_));
    FREEHCA_TRY(gone<destroy_completion_queue>(completion_));
    FREEHCA_TRY(gone<destroy_memory_region>(region_));
    if (domain_) FREEHCA_TRY(rig_.objects.destroy(domain_));
    domain_ = {};
    return {};
  }

 private:
  template <class Destroy, class Handle>
  status gone(Handle& h) {
    if (!h) return {};
    Destroy op;
    op.start(rig_.objects, h);
    const status s = rig_.await(op);
    if (!s.ok() && !s.is(driver_error::stale_handle)) return s;
    h = {};
    return {};
  }
  verbs_rig& rig_;
  in_process::host_memory_map::scattered_pages pages_;
  pd_handle domain_;
  mr_handle region_;
  cq_handle completion_;
  qp_handle queue_;
};

struct objects_unwind_test : ::testing::Test {
  std::unique_ptr<verbs_rig> rig;
  unsigned seen = 0;
  opcode struck{};

  void make(bool function_level_reset = true) {
    rig_options how = testing::exact();
    how.machine.function_level_reset = function_level_reset;
    rig = std::make_unique<verbs_rig>(how);
    rig->adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
  }
  void fail_command(unsigned n, model::command_verdict verdict) {
    seen = 0;
    struck = opcode{};
    rig->machine.adapter().judge_commands(
        [this, n, verdict](opcode code, std::uint32_t) -> model::command_verdict {
          // What the device itself asks in between is no part of a life.
          if (code == opcode::mad_ifc || ++seen != n) return {};
          struck = code;
          return verdict;
        });
  }
  unsigned commands_of_a_life() {
    fail_command(0, {});
    life whole(*rig);
    EXPECT_TRUE(whole.live().ok());
    return seen;
  }
  std::string place(unsigned n) {
    return "command " + std::to_string(n) + ", opcode " +
           std::to_string(static_cast<unsigned>(struck));
  }
  void settle() {
    rig->machine.adapter().judge_commands({});
    rig->machine.adapter().release_held_commands();
    EXPECT_TRUE(
        rig->run([&] { return rig->adapter.commands().slots_in_use() == 0; }, clock::seconds(1)));
    rig->run([] { return false; }, clock::milliseconds(50));
  }
  void TearDown() override {
    EXPECT_EQ(rig->machine.adapter().complaints(), 0u);
    rig.reset();
  }
};

TEST_F(objects_unwind_test, refused) {
  make();
  const auto before = counts(*rig);
  const unsigned commands = commands_of_a_life();
  ASSERT_GE(commands, 16u);
  EXPECT_EQ(counts(*rig), before);
  for (unsigned n = 1; n <= commands; ++n) {
    fail_command(n, {.what = fate::refuse});
    {
      life cut_short(*rig);
      const status s = cut_short.live();
      EXPECT_EQ(s.who(), origin::firmware) << place(n) << ": " << words(s);
      rig->machine.adapter().judge_commands({});
      EXPECT_TRUE(cut_short.die().ok()) << place(n);
    }
    if (struck == opcode::unmap_icm) {
      // The pages stay out until a reset, and nothing else does.
      EXPECT_TRUE(rig->objects.holdings().none()) << place(n);
      make();
      continue;
    }
    EXPECT_EQ(counts(*rig), before) << place(n);
  }
}

TEST_F(objects_unwind_test, answered_late) {
  make();
  const auto before = counts(*rig);
  const unsigned commands = commands_of_a_life();
  for (const fate f : {fate::hold, fate::hold_and_refuse})
    for (unsigned n = 1; n <= commands; ++n) {
      fail_command(n, {.what = f});
      {
        life cut_short(*rig);
        const status s = cut_short.live();
        EXPECT_TRUE(s.is(transport_error::timeout)) << place(n) << ": " << words(s);
        EXPECT_NE(counts(*rig), before) << place(n) << ": something is held";
        const device_holdings held = rig->adapter.holdings();
        EXPECT_EQ(held.slots_in_doubt, 1u) << place(n);
        if (struck != opcode::query_qp && struck != opcode::map_icm &&
            struck != opcode::unmap_icm) {
          EXPECT_EQ(held.numbers_in_doubt, 1u) << place(n);
        }
        // Somebody takes all that is left: the late answer lands in nothing of it.
        hoard rest(rig->adapter);
        rig->machine.on_adapter_write = [&](std::uint64_t address, std::size_t bytes) {
          EXPECT_FALSE(rest.has_page(address) || rest.has_page(address + bytes - 1)) << place(n);
        };
        settle();
        rig->machine.on_adapter_write = {};
        EXPECT_TRUE(rest.untouched()) << place(n);
        rest.give_back();
        EXPECT_TRUE(cut_short.die().ok()) << place(n);
      }
      if (struck == opcode::unmap_icm && f == fate::hold_and_refuse) {
        EXPECT_TRUE(rig->objects.holdings().none()) << place(n);
        make();
        continue;
      }
      EXPECT_TRUE(rig->run([&] { return counts(*rig) == before; }, clock::seconds(1)))
          << place(n) << (f == fate::hold ? " done late" : " refused late");
    }
}

TEST_F(objects_unwind_test, never_answered_is_held_until_the_reset) {
  make();
  const unsigned commands = commands_of_a_life();
  for (unsigned n = 1; n <= commands; n += 2) {
    fail_command(n, {.what = fate::lose_answer});
    {
      life cut_short(*rig);
      const status s = cut_short.live();
      EXPECT_TRUE(s.is(transport_error::timeout)) << place(n) << ": " << words(s);
      rig->run([] { return false; }, clock::seconds(2));
      EXPECT_EQ(rig->adapter.commands().slots_in_use(), 1u) << place(n) << ": held for good";
      rig->machine.adapter().judge_commands({});
      rig->adapter.lost();
      operation down;
      rig->adapter.tear_down(down);
      ASSERT_TRUE(rig->run([&] { return down.done(); })) << place(n);
      EXPECT_TRUE(rig->objects.holdings().none()) << place(n);
      EXPECT_TRUE(rig->adapter.holdings().none()) << place(n);
    }
    make(n % 4 == 1);  // every other one is reset through the register
  }
}

}  // namespace
}  // namespace freehca
