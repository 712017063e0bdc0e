// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Allocations that fail: a request is answered by ENOMEM, and the server goes on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/pci_regs.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "failing_allocations.hpp"
#include "memory_reserve.hpp"
#include "served_program.hpp"
#include "session.hpp"
#include "setting_rows.hpp"

namespace freehca::device_server {
namespace {

using testing::failing_allocations;
using namespace vfio_user;
using enum failing_allocations::how;

constexpr std::uint16_t request_id = 77;
constexpr std::uint32_t much = 128u << 10;

// A server and a client in one process, after they have agreed on a version.
struct lack_of_memory : ::testing::Test {
  struct machine {
    machine() {
      EXPECT_EQ("", finish(how));
      EXPECT_EQ("", function.begin());
      serving.connect(function, memory, keeper);
      std::array<int, 2> ends{};
      EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()));
      client = channel(descriptor(ends[0]));
      serving.begin(channel(descriptor(ends[1])));
    }
    ~machine() { serving.end(); }
    settings how;
    session serving;
    client_memory memory{serving};
    adapter_function function{how, memory};
    keeper_side keeper;
    channel client;
  };

  void SetUp() override { make_machine(); }
  // Also another one.
  void make_machine(bool agree = true) {
    m.reset();
    m = std::make_unique<machine>();
    if (!agree) return;
    ASSERT_EQ(0, ask(command::version, write_terms(terms{})));
  }
  void send(command what, std::span<const std::byte> body, std::span<const int> files = {}) {
    ASSERT_TRUE(
        m->client.send({request_id, static_cast<std::uint16_t>(what), 0, 0, 0}, body, {}, files));
  }
  // The errno of the one answer; -1: there is none, or another one.
  int answer() {
    message reply, second;
    if (m->client.receive(reply) != arrival::message || reply.head.id != request_id) return -1;
    EXPECT_EQ(arrival::nothing, m->client.receive(second));
    answered = reply.body.size();
    return (reply.head.flags & flag_error) != 0 ? static_cast<int>(reply.head.error) : 0;
  }
  int ask(command what, std::span<const std::byte> body, std::span<const int> files = {}) {
    send(what, body, files);
    EXPECT_TRUE(m->serving.work());
    return answer();
  }
  // With the first `good` allocations of the server alone.
  int ask_with(std::size_t good, failing_allocations::how kind, command what,
               std::span<const std::byte> body, std::span<const int> files = {}) {
    send(what, body, files);
    {
      const failing_allocations fewer(good, kind);
      EXPECT_TRUE(m->serving.work());
      failed = failing_allocations::has_failed();
    }
    return answer();
  }
  // Without a reserve, at each allocation in turn: refused, and then done.
  void expect_refused_and_done(command what, std::span<const std::byte> body,
                               std::span<const int> files = {}, unsigned least = 1) {
    unsigned refusals = 0;
    for (std::size_t good = 0;; ++good) {
      const int why = ask_with(good, always, what, body, files);
      if (why == 0 && !failed) break;
      if (why == 0) continue;  // what failed was not needed
      ASSERT_EQ(ENOMEM, why) << "command " << static_cast<int>(what) << ", allocation " << good;
      EXPECT_EQ(0u, answered);
      ++refusals;
    }
    EXPECT_GE(refusals, least) << "command " << static_cast<int>(what);
  }
  template <class T>
  static std::vector<std::byte> bytes(const T& of) {
    const auto all = bytes_of(of);
    return {all.begin(), all.end()};
  }

  std::unique_ptr<machine> m;
  bool failed = false;
  std::size_t answered = 0;
};

TEST_F(lack_of_memory, each_request_is_refused_at_each_allocation_and_done_when_there_is_memory) {
  const descriptor file(memfd_create("a client's memory", MFD_CLOEXEC)),
      event(eventfd(0, EFD_CLOEXEC));
  ASSERT_EQ(0, ftruncate(file.get(), 0x4000));
  const int file_number = file.get();
  const std::array<int, 3> events{event.get(), event.get(), event.get()};
  expect_refused_and_done(command::dma_map,
                          bytes(dma_map{sizeof(dma_map), dma_readable, 0x1000, 0x10000, 0x1000}),
                          {&file_number, 1}, 4);
  EXPECT_EQ(1u, m->memory.count());
  EXPECT_EQ(1u, m->memory.files().count());
  expect_refused_and_done(command::device_set_irqs,
                          bytes(irq_set{sizeof(irq_set), irq_set_eventfd | irq_set_trigger,
                                        msix_irq, 0, events.size()}),
                          events, 2);
  EXPECT_TRUE(m->function.configuration().msix_enabled());
  expect_refused_and_done(command::device_get_info,
                          bytes(device_info{sizeof(device_info), 0, 0, 0}));
  expect_refused_and_done(command::device_get_region_info,
                          bytes(region_info{sizeof(region_info), 0, bar2_region, 0, 0, 0}));
  expect_refused_and_done(command::device_get_irq_info,
                          bytes(irq_info{sizeof(irq_info), 0, msix_irq, 0}));
  expect_refused_and_done(command::region_read, bytes(region_access{0, configuration_region, 256}),
                          {}, 2);
  EXPECT_EQ(sizeof(region_access) + 256, answered);
  expect_refused_and_done(command::dma_unmap,
                          bytes(dma_unmap{sizeof(dma_unmap), 0, 0x10000, 0x1000}));
  EXPECT_EQ(0u, m->memory.files().count());
}

TEST_F(lack_of_memory, a_version_is_agreed_on_with_the_reserve_or_refused) {
  const memory_reserve reserve;
  unsigned used = 0;
  for (std::size_t good = 0;; ++good) {
    make_machine(false);
    ASSERT_FALSE(memory_reserve::memory_is_short()) << "the reserve is there again";
    // The reserve is used for the body already: then there is none for the text.
    const int why = ask_with(good, once_and_the_reserve, command::version, write_terms(terms{}));
    if (!failed) break;
    ++used;
    if (good == 0) {
      EXPECT_EQ(ENOMEM, why);
      EXPECT_EQ(EINVAL,
                ask(command::device_get_info, bytes(device_info{sizeof(device_info), 0, 0, 0})));
      EXPECT_EQ(0, ask(command::version, write_terms(terms{})));
    } else {
      EXPECT_EQ(0, why) << good;
    }
  }
  EXPECT_GE(used, 5u);
}

TEST_F(lack_of_memory, a_long_read_is_refused) {
  const auto read = bytes(region_access{0, bar0_region, much});
  EXPECT_EQ(ENOMEM, ask_with(1, always, command::region_read, read));
  EXPECT_TRUE(failed);
  send(command::region_read, read);
  EXPECT_TRUE(m->serving.work());
  message reply;
  // Longer than the socket's buffer, perhaps.
  for (arrival what = arrival::nothing; what == arrival::nothing;) what = m->client.receive(reply);
  EXPECT_EQ(sizeof(region_access) + much, reply.body.size());
}

// Its body is passed over, and the message behind it is understood.
TEST_F(lack_of_memory, a_message_that_there_is_no_memory_for_is_passed_over) {
  const descriptor event(eventfd(0, EFD_CLOEXEC));
  const std::array<int, 2> events{event.get(), event.get()};
  std::vector<std::byte> body = bytes(region_access{0, bar0_region, much});
  body.resize(body.size() + much);
  send(command::region_write, std::span(body).first(100'000), events);
  send(command::region_read, bytes(region_access{PCI_VENDOR_ID, configuration_region, 2}));
  {
    const failing_allocations none(0, always);
    EXPECT_TRUE(m->serving.work());
  }
  for (unsigned i = 0; i < 2; ++i) {
    message reply;
    ASSERT_EQ(arrival::message, m->client.receive(reply));
    EXPECT_EQ(request_id, reply.head.id);
    EXPECT_EQ(static_cast<std::uint32_t>(ENOMEM), reply.head.error) << i;
  }
  EXPECT_EQ(
      0, ask(command::region_read, bytes(region_access{PCI_VENDOR_ID, configuration_region, 2})));
}

// The model has no exceptions. The reserve is used once, and then the model is given no work.
TEST_F(lack_of_memory, with_a_reserve_the_model_finds_memory_and_gets_no_more_work) {
  const memory_reserve reserve;
  const auto read = bytes(region_access{0, bar0_region, 64});
  const auto map = bytes(dma_map{sizeof(dma_map), dma_readable, 0, 0x10000, 0x1000});
  const auto unmap = bytes(dma_unmap{sizeof(dma_unmap), 0, 0x10000, 0x1000});
  unsigned used = 0;
  for (std::size_t good = 0;; ++good) {
    ASSERT_EQ(0, ask_with(good, once, command::region_read, read)) << good;
    if (!failed) break;
    ++used;
  }
  EXPECT_GE(used, 2u);
  ASSERT_EQ(0, ask(command::dma_map, map));
  EXPECT_FALSE(memory_reserve::memory_is_short());
  // As when another process takes the memory: one allocation uses the reserve, and there is none
  // to be had again.
  send(command::region_read, read);
  send(command::dma_map, map);
  send(command::device_reset, {});
  send(command::dma_unmap, unmap);
  {
    const failing_allocations none(0, once_and_the_reserve);
    EXPECT_TRUE(m->serving.work());
    EXPECT_TRUE(memory_reserve::memory_is_short());
  }
  for (const int expected : {ENOMEM, ENOMEM, ENOMEM, 0}) {
    message reply;
    ASSERT_EQ(arrival::message, m->client.receive(reply));
    EXPECT_EQ(static_cast<std::uint32_t>(expected), reply.head.error);
  }
  EXPECT_EQ(0u, m->memory.count()) << "what gives memory back is done";
  EXPECT_FALSE(memory_reserve::memory_is_short());
  EXPECT_EQ(0, ask(command::dma_map, map));
  EXPECT_EQ(0, ask(command::region_read, read));
}

}  // namespace
}  // namespace freehca::device_server
