// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Messages over a socket: cut in pieces, run together, too long, with descriptors and with too
// many.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include <freehca/vfio_user/channel.hpp>

namespace freehca::vfio_user {
namespace {

struct pair : ::testing::Test {
  pair() {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    raw = descriptor(ends[0]);
    end = channel(descriptor(ends[1]));
  }

  // Bytes as they are, with no channel in front of them.
  void put(const void* from, std::size_t bytes) const {
    ASSERT_EQ(static_cast<ssize_t>(bytes), ::send(raw.get(), from, bytes, 0));
  }

  descriptor raw;
  channel end;
};

header head_of(std::uint16_t id, std::uint32_t bytes) {
  return {id, static_cast<std::uint16_t>(command::region_read), bytes, type_command, 0};
}

using channels = pair;

TEST_F(channels, a_message_comes_byte_by_byte) {
  const header head = head_of(7, sizeof(header) + 3);
  std::vector<std::byte> all(bytes_of(head).begin(), bytes_of(head).end());
  for (int value : {1, 2, 3}) all.push_back(static_cast<std::byte>(value));
  message m;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(arrival::nothing, end.receive(m)) << i;
    put(&all[i], 1);
  }
  ASSERT_EQ(arrival::message, end.receive(m));
  EXPECT_EQ(7, m.head.id);
  ASSERT_EQ(3u, m.body.size());
  EXPECT_EQ(std::byte{3}, m.body[2]);
  EXPECT_EQ(arrival::nothing, end.receive(m));
}

TEST_F(channels, messages_that_run_together_come_one_by_one) {
  std::array<header, 3> all{head_of(1, sizeof(header)), head_of(2, sizeof(header)),
                            head_of(3, sizeof(header))};
  put(all.data(), sizeof all);
  message m;
  for (int id = 1; id <= 3; ++id) {
    ASSERT_EQ(arrival::message, end.receive(m));
    EXPECT_EQ(id, m.head.id);
  }
  EXPECT_EQ(arrival::nothing, end.receive(m));
}

TEST_F(channels, a_message_that_is_too_long_is_passed_over) {
  const header head = head_of(9, sizeof(header) + greatest_body + 1);
  put(&head, sizeof head);
  std::vector<std::byte> filling(4096);
  message m;
  for (std::size_t left = greatest_body + 1; left > 0;) {
    const std::size_t piece = std::min(left, filling.size());
    put(filling.data(), piece);
    left -= piece;
    ASSERT_EQ(left > 0 ? arrival::nothing : arrival::message, end.receive(m));
  }
  EXPECT_TRUE(m.too_long);
  EXPECT_EQ(9, m.head.id);
  const header next = head_of(10, sizeof(header));
  put(&next, sizeof next);
  ASSERT_EQ(arrival::message, end.receive(m));
  EXPECT_FALSE(m.too_long);
  EXPECT_EQ(10, m.head.id);
}

TEST_F(channels, a_size_below_the_headers_own_is_the_end) {
  const header head = head_of(5, sizeof(header) - 1);
  put(&head, sizeof head);
  message m;
  EXPECT_EQ(arrival::out_of_step, end.receive(m));
  EXPECT_EQ(5, m.head.id);
}

TEST_F(channels, the_other_end_goes_in_the_middle_of_a_message) {
  const header head = head_of(5, sizeof(header) + 8);
  put(&head, sizeof head);
  put(&head, 4);
  message m;
  EXPECT_EQ(arrival::nothing, end.receive(m));
  raw.close();
  EXPECT_EQ(arrival::closed, end.receive(m));
}

TEST_F(channels, descriptors_come_with_their_own_message) {
  channel other(std::move(raw));
  const descriptor event(eventfd(0, EFD_CLOEXEC));
  const std::array<int, 2> two{event.get(), event.get()};
  ASSERT_TRUE(other.send(head_of(1, 0)));
  ASSERT_TRUE(other.send(head_of(2, 0), {}, {}, two));
  ASSERT_TRUE(other.send(head_of(3, 0)));
  message m;
  for (const std::size_t expected : {0u, 2u, 0u}) {
    ASSERT_EQ(arrival::message, end.receive(m));
    EXPECT_EQ(expected, m.descriptors.size());
  }
}

TEST_F(channels, more_descriptors_than_a_message_may_have) {
  const descriptor event(eventfd(0, EFD_CLOEXEC));
  for (const std::size_t count : {std::size_t{greatest_descriptors} + 1, std::size_t{100}}) {
    std::vector<int> many(count, event.get());
    header head = head_of(4, sizeof(header));
    iovec part{&head, sizeof head};
    std::vector<std::byte> control(CMSG_SPACE(count * sizeof(int)));
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    m.msg_control = control.data();
    m.msg_controllen = control.size();
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(c), many.data(), count * sizeof(int));
    ASSERT_GT(sendmsg(raw.get(), &m, 0), 0);
    message got;
    ASSERT_EQ(arrival::message, end.receive(got));
    EXPECT_TRUE(got.too_many_descriptors);
    EXPECT_TRUE(got.descriptors.empty());
  }
  const header next = head_of(10, sizeof(header));
  put(&next, sizeof next);
  message got;
  ASSERT_EQ(arrival::message, end.receive(got));
  EXPECT_FALSE(got.too_many_descriptors);
}

TEST_F(channels, both_parts_of_a_body_arrive) {
  channel other(std::move(raw));
  const region_access front{0x10, bar0_region, 4};
  const std::array<std::byte, 4> data{std::byte{9}, std::byte{8}, std::byte{7}, std::byte{6}};
  ASSERT_TRUE(other.send(head_of(1, 0), bytes_of(front), data));
  message m;
  ASSERT_EQ(arrival::message, end.receive(m));
  EXPECT_EQ(sizeof(header) + 20, m.head.bytes);
  EXPECT_EQ(0x10u, beginning<region_access>(m.body)->offset);
  EXPECT_EQ(std::byte{6}, m.body[19]);
}

TEST_F(channels, who_takes_nothing_is_not_waited_for_for_ever) {
  end.set_patience(20);
  const std::vector<std::byte> much(greatest_data);
  EXPECT_FALSE(end.send(head_of(1, 0), much));
}

TEST_F(channels, a_send_to_nobody_fails_and_does_no_more) {
  raw.close();
  EXPECT_FALSE(end.send(head_of(1, 0)));
}

}  // namespace
}  // namespace freehca::vfio_user
