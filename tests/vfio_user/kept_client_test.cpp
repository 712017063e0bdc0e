// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a client told, and what is told again in its place.
#include <freehca/keeper/kept_client.hpp>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace freehca::keeper {
namespace {

using namespace vfio_user;

constexpr std::uint32_t by_file = irq_set_eventfd | irq_set_trigger;

struct kept_client_test : ::testing::Test {
  template <class T>
  void tell(command what, const T& about, std::initializer_list<int> files = {},
            std::initializer_list<int> more = {}) {
    message m;
    m.head.command = static_cast<std::uint16_t>(what);
    m.body.assign(bytes_of(about).begin(), bytes_of(about).end());
    for (const int byte : more) m.body.push_back(static_cast<std::byte>(byte));
    for (const int file : files) m.descriptors.emplace_back(dup(file));
    kept.take(std::move(m));
  }
  void record_of(record what, int file = -1) {
    message m;
    m.head.command = static_cast<std::uint16_t>(what);
    if (file >= 0) m.descriptors.emplace_back(dup(file));
    kept.take(std::move(m));
  }
  void begin() {
    record_of(record::client_came, memory.get());
    tell(command::version, version{0, 1});
  }
  void map(std::uint64_t address, const descriptor& file) {
    tell(command::dma_map, dma_map{sizeof(dma_map), dma_readable, 0, address, 0x1000},
         {file.get()});
  }
  void unmap(std::uint64_t address, std::uint64_t size, std::uint32_t flags = 0) {
    tell(command::dma_unmap, dma_unmap{sizeof(dma_unmap), flags, address, size});
  }
  void lines(std::uint32_t flags, std::uint32_t start, std::uint32_t count,
             std::initializer_list<int> files = {}, std::initializer_list<int> wanted = {}) {
    tell(command::device_set_irqs, irq_set{sizeof(irq_set), flags, msix_irq, start, count}, files,
         wanted);
  }
  std::vector<message> told_again() const {
    std::vector<message> all;
    kept.tell_again([&](message one) { all.push_back(std::move(one)); });
    return all;
  }
  std::vector<std::uint64_t> mapped() const {
    std::vector<std::uint64_t> all;
    for (const message& one : told_again())
      if (one.head.command == static_cast<std::uint16_t>(command::dma_map))
        all.push_back(whole<dma_map>(one.body)->address);
    return all;
  }
  // "flags start" of each request about interrupts.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> told_lines() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
    for (const message& one : told_again())
      if (const auto what = beginning<irq_set>(one.body);
          one.head.command == static_cast<std::uint16_t>(command::device_set_irqs))
        all.emplace_back(what->flags, what->start);
    return all;
  }
  static unsigned open_files() {
    unsigned count = 0;
    for (int number = 0; number < 256; ++number) count += is_open(number) ? 1u : 0u;
    return count;
  }
  static bool is_open(int number) {
    struct stat about {};
    return fstat(number, &about) == 0;
  }

  descriptor memory{memfd_create("one", 0)}, other{memfd_create("other", 0)};
  descriptor a{eventfd(0, 0)}, b{eventfd(0, 0)};
  kept_client kept;
};

TEST_F(kept_client_test, nobody_is_there_at_first) {
  EXPECT_FALSE(kept.there());
  EXPECT_FALSE(kept.can_go_on());
}

TEST_F(kept_client_test, one_that_has_just_come_can_go_on) {
  record_of(record::client_came, memory.get());
  EXPECT_TRUE(kept.can_go_on());
  EXPECT_TRUE(told_again().empty());
  tell(command::version, version{0, 1});
  EXPECT_TRUE(kept.can_go_on());
  const auto all = told_again();
  ASSERT_EQ(1u, all.size());
  EXPECT_EQ(sizeof(version), all[0].body.size());
}

TEST_F(kept_client_test, mappings_are_told_again_with_their_files_until_they_are_taken_back) {
  begin();
  map(0x1000, memory);
  map(0x2000, other);
  map(0x3000, memory);
  EXPECT_EQ((std::vector<std::uint64_t>{0x1000, 0x2000, 0x3000}), mapped());
  const auto all = told_again();
  struct stat expected {
  }, found{};
  ASSERT_EQ(0, fstat(other.get(), &expected));
  ASSERT_EQ(1u, all[2].descriptors.size());
  ASSERT_EQ(0, fstat(all[2].descriptors[0].get(), &found));
  EXPECT_EQ(expected.st_ino, found.st_ino);
  unmap(0x1000, 0x2000);
  EXPECT_EQ((std::vector<std::uint64_t>{0x3000}), mapped());
  map(0x5000, other);
  unmap(0, 0, dma_unmap_all);
  EXPECT_TRUE(mapped().empty());
}

TEST_F(kept_client_test, of_many_mappings_of_a_file_one_descriptor_is_kept) {
  begin();
  const unsigned before = open_files();
  for (std::uint64_t i = 1; i <= 100; ++i) map(i * 0x1000, memory);
  EXPECT_EQ(before + 1, open_files());
  unmap(0, 0x1000 * 200);
  EXPECT_EQ(before, open_files());
}

TEST_F(kept_client_test, up_to_the_last_address) {
  begin();
  map(0xfffffffffffff000, memory);
  unmap(0xffffffffffffe000, 0x2000);
  EXPECT_TRUE(mapped().empty());
}

TEST_F(kept_client_test, with_memory_by_messages_nobody_can_go_on) {
  begin();
  tell(command::dma_map, dma_map{sizeof(dma_map), dma_readable, 0, 0, 0x1000});
  EXPECT_FALSE(kept.can_go_on());
  unmap(0, 0x1000);
  EXPECT_TRUE(kept.can_go_on()) << "QEMU maps its ROMs so until the guest has a virtual IOMMU";
}

TEST_F(kept_client_test, interrupts_are_told_again_as_they_stand) {
  begin();
  lines(by_file, 0, 2, {a.get(), b.get()});
  lines(irq_set_none | irq_set_mask, 1, 1);
  EXPECT_EQ((std::vector<std::pair<std::uint32_t, std::uint32_t>>{
                {by_file, 0}, {by_file, 1}, {irq_set_none | irq_set_mask, 1}}),
            told_lines());
  lines(irq_set_bool | irq_set_unmask, 0, 2, {}, {0, 1});
  lines(by_file, 0, 1);
  EXPECT_EQ((std::vector<std::pair<std::uint32_t, std::uint32_t>>{{by_file, 1}}), told_lines());
  lines(irq_set_none | irq_set_trigger, 1, 1);
  EXPECT_EQ(1u, told_lines().size()) << "one that was told of by hand is as before";
  lines(irq_set_none | irq_set_trigger, 0, 0);
  EXPECT_TRUE(told_lines().empty());
}

TEST_F(kept_client_test, a_new_eventfd_ends_the_mask_of_the_pin) {
  begin();
  const auto pin = [&](std::uint32_t flags, std::initializer_list<int> files = {}) {
    tell(command::device_set_irqs, irq_set{sizeof(irq_set), flags, intx_irq, 0, 1}, files);
  };
  pin(by_file, {a.get()});
  pin(irq_set_none | irq_set_mask);
  EXPECT_EQ(irq_set_none | irq_set_mask, told_lines().back().first) << "last, or it has no effect";
  pin(by_file, {b.get()});
  EXPECT_EQ(1u, told_lines().size());
}

TEST_F(kept_client_test, with_more_files_than_can_be_kept_nobody_can_go_on) {
  begin();
  for (std::uint64_t i = 0; i < kept_client::greatest_files; ++i)
    map(i * 0x1000, descriptor(memfd_create("many", 0)));
  EXPECT_TRUE(kept.can_go_on());
  map(kept_client::greatest_files * 0x1000, memory);
  EXPECT_FALSE(kept.can_go_on());
  record_of(record::client_came, memory.get());
  message cut;
  cut.head.command = static_cast<std::uint16_t>(command::device_set_irqs);
  cut.too_many_descriptors = true;
  kept.take(std::move(cut));
  EXPECT_FALSE(kept.can_go_on());
}

TEST_F(kept_client_test, one_who_has_gone_leaves_nothing) {
  const unsigned before = open_files();
  begin();
  map(0x1000, memory);
  lines(by_file, 0, 1, {a.get()});
  record_of(record::doorbell_pages, other.get());
  EXPECT_TRUE(kept.doorbell_pages().open());
  record_of(record::client_gone);
  EXPECT_FALSE(kept.there());
  EXPECT_FALSE(kept.doorbell_pages().open());
  EXPECT_EQ(before, open_files());
}

TEST_F(kept_client_test, what_is_no_request_changes_nothing) {
  begin();
  map(0x1000, memory);
  tell(command::dma_map, header{});
  tell(command::dma_unmap, header{});
  tell(command::device_set_irqs, version{});
  lines(by_file, 0xffffffff, 0xffffffff, {a.get()});
  tell(command::region_write, header{});
  EXPECT_EQ(1u, mapped().size());
  EXPECT_TRUE(told_lines().empty());
}

}  // namespace
}  // namespace freehca::keeper
