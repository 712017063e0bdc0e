// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Regions of the program's own memory: data at every alignment, addresses of data entries that are
// not the program's, 4 GiB and more, mappings that end with the region, memory that the program may
// only read, and memory that it unmaps too early.
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include "counts.hpp"
#include "easy_rig.hpp"
#include "owners_rig.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using queues::completion_status;
using fate = model::command_verdict::fate;

constexpr std::size_t page = 4096;
constexpr std::byte background{0xa5};

/// Pages of the program.
class pages {
 public:
  explicit pages(std::size_t count, int rights = PROT_READ | PROT_WRITE)
      : bytes_(count * page),
        at_(static_cast<std::byte*>(
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    for (std::size_t i = 0; i < bytes_; ++i) at_[i] = background;
    EXPECT_EQ(mprotect(at_, bytes_, rights), 0);
  }
  ~pages() { munmap(at_, bytes_); }
  pages(const pages&) = delete;
  pages& operator=(const pages&) = delete;

  std::byte* at(std::size_t offset) const { return at_ + offset; }
  void unmap(std::size_t first, std::size_t count) { munmap(at_ + first * page, count * page); }

 private:
  std::size_t bytes_;
  std::byte* at_;
};

/// Pages of the program that take memory only where they are touched.
struct reserved_memory {
  explicit reserved_memory(std::size_t size)
      : bytes(size),
        at(static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    EXPECT_NE(at, MAP_FAILED);
  }
  ~reserved_memory() { munmap(at, bytes); }
  reserved_memory(const reserved_memory&) = delete;
  reserved_memory& operator=(const reserved_memory&) = delete;

  const std::size_t bytes;
  std::byte* const at;
};

constexpr memory_access all_of_it{.local_write = true, .remote_read = true, .remote_write = true};

rig_options with_addresses(bool similar) {
  rig_options how = exact();
  how.machine.similar_addresses = similar;
  return how;
}

template <class Rig>
class region_of {
 public:
  region_of(Rig& rig, pd_handle domain, std::byte* first, std::size_t bytes,
            const memory_access& access = all_of_it,
            std::optional<std::uint64_t> virtual_address = {})
      : rig_(rig), base_(virtual_address.value_or(reinterpret_cast<std::uintptr_t>(first))) {
    create_memory_region create;
    create.start(rig.objects, {.pd = domain,
                               .virtual_address = virtual_address.value_or(0),
                               .access = access,
                               .relocated = virtual_address.has_value(),
                               .memory = {.first = first, .bytes = bytes}});
    outcome = rig.await(create);
    handle = create.made();
    key = key_of(rig.objects, handle);
  }
  ~region_of() { destroy(); }
  region_of(const region_of&) = delete;
  region_of& operator=(const region_of&) = delete;

  void destroy() {
    if (!handle) return;
    destroy_memory_region op;
    op.start(rig_.objects, handle);
    const status s = rig_.await(op);
    EXPECT_TRUE(s.ok()) << words(s);
    handle = {};
  }
  queues::data_entry entry(std::size_t offset, std::size_t bytes) const {
    return queues::entry_of(base_ + offset, bytes, key);
  }
  queues::remote_memory remote(std::size_t offset) const { return {base_ + offset, key}; }

  status outcome;
  mr_handle handle;
  std::uint32_t key = 0;

 private:
  Rig& rig_;
  std::uint64_t base_;  ///< the address of the first byte in data entries
};
using region = region_of<verbs_rig>;

struct program_memory_test : ::testing::TestWithParam<bool> {
  verbs_rig rig{with_addresses(GetParam())};
  rc_pair pair{rig};
  const std::size_t mappings = rig.machine.memory().mappings();
  const std::vector<std::uint64_t> before = counts(rig);

  program_memory_test() { pair.connect(); }
  ~program_memory_test() override {
    EXPECT_EQ(rig.machine.memory().mappings(), mappings);
    EXPECT_EQ(counts(rig), before);
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
  }
  completion_status write(const region& from, std::size_t source, const region& to,
                          std::size_t target, std::size_t bytes) {
    EXPECT_TRUE(pair.send(0)
                    .post_and_ring(queues::rdma_write{.remote = to.remote(target),
                                                      .data = from.entry(source, bytes)})
                    .ok());
    return pair.next(0).status;
  }
  status refusal(std::byte* first, std::size_t bytes, const memory_access& access = all_of_it) {
    return region(rig, pair.domain, first, bytes, access).outcome;
  }
};

TEST_P(program_memory_test, moves_data_at_every_alignment) {
  const std::size_t count = 9;
  const pages source(count), target(count);
  for (const std::size_t from : {0u, 1u, 4095u})
    for (const std::size_t to : {0u, 7u, 4095u})
      for (const std::size_t bytes : {std::size_t{1}, page, 2 * page + 1, 7 * page}) {
        const region a(rig, pair.domain, source.at(from), bytes);
        const region b(rig, pair.domain, target.at(to), bytes);
        ASSERT_TRUE(a.outcome.ok() && b.outcome.ok()) << words(a.outcome) << words(b.outcome);
        for (std::size_t i = 0; i < count * page; ++i) {
          *source.at(i) = static_cast<std::byte>(i * 7 + i / page + from);
          *target.at(i) = background;
        }
        ASSERT_EQ(write(a, 0, b, 0, bytes), completion_status::ok);
        for (std::size_t i = 0; i < count * page; ++i)
          ASSERT_EQ(*target.at(i), i - to < bytes ? *source.at(i - to + from) : background)
              << from << " to " << to << ", byte " << i << " of " << bytes;
      }
}

// What the adapter walks: one translation where addresses of program and device are alike.
TEST_P(program_memory_test, takes_the_largest_pages_that_fit) {
  const pages memory(64);
  const std::uint32_t out = rig.adapter.numbers().mtts.out();
  const region of_all(rig, pair.domain, memory.at(100), 60 * page);
  const std::uint32_t translations = rig.adapter.numbers().mtts.out() - out;
  EXPECT_EQ(translations, GetParam() ? 8u : 64u) << "in units of 8";
}

TEST_P(program_memory_test, may_have_other_addresses_in_data_entries) {
  constexpr std::size_t offset = 40, bytes = 3 * page;
  const pages source(4), target(4);
  *source.at(offset + 2 * page) = std::byte{1};
  const region from(rig, pair.domain, source.at(offset), bytes, all_of_it, offset);
  ASSERT_TRUE(from.outcome.ok()) << words(from.outcome);
  const std::uint64_t last = ~std::uint64_t{0} - (4 * page - 1);
  for (const std::uint64_t base : {std::uint64_t{}, 5 * page, std::uint64_t{1} << 63, last}) {
    const region to(rig, pair.domain, target.at(offset), bytes, all_of_it, base + offset);
    ASSERT_TRUE(to.outcome.ok()) << words(to.outcome);
    *target.at(offset + 2 * page) = background;
    EXPECT_EQ(write(from, 0, to, 0, bytes), completion_status::ok);
    EXPECT_EQ(*target.at(offset + 2 * page), std::byte{1});
    EXPECT_EQ(*target.at(offset + bytes), background);
  }
  const std::size_t with_source = rig.machine.memory().mappings();
  for (const std::uint64_t base : {offset + 1, last + offset + page}) {
    const region refused(rig, pair.domain, target.at(offset), bytes, all_of_it, base);
    EXPECT_TRUE(refused.outcome.is(driver_error::bad_argument)) << words(refused.outcome);
    EXPECT_EQ(rig.machine.memory().mappings(), with_source);
  }
  // The program's own addresses are then none of the region's.
  const region to(rig, pair.domain, target.at(offset), bytes, all_of_it, offset);
  const auto own = reinterpret_cast<std::uintptr_t>(target.at(offset));
  EXPECT_TRUE(
      pair.send(0)
          .post_and_ring(queues::rdma_write{.remote = {own, to.key}, .data = from.entry(0, 1)})
          .ok());
  EXPECT_EQ(pair.next(0).status, completion_status::remote_access);
}

TEST_P(program_memory_test, of_4_gib_and_more_has_large_pages_or_names_the_limit) {
  constexpr std::size_t far = std::size_t{4} << 30;
  const reserved_memory memory(far + (std::size_t{1} << 30));
  const pages source(1);
  const region from(rig, pair.domain, source.at(0), page);
  const std::size_t with_source = rig.machine.memory().mappings();
  const std::uint32_t out = rig.adapter.numbers().mtts.out();
  const region to(rig, pair.domain, memory.at + 1, far + 2 * page);
  if (GetParam()) {
    ASSERT_TRUE(to.outcome.ok()) << words(to.outcome);
    EXPECT_LE(rig.adapter.numbers().mtts.out() - out, 8u);
    EXPECT_EQ(write(from, 0, to, far + 1, 1), completion_status::ok);
    EXPECT_EQ(*(memory.at + far + 2), background);
    EXPECT_EQ(*(memory.at + 2), std::byte{}) << "the address is cut to 32 bits";
  } else {
    EXPECT_TRUE(to.outcome.is(driver_error::no_resource)) << words(to.outcome);
    EXPECT_EQ(to.outcome.where(), static_cast<unsigned>(budget::item::mtts));
    EXPECT_EQ(rig.machine.memory().mappings(), with_source);
  }
  // More than the largest pages could hold is refused before it is mapped: it is not there.
  const status s = refusal(memory.at, std::size_t{1} << 62);
  EXPECT_TRUE(s.is(driver_error::no_resource)) << words(s);
  EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::mtts));
}

TEST_P(program_memory_test, opens_no_byte_beside_the_region) {
  const pages memory(4), other(1);
  const region a(rig, pair.domain, other.at(0), page);
  const region b(rig, pair.domain, memory.at(page + 8), 64);
  EXPECT_EQ(write(a, 0, b, 64, 1), completion_status::remote_access);
  for (std::size_t i = 0; i < 4 * page; ++i) ASSERT_EQ(*memory.at(i), background);
}

TEST_P(program_memory_test, regions_may_overlap_and_end_in_any_order) {
  const pages memory(4), source(1);
  const region from(rig, pair.domain, source.at(0), page);
  region whole(rig, pair.domain, memory.at(0), 4 * page);
  region middle(rig, pair.domain, memory.at(page + 1), page);
  region again(rig, pair.domain, memory.at(page + 1), page);
  *source.at(0) = std::byte{1};
  whole.destroy();
  EXPECT_EQ(write(from, 0, middle, 0, 1), completion_status::ok);
  EXPECT_EQ(*memory.at(page + 1), std::byte{1});
  middle.destroy();
  *source.at(0) = std::byte{2};
  EXPECT_EQ(write(from, 0, again, 0, 1), completion_status::ok);
  EXPECT_EQ(*memory.at(page + 1), std::byte{2});
}

TEST_P(program_memory_test, is_refused_if_the_list_names_no_memory_or_two) {
  const pages memory(2);
  EXPECT_TRUE(refusal(nullptr, page).is(driver_error::bad_argument));
  EXPECT_TRUE(refusal(memory.at(0), 0).is(driver_error::bad_argument));
  EXPECT_TRUE(refusal(memory.at(0), ~std::size_t{0}).is(driver_error::bad_argument));
  EXPECT_TRUE(refusal(memory.at(8), ~std::size_t{0} - page).is(driver_error::bad_argument));
  std::byte* const last = reinterpret_cast<std::byte*>(~std::uintptr_t{0} - 2047);
  EXPECT_TRUE(refusal(last, ~std::size_t{0} - 4095).is(driver_error::bad_argument));
  EXPECT_TRUE(refusal(last, 8).is(driver_error::bad_argument));
  const std::uint64_t address = 5 * page;
  memory_region_attributes both{.pd = pair.domain,
                                .pages = page_list(&address, 12, 0, page),
                                .memory = {.first = memory.at(0), .bytes = page}};
  create_memory_region create;
  create.start(rig.objects, both);
  EXPECT_TRUE(rig.await(create).is(driver_error::bad_argument));
  both.pages = {};
  both.virtual_address = address;
  create.restart();
  create.start(rig.objects, both);
  EXPECT_TRUE(rig.await(create).is(driver_error::bad_argument));
}

TEST_P(program_memory_test, is_refused_if_the_program_may_not_do_what_the_device_would) {
  const pages closed(1, PROT_NONE), read_only(1, PROT_READ);
  pages holed(3);
  holed.unmap(1, 1);
  for (const status s : {refusal(closed.at(0), 8), refusal(read_only.at(0), 8),
                         refusal(holed.at(0), 3 * page), refusal(holed.at(0), 3 * page, {})}) {
    EXPECT_TRUE(s.is(transport_error::refused)) << words(s);
    EXPECT_EQ(s.where(), static_cast<unsigned>(EFAULT)) << words(s);
  }
}

TEST_P(program_memory_test, may_be_read_only_where_the_device_only_reads) {
  const pages source(2, PROT_READ), target(2);
  const region from(rig, pair.domain, source.at(1), page, {.remote_read = true});
  const region to(rig, pair.domain, target.at(0), page);
  ASSERT_TRUE(from.outcome.ok()) << words(from.outcome);
  EXPECT_EQ(write(from, 0, to, 0, 100), completion_status::ok);
  *target.at(5) = std::byte{};
  EXPECT_TRUE(
      pair.send(0)
          .post_and_ring(queues::rdma_read{.remote = from.remote(0), .data = to.entry(5, 1)})
          .ok());
  EXPECT_EQ(pair.next(0).status, completion_status::ok);
  EXPECT_EQ(*target.at(5), background);
  EXPECT_EQ(write(to, 0, from, 0, 1), completion_status::remote_access);
}

TEST_P(program_memory_test, that_is_unmapped_too_early_is_a_protection_error) {
  pages source(3);
  const pages target(3);
  const region from(rig, pair.domain, source.at(0), 3 * page);
  const region to(rig, pair.domain, target.at(0), 3 * page);
  source.unmap(1, 1);
  EXPECT_EQ(write(from, 0, to, 0, page), completion_status::ok);
  EXPECT_EQ(write(from, 0, to, 0, 2 * page), completion_status::local_protection);
}

TEST_P(program_memory_test, is_unmapped_if_the_firmware_refuses_the_region) {
  const pages memory(2);
  rig.machine.adapter().judge_commands([](layouts::opcode code, std::uint32_t) {
    return model::command_verdict{.what = code == layouts::opcode::sw2hw_mpt ? fate::refuse
                                                                             : fate::run};
  });
  EXPECT_EQ(refusal(memory.at(0), page).who(), origin::firmware);
  rig.machine.adapter().judge_commands({});
  EXPECT_EQ(rig.machine.memory().mappings(), mappings);
}

// The late command makes the device use the memory.
TEST_P(program_memory_test, stays_mapped_while_the_creation_is_in_doubt) {
  const pages memory(2);
  rig.machine.adapter().judge_commands([](layouts::opcode code, std::uint32_t) {
    return model::command_verdict{.what =
                                      code == layouts::opcode::sw2hw_mpt ? fate::hold : fate::run};
  });
  {
    create_memory_region create;
    create.start(
        rig.objects,
        {.pd = pair.domain, .access = all_of_it, .memory = {.first = memory.at(0), .bytes = page}});
    EXPECT_TRUE(rig.await(create).is(transport_error::timeout));
  }
  EXPECT_EQ(rig.objects.holdings().in_doubt, 1u);
  EXPECT_EQ(rig.machine.memory().mappings(), mappings + 1);
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return rig.objects.held<memory_region>() == 0; }));
  EXPECT_EQ(rig.machine.memory().mappings(), mappings);
}

INSTANTIATE_TEST_SUITE_P(addresses, program_memory_test, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "similar" : "different"; });

TEST(program_memory, is_unmapped_by_a_reset) {
  verbs_rig rig(exact());
  const pages memory(2);
  const pd_handle domain = rig.objects.create<protection_domain>().value();
  const std::size_t mappings = rig.machine.memory().mappings();
  region of_memory(rig, domain, memory.at(0), 2 * page);
  EXPECT_EQ(rig.machine.memory().mappings(), mappings + 1);
  operation again;
  rig.adapter.recover(again);
  EXPECT_TRUE(rig.await(again).ok());
  EXPECT_EQ(rig.machine.memory().mappings(), mappings);
  of_memory.handle = {};
}

TEST(program_memory, is_unsupported_by_a_platform_that_maps_none) {
  in_process::machine machine;
  platform_operations without = *machine.platform().operations;
  without.map_memory = nullptr;
  without.map_read_only_memory = nullptr;
  const freehca::budget budget = without_spares();
  storage of_device(device::storage_bytes(budget));
  storage of_objects(verbs::storage_bytes(budget, every_kind()));
  device adapter;
  verbs objects;
  ASSERT_TRUE(adapter
                  .open({.platform = {&without, machine.platform().context},
                         .budget = budget,
                         .storage = of_device.at(),
                         .storage_bytes = of_device.bytes()})
                  .ok());
  const auto await = [&](operation& op) {
    EXPECT_TRUE(machine.run([&] { return op.done(); },
                            [&] {
                              if (!objects.is_open()) adapter.poll();
                              else objects.poll();
                              return adapter.next_deadline();
                            },
                            300'000'000'000));
    return op.outcome();
  };
  operation up, down;
  adapter.bring_up(up);
  ASSERT_TRUE(await(up).ok());
  ASSERT_TRUE(objects.open(adapter, every_kind(), of_objects.at(), of_objects.bytes(), {}).ok());
  const pd_handle domain = objects.create<protection_domain>().value();
  const pages memory(1);
  create_memory_region create;
  create.start(objects, {.pd = domain, .memory = {.first = memory.at(0), .bytes = 8}});
  EXPECT_TRUE(await(create).is(driver_error::unsupported));
  EXPECT_TRUE(objects.destroy(domain).ok());
  EXPECT_TRUE(objects.close().ok());
  adapter.tear_down(down);
  EXPECT_TRUE(await(down).ok());
  adapter.close();
}

TEST(program_memory, is_registered_by_every_owner) {
  owners_rig rig(2);
  rig.open_all();
  const pages memory(4);
  const std::size_t mappings = rig.machine.memory().mappings();
  for (owners_rig::owner& o : rig.owners) {
    const pd_handle domain = o.objects.create<protection_domain>().value();
    {
      const region_of<owners_rig::owner> one(o, domain, memory.at(1), 3 * page);
      EXPECT_TRUE(one.outcome.ok()) << words(one.outcome);
      EXPECT_EQ(rig.machine.memory().mappings(), mappings + 1);
    }
    EXPECT_EQ(rig.machine.memory().mappings(), mappings);
    EXPECT_TRUE(o.objects.destroy(domain).ok());
  }
}

TEST(program_memory, of_the_facade_is_any_contiguous_range) {
  easy_rig rig;
  rig.bring_up();
  easy::adapter& hca = rig.hca;
  const auto before = rig.counts();
  const std::size_t mappings = rig.machine.memory().mappings();
  std::vector<std::uint32_t> target(5000, 7);
  const std::array<std::uint32_t, 3> source{1, 2, 3};
  const easy::memory from = rig.get(hca.register_memory(source));
  const easy::memory to = rig.get(hca.register_memory(target, easy::rights::remote_write));
  const easy::connection a = rig.get(hca.open_rc()), b = rig.get(hca.open_rc());
  rig.must(hca.connect(a, b.self));
  rig.must(hca.connect(b, a.self));
  EXPECT_EQ(to.bytes, 20'000u);
  ASSERT_TRUE(
      a.post(queues::rdma_write{.remote = to.remote(400), .data = from.part(0, from.bytes)}).ok());
  EXPECT_TRUE(rig.get(hca.next(a)).ok());
  for (std::size_t i = 0; i < target.size(); ++i)
    ASSERT_EQ(target[i], i >= 100 && i < 103 ? i - 99 : 7u) << i;
  // What the device only reads, nobody writes through it.
  auto written = hca.register_memory(source, easy::rights::remote_write);
  auto nowhere = hca.register_memory(nullptr, 8), nothing = hca.register_memory(nullptr, 0);
  EXPECT_TRUE(rig.await(written).is(driver_error::bad_argument));
  EXPECT_TRUE(rig.await(nowhere).is(driver_error::bad_argument));
  EXPECT_TRUE(rig.await(nothing).is(driver_error::bad_argument));
  // What the platform refuses, also to an operation that was used before.
  const pages closed(1, PROT_NONE);
  auto refused = hca.register_memory(closed.at(0), 8);
  EXPECT_TRUE(rig.await(refused).is(transport_error::refused));
  for (const bool destroyed_early : {true, false}) {
    auto used = hca.register_memory(target);
    rig.must(hca.release(rig.get(used)));
    ASSERT_TRUE(used.restart());
    used.start(hca, {.first = closed.at(0), .bytes = 8});
    if (!destroyed_early) {
      EXPECT_TRUE(rig.await(used).is(transport_error::refused));
    }
  }
  rig.must(hca.close(a));
  rig.must(hca.close(b));
  rig.must(hca.release(from));
  rig.must(hca.release(to));
  EXPECT_EQ(rig.counts(), before);
  EXPECT_EQ(rig.machine.memory().mappings(), mappings);
  // The rest is the teardown's.
  rig.get(hca.register_memory(target));
}

}  // namespace
}  // namespace freehca
