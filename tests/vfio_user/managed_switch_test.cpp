// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two drivers in this process, each with an adapter behind a socket, joined by `freehca-switch --sm
// on`: no guest and no OpenSM.
#include <cstring>
#include <string>

#include <freehca/blocking/session.hpp>

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
