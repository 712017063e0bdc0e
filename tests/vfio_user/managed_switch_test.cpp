// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two drivers in this process, each with an adapter behind a socket, joined by `freehca-switch --sm
// on`: no guest and no OpenSM.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <string>

#include <freehca/blocking/session.hpp>
#include <freehca/wires/wire.hpp>

#include "kept_frames.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

/// An adapter and its driver.
struct host {
  explicit host(const std::string& socket) : session(socket) {
    EXPECT_EQ("", session.trouble());
    const status up = session.wait(hca.bring_up());
    EXPECT_TRUE(up.ok()) << blocking::words(up);
  }
  ~host() {
    const status down = session.tear_down();
    EXPECT_TRUE(down.ok()) << blocking::words(down);
  }
  bool active() { return hca.hardware().port(1).active(); }
  /// Polls until port 1 is as wanted, for 20 seconds at most.
  bool becomes(bool wanted) {
    const std::uint64_t until = hca.hardware().platform().now() + clock::seconds(20);
    while (active() != wanted && hca.hardware().platform().now() < until) session.turn();
    return active() == wanted;
  }
  std::uint16_t lid() { return hca.hardware().port(1).lid; }

  blocking::session session;
  easy::adapter& hca = session.adapter();
};

/// Writes and reads by RC from one to the other; each byte is compared.
status move_data(host& from, host& to) {
  constexpr std::size_t bytes = 64 * 1024;
  FREEHCA_GET(const easy::memory source, from.session.wait(from.hca.allocate(2 * bytes)));
  FREEHCA_GET(const easy::memory sink,
              to.session.wait(
                  to.hca.allocate(bytes, easy::rights::remote_write | easy::rights::remote_read)));
  FREEHCA_GET(const easy::connection a, from.session.wait(from.hca.open_rc()));
  FREEHCA_GET(const easy::connection b, to.session.wait(to.hca.open_rc()));
  FREEHCA_TRY(from.session.wait(from.hca.connect(a, b.self)));
  FREEHCA_TRY(to.session.wait(to.hca.connect(b, a.self)));
  for (std::size_t i = 0; i < bytes; ++i) source.host[i] = static_cast<std::byte>(i * 7 + i / 251);
  FREEHCA_TRY(a.post(queues::rdma_write{.remote = sink.remote(), .data = source.part(0, bytes)}));
  FREEHCA_GET(const auto written, from.session.wait(from.hca.next(a)));
  EXPECT_TRUE(written.ok());
  EXPECT_EQ(0, std::memcmp(source.host, sink.host, bytes));
  FREEHCA_TRY(
      a.post(queues::rdma_read{.remote = sink.remote(), .data = source.part(bytes, bytes)}));
  FREEHCA_GET(const auto read, from.session.wait(from.hca.next(a)));
  EXPECT_TRUE(read.ok());
  EXPECT_EQ(0, std::memcmp(source.host, source.host + bytes, bytes));
  return {};
}

void expect_data_moves(host& from, host& to) {
  const status s = move_data(from, to);
  EXPECT_TRUE(s.ok()) << blocking::words(s);
}

struct managed_switch : ::testing::Test {
  void start_switch() {
    program.start({"--listen", fabric, "--ports", "2", "--sm", "on"});
    ASSERT_NE(std::string::npos, program.said().find("with a subnet manager")) << program.said();
  }
  std::string start_adapter(served_program& server, const std::string& name,
                            const std::string& guid) {
    const std::string socket = files.path(name);
    server.start({"--socket", socket, "--port1", "stream:connect=" + fabric, "--guid", guid});
    return socket;
  }
  void expect_clean_end(served_program& server) {
    EXPECT_EQ(0, server.stop());
    EXPECT_EQ(std::string::npos, server.said().find("complaint")) << server.said();
  }

  folder files;
  std::string fabric = files.path("fabric");
  started_program program{FREEHCA_SWITCH};
  served_program left, right;
};

TEST_F(managed_switch, two_adapters_move_data_also_after_a_restart_of_the_switch) {
  start_switch();
  {
    host a(start_adapter(left, "left", "0002:c903:00f0:ca00"));
    ASSERT_TRUE(a.becomes(true));
    EXPECT_EQ(2, a.lid());
    // The second comes later, and by the other form of an address.
    host b("vfio-user:" + start_adapter(right, "right", "0002:c903:00f0:cb00"));
    ASSERT_TRUE(b.becomes(true));
    EXPECT_EQ(3, b.lid());
    expect_data_moves(a, b);
    expect_data_moves(b, a);

    EXPECT_EQ(0, program.stop());
    ASSERT_TRUE(a.becomes(false));
    ASSERT_TRUE(b.becomes(false));
    start_switch();
    ASSERT_TRUE(a.becomes(true));
    ASSERT_TRUE(b.becomes(true));
    EXPECT_NE(a.lid(), b.lid());
    expect_data_moves(a, b);
  }
  expect_clean_end(left);
  expect_clean_end(right);
  EXPECT_EQ(0, program.stop());
}

// A port of the host that is free now.
std::string free_port() {
  const descriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof at;
  EXPECT_EQ(0, bind(probe.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at));
  EXPECT_EQ(0, getsockname(probe.get(), reinterpret_cast<sockaddr*>(&at), &bytes));
  return "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
}

// Lets a wire do what it waits for, for 20 ms at most. To the wire no time passes.
void work(wires::wire& w, wires::kept& to) {
  pollfd one{w.descriptor(), w.events(true), 0};
  poll(&one, 1, 20);
  w.work(one.revents, 1, to);
}

// Over TCP, with a secret and names. Another program that has the secret takes the name of one
// adapter, which then takes it back.
TEST_F(managed_switch, an_adapter_with_a_name_that_calls_again_has_the_same_active_port) {
  const auto secret_file = [this](const std::string& name, const std::string& text) {
    std::ofstream(files.path(name)) << text;
    EXPECT_EQ(0, chmod(files.path(name).c_str(), 0600));
    return ",secret=" + files.path(name);
  };
  const std::string address = free_port(), secret = secret_file("good", "a secret of the fabric");
  fabric = address + secret;
  program.start({"--listen", fabric, "--ports", "2", "--sm", "on", "--trace", "--grace-ms", "10000",
                 "--closed", "required"});
  ASSERT_NE(std::string::npos, program.said().find("ready: ")) << program.said();
  EXPECT_EQ(std::string::npos, program.said().find("without a secret"));
  fabric += ",name=left";
  {
    host a(start_adapter(left, "left", "0002:c903:00f0:ca00"));
    ASSERT_TRUE(a.becomes(true));
    fabric = address + secret + ",name=right";
    host b(start_adapter(right, "right", "0002:c903:00f0:cb00"));
    ASSERT_TRUE(b.becomes(true));
    EXPECT_EQ(3, b.lid());
    expect_data_moves(a, b);

    std::string why;
    wires::kept frames;
    const auto other = wires::make_wire("stream:connect=" + fabric, why);
    ASSERT_NE(nullptr, other) << why;
    for (int i = 0; i < 500 && !other->connected(); ++i) work(*other, frames);
    ASSERT_TRUE(other->connected()) << program.said();
    for (int i = 0; i < 500 && other->connected(); ++i) work(*other, frames);
    EXPECT_FALSE(other->connected()) << "the adapter has called again";

    expect_data_moves(a, b);
    expect_data_moves(b, a);
    EXPECT_TRUE(a.active() && b.active());
    EXPECT_EQ(2, a.lid());
    EXPECT_EQ(3, b.lid());
    EXPECT_EQ(std::string::npos, program.said().find("the link is down")) << program.said();
    EXPECT_NE(std::string::npos, program.said().find("\"right\" has connected again"));

    // A peer with another secret is refused, and costs the others nothing.
    const auto wrong = wires::make_wire(
        "stream:connect=" + address + secret_file("bad", "a secret of nobody") + ",name=left", why);
    ASSERT_NE(nullptr, wrong) << why;
    for (int i = 0; i < 500 && frames.complaints.empty(); ++i) work(*wrong, frames);
    EXPECT_FALSE(frames.complaints.empty());
    EXPECT_NE(std::string::npos, program.said().find("refused: \"left\" has another secret"));
    expect_data_moves(a, b);
  }
  expect_clean_end(left);
  expect_clean_end(right);
  EXPECT_EQ(0, program.stop());
}

TEST_F(managed_switch, an_adapter_whose_secret_is_wrong_says_so_and_lives) {
  const std::string address = free_port(), file = files.path("secret");
  std::ofstream(file) << "a secret of the fabric";
  ASSERT_EQ(0, chmod(file.c_str(), 0600));
  left.start({"--socket", files.path("left"), "--port1",
              "stream:listen=" + address + ",secret=" + file, "--closed", "required"});
  right.start(
      {"--socket", files.path("right"), "--port1", "stream:connect=" + address + ",name=bare"});
  EXPECT_NE(std::string::npos, right.said().find("--port1: TCP without a secret")) << right.said();
  const std::string refusal = "port 1: refused: \"bare\" has no secret, and this end wants a proof";
  for (int i = 0; i < 5000 && left.said().find(refusal) == std::string::npos; ++i) usleep(1000);
  EXPECT_NE(std::string::npos, left.said().find(refusal)) << left.said();
  expect_clean_end(left);
  expect_clean_end(right);
  ASSERT_EQ(0, chmod(file.c_str(), 0644));
  left.start(
      {"--socket", files.path("left"), "--port1", "stream:listen=" + address + ",secret=" + file});
  EXPECT_EQ(1, left.wait());
  EXPECT_NE(std::string::npos, left.said().find("--port1: secret=" + file + ": its mode is 0644"))
      << left.said();
}

TEST(session_address, one_that_names_no_adapter_is_told_as_what_it_is) {
  EXPECT_NE(std::string::npos,
            blocking::session("0000:ff:1f.7").trouble().find("no PCI function 0000:ff:1f.7"));
  EXPECT_NE(std::string::npos,
            blocking::session("/nowhere/adapter").trouble().find("freehca-device --socket"));
  EXPECT_NE(std::string::npos, blocking::session("vfio-user:adapter").trouble().find("adapter: "));
  EXPECT_NE(std::string::npos, blocking::session("adapter").trouble().find("is not a PCI address"));
}

}  // namespace
}  // namespace freehca::vfio_user
