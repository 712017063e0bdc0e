// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Clients that do what they should not: each is told by the right errno, or hung up on, and the
// next one is served.
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "command_register.hpp"

namespace freehca::vfio_user {
namespace {

struct bad_client : served {
  // A request of any body; the errno of its reply.
  int ask(command what, std::span<const std::byte> body) {
    std::vector<std::byte> reply;
    return c.request(what, body, {}, {}, reply);
  }
  template <class T>
  int ask(command what, const T& body) {
    return ask(what, bytes_of(body));
  }
  int ask(command what, const std::vector<std::byte>& body) {
    return ask(what, std::span<const std::byte>(body));
  }
  // The same as a whole, and with each body that is too short or too long.
  template <class T>
  void expect_one_size(command what, const T& body) {
    std::vector<std::byte> longer(sizeof body + 1);
    std::memcpy(longer.data(), &body, sizeof body);
    EXPECT_EQ(EINVAL, ask(what, std::span<const std::byte>(longer)));
    for (std::size_t bytes = 0; bytes < sizeof body; ++bytes)
      EXPECT_EQ(EINVAL, ask(what, bytes_of(body).first(bytes))) << bytes;
    EXPECT_EQ(0, ask(what, body));
  }
  void expect_served() { EXPECT_EQ(0x100715b3u, configuration(0)); }
  void come_again() {
    c.disconnect();
    int why = EBUSY;
    for (int i = 0; i < 1000 && why != 0; ++i) {
      ASSERT_EQ(0, c.connect(socket));
      why = c.negotiate();
      if (why != 0) usleep(1000);
    }
    ASSERT_EQ(0, why);
  }
};

TEST_F(bad_client, bodies_of_wrong_sizes) {
  start();
  expect_one_size(command::device_get_info, device_info{16, 0, 0, 0});
  expect_one_size(command::device_get_region_info, region_info{32, 0, 0, 0, 0, 0});
  expect_one_size(command::device_get_irq_info, irq_info{16, 0, 0, 0});
  expect_one_size(command::dma_map, dma_map{32, dma_readable, 0, 0x1000, 0x1000});
  expect_one_size(command::dma_unmap, dma_unmap{24, 0, 0x1000, 0x1000});
  expect_one_size(command::device_set_irqs, irq_set{20, irq_set_none | irq_set_trigger, 2, 0, 0});
  expect_one_size(command::region_read, region_access{0, configuration_region, 4});
  EXPECT_EQ(EINVAL, ask(command::region_write, region_access{0, configuration_region, 4}));
  EXPECT_EQ(EINVAL, ask(command::device_reset, std::vector<std::byte>(1)));
  expect_served();
}

TEST_F(bad_client, room_for_less_than_the_reply) {
  start();
  EXPECT_EQ(EINVAL, ask(command::device_get_info, device_info{15, 0, 0, 0}));
  EXPECT_EQ(EINVAL, ask(command::device_get_region_info, region_info{31, 0, 0, 0, 0, 0}));
  EXPECT_EQ(EINVAL, ask(command::device_get_irq_info, irq_info{15, 0, 0, 0}));
  EXPECT_EQ(EINVAL, ask(command::dma_unmap, dma_unmap{23, 0, 0x1000, 0x1000}));
  expect_served();
}

TEST_F(bad_client, commands_that_are_none) {
  start();
  for (const unsigned what : {0u, 11u, 12u, 16u, 0xffffu})
    EXPECT_EQ(EINVAL, ask(static_cast<command>(what), std::vector<std::byte>(16))) << what;
  EXPECT_EQ(ENOTSUP, ask(command::dirty_pages, std::vector<std::byte>(8)));
  EXPECT_EQ(ENOTSUP, ask(command::device_get_region_io_fds, std::vector<std::byte>(16)));
  expect_served();
}

TEST_F(bad_client, too_much_data) {
  start();
  EXPECT_EQ(EINVAL, ask(command::region_read, region_access{0, bar0_region, greatest_data + 1}));
  const std::vector<std::byte> much(greatest_data + 1000);
  EXPECT_EQ(E2BIG, ask(command::region_write, much));
  expect_served();
}

TEST_F(bad_client, descriptors_where_none_belong) {
  start();
  const descriptor event(eventfd(0, EFD_CLOEXEC));
  const int file = event.get();
  std::vector<std::byte> reply;
  const region_access access{0, configuration_region, 4};
  EXPECT_EQ(EINVAL,
            c.request(command::region_read, bytes_of(access), {}, std::span(&file, 1), reply));
  EXPECT_EQ(ENODEV, c.map(0, 0x1000, file));
  expect_served();
}

TEST_F(bad_client, messages_of_a_type_that_is_none_and_replies_to_nothing) {
  start();
  const device_info info{16, 0, 0, 0};
  ASSERT_TRUE(c.raw().send({500, 4, 0, 2, 0}, bytes_of(info)));
  std::vector<std::byte> body;
  EXPECT_EQ(EINVAL, c.await(500, body));
  ASSERT_TRUE(c.raw().send({501, 11, 0, type_reply, 0}, bytes_of(info)));
  expect_served();
}

TEST_F(bad_client, no_answer_is_given_where_none_is_wanted) {
  start();
  const region_access write{0x3c, configuration_region, 1};
  const std::byte line{0x77};
  ASSERT_TRUE(c.raw().send(
      {7, static_cast<std::uint16_t>(command::region_write), 0, type_command | flag_no_reply, 0},
      bytes_of(write), std::span(&line, 1)));
  ASSERT_TRUE(c.raw().send({8, 999, 0, type_command | flag_no_reply, 0}));
  EXPECT_EQ(0x77u, configuration(0x3c, 1)) << "and the next answer is that of the next request";
}

TEST_F(bad_client, before_and_after_the_agreement) {
  server.start({"--socket", socket});
  ASSERT_EQ(0, c.connect(socket));
  EXPECT_EQ(EINVAL, ask(command::device_get_info, device_info{16, 0, 0, 0}));
  EXPECT_EQ(EINVAL, ask(command::version, std::vector<std::byte>(2)));
  ASSERT_EQ(0, c.negotiate()) << "it may try again";
  EXPECT_EQ(EINVAL, c.negotiate()) << "once is enough";
  expect_served();
}

TEST_F(bad_client, another_version_is_told_and_hung_up_on) {
  server.start({"--socket", socket});
  ASSERT_EQ(0, c.connect(socket));
  EXPECT_EQ(ENOTSUP, ask(command::version, version{1, 0}));
  EXPECT_EQ(ECONNRESET, c.negotiate());
  come_again();
  expect_served();
}

TEST_F(bad_client, a_header_that_is_out_of_step_is_hung_up_on) {
  start();
  const header head{9, 4, 3, type_command, 0};
  ASSERT_EQ(16, ::send(c.raw().socket(), &head, sizeof head, 0));
  std::vector<std::byte> body;
  EXPECT_EQ(EINVAL, c.await(9, body));
  EXPECT_EQ(ECONNRESET, c.await(9, body));
  come_again();
  expect_served();
}

TEST_F(bad_client, who_leaves_in_the_middle_of_a_message) {
  start();
  for (const std::size_t bytes : {1u, 15u, 16u, 20u}) {
    const std::array<std::uint32_t, 8> piece{4, 32, 0, 0, 0, 0, 0, 0};
    ASSERT_EQ(static_cast<ssize_t>(bytes), ::send(c.raw().socket(), piece.data(), bytes, 0));
    come_again();
    expect_served();
  }
}

TEST_F(bad_client, what_a_client_mapped_goes_with_it) {
  start();
  shared_memory host(8192);
  ASSERT_EQ(0, c.map(0x1000, host.bytes(), host.file()));
  enable();
  come_again();
  EXPECT_EQ(0u, configuration(4, 2)) << "the function is reset";
  EXPECT_EQ(0, c.map(0x1000, host.bytes(), host.file())) << "its mapping is gone";
  EXPECT_EQ(EEXIST, c.map(0x1000, host.bytes(), host.file()));
}

TEST_F(bad_client, one_that_does_not_answer_for_its_memory_is_killed_meanwhile) {
  start();
  c.disconnect();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (c.connect(socket) != 0 || c.negotiate() != 0) _exit(1);
    enable();
    if (c.map(0, 0x2000, -1) != 0) _exit(1);
    // The command register's words, the last of which has the mailbox written; no answer is given.
    layouts::image<layouts::hcr> h;
    h.set<&layouts::hcr::go>(true).set<&layouts::hcr::t>(true);
    h.set<&layouts::hcr::opcode>(layouts::opcode::query_fw);
    const region_access last{layouts::bar0::hcr_status, bar0_region, 4};
    c.raw().send({1, static_cast<std::uint16_t>(command::region_write), 0, 0, 0}, bytes_of(last),
                 std::span<const std::byte>(h.data() + 0x18, 4));
    message asked;
    while (c.raw().receive(asked) != arrival::message ||
           (asked.head.flags & type_mask) != type_command)
      usleep(100);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  ASSERT_TRUE(WIFSIGNALED(status));
  come_again();
  expect_served();
  EXPECT_NE(std::string::npos, server.said().find("does not answer for its memory"));
  complaint = "QUERY_FW: output mailbox at 0x0 cannot be written";
}

TEST_F(bad_client, a_file_that_is_cut_short_is_no_memory) {
  start();
  enable();
  shared_memory host(8192);
  ASSERT_EQ(0, c.map(0, host.bytes(), host.file()));
  ASSERT_EQ(0, ftruncate(host.file(), 0));
  run_command(*this, layouts::opcode::query_fw, 0, true);
  complaint = "QUERY_FW: output mailbox at 0x0 cannot be written";
  expect_served();
}

}  // namespace
}  // namespace freehca::vfio_user
