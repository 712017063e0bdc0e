// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Who connects to --listen: names, secrets, and the port that each gets.
#include "callers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

#include <freehca/wires/hello.hpp>

#include "raw_peer.hpp"

namespace freehca::switch_program::test {
namespace {

TEST(port_choice, others_get_the_lowest_free_port_that_no_name_had) {
  using ports = std::vector<port_use>;
  EXPECT_EQ(1u, choose_port(ports(2), "", 0));
  EXPECT_EQ(2u, choose_port(ports(2), "", 1)) << "one that connected before has no port yet";
  EXPECT_EQ(0u, choose_port(ports(2), "", 2));
  EXPECT_EQ(2u, choose_port(ports{{true, ""}, {false, ""}}, "", 0));
  EXPECT_EQ(3u, choose_port(ports{{false, "a"}, {true, ""}, {false, ""}}, "", 0));
  EXPECT_EQ(1u, choose_port(ports{{false, "a"}, {true, ""}, {true, ""}}, "", 0));
  EXPECT_EQ(0u, choose_port(ports{{true, "a"}, {true, ""}}, "", 0));
}

TEST(port_choice, a_name_gets_its_port) {
  using ports = std::vector<port_use>;
  EXPECT_EQ(2u, choose_port(ports{{false, ""}, {false, "a"}}, "a", 0));
  EXPECT_EQ(2u, choose_port(ports{{false, ""}, {true, "a"}}, "a", 1)) << "also while it is in use";
  EXPECT_EQ(1u, choose_port(ports{{false, ""}, {true, "a"}}, "b", 0));
  EXPECT_EQ(0u, choose_port(ports{{true, "b"}, {true, "a"}}, "c", 0));
}

bytes greeting_of(const std::string& name) {
  wires::hello_options options;
  options.name = name;
  wires::hello one(options, wires::hello_role::caller, {}, 0);
  return one.take_frames().front();
}

struct switch_callers : switch_program {
  void expect_said(const std::string& words) {
    for (int i = 0; i < 5000; ++i) {
      if (program.said().find(words) != std::string::npos) return;
      usleep(1000);
    }
    ADD_FAILURE() << words << " is not in " << program.said();
  }
  static bytes ask_node_info(std::initializer_list<int> path_to) {
    return wire_of(to_qp0(directed(mad_method::get, smp_attribute::node_info, 0, path_to)));
  }
  // 0 if the switch does not answer.
  static unsigned port_of(peer& p) {
    p.send(ask_node_info({}));
    const bytes answer = p.packet();
    const auto m = answer.empty() ? std::nullopt : packets::decode(packets::content_of(answer));
    return m ? static_cast<unsigned>(
                   attribute<&dr_smp::data, node_info>(image<dr_smp>::from_bytes(m->mad.data()))
                       .get<&node_info::local_port_num>())
             : 0;
  }
  static port_state state_of(unsigned port, peer& asker) {
    asker.send(wire_of(to_qp0(directed(mad_method::get, smp_attribute::port_info, port))));
    const bytes answer = asker.packet();
    const auto m = answer.empty() ? std::nullopt : packets::decode(packets::content_of(answer));
    return m ? attribute<&dr_smp::data, port_info>(image<dr_smp>::from_bytes(m->mad.data()))
                   .get<&port_info::state>()
             : port_state::no_change;
  }
  std::string secret_file(const std::string& text) const {
    std::ofstream(path("secret")) << text << '\n';
    EXPECT_EQ(0, chmod(path("secret").c_str(), 0600));
    return path("secret");
  }
};

TEST_F(switch_callers, a_name_that_connects_again_in_time_finds_its_link_up) {
  start({"--listen", path("s"), "--ports", "3", "--grace-ms", "10000", "--trace"});
  peer a(path("s"));
  a.send(greeting_of("left"));
  a.link();
  EXPECT_EQ(1u, port_of(a));
  std::optional<peer> b(path("s"));
  b->send(greeting_of("right"));
  b->link();
  EXPECT_EQ(2u, port_of(*b));
  b.reset();
  expect_said("port 2: the connection of \"right\" has ended");
  EXPECT_EQ(port_state::initialize, state_of(2, a));
  a.send(ask_node_info({2}));
  peer c(path("s"));
  c.link();
  EXPECT_EQ(3u, port_of(c)) << "a peer without a name does not take the port of another";
  b.emplace(path("s"));
  b->send(greeting_of("right"));
  // What was sent in the meantime arrives, and the switch does not train.
  std::optional<packets::mad_packet> m;
  bool flows = false;
  while (!m || !flows) {
    const auto frame = b->receive();
    ASSERT_TRUE(frame);
    if (const auto p = packets::link_packet_of(*frame)) {
      EXPECT_EQ(link_packet_op::flow_control_init, p->get<&link_packet::op>());
      flows = true;
    } else {
      m = packets::decode(packets::content_of(*frame));
      ASSERT_TRUE(m);
    }
  }
  EXPECT_EQ(2u, image<dr_smp>::from_bytes(m->mad.data()).get<&dr_smp::hop_pointer>());
  EXPECT_EQ(2u, port_of(*b));
  EXPECT_EQ(port_state::initialize, state_of(2, a));
  EXPECT_EQ(std::string::npos, program.said().find("port 2: the link is down")) << program.said();
}

TEST_F(switch_callers, a_name_takes_its_port_from_an_older_connection) {
  start({"--listen", path("s"), "--ports", "2", "--trace"});
  peer a(path("s")), old(path("s"));
  a.link();
  old.send(greeting_of("right"));
  old.link();
  EXPECT_EQ(2u, port_of(old));
  // No port is free.
  peer waiting(path("s"));
  waiting.send(greeting_of("other"));
  peer newer(path("s"));
  newer.send(greeting_of("right"));
  EXPECT_EQ(2u, port_of(newer));
  EXPECT_EQ(port_state::initialize, state_of(2, a));
  while (old.receive()) {
  }
  char byte;
  EXPECT_EQ(0, recv(old.socket(), &byte, 1, MSG_DONTWAIT)) << "it is hung up on";
  expect_said("port 2: \"right\" has connected again; its older connection is closed");
  EXPECT_EQ(std::string::npos, program.said().find("port 2: the link is down")) << program.said();
  EXPECT_FALSE(waiting.receive(100));
}

TEST_F(switch_callers, when_the_time_has_passed_the_link_goes_down_and_the_port_keeps_its_name) {
  start({"--listen", path("s"), "--ports", "3", "--grace-ms", "1", "--trace"});
  peer a(path("s"));
  a.link();
  std::optional<peer> b(path("s"));
  b->send(greeting_of("right"));
  b->link();
  b.reset();
  expect_said("port 2: the link is down");
  peer c(path("s"));
  c.link();
  EXPECT_EQ(3u, port_of(c));
  b.emplace(path("s"));
  b->send(greeting_of("right"));
  b->link();
  EXPECT_EQ(2u, port_of(*b));
}

TEST_F(switch_callers, a_silent_peer_without_a_name_gets_its_port_too) {
  start({"--listen", path("s"), "--ports", "2"});
  peer a(path("s")), b(path("s"));
  b.link();
  EXPECT_EQ(2u, port_of(b)) << "the port of the first caller is left to it";
  EXPECT_EQ(link_packet_op::training_1, a.next_link_packet());
  a.link();
  EXPECT_EQ(1u, port_of(a));
}

TEST_F(switch_callers, bad_callers_cost_the_others_nothing) {
  const std::string text = "the secret of the fabric";
  start({"--listen", path("s") + ",secret=" + secret_file(text), "--ports", "2", "--trace"});
  wires::hello_options options;
  for (const char c : text) options.secret.push_back(static_cast<std::byte>(c));
  options.name = "left";
  const auto greets = [](peer& p, const wires::hello_options& with) {
    wires::hello own(with, wires::hello_role::caller, {}, 0);
    const auto send_all = [&] {
      for (const auto& one : own.take_frames()) p.send(one);
    };
    send_all();
    while (own.examines()) {
      const auto frame = p.receive();
      if (!frame) return false;
      bytes all{std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(frame->size())};
      all.insert(all.end(), frame->begin(), frame->end());
      own.arrived(all);
      send_all();
    }
    return own.open();
  };
  // More than find room: they are silent, and the oldest of them go.
  std::vector<std::unique_ptr<peer>> silent;
  for (std::size_t i = 0; i < callers::most + 6; ++i)
    silent.push_back(std::make_unique<peer>(path("s")));
  peer a(path("s"));
  ASSERT_TRUE(greets(a, options)) << program.said();
  a.link();
  EXPECT_EQ(1u, port_of(a)) << "nothing is left to those that have proved nothing";
  wires::hello_options wrong = options;
  wrong.name = "wrong";
  wrong.secret[0] ^= std::byte{1};
  peer b(path("s"));
  EXPECT_FALSE(greets(b, wrong));
  expect_said("--listen: refused: \"wrong\" has another secret, or repeats an old hello");
  peer c(path("s"));
  c.send(greeting_of("bare"));
  expect_said("--listen: refused: \"bare\" has no secret, and this end wants a proof");
  peer d(path("s"));
  d.say(link_packet_op::training_1);
  expect_said("--listen: refused: the other end sent a frame that is no hello");
  options.name = "right";
  peer e(path("s"));
  ASSERT_TRUE(greets(e, options)) << program.said();
  e.link();
  EXPECT_EQ(2u, port_of(e));
  EXPECT_EQ(1u, port_of(a));
}

TEST_F(switch_callers, tcp_wants_a_secret_or_says_that_it_has_none) {
  for (const std::string more : {"", ",secret=none", ",name=fabric"}) {
    started_program one(FREEHCA_SWITCH);
    one.start({"--listen", "127.0.0.1:0" + more, "--ports", "2"});
    EXPECT_NE(std::string::npos, one.said().find("ready: ")) << one.said();
    EXPECT_EQ(more == ",secret=none", one.said().find("TCP without a secret") == std::string::npos)
        << one.said();
    EXPECT_EQ(0, one.stop());
  }
  expect_refusal({"--listen", "127.0.0.1:0,secret=" + path("none"), "--ports", "2"}, 1,
                 "No such file");
  expect_refusal({"--listen", path("s"), "--ports", "2", "--grace-ms", "10001"}, 2, "--grace-ms");
}

}  // namespace
}  // namespace freehca::switch_program::test
