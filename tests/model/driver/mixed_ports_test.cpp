// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An adapter with an InfiniBand port and an Ethernet port: traffic on both, and changes of the type
// of one port while the other has traffic.
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "mixed_hosts.hpp"

// Compiled with others of the folder as one source: names of layouts are visible here alone.
namespace freehca::testing::mixed_ports_tests {
namespace {

using namespace layouts;
using id = attribute_id;

constexpr unsigned other(unsigned port) {
  return 3 - port;
}
std::string port_name(unsigned port) {
  return "port_" + std::to_string(port);
}

/// The parameter is the number of the InfiniBand port.
struct mixed_ports : ::testing::TestWithParam<unsigned> {
  const unsigned infiniband = GetParam(), ethernet = other(infiniband);
};

TEST_P(mixed_ports, carry_traffic_at_the_same_time) {
  mixed_hosts both(infiniband);
  ASSERT_EQ(both.type(infiniband), port_type::ib);
  ASSERT_EQ(both.type(ethernet), port_type::ethernet);
  constexpr std::uint64_t messages = 300;
  connection_traffic over_infiniband(both, infiniband, messages);
  connection_traffic over_roce(both, ethernet, messages);
  frame_traffic frames(both, ethernet, messages);
  const traffic* const all[] = {&over_infiniband, &over_roce, &frames};
  ASSERT_TRUE(
      both.hosts.run([&] { return over_infiniband.ended() >= messages / 2; }, clock::seconds(1)));
  for (const traffic* const t : all) EXPECT_GE(t->ended(), messages / 4) << "it waits for others";
  const auto done = [&] {
    return std::all_of(std::begin(all), std::end(all), [](const traffic* t) { return t->done(); });
  };
  EXPECT_TRUE(both.hosts.run(done, clock::seconds(1)));
  EXPECT_EQ(over_infiniband.sends_received(), messages / 3);
  EXPECT_EQ(over_roce.sends_received(), messages / 3);
  EXPECT_GE(both.sent[infiniband - 1], messages);
  EXPECT_GE(both.sent[ethernet - 1], 2 * messages);
}

TEST_P(mixed_ports, refuse_a_path_of_the_other_kind) {
  mixed_hosts both(infiniband);
  cabled_host& host = both.hosts[0];
  connection_traffic over_infiniband(both, infiniband);
  frame_traffic frames(both, ethernet);
  const auto refuses = [&](cabled_end& which, qp_state to, const address_attributes& path,
                           unsigned value, unsigned limit) {
    const std::uint64_t before = both.posted();
    EXPECT_TRUE(which.move(to, which.attributes(path, 5)).is(driver_error::bad_argument));
    EXPECT_EQ(host.objects.refused().what, id::link_layer);
    EXPECT_EQ(host.objects.refused().value, value);
    EXPECT_EQ(host.objects.refused().limit, limit);
    EXPECT_EQ(both.posted(), before) << "refused, but a command was sent";
  };
  const auto number = [](port_type t) { return static_cast<unsigned>(t); };
  constexpr port_type kinds[] = {port_type::ib, port_type::ethernet};
  for (const qp_service service : {qp_service::rc, qp_service::uc, qp_service::ud}) {
    for (const port_type of_port : kinds) {
      const unsigned port = of_port == port_type::ib ? infiniband : ethernet;
      const port_type wrong = kinds[of_port == port_type::ib];
      const address_attributes way = both.path_to(1, port, of_port),
                               no_way = both.path_to(1, port, wrong);
      cabled_end e(host, service);
      refuses(e, qp_state::init, no_way, number(wrong), number(of_port));
      ASSERT_TRUE(e.move(qp_state::init, e.attributes(way, 5)).ok());
      refuses(e, qp_state::rtr, no_way, number(wrong), number(of_port));
      ASSERT_TRUE(e.move(qp_state::rtr, e.attributes(way, 5)).ok());
      const auto made = host.objects.create<address_handle>({.pd = e.domain, .address = no_way});
      ASSERT_FALSE(made.ok());
      EXPECT_TRUE(made.error().is(driver_error::bad_argument));
      EXPECT_EQ(host.objects.refused().what, id::link_layer);
    }
  }
  cabled_end raw(host, qp_service::mlx);
  refuses(raw, qp_state::init, raw_ethernet_path{.port = infiniband}, number(port_type::ethernet),
          number(port_type::ib));
  refuses(raw, qp_state::init, both.path_to(1, infiniband), 0, 0);
  const std::uint64_t before[] = {over_infiniband.ended(), frames.ended()};
  over_infiniband.stop();
  frames.stop();
  EXPECT_TRUE(both.hosts.run([&] { return over_infiniband.done() && frames.done(); },
                             clock::milliseconds(10)));
  EXPECT_GT(before[0], 0u);
  EXPECT_GT(before[1], 0u);
}

INSTANTIATE_TEST_SUITE_P(infiniband_is, mixed_ports, ::testing::Values(1u, 2u),
                         [](const auto& of) { return port_name(of.param); });

/// The parameters are the number of the port that changes, and the type of the other port.
class changing_port : public ::testing::TestWithParam<std::tuple<unsigned, port_type>> {
 protected:
  const unsigned port = std::get<0>(GetParam());
  const port_type of_other = std::get<1>(GetParam());
  mixed_hosts both{of_other == port_type::ib ? other(port) : port, port};
  cabled_hosts& hosts = both.hosts;

  changing_port() {
    // Bring-up has opened it, or mixed_hosts.
    both.close(port);
    running.push_back(std::make_unique<connection_traffic>(both, other(port)));
    if (of_other == port_type::ethernet)
      running.push_back(std::make_unique<frame_traffic>(both, other(port)));
  }
  ~changing_port() override {
    for (auto& t : running) t->stop();
    for (auto& t : running) {
      EXPECT_TRUE(hosts.run([&] { return t->done(); }, clock::seconds(1)));
      EXPECT_GT(t->ended(), 0u);
    }
    running.clear();
  }
  static port_type opposite(port_type t) {
    return t == port_type::ib ? port_type::ethernet : port_type::ib;
  }
  port_type next_type() { return opposite(both.type(port)); }
  /// Host 1 opens its port with a new type, and host 0 senses that type.
  void change_far_end(port_type to) {
    ASSERT_TRUE(both.set_type(1, port, to).ok());
    ASSERT_TRUE(both.change(1, port, true).ok());
    if (to == port_type::ethernet) {
      // An Ethernet port is heard by its frames.
      ASSERT_TRUE(
          hosts.run([&] { return hosts[1].adapter.port(port).active(); }, clock::seconds(20)));
      cabled_end far(hosts[1], qp_service::mlx);
      far.connect(raw_ethernet_path{.port = port}, 0);
      far.pattern(60, 2);
      ASSERT_TRUE(
          far.send().post_and_ring(queues::send_frame{.data = far.buffer->entry(0, 60)}).ok());
      EXPECT_TRUE(far.next().ok());
    }
    // InfiniBand is heard by link packets, several of them in a second.
    for (unsigned looks = 0; looks < 100 && both.sense(0, port) != to; ++looks)
      hosts.run([] { return false; }, clock::milliseconds(10));
    EXPECT_EQ(both.sense(0, port), to);
  }
  /// The driver refuses to change the type, and sends nothing.
  void refuses(driver_error why, ports_to_close closed, const char* where) {
    // What is under way ends: queries of ports after events.
    hosts.run([] { return false; }, clock::milliseconds(1));
    for (const ports_to_close c : {closed, ports_to_close::none}) {
      const port_type before = both.type(port);
      const std::uint64_t posted = both.posted();
      const status s = both.set_type(0, port, opposite(before), c);
      EXPECT_TRUE(s.is(why)) << where << ": " << words(s);
      EXPECT_EQ(both.posted(), posted) << where;
      EXPECT_EQ(both.type(port), before) << where;
    }
  }

  std::vector<std::unique_ptr<traffic>> running;
};

TEST_P(changing_port, changes_ten_times_while_the_other_loses_nothing) {
  for (unsigned n = 0; n < 10; ++n) {
    SCOPED_TRACE(n);
    std::vector<std::uint64_t> before;
    for (auto& t : running) before.push_back(t->ended());
    const port_type to = next_type();
    change_far_end(to);
    const status s = both.set_type(0, port, to);
    ASSERT_TRUE(s.ok()) << words(s);
    EXPECT_FALSE(hosts[0].adapter.port_open(port));
    ASSERT_TRUE(both.change(0, port, true).ok());
    both.make_active(port);
    ASSERT_EQ(both.type(port), to);
    EXPECT_EQ(hosts[0].adapter.capabilities().link_layer(port), to);
    both.carry(port);
    both.close(port);
    EXPECT_EQ(both.type(other(port)), of_other);
    EXPECT_TRUE(hosts[0].adapter.port(other(port)).active());
    for (std::size_t i = 0; i < running.size(); ++i) EXPECT_GT(running[i]->ended(), before[i]);
  }
}

TEST_P(changing_port, is_refused_while_it_is_open) {
  ASSERT_TRUE(both.change(0, port, true).ok());
  refuses(driver_error::bad_state, ports_to_close::none, "open");
  ASSERT_TRUE(both.change(0, port, false).ok());
  EXPECT_TRUE(both.set_type(0, port, next_type()).ok());
}

TEST_P(changing_port, is_refused_types_that_a_port_does_not_have) {
  const auto number = [](port_type t) { return static_cast<unsigned>(t); };
  const auto refuses_type = [&](unsigned of, port_type to, port_type can) {
    const std::uint64_t before = both.posted();
    EXPECT_TRUE(both.set_type(0, of, to, ports_to_close::all).is(driver_error::bad_argument));
    const refused_attribute& note = hosts[0].adapter.refused();
    EXPECT_EQ(note.what, id::port_type);
    EXPECT_EQ(note.value, number(to));
    EXPECT_EQ(note.limit, number(can));
    EXPECT_EQ(both.posted(), before);
  };
  refuses_type(port, port_type::none, port_type::vpi);
  refuses_type(port, port_type::vpi, port_type::vpi);
  refuses_type(other(port), opposite(of_other), of_other);
  EXPECT_TRUE(hosts[0].adapter.port_open(other(port)));
}

TEST_P(changing_port, is_refused_while_an_object_of_the_old_type_uses_it) {
  for (unsigned round = 0; round < 2; ++round) {
    const port_type from = both.type(port), to = next_type();
    SCOPED_TRACE(from == port_type::ib ? "InfiniBand" : "Ethernet");
    if (from == port_type::ethernet) both.set_addresses(port);
    const address_attributes way = both.path_to(1, port);
    for (const qp_service service : {qp_service::rc, qp_service::uc, qp_service::ud}) {
      cabled_end e(hosts[0], service);
      for (const qp_state s : {qp_state::init, qp_state::rtr, qp_state::rts}) {
        ASSERT_TRUE(e.move(s, e.attributes(way, 5)).ok());
        if (s != qp_state::init) refuses(driver_error::busy, ports_to_close::all, "a queue pair");
      }
      ASSERT_TRUE(e.move(qp_state::error, {}).ok());
      refuses(driver_error::busy, ports_to_close::all, "a queue pair in error");
      ASSERT_TRUE(e.move(qp_state::reset, {}).ok());
      ASSERT_TRUE(e.move(qp_state::init, e.attributes(way, 5)).ok());
      ASSERT_TRUE(e.move(qp_state::rtr, e.attributes(way, 5)).ok());
    }
    {
      cabled_end e(hosts[0], qp_service::ud);
      const auto made = hosts[0].objects.create<address_handle>({.pd = e.domain, .address = way});
      ASSERT_TRUE(made.ok());
      refuses(driver_error::busy, ports_to_close::all, "an address handle");
      EXPECT_TRUE(hosts[0].objects.destroy(made.value()).ok());
    }
    if (from == port_type::ethernet) {
      cabled_end raw(hosts[0], qp_service::mlx);
      const connection_attributes a = raw.attributes(raw_ethernet_path{.port = port}, 0);
      for (const qp_state s : {qp_state::init, qp_state::rtr, qp_state::rts}) {
        ASSERT_TRUE(raw.move(s, a).ok());
        refuses(driver_error::busy, ports_to_close::all, "a queue pair of frames");
      }
    }
    const status s = both.set_type(0, port, to);
    ASSERT_TRUE(s.ok()) << words(s);
  }
}

TEST_P(changing_port, leaves_queue_pairs_without_a_path_to_begin_with_the_new_type) {
  const port_type from = both.type(port), to = next_type();
  for (unsigned host = 0; host < 2; ++host) {
    if (from == port_type::ethernet) both.set_addresses(port);
    cabled_end e(hosts[host], qp_service::rc), reset(hosts[host], qp_service::rc);
    const address_attributes before = both.path_to(1 - host, port, from);
    ASSERT_TRUE(e.move(qp_state::init, e.attributes(before, 5)).ok());
    const status s = both.set_type(host, port, to);
    ASSERT_TRUE(s.ok()) << words(s);
    for (auto& [pair, state] : {std::pair{&e, qp_state::rtr}, {&reset, qp_state::init}}) {
      EXPECT_TRUE(pair->move(state, pair->attributes(before, 5)).is(driver_error::bad_argument));
      EXPECT_EQ(hosts[host].objects.refused().what, id::link_layer);
    }
    ASSERT_TRUE(both.change(host, port, true).ok());
  }
  both.make_active(port);
  both.carry(port);
  both.close(port);
}

INSTANTIATE_TEST_SUITE_P(the, changing_port,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Values(port_type::ib, port_type::ethernet)),
                         [](const auto& of) {
                           const bool ib = std::get<1>(of.param) == port_type::ib;
                           return port_name(std::get<0>(of.param)) + "_beside_" +
                                  (ib ? "infiniband" : "ethernet");
                         });

/// Without a flag, the change closes both ports. Port 1 changes, and both ports are open before.
class closing_change : public ::testing::Test {
 protected:
  using fate = model::command_verdict::fate;
  closing_change() {
    for (const patience p : {patience::probe, patience::ordinary, patience::lengthy})
      adapter.commands().set_limit(p, clock::milliseconds(20));
  }
  ~closing_change() override { answer_all(); }
  void answer_all() {
    host.machine.adapter().judge_commands({});
    host.machine.adapter().release_held_commands();
    EXPECT_TRUE(host.run([&] { return adapter.commands().slots_in_use() == 0; }));
  }
  void open_both() {
    for (unsigned port = 1; port <= 2; ++port) {
      if (!adapter.port_open(port)) {
        ASSERT_TRUE(both.change(0, port, true).ok());
      }
    }
    both.hosts.run([] { return false; }, clock::milliseconds(1));
  }

  mixed_hosts both{1, 1};
  cabled_host& host = both.hosts[0];
  device& adapter = host.adapter;
};

TEST_F(closing_change, closes_both_ports_as_linux_does) {
  // The queue pairs repeat what is lost for longer than their port is closed.
  cabled_end a(both.hosts[0], qp_service::rc), b(both.hosts[1], qp_service::rc);
  for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts})
    for (cabled_end* const e : {&a, &b}) {
      connection_attributes c =
          e->attributes(both.path_to(e == &a ? 1 : 0, 2), (e == &a ? b : a).number());
      c.ack_timeout = 20;
      ASSERT_TRUE(e->move(to, c).ok());
    }
  for (unsigned n = 0; n < 10; ++n) {
    SCOPED_TRACE(n);
    open_both();
    std::vector<std::pair<opcode, std::uint32_t>> sent;
    host.machine.adapter().judge_commands(
        [&](opcode code, std::uint32_t modifier) -> model::command_verdict {
          if (code == opcode::close_port || code == opcode::set_port || code == opcode::init_port)
            sent.emplace_back(code, modifier & 0xff);
          return {};
        });
    const port_type to = both.type(1) == port_type::ib ? port_type::ethernet : port_type::ib;
    const status s = both.set_type(0, 1, to, ports_to_close::all);
    ASSERT_TRUE(s.ok()) << words(s);
    host.machine.adapter().judge_commands({});
    using command = std::pair<opcode, std::uint32_t>;
    EXPECT_EQ(sent, (std::vector<command>{
                        {opcode::close_port, 1}, {opcode::close_port, 2}, {opcode::set_port, 1}}));
    EXPECT_EQ(both.type(1), to);
    EXPECT_FALSE(adapter.port_open(1) || adapter.port_open(2));
    EXPECT_TRUE(host.run([&] { return !adapter.port(2).active(); }, clock::milliseconds(100)));

    a.pattern(3000, n);
    ASSERT_TRUE(
        a.send()
            .post_and_ring(queues::rdma_write{.remote = {b.buffer->address(), b.buffer->key},
                                              .data = a.buffer->entry(0, 3000)})
            .ok());
    ASSERT_TRUE(both.change(0, 2, true).ok());
    EXPECT_TRUE(a.next().ok());
    EXPECT_EQ(std::memcmp(a.buffer->at(0), b.buffer->at(0), 3000), 0);
  }
}

TEST_F(closing_change, of_a_closed_port_sends_no_close) {
  ASSERT_TRUE(both.change(0, 1, false).ok());
  ASSERT_TRUE(both.change(0, 2, false).ok());
  unsigned closed = 0;
  host.machine.adapter().judge_commands([&](opcode code, std::uint32_t) -> model::command_verdict {
    closed += code == opcode::close_port;
    return {};
  });
  EXPECT_TRUE(both.set_type(0, 1, port_type::ethernet, ports_to_close::all).ok());
  EXPECT_EQ(closed, 0u);
}

TEST_F(closing_change, whose_commands_fail) {
  const auto change = [&] {
    const port_type to = both.type(1) == port_type::ib ? port_type::ethernet : port_type::ib;
    return both.set_type(0, 1, to, ports_to_close::all);
  };
  for (const fate f : {fate::refuse, fate::hold, fate::hold_and_refuse})
    for (unsigned n = 1; n <= 3; ++n) {
      SCOPED_TRACE(::testing::Message() << "command " << n << ", " << static_cast<unsigned>(f));
      open_both();
      const port_type before = both.type(1);
      host.machine.adapter().judge_commands(
          [n, f, seen = 0u](opcode code, std::uint32_t) mutable -> model::command_verdict {
            if (code != opcode::close_port && code != opcode::set_port) return {};
            if (++seen != n) return {};
            return {.what = f};
          });
      const status s = change();
      EXPECT_TRUE(f == fate::refuse ? s.is(command_status::internal_error)
                                    : s.is(transport_error::timeout))
          << words(s);
      EXPECT_EQ(both.type(1), before);
      if (f != fate::refuse && n <= 2) {
        EXPECT_TRUE(both.change(0, n, false).is(driver_error::busy)) << "it is in doubt";
        EXPECT_TRUE(change().is(driver_error::busy));
      }
      answer_all();
      both.hosts.run([] { return false; }, clock::milliseconds(1));
      const bool done_late = f == fate::hold;
      EXPECT_EQ(adapter.port_open(1), n == 1 && !done_late);
      EXPECT_EQ(adapter.port_open(2), n == 1 || (n == 2 && !done_late));
      EXPECT_EQ(adapter.holdings().in_doubt(), 0u);
      const status again = change();
      EXPECT_TRUE(again.ok()) << words(again);
      EXPECT_FALSE(adapter.port_open(1) || adapter.port_open(2));
    }
}

TEST_F(closing_change, excludes_other_operations_on_both_ports) {
  port_operation close;
  close.close(adapter, 2);
  EXPECT_TRUE(both.set_type(0, 1, port_type::ethernet, ports_to_close::all).is(driver_error::busy));
  EXPECT_TRUE(host.await(close).ok());
  set_port_type type;
  type.start(adapter, 1, port_type::ethernet);
  EXPECT_TRUE(both.change(0, 2, true).is(driver_error::busy));
  EXPECT_TRUE(host.await(type).ok());
  EXPECT_TRUE(both.change(0, 2, true).ok());
}

}  // namespace
}  // namespace freehca::testing::mixed_ports_tests
