// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// region_write_multi: writes that a client has gathered.
#include <cerrno>
#include <vector>

#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

constexpr std::uint64_t interrupt_line = 0x3c, cache_line = 0x0c;

one_write configuration_byte(std::uint64_t offset, unsigned value) {
  one_write one{{offset, configuration_region, 1}, {}};
  one.data[0] = static_cast<std::byte>(value);
  return one;
}

struct several : served {
  int write(std::uint64_t count, const std::vector<one_write>& writes,
            std::vector<std::byte>& reply) {
    return c.request(command::region_write_multi, bytes_of(several_writes{count}),
                     std::as_bytes(std::span(writes)), {}, reply);
  }
  int write(const std::vector<one_write>& writes) {
    std::vector<std::byte> reply;
    return write(writes.size(), writes, reply);
  }
};

TEST_F(several, are_offered_and_done_in_their_order) {
  start();
  EXPECT_TRUE(c.server().write_multiple);
  std::vector<std::byte> reply;
  ASSERT_EQ(0,
            write(3,
                  {configuration_byte(interrupt_line, 0x11), configuration_byte(cache_line, 0x10),
                   configuration_byte(interrupt_line, 0x22)},
                  reply));
  const auto answer = whole<several_writes>(reply);
  ASSERT_TRUE(answer);
  EXPECT_EQ(3u, answer->count);
  EXPECT_EQ(0x22u, configuration(interrupt_line, 1));
  EXPECT_EQ(0x10u, configuration(cache_line, 1));
}

TEST_F(several, none_and_the_most_that_are_allowed) {
  start();
  EXPECT_EQ(0, write({}));
  std::vector<one_write> most;
  for (unsigned i = 1; i <= greatest_several_writes; ++i)
    most.push_back(configuration_byte(interrupt_line, i));
  EXPECT_EQ(0, write(most));
  EXPECT_EQ(200u, configuration(interrupt_line, 1));
  most.push_back(configuration_byte(interrupt_line, 7));
  EXPECT_EQ(EINVAL, write(most));
  EXPECT_EQ(200u, configuration(interrupt_line, 1));
}

TEST_F(several, are_refused_together) {
  start();
  one_write wrong = configuration_byte(4096, 1);
  EXPECT_EQ(EINVAL, write({configuration_byte(interrupt_line, 1), wrong})) << "past the end";
  wrong = configuration_byte(0, 1);
  wrong.where.region = pci_regions;
  EXPECT_EQ(EINVAL, write({configuration_byte(interrupt_line, 1), wrong})) << "no region";
  wrong = configuration_byte(0, 1);
  wrong.where.count = 9;
  EXPECT_EQ(EINVAL, write({configuration_byte(interrupt_line, 1), wrong})) << "more than its data";
  EXPECT_EQ(0u, configuration(interrupt_line, 1));
}

TEST_F(several, whose_number_is_not_theirs) {
  start();
  std::vector<std::byte> reply;
  const std::vector<one_write> one{configuration_byte(interrupt_line, 1)};
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0},
                                    (~std::uint64_t{0}) / sizeof(one_write) + 2})
    EXPECT_EQ(EINVAL, write(count, one, reply)) << count;
  EXPECT_EQ(EINVAL,
            c.request(command::region_write_multi, std::span<const std::byte>(), {}, {}, reply));
  EXPECT_EQ(0u, configuration(interrupt_line, 1));
}

}  // namespace
}  // namespace freehca::vfio_user
