// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <gtest/gtest.h>

#include <freehca/layouts/query_dev_cap.hpp>

#include "basis/adapter.hpp"
#include "basis/adapter_limits.hpp"
#include "tables/icm.hpp"
#include "tables/memory_regions.hpp"
#include "test_driver.hpp"

namespace freehca::model::test {
namespace {

using layouts::command_status;
using layouts::mpt;
using layouts::opcode;

struct core_memory : ::testing::Test {
  test_host host;
  options how = test_options();
  device hca{host, how};
  test_driver driver{host, hca};
  memory_regions& regions = *hca.inside().regions;
  test_driver::buffer where;
  static constexpr std::uint32_t index = 300, pd = 7;
  static constexpr std::uint64_t start = 0x7f0000000123, length = 40000;
  std::uint32_t key = 0;

  void SetUp() override {
    ASSERT_TRUE(driver.bring_up());
    where = driver.make_buffer(10);
    key = driver.make_region(index, pd, where, start, length);
  }
  static std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> p(bytes);
    for (std::size_t i = 0; i < bytes; ++i) p[i] = static_cast<std::byte>(i * 7 + i / 256);
    return p;
  }
};

TEST_F(core_memory, data_crosses_scattered_pages) {
  const auto data = pattern(30000);
  ASSERT_EQ(regions.write(key, {pd}, access::local_write, start + 100, data.data(), data.size()),
            access_result::ok);
  for (std::size_t i = 0; i < data.size(); ++i)
    ASSERT_EQ(*driver.bytes_of(where, 0x123 + 100 + i), data[i]) << i;
  std::vector<std::byte> back(data.size());
  ASSERT_EQ(regions.read(key, {pd}, access::remote_read, start + 100, back.data(), back.size()),
            access_result::ok);
  EXPECT_EQ(back, data);
}

TEST_F(core_memory, bounds_are_exact) {
  std::byte b[2];
  EXPECT_EQ(regions.read(key, {pd}, access::local_read, start + length - 2, b, 2),
            access_result::ok);
  EXPECT_EQ(regions.read(key, {pd}, access::local_read, start + length - 1, b, 2),
            access_result::out_of_bounds);
  EXPECT_EQ(regions.read(key, {pd}, access::local_read, start - 1, b, 1),
            access_result::out_of_bounds);
  EXPECT_EQ(regions.read(key, {pd}, access::local_read, ~std::uint64_t{0}, b, 2),
            access_result::out_of_bounds);
  EXPECT_EQ(regions.check(key, {pd}, access::local_read, start, length, length), access_result::ok);
  EXPECT_EQ(regions.check(key, {pd}, access::local_read, start, length + 1, length + 1),
            access_result::out_of_bounds);
  EXPECT_EQ(regions.check(0xdead, {pd}, access::local_read, start, 0, 0), access_result::ok);
}

TEST_F(core_memory, key_pd_and_rights_are_checked) {
  std::byte b[1];
  EXPECT_EQ(regions.read(key ^ 1, {pd}, access::local_read, start, b, 1), access_result::bad_key);
  EXPECT_EQ(regions.read(key ^ 0x100, {pd}, access::local_read, start, b, 1),
            access_result::bad_key);
  EXPECT_EQ(regions.read(key, {pd + 1}, access::local_read, start, b, 1), access_result::bad_pd);
  EXPECT_EQ(regions.read(key, {pd}, access::bind, start, b, 1), access_result::bad_permission);
  ASSERT_EQ(driver.command(opcode::hw2sw_mpt, 0, index, 1).status, command_status::ok);
  EXPECT_EQ(regions.read(key, {pd}, access::local_read, start, b, 1), access_result::bad_key);
}

TEST_F(core_memory, the_reserved_key_reaches_bus_addresses_where_it_is_allowed) {
  const std::uint64_t page = host.allocate();
  layouts::image<layouts::query_dev_cap> cap;
  ASSERT_EQ(driver.query(opcode::query_dev_cap, cap).status, command_status::ok);
  const auto reserved_key =
      static_cast<std::uint32_t>(cap.get<&layouts::query_dev_cap::reserved_lkey>());
  const std::byte b[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  EXPECT_EQ(regions.write(reserved_key, {pd}, access::local_write, page, b, 3),
            access_result::bad_key);
  EXPECT_EQ(regions.write(reserved_key, {pd, true}, access::local_write, page, b, 3),
            access_result::ok);
  EXPECT_EQ(std::memcmp(host.at(page), b, 3), 0);
  EXPECT_EQ(regions.write(reserved_key, {pd, true}, access::local_write, 0x1000, b, 3),
            access_result::bus_refused);
}

TEST_F(core_memory, an_entry_that_is_not_present_moves_nothing) {
  layouts::image<layouts::write_mtt_header> head;
  head.set<&layouts::write_mtt_header::mtt_base_addr>(where.mtt + 3 * layouts::mtt::bytes);
  ASSERT_EQ(driver.command_with(opcode::write_mtt, head, 1).status, command_status::ok);
  const auto data = pattern(20000);
  EXPECT_EQ(regions.write(key, {pd}, access::local_write, start, data.data(), data.size()),
            access_result::not_present);
  EXPECT_EQ(*driver.bytes_of(where, 0x123 + 1), std::byte{0});
  EXPECT_EQ(regions.check(key, {pd}, access::local_write, start, 4096, 4096), access_result::ok);
}

TEST_F(core_memory, a_message_is_judged_whole_and_translated_for_what_comes_now) {
  // 8 MiB, of which only the first ten pages have a translation.
  constexpr std::uint64_t large = 8u << 20;
  const std::uint32_t wide = driver.make_region(301, pd, where, start, large);
  const auto cost = [&](std::uint64_t bytes, std::uint64_t now) {
    regions.forget_entries();
    const std::uint64_t reads = host.reads, read = host.bytes_read;
    EXPECT_EQ(regions.check(wide, {pd}, access::remote_write, start, bytes, now),
              access_result::ok);
    return std::pair{host.reads - reads, host.bytes_read - read};
  };
  EXPECT_EQ(cost(large, 1024), cost(1024, 1024));
  EXPECT_EQ(regions.check(wide, {pd}, access::remote_write, start, large + 1, 1024),
            access_result::out_of_bounds);
  EXPECT_EQ(regions.check(wide, {pd}, access::bind, start, large, 1024),
            access_result::bad_permission);
  EXPECT_EQ(regions.check(wide, {pd}, access::remote_write, start + 20 * 4096, 2048, 1024),
            access_result::not_present);
}

TEST_F(core_memory, a_driver_may_give_an_entry_back_by_writing_its_status) {
  ASSERT_EQ(driver.command(opcode::hw2sw_mpt, 0, index, 1).status, command_status::ok);
  icm& m = *hca.inside().context_memory;
  const std::uint64_t at = driver.dmpt + index * entry_bytes::dmpt;
  auto e = m.load<mpt>(at);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->get<&mpt::status>(), layouts::mpt_status::software);
  e->set<&mpt::status>(layouts::mpt_status::hardware).set<&mpt::pd>(9);
  ASSERT_TRUE(m.store(at, *e));
  ASSERT_EQ(driver.command(opcode::sync_tpt).status, command_status::ok);
  EXPECT_EQ(regions.check(key, {9}, access::local_read, start, 1, 1), access_result::ok);
}

TEST_F(core_memory, entries_are_read_once_until_a_command_runs) {
  const auto reads = [&] {
    std::byte b[100];
    const std::uint64_t before = host.reads;
    EXPECT_EQ(regions.read(key, {pd}, access::local_read, start, b, sizeof b), access_result::ok);
    return host.reads - before;
  };
  reads();
  EXPECT_EQ(reads(), 1u) << "but the data";
  ASSERT_EQ(driver.command(opcode::sync_tpt).status, command_status::ok);
  EXPECT_EQ(reads(), 3u) << "the key's entry, the translation, the data";
}

TEST_F(core_memory, what_is_kept_of_entries_goes_with_every_command_that_may_change_them) {
  icm& m = *hca.inside().context_memory;
  const std::uint64_t at = driver.dmpt + index * entry_bytes::dmpt;
  const auto reaches = [&](std::uint32_t by) {
    std::byte b[2];
    return regions.read(by, {pd}, access::local_read, start, b, 2);
  };
  // A translation that the host rewrites, as it may between HW2SW_MPT and SW2HW_MPT, or before
  // SYNC_TPT.
  const auto pages = driver.make_buffer(1);
  *host.at(pages.pages[0] + 0x123) = std::byte{0x77};
  *driver.bytes_of(where, 0x123) = std::byte{0x11};
  const auto first = [&] {
    std::byte b{};
    EXPECT_EQ(regions.read(key, {pd}, access::local_read, start, &b, 1), access_result::ok);
    return b;
  };
  EXPECT_EQ(first(), std::byte{0x11});
  ASSERT_TRUE(m.store(driver.mtt + where.mtt, layouts::image<layouts::mtt>{}
                                                  .set<&layouts::mtt::ptag>(pages.pages[0])
                                                  .set<&layouts::mtt::present>(true)));
  ASSERT_EQ(driver.command(opcode::sync_tpt).status, command_status::ok);
  EXPECT_EQ(first(), std::byte{0x77});

  // An entry that comes back under a new key without a command.
  auto e = m.load<mpt>(at);
  ASSERT_TRUE(e);
  const std::uint32_t next = key + 1;
  EXPECT_EQ(reaches(next), access_result::bad_key);
  EXPECT_EQ(reaches(key), access_result::ok);
  ASSERT_TRUE(m.store(at, e->set<&mpt::mem_key>(layouts::mpt_key_of(next))));
  EXPECT_EQ(reaches(next), access_result::ok);

  // Bounds that change without one, under the same key.
  const auto at_its_end = [&] {
    std::byte b[2];
    return regions.read(next, {pd}, access::local_read, start + length - 1, b, 2);
  };
  EXPECT_EQ(at_its_end(), access_result::out_of_bounds);
  EXPECT_EQ(reaches(next), access_result::ok);
  ASSERT_TRUE(m.store(at, e->set<&mpt::length>(length + 1)));
  EXPECT_EQ(at_its_end(), access_result::ok);

  // A page that comes to be there without a command.
  layouts::image<layouts::mtt> absent;
  ASSERT_TRUE(m.store(driver.mtt + where.mtt, absent));
  ASSERT_EQ(driver.command(opcode::sync_tpt).status, command_status::ok);
  EXPECT_EQ(reaches(next), access_result::not_present);
  ASSERT_TRUE(
      m.store(driver.mtt + where.mtt,
              absent.set<&layouts::mtt::ptag>(pages.pages[0]).set<&layouts::mtt::present>(true)));
  EXPECT_EQ(reaches(next), access_result::ok);

  ASSERT_EQ(driver.command(opcode::hw2sw_mpt, 0, index, 1).status, command_status::ok);
  EXPECT_EQ(reaches(next), access_result::bad_key);
}

TEST_F(core_memory, a_queues_translation_is_read_once_until_a_command_runs) {
  const queue_buffer queue{where.mtt, 12, 0};
  const auto reads = [&] {
    std::byte b[64];
    const std::uint64_t before = host.reads;
    EXPECT_TRUE(regions.read_queue(queue, 0, b, sizeof b));
    return host.reads - before;
  };
  reads();
  EXPECT_EQ(reads(), 1u) << "but the entry";
  ASSERT_EQ(driver.command(opcode::sync_tpt).status, command_status::ok);
  EXPECT_EQ(reads(), 2u) << "the translation, the entry";
}

TEST_F(core_memory, what_is_kept_of_a_queues_translation_never_refuses) {
  icm& m = *hca.inside().context_memory;
  const queue_buffer queue{where.mtt, 12, 0};
  const auto pages = driver.make_buffer(1);
  *host.at(pages.pages[0]) = std::byte{0x77};
  *driver.bytes_of(where, 0) = std::byte{0x11};
  const auto translation = [&](std::uint64_t page, bool present) {
    return m.store(
        driver.mtt + where.mtt,
        layouts::image<layouts::mtt>{}.set<&layouts::mtt::ptag>(page).set<&layouts::mtt::present>(
            present));
  };
  std::byte b{};
  ASSERT_TRUE(regions.read_queue(queue, 0, &b, 1));
  EXPECT_EQ(b, std::byte{0x11});

  // What a host changes without a command may be seen later, and is seen behind a command.
  ASSERT_TRUE(translation(pages.pages[0], false));
  EXPECT_TRUE(regions.read_queue(queue, 0, &b, 1));
  ASSERT_EQ(driver.command(opcode::sync_tpt).status, command_status::ok);
  EXPECT_FALSE(regions.read_queue(queue, 0, &b, 1));
  EXPECT_FALSE(regions.write_entry(queue, 0, pages.pages.data(), 8, 8));

  // A page that comes to be there without a command.
  ASSERT_TRUE(translation(pages.pages[0], true));
  EXPECT_TRUE(regions.read_queue(queue, 0, &b, 1));
  EXPECT_EQ(b, std::byte{0x77});
}

TEST_F(core_memory, an_entry_may_lie_in_two_pages) {
  const queue_buffer queue{where.mtt, 12, 0};
  const auto bytes = pattern(32);
  ASSERT_TRUE(regions.write_entry(queue, 4096 - 16, bytes.data(), bytes.size(), 8));
  std::vector<std::byte> back(bytes.size());
  ASSERT_TRUE(regions.read_queue(queue, 4096 - 16, back.data(), back.size()));
  EXPECT_EQ(back, bytes);
}

TEST_F(core_memory, numbers_owners_and_fields_of_regions_are_checked) {
  command_status s{};
  driver.make_region(index, pd, where, start, length, &s);
  EXPECT_EQ(s, command_status::bad_resource_state);
  driver.make_region(1u << driver.log_mpts, pd, where, start, length, &s);
  EXPECT_EQ(s, command_status::bad_index);
  driver.make_region(255, pd, where, start, length, &s);
  EXPECT_EQ(s, command_status::bad_resource);
  layouts::image<mpt> e;
  e.set<&mpt::mem_key>(302).set<&mpt::region>(true).set<&mpt::entity_size>(12);
  EXPECT_EQ(driver.command_with(opcode::sw2hw_mpt, e, 301).status, command_status::bad_parameter);
  EXPECT_EQ(driver.command(opcode::hw2sw_mpt, 0, 301, 1).status,
            command_status::bad_resource_state);
  layouts::image<mpt> out;
  ASSERT_EQ(driver.query(opcode::query_mpt, out, index).status, command_status::ok);
  EXPECT_EQ(out.get<&mpt::start>(), start);
  EXPECT_EQ(out.get<&mpt::status>(), layouts::mpt_status::hardware);
}

TEST_F(core_memory, a_region_is_taken_back_with_its_context_or_without_a_mailbox) {
  layouts::image<mpt> out;
  ASSERT_EQ(driver.query(opcode::hw2sw_mpt, out, index).status, command_status::ok);
  EXPECT_EQ(out.get<&mpt::start>(), start);
  EXPECT_EQ(out.get<&mpt::status>(), layouts::mpt_status::software);
  // As iPXE does: the modifier asks for the context, and there is nothing to write it to.
  driver.make_region(index, pd, where, start, length);
  EXPECT_EQ(driver.command(opcode::hw2sw_mpt, 0, index, 0, 0).status, command_status::ok);
}

TEST_F(core_memory, a_physical_region_needs_no_translation) {
  layouts::image<mpt> e;
  const std::uint64_t page = host.allocate();
  e.set<&mpt::mem_key>(310).set<&mpt::region>(true).set<&mpt::physical>(true).set<&mpt::len64>(
      true);
  e.set<&mpt::local_read>(true).set<&mpt::local_write>(true).set<&mpt::pd>(pd);
  ASSERT_EQ(driver.command_with(opcode::sw2hw_mpt, e, 310).status, command_status::ok);
  const std::byte b{0x42};
  EXPECT_EQ(regions.write(layouts::key_of_mpt(310), {pd}, access::local_write, page, &b, 1),
            access_result::ok);
  EXPECT_EQ(*host.at(page), b);
}

TEST_F(core_memory, mtts_are_read_back) {
  ASSERT_EQ(driver.command(opcode::read_mtt, where.mtt, 10, 0, driver.output).status,
            command_status::ok);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(host.load<layouts::mtt>(driver.output + i * 8).get<&layouts::mtt::ptag>(),
              where.pages[i]);
  EXPECT_EQ(driver.command(opcode::read_mtt, where.mtt, 0, 0, driver.output).status,
            command_status::bad_parameter);
}

}  // namespace
}  // namespace freehca::model::test
