// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Clients that send noise, from seeds: bytes, messages with bodies that mean nothing or nearly
// something, descriptors of all sorts. The server answers each that wants an answer, and serves the
// next client. The other way round: a server that lies to our client.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <thread>

#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

struct noise : served {
  std::uint32_t any() { return static_cast<std::uint32_t>(random()); }
  std::uint32_t draw(std::uint32_t below) { return any() % below; }

  // A number that is as likely near a border as anywhere.
  std::uint64_t number() {
    const std::uint64_t borders[] = {
        0,          1, 4, 16, 4096, 0x7c000, 0x7fff, 0x80698, 1u << 20, 1u << 23, ~std::uint64_t{0},
        0x100001000};
    const std::uint64_t some = borders[draw(std::size(borders))];
    return draw(4) == 0 ? random() : some + draw(9) - 4;
  }

  std::vector<std::byte> body_of(command what) {
    std::vector<std::byte> body;
    const auto add = [&](const auto& structure) {
      const auto all = bytes_of(structure);
      body.insert(body.end(), all.begin(), all.end());
    };
    const auto small = [&] { return static_cast<std::uint32_t>(number()); };
    switch (what) {
      case command::dma_map:
        add(dma_map{sizeof(dma_map), draw(5), number() & ~4095u, number() & ~4095u,
                    draw(3) == 0 ? number() : 4096});
        break;
      case command::dma_unmap:
        add(dma_unmap{sizeof(dma_unmap), draw(8) == 0 ? draw(4) : 0, number() & ~4095u,
                      draw(3) == 0 ? number() : 4096});
        break;
      case command::device_set_irqs:
        add(irq_set{sizeof(irq_set), 1u << draw(3) | 8u << draw(3), draw(6), draw(140), draw(140)});
        break;
      case command::region_read:
        add(region_access{number(), draw(10), small() & 0x1fff});
        break;
      case command::region_write: {
        const std::uint32_t count = draw(40);
        add(region_access{number(), draw(10), draw(8) == 0 ? small() : count});
        for (std::uint32_t i = 0; i < count; ++i) body.push_back(static_cast<std::byte>(random()));
        break;
      }
      case command::region_write_multi:
        add(several_writes{draw(8) == 0 ? number() : 2});
        for (unsigned i = 0; i < 2; ++i) add(one_write{{number(), draw(10), draw(10)}, {}});
        break;
      default:
        for (std::uint32_t i = draw(40); i > 0; --i)
          body.push_back(static_cast<std::byte>(random()));
    }
    if (draw(10) == 0) body.resize(draw(80));
    return body;
  }

  // One message. False: the server has hung up.
  bool say_something(const std::vector<int>& sorts) {
    const auto what = static_cast<command>(draw(20) == 0 ? random() : 2 + draw(14));
    header head{static_cast<std::uint16_t>(random()), static_cast<std::uint16_t>(what), 0, 0, 0};
    if (draw(10) == 0) head.flags = any();
    std::vector<int> some;
    for (std::uint32_t i = draw(3) == 0 ? draw(4) : 0; i > 0; --i)
      some.push_back(sorts[draw(static_cast<std::uint32_t>(sorts.size()))]);
    if (!c.raw().send(head, body_of(what), {}, some)) return false;
    return listen(head);
  }

  // Until the answer comes, if one is to come; what the server asks for meanwhile is refused.
  bool listen(const header& asked) {
    if ((asked.flags & flag_no_reply) != 0 || (asked.flags & type_mask) == type_reply) return true;
    message m;
    for (int i = 0; i < 10000; ++i) {
      const arrival came = c.raw().receive(m);
      if (came == arrival::closed) return false;
      if (came == arrival::nothing) {
        pollfd one{c.raw().socket(), POLLIN, 0};
        poll(&one, 1, 1000);
      } else if ((m.head.flags & type_mask) == type_command) {
        c.raw().send({m.head.id, m.head.command, 0, type_reply | flag_error, EFAULT});
      } else {
        EXPECT_EQ(asked.id, m.head.id);
        return true;
      }
    }
    ADD_FAILURE() << "no answer to command " << asked.command << ": " << server.said();
    return false;
  }

  void come() {
    for (int i = 0; i < 2000; ++i) {
      if (c.connect(socket) == 0 && c.negotiate() == 0) return;
      usleep(1000);
    }
    FAIL() << "nobody is served any more: " << server.said();
  }

  std::mt19937 random{5};
};

TEST_F(noise, of_messages) {
  server.start({"--socket", socket});
  int ends[2];
  ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
  const descriptor one(ends[0]), other(ends[1]), event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      place(open("/", O_RDONLY | O_CLOEXEC));
  shared_memory host(1u << 20);
  const std::vector<int> sorts{one.get(), event.get(), event.get(), host.file(), place.get()};
  for (int round = 0; round < 60; ++round) {
    come();
    set_configuration(4, 6, 2);
    for (int i = 0; i < 200 && say_something(sorts); ++i) continue;
    c.disconnect();
  }
  come();
  EXPECT_EQ(0x100715b3u, configuration(0));
  c.disconnect();
  EXPECT_EQ(0, server.stop()) << server.said();
}

TEST_F(noise, of_bytes) {
  server.start({"--socket", socket});
  for (int round = 0; round < 60; ++round) {
    if (draw(2) == 0) come();
    else ASSERT_EQ(0, c.connect(socket));
    std::vector<std::byte> bytes(draw(3000));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    // Now and then a size that could be one, so that what follows is taken for messages.
    for (std::size_t at = 0; at + 8 < bytes.size(); at += 64)
      if (draw(2) == 0) std::memcpy(&bytes[at + 4], "\x40\0\0\0", 4);
    ::send(c.raw().socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    c.disconnect();
  }
  come();
  EXPECT_EQ(0x100715b3u, configuration(0));
  c.disconnect();
  EXPECT_EQ(0, server.stop()) << server.said();
}

// A server whose replies are what a test says.
struct liar : ::testing::Test {
  liar() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    c.raw() = channel(descriptor(ends[0]));
    other = channel(descriptor(ends[1]));
  }
  // Answers the next request by this body, with an identifier that differs by so much.
  std::thread answers(std::vector<std::byte> body, std::uint16_t off = 0) {
    return std::thread([this, body = std::move(body), off] {
      message m;
      while (other.receive(m) == arrival::nothing) usleep(100);
      other.send({static_cast<std::uint16_t>(m.head.id + off), m.head.command, 0, type_reply, 0},
                 body);
    });
  }
  client c;
  channel other;
};

TEST_F(liar, replies_that_are_too_short_or_of_another_request) {
  std::array<std::byte, 4> four{};
  region_info region{};
  for (const std::size_t bytes : {0u, 16u, 19u, 21u}) {
    std::thread t = answers(std::vector<std::byte>(bytes));
    EXPECT_EQ(EPROTO, c.read(bar0_region, 0, four)) << bytes;
    t.join();
  }
  std::thread t = answers(std::vector<std::byte>(31));
  EXPECT_EQ(EPROTO, c.describe(region));
  t.join();
  t = answers(std::vector<std::byte>(20), 1);
  EXPECT_EQ(EPROTO, c.read(bar0_region, 0, four));
  t.join();
}

TEST_F(liar, a_version_that_was_not_proposed) {
  for (const terms& said : {terms{.minor = 7}, terms{.major = 1}}) {
    std::thread t = answers(write_terms(said));
    EXPECT_NE(0, c.negotiate());
    t.join();
  }
}

TEST_F(liar, asking_for_memory_that_nobody_has) {
  std::thread t([this] {
    message m;
    while (other.receive(m) == arrival::nothing) usleep(100);
    const std::uint16_t id = m.head.id;
    for (const std::uint64_t count : {std::uint64_t{4}, ~std::uint64_t{0}}) {
      const dma_access about{0x1000, count};
      other.send({9, static_cast<std::uint16_t>(command::dma_read), 0, type_command, 0},
                 bytes_of(about));
      while (other.receive(m) == arrival::nothing) usleep(100);
      EXPECT_EQ(EFAULT, static_cast<int>(m.head.error));
    }
    other.send({id, static_cast<std::uint16_t>(command::device_reset), 0, type_reply, 0});
  });
  EXPECT_EQ(0, c.reset());
  t.join();
}

TEST_F(liar, who_leaves_instead_of_answering) {
  std::thread t([this] {
    message m;
    while (other.receive(m) == arrival::nothing) usleep(100);
    other.close();
  });
  EXPECT_EQ(ECONNRESET, c.reset());
  t.join();
}

}  // namespace
}  // namespace freehca::vfio_user
