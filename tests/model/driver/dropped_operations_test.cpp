// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Operations that are destroyed under way: each type at each moment of its life, on the heap, so
// that a later touch of one is an error that the sanitizers see. Afterwards everything counts as
// before: at once, after the late answer, or after the reset.
#include <memory>

#include <freehca/firmware_cmds/nop.hpp>
#include <freehca/firmware_cmds/raw_command.hpp>
#include <freehca/hca/context_tables.hpp>

#include "counts.hpp"
#include "easy_rig.hpp"
#include "owners_rig.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;
using layouts::qp_state;

in_process::machine_options slow_commands() {
  in_process::machine_options o;
  o.model.faults.command_latency_ns = 20'000;
  return o;
}

/// So long in virtual time, or until the operation is done. Nothing is polled in no time.
template <class Rig>
bool run_for(Rig& rig, std::uint64_t time, const operation& until) {
  if (time != 0) rig.run([&] { return until.done(); }, time);
  return until.done();
}

/// Drops what `begin` makes at once, and after one, two ... steps of time, until it is done before
/// that. `end` takes back
/// what is left; it is given the operation when that is done, and null when it was dropped.
/// `same` says whether everything counts as before.
template <class Rig, class Begin, class End, class Same>
void drop_at_each_moment(Rig& rig, const char* what, Begin begin, End end, Same same) {
  constexpr unsigned most_moments = 500;
  constexpr std::uint64_t step = clock::microseconds(3);  // a command takes 20
  for (unsigned moment = 0; moment < most_moments; ++moment) {
    auto op = begin();
    const bool done = run_for(rig, moment * step, *op);
    if (done) {
      EXPECT_TRUE(op->outcome().ok()) << what << ": " << testing::words(op->outcome());
      end(op.get());
    }
    op.reset();
    rig.run([] { return false; }, clock::milliseconds(50));
    if (!done) end(nullptr);
    rig.run([] { return false; }, clock::milliseconds(50));
    ASSERT_TRUE(same()) << what << ", moment " << moment;
    if (!done) continue;
    EXPECT_GT(moment, 1u) << what;
    return;
  }
  ADD_FAILURE() << what << " is never done";
}

class dropped : public ::testing::Test {
 protected:
  dropped() : rig(options()), domain(rig.objects.create<protection_domain>().value()) {}
  ~dropped() override {
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
  }
  static testing::rig_options options() {
    testing::rig_options how = testing::exact();
    how.machine = slow_commands();
    return how;
  }
  template <class Begin, class End>
  void at_each_moment(const char* what, Begin begin, End end) {
    rig.run([] { return false; }, clock::milliseconds(50));
    const std::vector<std::uint64_t> before = testing::counts(rig);
    drop_at_each_moment(rig, what, begin, end, [&] {
      EXPECT_EQ(testing::counts(rig), before);
      return testing::counts(rig) == before;
    });
  }
  template <class Operation, class... Arguments>
  std::unique_ptr<Operation> started(const Arguments&... arguments) {
    auto op = std::make_unique<Operation>();
    op->start(rig.objects, arguments...);
    return op;
  }
  template <class K>
  void destroy(handle<K> which) {
    destroy_object<K> op;
    op.start(rig.objects, which);
    const status s = rig.await(op);
    EXPECT_TRUE(s.ok()) << testing::words(s);
  }
  /// create_object<K> and destroy_object<K>.
  template <class K>
  void both_at_each_moment(const typename K::attributes& a) {
    at_each_moment(
        K::facts.name, [&] { return started<create_object<K>>(a); },
        [&](create_object<K>* made) {
          if (made != nullptr) destroy(made->made());
        });
    handle<K> object;
    at_each_moment(
        K::facts.name,
        [&] {
          create_object<K> create;
          create.start(rig.objects, a);
          EXPECT_TRUE(rig.await(create).ok());
          object = create.made();
          return started<destroy_object<K>>(object);
        },
        [&](destroy_object<K>*) {
          if (rig.objects.find(object) != nullptr) destroy(object);
        });
  }
  cq_handle completions() {
    create_completion_queue cq;
    cq.start(rig.objects, {.entries = 31});
    EXPECT_TRUE(rig.await(cq).ok());
    return cq.made();
  }

  testing::verbs_rig rig;
  pd_handle domain;
};

TEST_F(dropped, creations_and_destructions_of_objects_end_as_if_cancelled) {
  both_at_each_moment<completion_queue>({.entries = 200});
  both_at_each_moment<shared_receive_queue>({.pd = domain, .receives = 16});
  const auto pages = rig.machine.memory().allocate_scattered(3);
  both_at_each_moment<memory_region>({.pd = domain,
                                      .pages = page_list(pages.addresses.data(), 12, 0, 3 * 4096),
                                      .virtual_address = 0x10000,
                                      .access = {.local_write = true}});
  rig.machine.memory().release(pages);
  const cq_handle cq = completions();
  both_at_each_moment<queue_pair>(
      {.pd = domain, .send_cq = cq, .receive_cq = cq, .sends = 8, .receives = 8});
  destroy(cq);
}

TEST_F(dropped, changes_and_queries_of_objects_end_as_if_cancelled) {
  const cq_handle cq = completions();
  const queue_pair_attributes shape{
      .pd = domain, .send_cq = cq, .receive_cq = cq, .sends = 8, .receives = 8};
  qp_handle pair;
  const auto make = [&] {
    create_queue_pair create;
    create.start(rig.objects, shape);
    EXPECT_TRUE(rig.await(create).ok());
    pair = create.made();
  };
  const auto in_init = [&] {
    modify_queue_pair m;
    m.start(rig.objects, pair, qp_state::init);
    EXPECT_TRUE(rig.await(m).ok());
  };
  at_each_moment(
      "modify",
      [&] {
        make();
        return started<modify_queue_pair>(pair, qp_state::init);
      },
      [&](modify_queue_pair*) { destroy(pair); });
  at_each_moment(
      "modify to error",
      [&] {
        make();
        in_init();
        return started<modify_queue_pair>(pair, qp_state::error);
      },
      [&](modify_queue_pair*) { destroy(pair); });
  at_each_moment(
      "query",
      [&] {
        make();
        in_init();
        return started<query_queue_pair>(pair);
      },
      [&](query_queue_pair*) { destroy(pair); });
  destroy(cq);
  create_shared_receive_queue srq;
  srq.start(rig.objects, {.pd = domain, .receives = 16});
  ASSERT_TRUE(rig.await(srq).ok());
  at_each_moment(
      "arm", [&] { return started<arm_shared_receive_queue>(srq.made(), 3u); },
      [](arm_shared_receive_queue*) {});
  destroy(srq.made());
}

TEST_F(dropped, a_creation_that_is_not_answered_stays_in_doubt_until_the_late_answer) {
  const std::vector<std::uint64_t> before = testing::counts(rig);
  rig.machine.adapter().judge_commands([](opcode o, std::uint32_t) -> model::command_verdict {
    return {.what = o == opcode::sw2hw_cq ? fate::hold : fate::run};
  });
  auto op = started<create_completion_queue>(completion_queue_attributes{.entries = 8});
  rig.run([&] { return rig.adapter.commands().in_flight() != 0; });
  rig.run([] { return false; }, clock::milliseconds(1));
  op.reset();
  rig.run([] { return false; }, clock::milliseconds(20));
  EXPECT_EQ(rig.objects.holdings().objects, 2u);
  EXPECT_EQ(rig.objects.holdings().in_doubt, 1u);
  EXPECT_EQ(rig.adapter.holdings().numbers_in_doubt, 1u);
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  rig.run([] { return false; }, clock::milliseconds(500));
  EXPECT_EQ(testing::counts(rig), before);
}

TEST_F(dropped, one_that_was_refused_or_told_to_end_is_unheard) {
  const std::vector<std::uint64_t> before = testing::counts(rig);
  started<create_completion_queue>(completion_queue_attributes{.entries = 0}).reset();
  started<query_queue_pair>(qp_handle{}).reset();
  auto cancelled = started<create_completion_queue>(completion_queue_attributes{.entries = 8});
  cancelled->cancel();
  cancelled.reset();
  auto limited = std::make_unique<create_completion_queue>();
  limited->set_deadline(rig.machine.time() + 1);
  limited->start(rig.objects, {.entries = 8});
  limited.reset();
  rig.run([] { return false; }, clock::milliseconds(50));
  EXPECT_EQ(testing::counts(rig), before);
}

TEST_F(dropped, commands_and_queries_of_ports_are_forgotten_by_the_channel) {
  const auto nothing = [](auto) {};
  at_each_moment(
      "typed command",
      [&] {
        auto op = std::make_unique<firmware_command<commands::nop>>();
        rig.adapter.commands().submit(*op);
        return op;
      },
      nothing);
  command_client client(rig.adapter.commands());
  std::byte box[mailbox::bytes];
  at_each_moment(
      "raw command",
      [&] {
        auto op = std::make_unique<raw_command>();
        op->request.opcode = opcode::query_fw;
        op->set_output_mailbox(box, sizeof box);
        client.submit(*op);
        return op;
      },
      nothing);
  // Behind another on the same object, and ended but not told yet.
  at_each_moment(
      "command that waits for its object",
      [&] {
        auto first = std::make_unique<command>();
        auto op = std::make_unique<command>();
        for (command* c : {first.get(), op.get()}) {
          c->request.opcode = opcode::nop;
          c->request.key = {object_kind::qp, 77};
          rig.adapter.commands().submit(*c);
        }
        return op;
      },
      nothing);
  at_each_moment(
      "PortInfo",
      [&] {
        auto op = std::make_unique<port_query>();
        op->start(rig.adapter.commands(), 1);
        return op;
      },
      nothing);
  at_each_moment(
      "GUIDs",
      [&] {
        auto op = std::make_unique<guid_query>();
        op->start(rig.adapter.commands(), 1, 0);
        return op;
      },
      nothing);
}

TEST_F(dropped, requests_for_context_memory_hold_nothing) {
  at_each_moment(
      "map",
      [&] {
        auto op = std::make_unique<context_request>();
        rig.adapter.contexts().map(*op, {context_group::qp, 1500, 20});
        return op;
      },
      [&](context_request* mapped) {
        if (mapped == nullptr) return;
        context_request back;
        rig.adapter.contexts().unmap(back, {context_group::qp, 1500, 20});
        EXPECT_TRUE(rig.await(back).ok());
      });
  at_each_moment(
      "unmap",
      [&] {
        context_request map;
        rig.adapter.contexts().map(map, {context_group::qp, 1500, 20});
        EXPECT_TRUE(rig.await(map).ok());
        auto op = std::make_unique<context_request>();
        rig.adapter.contexts().unmap(*op, {context_group::qp, 1500, 20});
        return op;
      },
      [](context_request*) {});
}

TEST_F(dropped, operations_on_ports_leave_the_port_to_the_next_one) {
  const auto as_wanted = [&](bool open) {
    rig.run([] { return false; }, clock::milliseconds(50));
    if (rig.adapter.port_open(1) == open) return;
    port_operation op;
    open ? op.open(rig.adapter, 1) : op.close(rig.adapter, 1);
    const status s = rig.await(op);
    EXPECT_TRUE(s.ok()) << testing::words(s);
  };
  for (const bool open : {false, true})
    at_each_moment(
        open ? "open" : "close",
        [&] {
          as_wanted(!open);
          auto op = std::make_unique<port_operation>();
          open ? op->open(rig.adapter, 1) : op->close(rig.adapter, 1);
          return op;
        },
        [&](port_operation*) { as_wanted(true); });
}

TEST(dropped_sequence, of_the_device_goes_on_as_if_cancelled) {
  for (unsigned step = 0; step < 40; ++step) {
    testing::device_rig rig(slow_commands(), testing::without_spares());
    rig.setup.port_wait = clock::milliseconds(50);
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    const auto drop_one = [&](void (device::*begin)(operation&)) {
      auto op = std::make_unique<operation>();
      (rig.adapter.*begin)(*op);
      run_for(rig, step * clock::microseconds(150), *op);
      op.reset();
      rig.run_for(clock::seconds(20));
    };
    drop_one(&device::bring_up);
    const device_state then = rig.adapter.state();
    EXPECT_TRUE(then == device_state::down || then == device_state::up) << step;
    if (then == device_state::down) {
      ASSERT_TRUE(rig.bring_up().ok()) << step;
    }
    drop_one(&device::recover);
    EXPECT_TRUE(rig.adapter.up() || rig.adapter.state() == device_state::down) << step;
    if (!rig.adapter.up()) {
      ASSERT_TRUE(rig.bring_up().ok()) << step;
    }
    drop_one(&device::tear_down);
    EXPECT_EQ(rig.adapter.state(), device_state::down) << step;
    EXPECT_TRUE(rig.adapter.holdings().none()) << step;
    EXPECT_EQ(rig.complaints(), "");
  }
}

TEST(dropped_sequence, that_was_refused_is_unheard) {
  testing::device_rig rig;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok());
  auto op = std::make_unique<operation>();
  rig.adapter.bring_up(*op);
  op.reset();
  rig.run_for(clock::milliseconds(5));
  EXPECT_TRUE(rig.tear_down().ok());
}

// ---- What a program uses.

class dropped_easy : public ::testing::Test {
 protected:
  dropped_easy() : rig(testing::easy_rig::exact_sizes(), slow_commands()) { rig.bring_up(); }
  template <class Begin, class End>
  void at_each_moment(const char* what, Begin begin, End end) {
    rig.settle();
    const std::vector<std::uint64_t> before = rig.counts();
    drop_at_each_moment(
        rig, what,
        [&] {
          using operation_type = decltype(begin());
          return std::unique_ptr<operation_type>(::new operation_type(begin()));
        },
        end,
        [&] {
          EXPECT_EQ(rig.counts(), before);
          return rig.counts() == before;
        });
  }

  testing::easy_rig rig;
};

TEST_F(dropped_easy, what_brings_something_is_taken_back) {
  at_each_moment(
      "allocate", [&] { return rig.hca.allocate(10'000); },
      [&](easy::allocating* made) {
        if (made != nullptr) rig.must(rig.hca.release(made->value().value()));
      });
  at_each_moment(
      "open_rc", [&] { return rig.hca.open_rc(); },
      [&](easy::opening* made) {
        if (made != nullptr) rig.must(rig.hca.close(made->value().value()));
      });
  at_each_moment(
      "open_ud", [&] { return rig.hca.open_ud(); },
      [&](easy::opening* made) {
        if (made != nullptr) rig.must(rig.hca.close(made->value().value()));
      });
}

TEST_F(dropped_easy, what_changes_or_takes_back_can_be_asked_for_again) {
  easy::memory memory;
  at_each_moment(
      "release",
      [&] {
        memory = rig.get(rig.hca.allocate(4096));
        return rig.hca.release(memory);
      },
      [&](easy::releasing*) {
        auto again = rig.hca.release(memory);
        const status s = rig.await(again);
        EXPECT_TRUE(s.ok() || s.is(driver_error::stale_handle)) << testing::words(s);
      });
  easy::connection one;
  at_each_moment(
      "close",
      [&] {
        one = rig.get(rig.hca.open_rc());
        return rig.hca.close(one);
      },
      [&](easy::closing*) {
        auto again = rig.hca.close(one);
        const status s = rig.await(again);
        EXPECT_TRUE(s.ok() || s.is(driver_error::stale_handle)) << testing::words(s);
      });
  at_each_moment(
      "connect",
      [&] {
        one = rig.get(rig.hca.open_rc());
        return rig.hca.connect(one, one.self);
      },
      [&](easy::connecting*) {
        rig.must(rig.hca.connect(one, one.self));
        rig.must(rig.hca.close(one));
      });
}

TEST_F(dropped_easy, who_waits_for_a_completion_is_forgotten) {
  const easy::memory m = rig.get(rig.hca.allocate(4096, easy::rights::all));
  const easy::connection c = rig.get(rig.hca.open_rc());
  rig.must(rig.hca.connect(c, c.self));
  auto first = std::make_unique<easy::next_completion>(rig.hca, c);
  auto second = std::make_unique<easy::next_completion>(rig.hca, c);
  auto third = std::make_unique<easy::next_completion>(rig.hca, c);
  second->set_deadline(rig.machine.time() + clock::seconds(5));
  rig.settle();
  first.reset();
  second->cancel();
  second.reset();
  ASSERT_TRUE(
      c.post(queues::rdma_write{.wr_id = 5, .remote = m.remote(64), .data = m.part(0, 8)}).ok());
  ASSERT_TRUE(rig.await(*third).ok());
  EXPECT_EQ(third->value().value().wr_id, 5u);
}

TEST(dropped_easy_sequence, bring_up_and_tear_down_go_on_as_if_cancelled) {
  for (unsigned step = 0; step < 30; ++step) {
    testing::easy_rig rig(testing::easy_rig::exact_sizes(), slow_commands());
    const auto wait = [&] { rig.run([] { return false; }, clock::seconds(20)); };
    {
      auto up = std::unique_ptr<easy::bringing_up>(::new easy::bringing_up(rig.hca));
      run_for(rig, step * clock::microseconds(200), *up);
    }
    wait();
    if (!rig.hca.up()) rig.bring_up();
    static_cast<void>(rig.get(rig.hca.allocate(4096)));
    static_cast<void>(rig.get(rig.hca.open_rc()));
    {
      auto down = std::unique_ptr<easy::tearing_down>(::new easy::tearing_down(rig.hca));
      run_for(rig, step * clock::microseconds(40), *down);
    }
    wait();
    EXPECT_EQ(rig.hca.hardware().state(), device_state::down) << step;
    EXPECT_EQ(rig.hca.places_taken(), 0u) << step;
    EXPECT_TRUE(rig.hca.hardware().holdings().none()) << step;
    rig.bring_up();
  }
}

// ---- Tasks.

easy::task<easy::no_result> wait_for(easy::frames&, easy::next_completion& one, int& reached) {
  reached = 1;
  co_await one;
  reached = 2;
  co_return easy::done;
}
easy::task<easy::no_result> wait_for_task(easy::frames&, easy::task<easy::no_result>& inner,
                                          int& reached) {
  reached = 1;
  co_await inner;
  reached = 2;
  co_return easy::done;
}
easy::task<bool> attempt_one(easy::frames&, easy::next_completion& one) {
  const result<queues::work_completion> r = co_await easy::attempt(one);
  co_return !r.ok() && r.error().is(driver_error::cancelled);
}

struct dropped_tasks : dropped_easy {
  alignas(16) std::byte room[4096];
  easy::frames memory{room};
};

TEST_F(dropped_tasks, end_as_cancelled_when_what_they_wait_for_is_destroyed) {
  const easy::connection c = rig.get(rig.hca.open_rc());
  int reached = 0;
  auto one = std::make_unique<easy::next_completion>(rig.hca, c);
  auto waits = wait_for(memory, *one, reached);
  one.reset();
  ASSERT_TRUE(waits.done());
  EXPECT_TRUE(waits.value().error().is(driver_error::cancelled));
  EXPECT_EQ(reached, 1);

  one = std::make_unique<easy::next_completion>(rig.hca, c);
  auto goes_on = attempt_one(memory, *one);
  one.reset();
  ASSERT_TRUE(goes_on.done());
  EXPECT_TRUE(goes_on.value().value());
}

TEST_F(dropped_tasks, that_are_let_go_may_lose_what_they_wait_for_before_the_next_poll) {
  const easy::connection c = rig.get(rig.hca.open_rc());
  int reached = 0;
  auto one = std::make_unique<easy::next_completion>(rig.hca, c);
  { auto waits = wait_for(memory, *one, reached); }
  one.reset();
  rig.settle();
  EXPECT_EQ(reached, 1);
}

TEST_F(dropped_tasks, end_as_cancelled_when_the_task_that_they_wait_for_is_let_go) {
  const easy::connection c = rig.get(rig.hca.open_rc());
  int inner_reached = 0, reached = 0;
  easy::next_completion one(rig.hca, c);
  using some_task = easy::task<easy::no_result>;
  auto inner = std::unique_ptr<some_task>(::new some_task(wait_for(memory, one, inner_reached)));
  auto outer = wait_for_task(memory, *inner, reached);
  inner.reset();
  ASSERT_TRUE(outer.done());
  EXPECT_TRUE(outer.value().error().is(driver_error::cancelled));
  rig.settle();
  EXPECT_EQ(inner_reached, 1);
  EXPECT_EQ(reached, 1);
}

// ---- Owners of event contexts.

TEST(dropped_of_an_owner, creations_end_as_if_cancelled) {
  testing::owners_rig rig(1, slow_commands());
  rig.open_all();
  testing::owners_rig::owner& o = rig.owners[0];
  const auto same = [&, before = o.objects.holdings().objects] {
    return o.objects.holdings().objects == before && o.objects.holdings().in_doubt == 0;
  };
  const pd_handle domain = o.objects.create<protection_domain>().value();
  const auto objects = o.objects.holdings().objects;
  const auto as_before = [&] {
    return o.objects.holdings().objects == objects && o.objects.holdings().in_doubt == 0;
  };
  drop_at_each_moment(
      rig, "completion queue",
      [&] {
        auto op = std::make_unique<create_completion_queue>();
        op->start(o.objects, {.entries = 20});
        return op;
      },
      [&](create_completion_queue* made) {
        if (made == nullptr) return;
        destroy_completion_queue destroy;
        destroy.start(o.objects, made->made());
        EXPECT_TRUE(rig.await(destroy).ok());
      },
      as_before);
  // Cancelled just before, so that the wish to stop is under way as well.
  drop_at_each_moment(
      rig, "shared receive queue",
      [&] {
        auto op = std::make_unique<create_shared_receive_queue>();
        op->start(o.objects, {.pd = domain, .receives = 16});
        return op;
      },
      [&](create_shared_receive_queue* made) {
        if (made == nullptr) return;
        destroy_shared_receive_queue destroy;
        destroy.start(o.objects, made->made());
        EXPECT_TRUE(rig.await(destroy).ok());
      },
      as_before);
  for (unsigned moment = 0; moment < 40; ++moment) {
    auto op = std::make_unique<create_completion_queue>();
    auto other = std::make_unique<create_completion_queue>();
    op->start(o.objects, {.entries = 20});
    other->start(o.objects, {.entries = 20});
    run_for(rig, moment * clock::microseconds(3), *op);
    op->cancel();
    op.reset();
    const status s = rig.await(*other);
    ASSERT_TRUE(s.ok()) << "another one is as before: " << testing::words(s);
    destroy_completion_queue destroy;
    destroy.start(o.objects, other->made());
    EXPECT_TRUE(rig.await(destroy).ok());
    rig.run([] { return false; }, clock::milliseconds(50));
    ASSERT_TRUE(as_before()) << moment << ": " << o.objects.holdings().objects << " objects, "
                             << o.objects.holdings().in_doubt << " in doubt";
  }
  EXPECT_TRUE(o.objects.destroy(domain).ok());
  EXPECT_TRUE(same());
}

}  // namespace
}  // namespace freehca
