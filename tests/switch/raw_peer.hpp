// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca-switch as a program, and raw peers on its wires.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <freehca/packets/link_packets.hpp>
#include <freehca/packets/mad_packet.hpp>
#include <freehca/packets/wire_form.hpp>
#include <freehca/wires/descriptor.hpp>

#include "bench.hpp"
#include "started_program.hpp"

namespace freehca::switch_program::test {

using namespace layouts;
using infiniband_switch::test::directed;
using infiniband_switch::test::to_qp0;
using infiniband_switch::test::wire_of;
using bytes = std::vector<std::byte>;
using vfio_user::folder;
using vfio_user::started_program;

inline sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  return address;
}

/// The other end of a stream wire. What is waited for comes within seconds, or the test fails.
class peer {
 public:
  explicit peer(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un to = address_of(path);
    EXPECT_EQ(0, connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to));
  }
  explicit peer(wires::descriptor accepted) : socket_(std::move(accepted)) {}

  void send(const bytes& frame) {
    bytes all(4 + frame.size());
    for (unsigned i = 0; i < 4; ++i) all[i] = static_cast<std::byte>(frame.size() >> (8 * (3 - i)));
    std::copy(frame.begin(), frame.end(), all.begin() + 4);
    EXPECT_EQ(static_cast<ssize_t>(all.size()),
              ::send(socket_.get(), all.data(), all.size(), MSG_NOSIGNAL));
  }
  void say(link_packet_op op) {
    image<link_packet> p;
    p.set<&link_packet::op>(op);
    packets::seal(p);
    send({p.data(), p.data() + link_packet::bytes});
  }
  /// The next frame; none: nothing comes for `ms` milliseconds, or the wire is gone.
  std::optional<bytes> receive(int ms = 5000) {
    const auto head = read(4, ms);
    if (!head) return std::nullopt;
    std::size_t length = 0;
    for (const std::byte b : *head) length = length << 8 | std::to_integer<std::size_t>(b);
    return read(length, ms);
  }
  bool hears(link_packet_op op) {
    while (const auto heard = next_link_packet())
      if (*heard == op) return true;
    return false;
  }
  std::optional<link_packet_op> next_link_packet() {
    while (const auto frame = receive())
      if (const auto p = packets::link_packet_of(*frame)) return p->get<&link_packet::op>();
    return std::nullopt;
  }
  /// The next that is no link packet.
  bytes packet(int ms = 5000) {
    while (const auto frame = receive(ms))
      if (frame->size() != link_packet::bytes) return *frame;
    return {};
  }
  void link() {
    say(link_packet_op::training_1);
    ASSERT_TRUE(hears(link_packet_op::training_2));
    say(link_packet_op::training_2);
    ASSERT_TRUE(hears(link_packet_op::flow_control_init));
  }
  int socket() const { return socket_.get(); }

 private:
  std::optional<bytes> read(std::size_t length, int ms) {
    bytes all(length);
    for (std::size_t at = 0; at < length;) {
      pollfd one{socket_.get(), POLLIN, 0};
      if (poll(&one, 1, ms) != 1) return std::nullopt;
      const ssize_t got = recv(socket_.get(), all.data() + at, length - at, 0);
      if (got <= 0) return std::nullopt;
      at += static_cast<std::size_t>(got);
    }
    return all;
  }
  wires::descriptor socket_;
};

struct switch_program : testing::Test {
  void start(const std::vector<std::string>& arguments) {
    program.start(arguments);
    ASSERT_NE(std::string::npos, program.said().find("ready: ")) << program.said();
  }
  void TearDown() override {
    if (program.process() >= 0) {
      EXPECT_EQ(0, program.stop()) << program.said();
    }
  }
  static void expect_refusal(const std::vector<std::string>& arguments, int code,
                             const std::string& words) {
    started_program one(FREEHCA_SWITCH);
    one.start(arguments);
    EXPECT_EQ(code, one.wait());
    EXPECT_NE(std::string::npos, one.said().find(words)) << one.said();
    EXPECT_EQ(std::string::npos, one.said().find("ready")) << one.said();
  }
  std::string listening(const std::string& name) const { return "stream:listen=" + path(name); }
  std::string path(const std::string& name) const { return files.path(name); }

  folder files;
  started_program program{FREEHCA_SWITCH};
};

}  // namespace freehca::switch_program::test
