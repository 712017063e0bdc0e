// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How long a program's memory stays taken, what a teardown leaves to the next bring-up, and how
// much of its storage an adapter touches.
#include <sys/mman.h>

#include <unistd.h>

#include <memory>
#include <vector>

#include "easy_rig.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;
using testing::easy_rig;
using testing::words;

// The device has the region, the operation is to end early, and the undo is not answered: until the
// late answer, the device may use the memory.
TEST(easy_memory, stays_taken_while_the_undoing_of_its_region_is_in_doubt) {
  easy_rig rig;
  rig.bring_up();
  rig.settle();
  easy::adapter& hca = rig.hca;
  const auto before = rig.counts();
  unsigned registered = 0, undone = 0;
  rig.machine.adapter().judge_commands([&](opcode code, std::uint32_t) -> model::command_verdict {
    registered += code == opcode::sw2hw_mpt ? 1u : 0u;
    undone += code == opcode::hw2sw_mpt ? 1u : 0u;
    const bool held = code == opcode::sw2hw_mpt || code == opcode::hw2sw_mpt;
    return {.what = held ? fate::hold : fate::run};
  });
  // Both are answered in one poll, and the first to be completed cancels the second.
  easy::allocating first, second;
  first.then(
      [](operation&, void* other) noexcept { static_cast<easy::allocating*>(other)->cancel(); },
      &second);
  first.start(hca, 4096);
  second.start(hca, 4096);
  const std::size_t taken = hca.hardware().arena().bytes_out();
  ASSERT_TRUE(rig.run([&] { return registered == 2; }, clock::seconds(1)));
  rig.settle();
  rig.machine.adapter().release_held_commands();
  rig.machine.run([] { return false; }, [] { return clock::never; }, clock::milliseconds(1));
  EXPECT_FALSE(rig.await(second).ok());
  EXPECT_TRUE(first.outcome().ok()) << words(first.outcome());
  ASSERT_EQ(undone, 1u) << "else this tests nothing";
  EXPECT_EQ(hca.objects().holdings().in_doubt, 1u);
  EXPECT_EQ(hca.hardware().arena().bytes_out(), taken);
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  rig.settle();
  EXPECT_LT(hca.hardware().arena().bytes_out(), taken);
  rig.must(hca.release(first.value().value()));
  rig.settle();
  EXPECT_EQ(rig.counts(), before);
}

// An orderly teardown takes back everything. The next life of the adapter must not go on with that
// when it takes back what an operation left.
TEST(easy_teardown, that_was_orderly_leaves_the_connections_of_the_next_bring_up_alone) {
  easy_rig rig;
  easy::adapter& hca = rig.hca;
  rig.bring_up();
  static_cast<void>(rig.get(hca.open_rc()));
  rig.must(hca.tear_down());
  rig.bring_up();
  const easy::memory memory = rig.get(hca.allocate(4096));
  const easy::connection c = rig.get(hca.open_rc());
  rig.settle();
  const auto before = rig.counts();
  unsigned left = 0;
  for (std::uint64_t wait = 0; wait < 25'000; wait += 1'000) {
    auto opens =
        std::make_unique<easy::opening>(hca, layouts::qp_service::ud, easy::connection_options{});
    rig.run([&] { return opens->done(); }, wait);
    if (opens->done()) break;
    opens.reset();
    left += hca.places_taken() > 2 ? 1u : 0u;
    rig.settle();
    ASSERT_EQ(rig.counts(), before) << wait;
  }
  EXPECT_GT(left, 0u) << "else this tests nothing";
  rig.must(hca.connect(c, c.self));
  rig.must(hca.release(memory));
}

TEST(easy_teardown, that_was_refused_is_orderly_the_next_time) {
  easy_rig rig;
  easy::adapter& hca = rig.hca;
  rig.bring_up();
  static_cast<void>(rig.get(hca.open_rc()));
  rig.machine.adapter().judge_commands([](opcode code, std::uint32_t) -> model::command_verdict {
    return {.what = code == opcode::to_rst_qp ? fate::refuse : fate::run};
  });
  auto down = hca.tear_down();
  static_cast<void>(rig.await(down));
  ASSERT_EQ(hca.hardware().state(), device_state::down);
  EXPECT_EQ(hca.places_taken(), 0u);
  rig.machine.adapter().judge_commands({});
  rig.bring_up();
  static_cast<void>(rig.get(hca.open_rc()));
  const std::uint64_t resets = hca.hardware().info().resets;
  rig.must(hca.tear_down());
  EXPECT_EQ(hca.hardware().info().resets, resets);
}

/// Storage whose touched pages can be counted.
class counted_storage {
 public:
  explicit counted_storage(std::size_t bytes)
      : bytes_(bytes),
        at_(static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    EXPECT_NE(at_, MAP_FAILED);
    // Without it, one touch may count as 512 pages. A kernel that has no huge pages refuses it.
    static_cast<void>(madvise(at_, bytes_, MADV_NOHUGEPAGE));
  }
  ~counted_storage() { munmap(at_, bytes_); }
  counted_storage(const counted_storage&) = delete;
  counted_storage& operator=(const counted_storage&) = delete;

  std::byte* at() const { return at_; }
  std::size_t touched_pages() const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> present((bytes_ + page - 1) / page);
    EXPECT_EQ(mincore(at_, bytes_, present.data()), 0);
    std::size_t n = 0;
    for (const unsigned char p : present) n += p & 1u;
    return n;
  }

 private:
  std::size_t bytes_;
  std::byte* at_;
};

/// The pages of the storage that are touched by a program with two memories and two connections.
/// The budget has `objects` of each kind.
std::size_t pages_touched_with(std::uint32_t objects) {
  easy::sizes how = easy_rig::exact_sizes();
  how.objects =
      how.objects.with<memory_region>(objects).with<completion_queue>(objects).with<queue_pair>(
          objects);
  const std::size_t bytes = easy::adapter::storage_bytes(how);
  const counted_storage storage(bytes);
  in_process::machine machine;
  easy::adapter hca;
  EXPECT_TRUE(hca.open({.platform = machine.platform(),
                        .size = how,
                        .storage = storage.at(),
                        .storage_bytes = bytes,
                        .events = {}})
                  .ok());
  const auto run = [&](auto&& op) {
    EXPECT_TRUE(machine.run([&] { return op.done(); },
                            [&] {
                              hca.poll();
                              return hca.next_deadline();
                            },
                            clock::seconds(100)));
    EXPECT_TRUE(op.outcome().ok()) << words(op.outcome());
    if constexpr (requires { op.value(); }) return op.value().value();
  };
  run(hca.bring_up());
  const easy::memory from = run(hca.allocate(4096));
  const easy::memory to = run(hca.allocate(4096, easy::rights::remote_write));
  const easy::connection a = run(hca.open_rc()), b = run(hca.open_rc());
  run(hca.connect(a, b.self));
  run(hca.connect(b, a.self));
  EXPECT_TRUE(a.post(queues::rdma_write{.remote = to.remote(), .data = from.part(0, 64)}).ok());
  EXPECT_TRUE(run(hca.next(a)).ok());
  EXPECT_EQ(hca.places_taken(), 4u);
  run(hca.close(a));
  run(hca.tear_down());
  return storage.touched_pages();
}

TEST(easy_costs, do_not_grow_with_the_budget) {
  constexpr std::size_t borders = 16;  // of arrays that begin within a page
  EXPECT_LE(pages_touched_with(1u << 16), pages_touched_with(16) + borders);
}

}  // namespace
}  // namespace freehca
