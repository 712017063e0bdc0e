// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A budget of far more objects than there are. The driver touches no place of the storage in which
// there never was an object.
#include <sys/mman.h>

#include <freehca/hca/objects/slab.hpp>

#include "verbs_rig.hpp"

namespace freehca {
namespace {

constexpr std::uint32_t many = 100'000, used = 8;
using counting_handle = handle<counting_completion_queue>;

/// Storage in which most pages cannot be accessed.
class sparse_storage {
 public:
  explicit sparse_storage(std::size_t bytes)
      : bytes_(bytes),
        at_(static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  ~sparse_storage() { munmap(at_, bytes_); }
  sparse_storage(const sparse_storage&) = delete;
  sparse_storage& operator=(const sparse_storage&) = delete;
  std::byte* at() { return at_; }
  std::size_t bytes() const { return bytes_; }
  /// From now on, an access to a page that is whole between the two offsets ends the process.
  void forbid(std::size_t from, std::size_t to) {
    constexpr std::size_t page = 4096;
    from = (from + page - 1) / page * page;
    to = to / page * page;
    ASSERT_LT(from, to);
    ASSERT_EQ(mprotect(at_ + from, to - from, PROT_NONE), 0);
  }

 private:
  std::size_t bytes_;
  std::byte* at_;
};

struct large_budget : ::testing::Test {
  static constexpr verbs_budget of_many =
      verbs_budget{}.with<protection_domain>(many).with<counting_completion_queue>(many);
  sparse_storage memory{verbs::storage_bytes(testing::without_spares(), of_many)};
  testing::verbs_rig rig{testing::exact()};
  unsigned told = 0;
  void (*at_completion)(large_budget& test, cq_handle queue) = nullptr;
  destroy_counting_completion_queue destroy_other;
  create_counting_completion_queue create_other;
  counting_handle other;

  void SetUp() override {
    ASSERT_TRUE(rig.objects.close().ok());
    // The slabs are at the beginning of the storage, in the order of the kinds.
    std::size_t from = 0;
    for (const kind* const k : {&kind_of<protection_domain>, &kind_of<counting_completion_queue>}) {
      memory.forbid(from + std::size_t{used} * k->bytes, from + slab::storage_bytes_for(*k, many));
      from += slab::storage_bytes_for(*k, many);
    }
    verbs_events events;
    events.context = this;
    events.completion = [](void* to, cq_handle queue, void*) noexcept {
      auto& t = *static_cast<large_budget*>(to);
      ++t.told;
      if (t.at_completion != nullptr) t.at_completion(t, queue);
    };
    ASSERT_TRUE(rig.objects.open(rig.adapter, of_many, memory.at(), memory.bytes(), events).ok());
  }
  void TearDown() override { EXPECT_TRUE(rig.objects.close().ok()); }

  counting_handle queue() {
    create_counting_completion_queue op;
    op.start(rig.objects, {.entries = 3});
    EXPECT_TRUE(rig.await(op).ok());
    return op.made();
  }
  void destroy(counting_handle h) {
    destroy_counting_completion_queue op;
    op.start(rig.objects, h);
    EXPECT_TRUE(rig.await(op).ok());
  }
};

TEST_F(large_budget, costs_the_storage_of_the_objects_that_there_were) {
  const auto first = rig.objects.create<protection_domain>();
  const auto second = rig.objects.create<protection_domain>();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(rig.objects.destroy(first.value()).ok());
  const auto third = rig.objects.create<protection_domain>();
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third.value().index, first.value().index) << "a place that is free again comes first";
  EXPECT_EQ(rig.objects.find(first.value()), nullptr);
  auto never = second.value();
  never.index += many - 2;
  EXPECT_EQ(rig.objects.find(never), nullptr);
  EXPECT_TRUE(rig.objects.destroy(never).is(driver_error::stale_handle));

  const counting_handle queues[] = {queue(), queue(), queue()};
  destroy(queues[1]);
  EXPECT_EQ(rig.objects.holdings().objects, 4u);
  rig.objects.find(queues[2])->wake_at(0);
  EXPECT_EQ(rig.objects.next_deadline(), 0u);
  rig.objects.poll();
  EXPECT_EQ(told, 1u);

  operation again;
  rig.adapter.recover(again);
  ASSERT_TRUE(rig.await(again).ok());
  EXPECT_TRUE(rig.objects.holdings().none());
  EXPECT_EQ(rig.objects.find(queues[2]), nullptr);
  destroy(queue());
}

TEST_F(large_budget, callbacks_of_polled_objects_may_create_and_destroy_such_objects) {
  const counting_handle first = queue();
  other = queue();
  for (const counting_handle h : {first, other}) rig.objects.find(h)->wake_at(0);
  at_completion = [](large_budget& test, cq_handle) {
    test.destroy_other.start(test.rig.objects, test.other);
    test.create_other.start(test.rig.objects, {.entries = 3});
  };
  rig.objects.poll();
  EXPECT_EQ(told, 1u) << "the other queue is not live any more";
  EXPECT_TRUE(rig.await(destroy_other).ok());
  ASSERT_TRUE(rig.await(create_other).ok());
  EXPECT_EQ(told, 1u);
  at_completion = nullptr;
  for (const counting_handle h : {first, create_other.made()}) rig.objects.find(h)->wake_at(0);
  rig.objects.poll();
  EXPECT_EQ(told, 3u);
  destroy(first);
  destroy(create_other.made());
}

}  // namespace
}  // namespace freehca
