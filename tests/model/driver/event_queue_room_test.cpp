// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Event queues have room for all that can stand in them, and one that runs full all the same is
// the end of the device.
#include <freehca/firmware_cmds/nop.hpp>
#include <freehca/hca/device_plan.hpp>
#include <freehca/layouts/eqe.hpp>

#include "rc_pair.hpp"

namespace freehca {
namespace {

using layouts::qp_state;

struct armed_queues {
  explicit armed_queues(testing::verbs_rig& r, unsigned count)
      : rig(r), domain(r.objects.create<protection_domain>().value()) {
    for (unsigned i = 0; i < count; ++i) {
      create_completion_queue cq;
      cq.start(rig.objects, {.entries = 8});
      EXPECT_TRUE(rig.await(cq).ok());
      completions.push_back(cq.made());
      create_queue_pair qp;
      qp.start(
          rig.objects,
          {.pd = domain, .send_cq = cq.made(), .receive_cq = cq.made(), .sends = 4, .receives = 1});
      EXPECT_TRUE(rig.await(qp).ok());
      pairs.push_back(qp.made());
      connection_attributes a;
      a.remote_qpn = qpn_of(rig.objects, qp.made());
      a.address = infiniband_path{.dlid = rig.adapter.port(1).lid};
      for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
        modify_queue_pair m;
        m.start(rig.objects, qp.made(), to, a);
        EXPECT_TRUE(rig.await(m).ok());
      }
    }
  }
  void destroy() {
    for (const qp_handle h : pairs) {
      destroy_queue_pair d;
      d.start(rig.objects, h);
      EXPECT_TRUE(rig.await(d).ok());
    }
    for (const cq_handle h : completions) {
      destroy_completion_queue d;
      d.start(rig.objects, h);
      EXPECT_TRUE(rig.await(d).ok());
    }
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
  }
  testing::verbs_rig& rig;
  pd_handle domain;
  std::vector<cq_handle> completions;
  std::vector<qp_handle> pairs;
};

TEST(event_queue_room, is_for_an_event_of_each_completion_queue) {
  constexpr unsigned queues = 40;
  unsigned told = 0;
  testing::rig_options how;
  how.objects = every_kind().with<completion_queue>(queues).with<queue_pair>(queues);
  how.budget.log_completion_eq_entries = 4;
  how.budget.log_asynchronous_eq_entries = 4;
  how.events.context = &told;
  how.events.completion = [](void* n, cq_handle, void*) noexcept { ++*static_cast<unsigned*>(n); };
  testing::verbs_rig rig(how);
  armed_queues all(rig, queues);
  for (const cq_handle h : all.completions) rig.objects.find(h)->rings.arm();
  for (const qp_handle h : all.pairs)
    ASSERT_TRUE(rig.objects.find(h)->rings.send.post_and_ring(queues::nop{}).ok());
  // The program is busy with something else.
  rig.machine.advance(clock::milliseconds(50));
  rig.run([] { return false; }, clock::milliseconds(50));
  EXPECT_EQ(told, queues);
  EXPECT_TRUE(rig.adapter.up());
  all.destroy();
}

TEST(event_queue_room, grows_with_the_budget) {
  budget b;
  EXPECT_EQ(device_plan::log_completion_eq_entries(b), b.log_completion_eq_entries);
  EXPECT_EQ(device_plan::log_asynchronous_eq_entries(b), b.log_asynchronous_eq_entries);
  b.log_cqs = 14;
  EXPECT_EQ(device_plan::log_completion_eq_entries(b), 14u);
  EXPECT_GT(device_plan(b).dma_bytes, device_plan(budget{}).dma_bytes);
  b.command_slots = 256;
  EXPECT_EQ(device_plan::log_asynchronous_eq_entries(b), 9u);
}

TEST(event_queue_room, that_no_queue_can_have_is_refused_by_the_name_of_the_budget) {
  budget b;
  b.log_cqs = device_plan::most_log_eq_entries + 1;
  testing::storage room(16);
  in_process::machine machine;
  device adapter;
  const device_setup setup{.platform = machine.platform(),
                           .budget = b,
                           .storage = room.at(),
                           .storage_bytes = room.bytes()};
  const status s = adapter.open(setup);
  EXPECT_TRUE(s.is(driver_error::bad_argument)) << testing::words(s);
  EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::cqs));
}

/// An event that tells of the device itself, written by hand where the next asynchronous one goes.
class device_event : public ::testing::TestWithParam<layouts::event_type> {
 protected:
  /// Where the entry of the last asynchronous event is.
  std::byte* last_entry() {
    std::uint64_t last_event = 0;
    rig.machine.on_adapter_write = [&](std::uint64_t address, std::size_t bytes) {
      // The word with the owner bit goes last, by itself.
      if (bytes == 8) last_event = address;
    };
    firmware_command<commands::nop> q;
    rig.adapter.commands().submit(q);
    EXPECT_TRUE(rig.await(q).ok());
    rig.machine.on_adapter_write = {};
    return rig.machine.memory().find(last_event + 8 - layouts::eqe::bytes, 128);
  }
  /// Writes the next one. The device does not know of it: whatever it tells next is lost.
  void tell(std::byte* last) {
    using l = layouts::eqe;
    layouts::image<l> e;
    e.set<&l::event_type>(GetParam())
        .set<&l::owner>(layouts::image<l>::from_bytes(last).get<&l::owner>());
    std::memcpy(last + rig.adapter.capabilities().eqe_bytes, e.data(), l::bytes);
    event_context& queue = rig.adapter.asynchronous_context();
    const std::uint64_t before = queue.statistics().events;
    rig.objects.poll();
    EXPECT_EQ(queue.statistics().events, before + 1);
    EXPECT_EQ(queue.statistics().unknown, 0u);
  }
  testing::verbs_rig rig;
};

using conditions = device_event;

TEST_P(conditions, of_an_event_queue_that_was_full_ends_everything) {
  const bool ends = GetParam() == layouts::event_type::eq_overflow ||
                    GetParam() == layouts::event_type::local_catastrophic_error;
  const auto expected = GetParam() == layouts::event_type::eq_overflow
                            ? transport_error::events_lost
                            : transport_error::gone;
  std::byte* const last = last_entry();
  ASSERT_NE(last, nullptr);
  create_completion_queue cq;
  cq.start(rig.objects, {.entries = 8});
  tell(last);
  EXPECT_EQ(rig.adapter.up(), !ends);
  if (ends) {
    const status s = rig.await(cq);
    EXPECT_TRUE(s.is(expected)) << testing::words(s);
    EXPECT_EQ(rig.adapter.state(), device_state::failed);
  }
  operation again;
  rig.adapter.recover(again);
  EXPECT_TRUE(rig.await(again).ok());
  EXPECT_TRUE(rig.adapter.up());
}

INSTANTIATE_TEST_SUITE_P(each, conditions,
                         ::testing::Values(layouts::event_type::eq_overflow,
                                           layouts::event_type::local_catastrophic_error,
                                           layouts::event_type::ecc_detect,
                                           layouts::event_type::fatal_warning),
                         [](const auto& p) { return "type_" + std::to_string(unsigned(p.param)); });

}  // namespace
}  // namespace freehca
