// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Types that change at any time, under requests and packets that are under way: whatever becomes of
// these, the adapter works on, and a reset makes it as new.
#include <random>

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

}  // namespace freehca::model::test
