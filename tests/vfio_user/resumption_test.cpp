// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a process that died had in hand, request by request: the session of the next one answers it.
#include <gtest/gtest.h>
#include <linux/pci_regs.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "session.hpp"
#include "setting_rows.hpp"

namespace freehca::device_server {
namespace {

using namespace vfio_user;

struct resumption : ::testing::Test {
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    client = channel(descriptor(ends[0]));
    descriptor served(ends[1]);
    ASSERT_EQ("", finish(how));
    ASSERT_EQ("", function.begin());
    state->configuration_space = function.configuration().image();
    session_.connect(function, memory, side);
    message came;
    came.head.command = static_cast<std::uint16_t>(keeper::record::client_came);
    came.descriptors.push_back(std::move(served));
    kept.take(std::move(came));
    message version;
    version.head.command = static_cast<std::uint16_t>(command::version);
    version.body = write_terms_bytes();
    kept.take(std::move(version));
  }
  static std::vector<std::byte> write_terms_bytes() {
    const auto written = write_terms(terms{});
    return {written.begin(), written.end()};
  }
  template <class T>
  void in_hand(command what, const T& about, bool is_kept = false) {
    state->request.head = {7, static_cast<std::uint16_t>(what), sizeof(header) + sizeof(T), 0, 0};
    std::memcpy(state->request.body.data(), &about, sizeof about);
    state->request_is_kept = is_kept;
  }
  // The error of the one answer; -1: there is none.
  int answer() {
    message m;
    if (client.receive(m) != arrival::message) return -1;
    EXPECT_EQ(7, m.head.id);
    body = m.body;
    message second;
    EXPECT_EQ(arrival::nothing, client.receive(second)) << "one answer";
    return (m.head.flags & flag_error) != 0 ? static_cast<int>(m.head.error) : 0;
  }

  settings how;
  session session_;
  client_memory memory{session_};
  adapter_function function{how, memory};
  keeper::shared_state* state = keeper::make_shared_state();
  keeper_side side{descriptor(), state};
  keeper::kept_client kept;
  channel client;
  std::vector<std::byte> body;
};

TEST_F(resumption, nothing_in_hand_nothing_said) {
  EXPECT_TRUE(session_.resume(kept));
  EXPECT_EQ(-1, answer());
  EXPECT_TRUE(freehca_model_failed(function.model()));
}

TEST_F(resumption, a_read) {
  in_hand(command::region_read, region_access{PCI_VENDOR_ID, configuration_region, 2});
  EXPECT_TRUE(session_.resume(kept));
  EXPECT_EQ(0, answer());
  ASSERT_EQ(sizeof(region_access) + 2, body.size());
  EXPECT_EQ(std::byte{0xb3}, body[sizeof(region_access)]);
  EXPECT_FALSE(state->request.holds_message());
}

TEST_F(resumption, an_unmapping_that_was_done) {
  in_hand(command::dma_unmap, dma_unmap{sizeof(dma_unmap), 0, 0x1000, 0x1000}, true);
  EXPECT_TRUE(session_.resume(kept));
  EXPECT_EQ(0, answer());
  EXPECT_EQ(sizeof(dma_unmap), body.size());
}

TEST_F(resumption, a_mapping_that_was_kept) {
  const descriptor file(memfd_create("memory", 0));
  ASSERT_EQ(0, ftruncate(file.get(), 0x1000));
  const dma_map what{sizeof(dma_map), dma_readable, 0, 0x1000, 0x1000};
  message told;
  told.head.command = static_cast<std::uint16_t>(command::dma_map);
  told.body.assign(bytes_of(what).begin(), bytes_of(what).end());
  told.descriptors.emplace_back(dup(file.get()));
  kept.take(std::move(told));
  in_hand(command::dma_map, what, true);
  EXPECT_TRUE(session_.resume(kept));
  EXPECT_EQ(0, answer());
  EXPECT_EQ(1u, memory.count());
}

// Its descriptor died with the process that had taken it.
TEST_F(resumption, a_mapping_that_was_not_kept_ends_the_client) {
  in_hand(command::dma_map, dma_map{sizeof(dma_map), dma_readable, 0, 0x1000, 0x1000});
  EXPECT_FALSE(session_.resume(kept));
}

TEST_F(resumption, eventfds_that_were_not_kept_are_refused) {
  const irq_set by_file{sizeof(irq_set), irq_set_eventfd | irq_set_trigger, msix_irq, 0, 1};
  in_hand(command::device_set_irqs, by_file);
  EXPECT_TRUE(session_.resume(kept));
  EXPECT_EQ(EIO, answer());
}

TEST_F(resumption, eventfds_that_were_kept_are_there) {
  const irq_set by_file{sizeof(irq_set), irq_set_eventfd | irq_set_trigger, msix_irq, 0, 1};
  const descriptor event(eventfd(0, EFD_NONBLOCK));
  message told;
  told.head.command = static_cast<std::uint16_t>(command::device_set_irqs);
  told.body.assign(bytes_of(by_file).begin(), bytes_of(by_file).end());
  told.descriptors.emplace_back(dup(event.get()));
  kept.take(std::move(told));
  state->configuration_space[msix_at + PCI_MSIX_FLAGS + 1] |= PCI_MSIX_FLAGS_ENABLE >> 8;
  in_hand(command::device_set_irqs, by_file, true);
  EXPECT_TRUE(session_.resume(kept));
  EXPECT_EQ(0, answer());
  function.signals().msix(0);
  std::uint64_t count = 0;
  EXPECT_EQ(8, read(event.get(), &count, sizeof count));
}

TEST_F(resumption, a_write_to_configuration_space) {
  struct {
    region_access where{PCI_COMMAND, configuration_region, 2};
    std::uint16_t value = PCI_COMMAND_MEMORY;
  } __attribute__((packed)) const write;
  in_hand(command::region_write, write);
  EXPECT_TRUE(session_.resume(kept));
  EXPECT_EQ(0, answer());
  EXPECT_TRUE(function.configuration().memory_space());
}

// Too many processes died of it.
TEST_F(resumption, a_request_that_is_to_be_refused_is_not_done) {
  struct {
    region_access where{PCI_COMMAND, configuration_region, 2};
    std::uint16_t value = PCI_COMMAND_MEMORY;
  } __attribute__((packed)) const write;
  in_hand(command::region_write, write);
  state->refuse_request = true;
  const std::uint64_t done = state->requests_done;
  EXPECT_TRUE(session_.resume(kept));
  EXPECT_EQ(EIO, answer());
  EXPECT_FALSE(function.configuration().memory_space());
  EXPECT_FALSE(state->request.holds_message());
  EXPECT_FALSE(state->refuse_request) << "that request and no other";
  EXPECT_EQ(done + 1, state->requests_done);
}

TEST_F(resumption, a_message_in_pieces_ends_the_client) {
  in_hand(command::region_read, region_access{PCI_VENDOR_ID, configuration_region, 2});
  state->request.in_pieces = true;
  EXPECT_FALSE(session_.resume(kept));
  EXPECT_EQ(-1, answer());
}

// What the request changed in configuration space belongs to it, whether it is answered or not.
TEST_F(resumption, with_a_request_goes_the_configuration_space) {
  int ends[2];
  ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
  descriptor far(ends[0]);
  keeper_side told(descriptor(ends[1]), state);
  configuration_space space(how.configuration);
  space.enable_msix(true);
  message request;
  request.head.command = static_cast<std::uint16_t>(command::device_set_irqs);
  told.tell(request, space);
  EXPECT_TRUE(state->request_is_kept);
  EXPECT_EQ(space.image(), state->configuration_space);
  EXPECT_FALSE(state->keeper_is_behind);
  far.close();
  told.tell(request, space);
  EXPECT_FALSE(state->request_is_kept);
  EXPECT_TRUE(state->keeper_is_behind);
}

TEST_F(resumption, a_length_that_is_none) {
  in_hand(command::device_reset, header{});
  state->request.head.bytes = 0xffffffff;
  EXPECT_TRUE(session_.resume(kept));
  EXPECT_EQ(EINVAL, answer());
}

}  // namespace
}  // namespace freehca::device_server
