// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The budget of the device is for all owners: one of them can use it up. A creation of another one
// then ends with the item of the budget, its objects work on, and the creation succeeds as soon as
// something is freed.
#include "control_owner.hpp"
#include "rc_pair.hpp"

namespace freehca::testing {
namespace {

/// Two connected queue pairs of an owner, and memory that they move.
template <class Owner>
struct traffic {
  explicit traffic(Owner& o) : of(o), pair(o) { pair.connect(); }

  void expect_data_to_move() {
    from.fill(std::byte{++value});
    ASSERT_TRUE(pair.send(0)
                    .post_and_ring(queues::rdma_write{.remote = {to.address(), to.key},
                                                      .data = from.entry(0, 100)})
                    .ok());
    EXPECT_TRUE(pair.next(0).ok());
    EXPECT_EQ(*to.at(99), std::byte{value});
  }
  status create(cq_handle& made) {
    create_completion_queue cq;
    cq.start(of.objects, {.entries = 63});
    const status s = of.await(cq);
    if (s.ok()) made = cq.made();
    return s;
  }
  status create(qp_handle& made) {
    create_queue_pair qp;
    qp.start(of.objects, {.pd = pair.domain,
                          .send_cq = pair.completion[0],
                          .receive_cq = pair.completion[0],
                          .sends = 4});
    const status s = of.await(qp);
    if (s.ok()) made = qp.made();
    return s;
  }
  void destroy(cq_handle made) {
    destroy_completion_queue gone;
    gone.start(of.objects, made);
    EXPECT_TRUE(of.await(gone).ok());
  }
  void destroy(qp_handle made) {
    destroy_queue_pair gone;
    gone.start(of.objects, made);
    EXPECT_TRUE(of.await(gone).ok());
  }
  /// A creation that lacks `what` holds nothing, and disturbs nothing.
  template <class Handle>
  void expect_lack_of(budget::item what, driver_error why) {
    const device_holdings before = of.adapter.holdings();
    const verbs_holdings own = of.objects.holdings();
    Handle none;
    const status s = create(none);
    EXPECT_TRUE(s.is(why)) << words(s);
    EXPECT_EQ(s.where(), static_cast<unsigned>(what)) << words(s);
    const device_holdings after = of.adapter.holdings();
    EXPECT_EQ(after.pages, before.pages);
    EXPECT_EQ(after.numbers, before.numbers);
    EXPECT_EQ(after.doorbells, before.doorbells);
    EXPECT_EQ(after.mappings, before.mappings);
    EXPECT_EQ(of.objects.holdings().objects, own.objects);
    expect_data_to_move();
  }
  template <class Handle>
  void expect_creation() {
    Handle made;
    const status s = create(made);
    ASSERT_TRUE(s.ok()) << words(s);
    destroy(made);
  }

  Owner& of;
  rc_pair_of<Owner> pair;
  registered_buffer_of<Owner> from{of, pair.domain, 100, 0, all_access};
  registered_buffer_of<Owner> to{of, pair.domain, 100, 0, all_access};
  unsigned char value = 0;
};

/// The control owner with objects of its own, and two event owners. The first completion context is
/// the control owner's.
struct owners_shortage : ::testing::Test {
  owners_rig rig{3};
  control of_control{rig};
  owners_rig::owner &first = rig.owners[1], &second = rig.owners[2];

  owners_shortage() {
    EXPECT_TRUE(first.open().ok());
    EXPECT_TRUE(second.open().ok());
  }
};

TEST_F(owners_shortage, of_memory_that_one_has_in_queues_ends_creations_of_the_others_alone) {
  traffic of_second(second);
  traffic of_control_owner(of_control);
  std::vector<cq_handle> made;
  // From half of the memory down to a page.
  for (std::uint32_t entries = (1u << 16) - 1; entries >= 63;) {
    create_completion_queue cq;
    cq.start(first.objects, {.entries = entries});
    const status s = rig.await(cq);
    if (s.ok()) {
      made.push_back(cq.made());
      continue;
    }
    ASSERT_TRUE(s.is(driver_error::no_memory)) << words(s);
    ASSERT_EQ(s.where(), static_cast<unsigned>(budget::item::queue_memory)) << words(s);
    entries /= 2;
  }
  ASSERT_GT(made.size(), 1u);
  EXPECT_EQ(rig.adapter.arena().bytes_out(), rig.setup.budget.queue_bytes);

  of_second.expect_lack_of<cq_handle>(budget::item::queue_memory, driver_error::no_memory);
  of_control_owner.expect_lack_of<cq_handle>(budget::item::queue_memory, driver_error::no_memory);
  const auto destroy = [&](cq_handle queue) {
    destroy_completion_queue gone;
    gone.start(first.objects, queue);
    EXPECT_TRUE(rig.await(gone).ok());
  };
  destroy(made.back());
  made.pop_back();
  of_second.expect_creation<cq_handle>();
  of_control_owner.expect_creation<cq_handle>();
  for (const cq_handle queue : made) destroy(queue);
}

TEST_F(owners_shortage, of_any_store_is_named_to_every_owner) {
  traffic of_second(second);
  traffic of_control_owner(of_control);
  number_spaces& n = rig.adapter.numbers();
  const auto each = [&](budget::item what, driver_error why, bool of_queue_pairs) {
    if (of_queue_pairs) {
      of_second.expect_lack_of<qp_handle>(what, why);
      of_control_owner.expect_lack_of<qp_handle>(what, why);
    } else {
      of_second.expect_lack_of<cq_handle>(what, why);
      of_control_owner.expect_lack_of<cq_handle>(what, why);
    }
  };
  struct numbered {
    number_allocator& space;
    budget::item what;
  };
  for (const numbered& each_of :
       {numbered{n.cqs, budget::item::cqs}, numbered{n.qps, budget::item::qps},
        numbered{n.mtts, budget::item::mtts}}) {
    std::vector<std::uint32_t> taken;
    for (auto one = each_of.space.allocate(); one.ok(); one = each_of.space.allocate())
      taken.push_back(one.value());
    each(each_of.what, driver_error::no_resource, each_of.what == budget::item::qps);
    for (const std::uint32_t number : taken) each_of.space.free(number);
    of_second.expect_creation<cq_handle>();
    of_second.expect_creation<qp_handle>();
    of_control_owner.expect_creation<cq_handle>();
    of_control_owner.expect_creation<qp_handle>();
  }
  std::vector<dma_region> taken;
  for (auto one = rig.adapter.doorbells().allocate(64); one.ok();
       one = rig.adapter.doorbells().allocate(64))
    taken.push_back(one.value());
  each(budget::item::doorbell_records, driver_error::no_memory, false);
  for (const dma_region& one : taken) rig.adapter.doorbells().free(one);
  of_second.expect_creation<cq_handle>();
  of_control_owner.expect_creation<cq_handle>();
}

/// Places for objects are the owner's own memory. The device has them when they are created.
TEST_F(owners_shortage, is_not_seen_when_an_owner_is_opened_with_more_places_than_the_device_has) {
  ASSERT_TRUE(second.objects.close().ok());
  const verbs_budget many =
      verbs_budget{}.with<completion_queue>((1u << rig.setup.budget.log_cqs) + 1);
  const std::size_t bytes = verbs::event_owner_storage_bytes(many);
  storage room(bytes);
  const device_holdings before = rig.adapter.holdings();
  verbs objects;
  const event_owner_setup how{.completion_context = 2};
  ASSERT_TRUE(objects.open(rig.adapter, many, how, room.at(), bytes).ok());
  EXPECT_EQ(rig.adapter.holdings().numbers, before.numbers + 1) << "its UAR page";
  EXPECT_EQ(rig.adapter.holdings().pages, before.pages);
  EXPECT_EQ(rig.adapter.holdings().mappings, before.mappings);
  EXPECT_EQ(rig.adapter.holdings().doorbells, before.doorbells);
  EXPECT_TRUE(objects.close().ok());
  EXPECT_EQ(rig.adapter.holdings().numbers, before.numbers);
}

}  // namespace
}  // namespace freehca::testing
