// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca-switch as a program: how it begins and ends, and raw peers on its wires.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <freehca/packets/link_packets.hpp>
#include <freehca/packets/mad_packet.hpp>
#include <freehca/packets/wire_form.hpp>
#include <freehca/wires/descriptor.hpp>

#include "raw_peer.hpp"

namespace freehca::switch_program::test {
namespace {

TEST_F(switch_program, wrong_usage) {
  expect_refusal({}, 2, "--listen with --ports");
  expect_refusal({"--port", listening("a")}, 2, "a switch has 2 to 36");
  expect_refusal({"--listen", path("a")}, 2, "--listen needs --ports");
  expect_refusal({"--listen", path("a"), "--ports", "37"}, 2, "a switch has 2 to 36");
  expect_refusal({"--listen", path("a"), "--ports", "2", "--port", listening("b")}, 2, "either");
  expect_refusal({"--port", listening("a"), "--port", listening("b"), "--ports", "2"}, 2,
                 "--ports is for --listen");
  expect_refusal({"--listen", path("a"), "--ports", "2", "--link", "wifi"}, 2, "--link");
  expect_refusal({"--listen", path("a"), "--ports", "2", "--guid", "12"}, 2, "16 hexadecimal");
  expect_refusal({"--listen", path("a"), "--ports", "2", "--description", std::string(65, 'x')}, 2,
                 "room for 64");
}

TEST_F(switch_program, what_the_system_refuses) {
  const auto with = [&](const std::string& where) {
    return std::vector<std::string>{"--listen", where, "--ports", "2"};
  };
  expect_refusal(with(path("no/such/folder")), 1, "No such file or directory");
  expect_refusal(with("/proc/freehca-switch"), 1, "/proc/freehca-switch: ");
  expect_refusal(with(path(std::string(200, 'x'))), 1, "107 at most");
  expect_refusal(with("nothing"), 1, "HOST:PORT");
  expect_refusal({"--port", listening("a"), "--port", "pigeon"}, 1, "--port 2: pigeon");
  std::ofstream(path("file")) << "kept";
  expect_refusal(with(path("file")), 1, "it exists");
  expect_refusal({"--port", listening("a"), "--port", listening("file")}, 1, "it exists");
  EXPECT_EQ(0, access(path("file").c_str(), F_OK)) << "somebody's file stays";
  EXPECT_NE(0, access(path("a").c_str(), F_OK)) << "its own socket does not";
}

TEST_F(switch_program, a_socket_that_is_served_stays_and_one_that_was_left_goes) {
  start({"--listen", path("s"), "--ports", "2"});
  expect_refusal({"--listen", path("s"), "--ports", "2"}, 1, "it exists");
  kill(program.process(), SIGKILL);
  EXPECT_EQ(-1, program.wait());
  start({"--listen", path("s"), "--ports", "2"});
}

TEST_F(switch_program, it_ends_when_it_is_asked_to_and_leaves_nothing) {
  for (const int number : {SIGTERM, SIGINT}) {
    start({"--port", listening("a"), "--port", listening("b")});
    peer a(path("a"));
    a.link();
    kill(program.process(), number);
    EXPECT_TRUE(a.hears(link_packet_op::no_signal)) << "it says goodbye";
    EXPECT_EQ(0, program.wait());
    EXPECT_NE(0, access(path("a").c_str(), F_OK));
    EXPECT_NE(0, access(path("b").c_str(), F_OK));
  }
}

TEST_F(switch_program, two_peers_and_the_switch_between_them) {
  start({"--port", listening("a"), "--port", listening("b"), "--guid", "0002:c903:00f0:d100",
         "--description", "between two"});
  peer a(path("a")), b(path("b"));
  a.link();
  b.link();
  a.send(wire_of(to_qp0(directed(mad_method::get, smp_attribute::node_info))));
  auto m = packets::decode(packets::content_of(a.packet()));
  ASSERT_TRUE(m);
  const auto info = attribute<&dr_smp::data, node_info>(image<dr_smp>::from_bytes(m->mad.data()));
  EXPECT_EQ(0x0002c90300f0d100u, info.get<&node_info::node_guid>());
  EXPECT_EQ(2u, info.get<&node_info::num_ports>());
  a.send(wire_of(to_qp0(directed(mad_method::get, smp_attribute::node_info, 0, {2}))));
  m = packets::decode(packets::content_of(b.packet()));
  ASSERT_TRUE(m);
  EXPECT_EQ(2u, image<dr_smp>::from_bytes(m->mad.data()).get<&dr_smp::hop_pointer>());
}

TEST_F(switch_program, a_peer_that_vanishes_and_comes_back) {
  start({"--port", listening("a"), "--port", listening("b"), "--trace"});
  peer a(path("a"));
  a.link();
  const auto state_of_b = [&a] {
    a.send(wire_of(to_qp0(directed(mad_method::get, smp_attribute::port_info, 2))));
    const bytes answer = a.packet();
    const auto m = answer.empty() ? std::nullopt : packets::decode(packets::content_of(answer));
    return m ? attribute<&dr_smp::data, port_info>(image<dr_smp>::from_bytes(m->mad.data()))
                   .get<&port_info::state>()
             : port_state::no_change;
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(port_state::down, state_of_b());
    {
      peer b(path("b"));
      b.link();
      EXPECT_EQ(port_state::initialize, state_of_b());
    }
    for (int tries = 0; tries < 1000 && state_of_b() != port_state::down; ++tries) usleep(1000);
  }
  EXPECT_NE(std::string::npos, program.said().find("port 2: the link is down")) << program.said();
}

TEST_F(switch_program, a_peer_that_floods_and_does_not_read_costs_the_others_nothing) {
  start({"--port", listening("a"), "--port", listening("b"), "--port", listening("c")});
  peer a(path("a")), b(path("b")), c(path("c"));
  for (peer* one : {&a, &b, &c}) one->link();
  // b asks and asks, and takes no answer.
  const bytes question = wire_of(to_qp0(directed(mad_method::get, smp_attribute::node_info)));
  for (int i = 0; i < 20000; ++i) b.send(question);
  a.send(wire_of(to_qp0(directed(mad_method::get, smp_attribute::node_info, 0, {3}))));
  EXPECT_FALSE(c.packet().empty());
}

TEST_F(switch_program, who_connects_takes_the_next_free_port) {
  start({"--listen", path("s"), "--ports", "2"});
  const auto port_of = [](peer& p) {
    p.link();
    p.send(wire_of(to_qp0(directed(mad_method::get, smp_attribute::node_info))));
    const bytes answer = p.packet();
    const auto m = answer.empty() ? std::nullopt : packets::decode(packets::content_of(answer));
    return m ? attribute<&dr_smp::data, node_info>(image<dr_smp>::from_bytes(m->mad.data()))
                   .get<&node_info::local_port_num>()
             : 0;
  };
  std::optional<peer> first(path("s"));
  EXPECT_EQ(1u, port_of(*first));
  peer second(path("s"));
  EXPECT_EQ(2u, port_of(second));
  peer third(path("s"));
  EXPECT_FALSE(third.receive(100)) << "it waits until somebody leaves";
  first.reset();
  EXPECT_EQ(1u, port_of(third));
}

TEST_F(switch_program, it_calls_who_listens) {
  wires::descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un at = address_of(path("a"));
  start({"--port", "stream:connect=" + path("a"), "--port", listening("b")});
  ASSERT_EQ(0, bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at));
  ASSERT_EQ(0, listen(listener.get(), 1));
  for (int i = 0; i < 2; ++i) {
    pollfd one{listener.get(), POLLIN, 0};
    ASSERT_EQ(1, poll(&one, 1, 5000));
    peer a(wires::descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    a.link();
  }
}

TEST_F(switch_program, it_gives_up_rights_as_it_is_asked_to) {
  const std::vector<std::string> usual{"--listen", path("s"), "--ports", "2"};
  const auto with = [&usual](const std::string& how) {
    std::vector<std::string> all = usual;
    all.insert(all.end(), {"--closed", how});
    return all;
  };
  for (const auto& arguments : {usual, with("auto"), with("required")}) {
    start(arguments);
    EXPECT_NE(std::string::npos, program.said().find("; closed: Landlock ABI ")) << program.said();
    EXPECT_EQ(0, program.stop());
    EXPECT_NE(0, access(path("s").c_str(), F_OK));
  }
  start(with("off"));
  EXPECT_NE(std::string::npos, program.said().find("; not closed: --closed off"));
  expect_refusal(with("on"), 2, "--closed");
}

#ifdef FREEHCA_OLD_KERNEL
TEST_F(switch_program, on_a_kernel_that_cannot_take_rights_away) {
  for (const auto& [parts, words] :
       {std::pair{"landlock", "closed in part: seccomp; the kernel has no Landlock"},
        {"seccomp", "; the kernel has no seccomp"},
        {"both", "not closed: the kernel has no Landlock; the kernel has no seccomp"}}) {
    std::vector<std::string> all{parts, FREEHCA_SWITCH, "--listen", path("s"), "--ports", "2"};
    started_program one(FREEHCA_OLD_KERNEL);
    one.start(all);
    EXPECT_NE(std::string::npos, one.said().find("ready: ")) << one.said();
    EXPECT_NE(std::string::npos, one.said().find(words)) << one.said();
    EXPECT_EQ(0, one.stop());
    all.insert(all.end(), {"--closed", "required"});
    started_program other(FREEHCA_OLD_KERNEL);
    other.start(all);
    EXPECT_EQ(1, other.wait());
    EXPECT_NE(std::string::npos, other.said().find("--closed required: ")) << other.said();
    EXPECT_NE(std::string::npos, other.said().find(words)) << other.said();
    EXPECT_EQ(std::string::npos, other.said().find("ready")) << other.said();
    EXPECT_NE(0, access(path("s").c_str(), F_OK)) << "its socket is gone";
  }
}
#endif

TEST_F(switch_program, a_closed_one_calls_a_port_of_the_host_again) {
  const wires::descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes_of = sizeof at;
  ASSERT_EQ(0, bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at));
  ASSERT_EQ(0, listen(listener.get(), 4));
  ASSERT_EQ(0, getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &bytes_of));
  start({"--closed", "required", "--port",
         "stream:connect=127.0.0.1:" + std::to_string(ntohs(at.sin_port)), "--port",
         listening("b")});
  for (int i = 0; i < 3; ++i) {
    pollfd one{listener.get(), POLLIN, 0};
    ASSERT_EQ(1, poll(&one, 1, 5000)) << i;
    peer a(wires::descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    a.link();
  }
}

TEST_F(switch_program, a_bridge_of_ethernet) {
  start({"--link", "eth", "--listen", path("s"), "--ports", "3"});
  EXPECT_NE(std::string::npos, program.said().find("Ethernet bridge"));
  std::vector<std::unique_ptr<peer>> peers;
  const auto frame = [](unsigned to, unsigned from) {
    bytes f(60, std::byte{2});
    f[5] = static_cast<std::byte>(to);
    f[11] = static_cast<std::byte>(from);
    return f;
  };
  bytes broadcast = frame(0, 9);
  std::fill_n(broadcast.begin(), 6, std::byte{0xff});
  // Who is heard has been let in.
  for (unsigned i = 0; i < 3; ++i) {
    peers.push_back(std::make_unique<peer>(path("s")));
    peers[i]->send(frame(77, i + 1));
    for (unsigned other = 0; other < i; ++other)
      EXPECT_EQ(frame(77, i + 1), peers[other]->packet());
  }
  peers[0]->send(frame(2, 1));
  EXPECT_EQ(frame(2, 1), peers[1]->packet());
  EXPECT_FALSE(peers[2]->receive(100)) << "it is known where 2 is";
  peers[0]->send(broadcast);
  EXPECT_EQ(broadcast, peers[1]->packet());
  EXPECT_EQ(broadcast, peers[2]->packet());
}

}  // namespace
}  // namespace freehca::switch_program::test
