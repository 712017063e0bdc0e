// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Types that change at any time, under requests and packets that are under way: whatever becomes of
// these, the adapter works on, and a reset makes it as new.
#include <random>

#include "link/packet_receiver.hpp"
#include "tables/icm.hpp"
#include "vpi_fixture.hpp"
#include "works_after_reset.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

constexpr std::uint32_t first_qpn = 0x110;
constexpr qp_service services[] = {qp_service::rc, qp_service::ud, qp_service::mlx};

class vpi_hostile : public testing::Test {
 protected:
  vpi_hostile() : a(with(0)), b(with(1)) { a.host->lay_cable(1, *b.host, 1); }
  ~vpi_hostile() override { a.host->part(); }

  static options with(unsigned number) {
    options how = with_cabled_vpi(number);
    how.strict = false;
    return how;
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

  void make_queue_pairs(station& s, std::vector<test_qp>& to) {
    for (const qp_service service : services) {
      const auto number = first_qpn + static_cast<std::uint32_t>(to.size());
      s.driver->command(opcode::to_rst_qp, 0, number, 3);
      to.push_back(s.make_qp(number, service));
      for (const opcode o : {opcode::rst2init_qp, opcode::init2rtr_qp, opcode::rtr2rts_qp})
        s.modify(o, number,
                 o == opcode::rst2init_qp ? s.first_context(to.back())
                                          : s.ready_context(to.back(), number));
    }
  }
  void post(station& s, test_qp& qp) {
    s.post_receive(qp, station::region_start, 4096, s.key);
    test_send r = s.transfer(wqe_opcode::send, 1 + below(4000), station::region_start, 0);
    r.dqpn = first_qpn + below(3);
    r.qkey = station::qkey;
    r.dlid = static_cast<std::uint16_t>(below(3));
    s.send(qp, r);
  }
  void garbage(station& s) {
    std::vector<std::byte> bytes(1 + below(300));
    for (std::byte& each : bytes) each = static_cast<std::byte>(below(256));
    s.hca->link_receive(1, bytes.data(), bytes.size());
  }
  void act(station& s, std::vector<test_qp>& qps) {
    const vpi_driver port{s};
    switch (below(10)) {
      case 0:
        port.to_ethernet();
        break;
      case 1:
        port.to_infiniband();
        break;
      case 2:
        s.driver->command(opcode::init_port, 0, 1);
        break;
      case 3:
        s.driver->command(opcode::close_port, 0, 1);
        break;
      case 4:
        garbage(s);
        break;
      case 5:
        s.hca->plug_cable(1, below(4) != 0);
        break;
      case 6:
        a.host->advance(below(2) == 0 ? second : 1000);
        break;
      case 7:
        if (below(4) == 0) make_queue_pairs(s, qps = {});
        break;
      default:
        post(s, qps[below(std::size(services))]);
    }
  }

  std::mt19937 random_{4099};
  station a, b;
};

}  // namespace

TEST_F(vpi_hostile, types_change_at_any_time) {
  std::vector<test_qp> of_a, of_b;
  make_queue_pairs(a, of_a);
  make_queue_pairs(b, of_b);
  unsigned turned = 0;
  bool before = false;
  for (int i = 0; i < 4000; ++i) {
    if (below(2) == 0) act(a, of_a);
    else act(b, of_b);
    const bool now = vpi_driver{a}.is_ethernet();
    turned += now != std::exchange(before, now);
  }
  EXPECT_GT(turned, 50u);
  EXPECT_GT(a.counter("port1_foreign_packets") + b.counter("port1_foreign_packets"), 50u);
  expect_as_new_after_reset(*a.driver);
  expect_as_new_after_reset(*b.driver);
  EXPECT_TRUE(vpi_driver{a}.is_infiniband() && vpi_driver{b}.is_infiniband());
}

namespace {

/// An Ethernet port with as many raw queue pairs as the tables have numbers for, in INIT: more than
/// a turn can tell of the new link.
class vpi_crowd : public testing::Test {
 protected:
  static constexpr std::uint32_t first = 0x60, end = 0x3f0;
  static options how() {
    options o = with_cabled_vpi(0, link_layer::ethernet);
    o.strict = false;
    return o;
  }
  vpi_crowd() : s(how()) {
    for (std::uint32_t n = first; n < end; ++n) {
      const test_qp qp = s.make_qp(n, qp_service::mlx);
      auto c = s.first_context(qp).set<&primary_path::sched_queue>(sched_queue_ethernet(1, 0));
      c.set<&qpc::mtu>(static_cast<ib_mtu>(7)).set<&qpc::msg_max>(31);
      EXPECT_EQ(s.modify(opcode::rst2init_qp, n, c), command_status::ok) << n;
    }
    s.host->run();
    account().forget_greatest();
  }
  work_account& account() { return s.hca->inside().account; }
  void post_change() {
    s.host->store(s.driver->input, image<set_port_ib>{});
    s.driver->post(opcode::set_port, s.driver->input, 1,
                   static_cast<unsigned>(set_port_modifier::ib), 0, 0x1111, true);
  }
  std::uint64_t in_error() {
    std::uint64_t n = 0;
    for (std::uint32_t qpn = first; qpn < end; ++qpn)
      n += s.hca->inside_now().context_memory->load<qpc>(context_place(qpn))->get<&qpc::state>() ==
           qp_state::error;
    return n;
  }
  static std::uint64_t context_place(std::uint32_t qpn) {
    return test_driver::qpc + std::uint64_t{qpn} * entry_bytes::qpc;
  }

  station s;
};

}  // namespace

TEST_F(vpi_crowd, is_told_of_another_link_in_slices_each_charged_by_what_it_costs) {
  const auto before = account().used();
  post_change();
  s.host->run();
  EXPECT_EQ(s.driver->counter_named("commands_in_flight"), 0u);
  EXPECT_EQ(in_error(), end - first);
  // Measured: 1.45 us each, at 50 ns a unit.
  EXPECT_GE(account().used() - before, (end - first) * 29u);
  EXPECT_LE(account().greatest(), options::default_turn_units + work_account::step);
}

TEST_F(vpi_crowd, is_found_told_even_by_one_who_asks_while_most_are_not_told_yet) {
  post_change();
  for (unsigned i = 0; i < 100 && s.driver->counter_named("commands_in_flight") != 0; ++i)
    s.hca->on_timer();
  ASSERT_EQ(s.driver->counter_named("commands_in_flight"), 0u);
  // The last one that was made is told last.
  s.driver->post(opcode::query_qp, 0, end - 1, 0, s.driver->output, polled_token, false);
  for (unsigned i = 0; i < 100 && s.driver->go(); ++i) s.hca->on_timer();
  ASSERT_FALSE(s.driver->go());
  ASSERT_LT(in_error(), end - first) << "nothing is left to show";
  const auto answer = s.host->load<qp_mailbox>(s.driver->output);
  EXPECT_EQ(image<qpc>::from_bytes(answer.bytes_of<&qp_mailbox::context>()).get<&qpc::state>(),
            qp_state::error);
}

TEST_F(vpi_crowd, forgets_those_that_are_closed_meanwhile) {
  post_change();
  s.hca->on_timer();
  s.driver->post(opcode::close_hca, 0, 0, 0, 0, 0x2222, true);
  s.host->run();
  EXPECT_EQ(s.driver->counter_named("queue_pairs"), 0u);
  EXPECT_EQ(s.driver->counter_named("commands_in_flight"), 0u);
  s.hca->reset();
  s.host->run();
  EXPECT_TRUE(s.host->idle());
}

TEST_F(vpi_crowd, is_counted_while_it_is_bound_to_a_link) {
  const auto bound = [this] { return s.hca->inside_now().above_ports->bound_to_link(1); };
  EXPECT_TRUE(bound());
  EXPECT_FALSE(s.hca->inside_now().above_ports->bound_to_link(2));
  for (std::uint32_t n = first; n < end; ++n) {
    EXPECT_TRUE(bound());
    ASSERT_EQ(s.driver->command(opcode::to_rst_qp, 0, n, 2).status, command_status::ok);
  }
  EXPECT_FALSE(bound());
}

}  // namespace freehca::model::test
