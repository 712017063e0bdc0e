// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Regions whose data entries have device addresses: one key for blocks of the arena and for
// scattered pages, local and remote.
#include <cstring>

#include <freehca/firmware_cmds/object_contexts.hpp>
#include <freehca/hca/kinds/change_memory_region.hpp>
#include <freehca/hca/kinds/dma_memory_region.hpp>
#include <freehca/hca/kinds/replace_memory_region.hpp>

#include "counts.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using queues::completion_status;
using queues::rdma_read;
using queues::rdma_write;
using queues::work_completion;

constexpr std::size_t page = 4096;

struct dma_memory_region_test : ::testing::Test {
  verbs_rig rig{exact()};
  rc_pair pair{rig};
  dma_region block = rig.machine.memory().allocate(2 * page, page);
  in_process::host_memory_map::scattered_pages pages = rig.machine.memory().allocate_scattered(3);
  handle<dma_memory_region> region;

  dma_memory_region_test() { pair.connect(); }
  ~dma_memory_region_test() override {
    EXPECT_TRUE(destroy().ok());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
    rig.machine.memory().release(pages);
    rig.machine.memory().release(block);
  }

  result<handle<dma_memory_region>> made(pd_handle domain, const memory_access& access) {
    create_dma_memory_region op;
    op.start(rig.objects, {.pd = domain, .access = access});
    const status s = rig.await(op);
    if (!s.ok()) return s;
    return op.made();
  }
  status create(const memory_access& access) {
    const auto r = made(pair.domain, access);
    if (r.ok()) region = r.value();
    return r.ok() ? status() : r.error();
  }
  status destroy() {
    if (!region) return {};
    destroy_memory_region op;
    op.start(rig.objects, region);
    region = {};
    return rig.await(op);
  }
  std::uint32_t key() { return key_of(rig.objects, region); }
  template <class Request>
  completion_status done(const Request& r) {
    EXPECT_TRUE(post_and_ring(pair.send(0), r).ok());
    return pair.next(0).status;
  }
};

TEST_F(dma_memory_region_test, gives_access_to_all_memory_of_the_device_by_its_device_addresses) {
  ASSERT_TRUE(create({.local_write = true, .remote_read = true, .remote_write = true}).ok());
  for (std::size_t i = 0; i < 2 * page; ++i)
    block.host[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (std::size_t p = 0; p < 3; ++p) {
    std::memset(pages.memory, 0xa5, 3 * page);
    const std::size_t bytes = page - 100;
    ASSERT_EQ(done(rdma_write{.remote = {pages.addresses[p] + 50, key()},
                              .data = queues::entry_of(block.device_address + 33, bytes, key())}),
              completion_status::ok);
    for (std::size_t i = 0; i < 3 * page; ++i) {
      const std::size_t first = p * page + 50;
      const bool written = i >= first && i < first + bytes;
      ASSERT_EQ(pages.memory[i], written ? block.host[33 + i - first] : std::byte{0xa5}) << i;
    }
  }
  std::memset(block.host, 0, 2 * page);
  ASSERT_EQ(done(rdma_read{.remote = {pages.addresses[2] + 50, key()},
                           .data = queues::entry_of(block.device_address + page, 64, key())}),
            completion_status::ok);
  EXPECT_EQ(std::memcmp(block.host + page, pages.memory + 2 * page + 50, 64), 0);
}

TEST_F(dma_memory_region_test, uses_no_translations_and_leaves_nothing_behind) {
  const auto before = counts(rig);
  const auto translations = rig.adapter.holdings().numbers;
  ASSERT_TRUE(create({}).ok());
  // The number of the region, and no translation entry.
  EXPECT_EQ(rig.adapter.holdings().numbers, translations + 1);
  ASSERT_TRUE(destroy().ok());
  EXPECT_EQ(counts(rig), before);
}

TEST_F(dma_memory_region_test, gives_no_rights_that_were_not_asked_for) {
  ASSERT_TRUE(create({.remote_read = true}).ok());
  std::memset(pages.memory, 0xa5, 3 * page);
  EXPECT_EQ(done(rdma_write{.remote = {pages.addresses[0], key()},
                            .data = queues::entry_of(block.device_address, 64, key())}),
            completion_status::remote_access);
  EXPECT_EQ(pages.memory[0], std::byte{0xa5});
}

// The fields of an entry that Linux 6.1 writes for such a region (mlx4/mr.c mlx4_mr_enable).
TEST_F(dma_memory_region_test, has_the_entry_that_linux_gives_it) {
  ASSERT_TRUE(create({.local_write = true}).ok());
  firmware_command<commands::query_mpt> query(rig.objects.find(region)->number);
  rig.adapter.commands().submit(query);
  ASSERT_TRUE(rig.await(query).ok());
  using layouts::mpt;
  const layouts::image<mpt>& e = query.output;
  EXPECT_TRUE(e.get<&mpt::physical>());
  EXPECT_TRUE(e.get<&mpt::region>());
  EXPECT_TRUE(e.get<&mpt::local_read>());
  EXPECT_TRUE(e.get<&mpt::local_write>());
  EXPECT_FALSE(e.get<&mpt::remote_write>());
  EXPECT_EQ(e.get<&mpt::start>(), 0u);
  EXPECT_EQ(e.get<&mpt::length>(), ~std::uint64_t{0});
  EXPECT_EQ(e.get<&mpt::entity_size>(), 12u);
  EXPECT_EQ(e.get<&mpt::mtt_addr>(), 0u);
}

TEST_F(dma_memory_region_test, needs_a_domain_and_a_place_in_the_budget) {
  EXPECT_TRUE(made({}, {}).error().is(driver_error::stale_handle));
  std::vector<handle<dma_memory_region>> all;
  for (auto r = made(pair.domain, {}); r.ok(); r = made(pair.domain, {})) all.push_back(r.value());
  EXPECT_EQ(all.size(), 4u);
  const status none = made(pair.domain, {}).error();
  EXPECT_TRUE(none.is(driver_error::no_resource));
  EXPECT_EQ(none.where(), dma_memory_region::facts.item);
  for (const auto each : all) {
    destroy_dma_memory_region op;
    op.start(rig.objects, each);
    EXPECT_TRUE(rig.await(op).ok());
  }
}

TEST_F(dma_memory_region_test, refuses_rights_of_peers_without_local_write) {
  EXPECT_TRUE(create({.remote_write = true}).is(driver_error::bad_argument));
  EXPECT_EQ(rig.objects.refused().what, attribute_id::remote_rights);
}

TEST_F(dma_memory_region_test, keeps_its_domain_its_rights_and_its_memory) {
  ASSERT_TRUE(create({.local_write = true}).ok());
  change_memory_region change;
  change.start(rig.objects, region, {}, {});
  EXPECT_TRUE(rig.await(change).is(driver_error::unsupported));
  replace_memory_region replace;
  replace.start(rig.objects, region, {.pd = pair.domain, .pages = {block, 12}});
  EXPECT_TRUE(rig.await(replace).is(driver_error::unsupported));
}

}  // namespace
}  // namespace freehca
