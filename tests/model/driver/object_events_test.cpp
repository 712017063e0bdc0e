// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Each asynchronous event of a queue pair or a shared receive queue reaches the owner, with the
// handle of the object.
#include <cstring>

#include <freehca/firmware_cmds/nop.hpp>
#include <freehca/layouts/eqe.hpp>

#include "rc_pair.hpp"

namespace freehca {
namespace {

using layouts::eqe_qp, layouts::event_type;

struct object_event_test : ::testing::TestWithParam<event_type> {
  struct delivered {
    qp_handle pair;
    srq_handle shared;
    void* cookie = nullptr;
    event_type type = event_type::none;
    unsigned count = 0;
  };
  testing::rig_options how() {
    testing::rig_options o;
    o.events.context = &last;
    o.events.qp = [](void* to, qp_handle pair, void* cookie, event_type type) noexcept {
      auto& d = *static_cast<delivered*>(to);
      d = {pair, {}, cookie, type, d.count + 1};
    };
    o.events.srq = [](void* to, srq_handle shared, void* cookie, event_type type) noexcept {
      auto& d = *static_cast<delivered*>(to);
      d = {{}, shared, cookie, type, d.count + 1};
    };
    return o;
  }
  /// The adapter writes the completion event of a command twice. The second one is made an event of
  /// the object instead. The number is at the same offset for both kinds of object.
  void raise(event_type type, std::uint32_t number) {
    rig.machine.adapter().judge_events([](event_type of) {
      return of == event_type::command_completion ? model::event_fate::twice
                                                  : model::event_fate::deliver;
    });
    bool second = false;
    rig.machine.alter_adapter_write = [&](std::uint64_t, std::byte* to, std::size_t count) {
      constexpr std::size_t owner_word = 8;  // written last, by itself
      if (count != layouts::eqe::bytes - owner_word) return;
      layouts::image<eqe_qp> e;
      std::memcpy(e.data(), to, count);
      if (e.get<&eqe_qp::event_type>() != event_type::command_completion) return;
      if (second) {
        e = {};
        e.set<&eqe_qp::event_type>(type).set<&eqe_qp::qpn>(number);
        std::memcpy(to, e.data(), count);
      }
      second = !second;
    };
    firmware_command<commands::nop> n;
    rig.adapter.commands().submit(n);
    ASSERT_TRUE(rig.await(n).ok());
    rig.run([] { return false; }, clock::milliseconds(5));
    rig.machine.adapter().judge_events({});
    rig.machine.alter_adapter_write = {};
  }

  delivered last;
  testing::verbs_rig rig{how()};
};

using queue_pair_event_test = object_event_test;

TEST_P(queue_pair_event_test, reaches_the_owner_and_an_error_moves_the_queue_pair) {
  testing::rc_pair pair(rig);
  pair.connect();
  raise(GetParam(), qpn_of(rig.objects, pair.queue[1]));
  EXPECT_EQ(last.count, 1u);
  EXPECT_EQ(last.pair, pair.queue[1]);
  EXPECT_EQ(last.type, GetParam());
  const bool error = GetParam() == event_type::wq_catastrophic_error ||
                     GetParam() == event_type::wq_invalid_request_error ||
                     GetParam() == event_type::wq_access_violation;
  EXPECT_EQ(rig.objects.find(pair.queue[1])->qp_state,
            error ? layouts::qp_state::error : layouts::qp_state::rts);
  EXPECT_EQ(rig.objects.find(pair.queue[0])->qp_state, layouts::qp_state::rts);
}

INSTANTIATE_TEST_SUITE_P(
    each, queue_pair_event_test,
    ::testing::Values(event_type::path_migrated, event_type::communication_established,
                      event_type::sq_drained, event_type::wq_catastrophic_error,
                      event_type::path_migration_failed, event_type::wq_invalid_request_error,
                      event_type::wq_access_violation, event_type::srq_last_wqe),
    [](const auto& p) { return "type_" + std::to_string(unsigned(p.param)); });

using shared_receive_queue_event_test = object_event_test;

TEST_P(shared_receive_queue_event_test, reaches_the_owner) {
  const pd_handle domain = rig.objects.create<protection_domain>().value();
  int cookie = 0;
  create_shared_receive_queue make;
  make.start(rig.objects, {.pd = domain, .receives = 7, .cookie = &cookie});
  ASSERT_TRUE(rig.await(make).ok());
  raise(GetParam(), rig.objects.find(make.made())->number);
  EXPECT_EQ(last.count, 1u);
  EXPECT_EQ(last.shared, make.made());
  EXPECT_EQ(last.cookie, &cookie);
  EXPECT_EQ(last.type, GetParam());
  destroy_shared_receive_queue away;
  away.start(rig.objects, make.made());
  EXPECT_TRUE(rig.await(away).ok());
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

INSTANTIATE_TEST_SUITE_P(each, shared_receive_queue_event_test,
                         ::testing::Values(event_type::srq_limit,
                                           event_type::srq_catastrophic_error),
                         [](const auto& p) { return "type_" + std::to_string(unsigned(p.param)); });

}  // namespace
}  // namespace freehca
