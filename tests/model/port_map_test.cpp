// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// VIRT_PORT_MAP and CONFIG_DEV's check of ports: two adapters, whose Ethernet ports 1 are cabled to
// each other, and so are their ports 2. Linux bonds such ports.
#include <array>
#include <vector>

#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/set_port.hpp>

#include "cabled_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

constexpr unsigned gid_place = 1, mac_place = 2;
constexpr std::uint64_t here = station::region_start, there = here + 0x10000;

std::uint64_t mac_of(unsigned number) {
  return 0x0002'c900'0020 + number;
}
std::array<std::byte, 16> gid_of(unsigned number) {
  std::array<std::byte, 16> g{};
  g[0] = std::byte{0xfe};
  g[1] = std::byte{0x80};
  g[15] = static_cast<std::byte>(number + 1);
  return g;
}

class port_map : public testing::Test {
 protected:
  port_map() : a(with(0)), b(with(1)) {
    a.host->on_wire = [this](unsigned port, std::vector<std::byte>&) { ++left[port - 1]; };
    for (const unsigned port : {1u, 2u}) {
      a.host->lay_cable(port, *b.host, port);
      prepare(a, 0, port);
      prepare(b, 1, port);
    }
    a.host->advance(second);
    EXPECT_TRUE(a.links().active(2) && b.links().active(2));
  }
  ~port_map() override { a.host->part(); }

  static options with(unsigned number) {
    options how = test_options();
    how.node_guid += 0x100 * number;
    how.mac += 0x100 * number;
    for (const unsigned i : {0u, 1u}) {
      how.link[i] = link_layer::ethernet;
      how.cable[i] = true;
    }
    return how;
  }
  /// Tables as a bond has them: the same at both ports.
  static void prepare(station& s, unsigned number, unsigned port) {
    using m = set_port_mac_entry;
    using g = set_port_gid_entry;
    table(s, set_port_selector::mac_table, port, mac_place,
          image<m>{}.set<&m::valid>(true).set<&m::mac>(mac_of(number)));
    table(s, set_port_selector::gid_table, port, gid_place,
          image<g>{}.set_bytes<&g::gid>(gid_of(number).data()));
    s.open(port);
  }
  template <class T>
  static void table(station& s, set_port_selector selector, unsigned port, unsigned place,
                    const image<T>& entry) {
    std::memset(s.host->at(s.driver->input), 0, 4096);
    s.host->store(s.driver->input + place * T::bytes, entry);
    ASSERT_EQ(
        s.driver
            ->command(opcode::set_port, s.driver->input, set_port_input_modifier(selector, port), 1)
            .status,
        command_status::ok);
  }
  static command_status map(station& s, unsigned first, unsigned second_port) {
    using v = virt_port_map;
    return s.driver
        ->command_with(opcode::virt_port_map,
                       image<v>{}.set<&v::v_port1>(first).set<&v::v_port2>(second_port), 0,
                       static_cast<unsigned>(virt_port_map_modifier::set))
        .status;
  }
  static std::array<unsigned, 2> map_of(station& s) {
    image<virt_port_map> out;
    EXPECT_EQ(s.driver->query(opcode::virt_port_map, out).status, command_status::ok);
    return {static_cast<unsigned>(out.get<&virt_port_map::v_port1>()),
            static_cast<unsigned>(out.get<&virt_port_map::v_port2>())};
  }
  static void check_ports(station& s, bool checks) {
    using c = config_dev;
    ASSERT_EQ(s.driver
                  ->command_with(opcode::config_dev, image<c>{}
                                                         .set<&c::u_disable_rx_port_check>(true)
                                                         .set<&c::disable_rx_port_check>(!checks))
                  .status,
              command_status::ok);
  }
  static image<qpc> context(station& s, const test_qp& qp, std::uint32_t remote, unsigned far,
                            unsigned port = 1) {
    image<qpc> c = s.ready_context(qp, remote);
    c.set<&primary_path::sched_queue>(sched_queue_ethernet(port, 0))
        .set<&primary_path::rlid>(0)
        .set<&primary_path::grh>(true)
        .set<&primary_path::my_lid_smac_idx>(mac_place)
        .set<&primary_path::link_type>(path_link::ethernet)
        .set<&primary_path::mgid_index>(gid_place)
        .set<&primary_path::hop_limit>(64)
        .set_bytes<&primary_path::rgid>(gid_of(far).data())
        .set<&primary_path::dmac>(mac_of(far));
    return c;
  }
  void connect(qp_service service = qp_service::rc) {
    qa = a.make_qp(0x150, service);
    qb = b.make_qp(0x160, service);
    a.to_rts(qa, context(a, qa, qb.number, 1));
    b.to_rts(qb, context(b, qb, qa.number, 0));
  }
  void write(std::uint32_t bytes) {
    a.send(qa, a.transfer(wqe_opcode::rdma_write, bytes, here, there));
  }
  void expect_written(std::uint32_t bytes) {
    a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::rdma_write));
    b.expect_pattern(there, bytes, 3);
  }
  void send_datagram(std::uint32_t dqpn, std::uint32_t key_of_queue, unsigned port = 1) {
    test_send d;
    d.address = here;
    d.bytes = 100;
    d.lkey = a.key;
    d.dqpn = dqpn;
    d.qkey = key_of_queue;
    d.port = port;
    const std::size_t at = std::size_t{qa.sent % test_qp::entries} * test_qp::stride + 16;
    a.post_send(qa, d);
    auto segment = image<wqe_datagram>::from_bytes(a.driver->bytes_of(qa.ring, at));
    segment.set<&wqe_datagram::mgid_index>(gid_place)
        .set<&wqe_datagram::rlid>(0)
        .set<&wqe_datagram::hop_limit>(64)
        .set<&wqe_datagram::force_loopback>(false)
        .set_bytes<&wqe_datagram::dgid>(gid_of(1).data())
        .set<&wqe_datagram::dmac>(mac_of(1));
    a.put(qa, at, segment);
    a.ring(qa);
    a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
  }

  station a, b;
  test_qp qa, qb;
  std::array<unsigned, 2> left{};  ///< frames of a, by port
};

}  // namespace

TEST_F(port_map, begins_with_each_port_by_itself_and_tells_what_it_was_told) {
  EXPECT_EQ(map_of(a), (std::array{1u, 2u}));
  for (const auto& [first, second_port] : {std::array{1u, 1u}, {2u, 2u}, {2u, 1u}, {1u, 2u}}) {
    EXPECT_EQ(map(a, first, second_port), command_status::ok);
    EXPECT_EQ(map_of(a), (std::array{first, second_port}));
  }
  EXPECT_EQ(map(a, 0, 2), command_status::bad_index);
  EXPECT_EQ(map(a, 1, 3), command_status::bad_index);
  EXPECT_EQ(map_of(a), (std::array{1u, 2u}));
}

TEST_F(port_map, ends_with_the_adapters_initialisation) {
  ASSERT_EQ(map(a, 2, 2), command_status::ok);
  ASSERT_EQ(a.driver->command(opcode::close_hca).status, command_status::ok);
  EXPECT_FALSE(a.hca->inside().profile.maps_ports());
}

TEST_F(port_map, says_by_which_port_packets_of_a_queue_pair_leave) {
  connect();
  a.fill(here, 3000, 3);
  write(3000);
  expect_written(3000);
  EXPECT_EQ(left[1], 0u);
  ASSERT_EQ(map(a, 2, 2), command_status::ok);
  check_ports(a, false);
  check_ports(b, false);
  left = {};
  a.fill(here, 2000, 3);
  write(2000);
  expect_written(2000);
  EXPECT_EQ(left[0], 0u);
  EXPECT_GT(left[1], 0u);
}

TEST_F(port_map, leaves_alone_whose_port_is_fixed) {
  qa = a.make_qp(0x150);
  qb = b.make_qp(0x160);
  a.to_rts(qa, context(a, qa, qb.number, 1).set<&qpc::fpp>(true));
  b.to_rts(qb, context(b, qb, qa.number, 0));
  ASSERT_EQ(map(a, 2, 2), command_status::ok);
  a.fill(here, 100, 3);
  write(100);
  expect_written(100);
  EXPECT_EQ(left[1], 0u);
}

TEST_F(port_map, takes_addresses_from_the_tables_of_the_port_that_packets_leave_by) {
  using m = set_port_mac_entry;
  constexpr std::uint64_t other = 0x0002'c900'0099;
  table(a, set_port_selector::mac_table, 2, mac_place,
        image<m>{}.set<&m::valid>(true).set<&m::mac>(other));
  std::vector<std::byte> last;
  a.host->on_wire = [&](unsigned, std::vector<std::byte>& bytes) { last = bytes; };
  connect(qp_service::uc);
  ASSERT_EQ(map(a, 2, 2), command_status::ok);
  check_ports(b, false);
  a.fill(here, 100, 3);
  write(100);
  expect_written(100);
  ASSERT_GT(last.size(), 14u);
  EXPECT_EQ(load_be<std::uint32_t>(last.data() + 8), other & 0xffffffff);
}

TEST_F(port_map, wakes_who_waits_for_the_port_that_it_sends_by_no_more) {
  connect();
  check_ports(a, false);
  check_ports(b, false);
  a.fill(here, 100'000, 3);
  a.host->wire_full[0] = true;
  write(100'000);
  EXPECT_TRUE(a.no_completion());
  ASSERT_EQ(map(a, 2, 2), command_status::ok);
  a.hca->plug_cable(1, false);
  expect_written(100'000);
}

TEST_F(port_map, raw_frames_leave_by_it_too_but_for_those_of_a_fixed_port) {
  using c = wqe_ctrl_ethernet;
  a.fill(here, 60, 3);
  for (const bool fixed : {false, true}) {
    test_qp raw = a.make_qp(0x170 + fixed, qp_service::mlx);
    image<qpc> context = a.first_context(raw);
    context.set<&primary_path::sched_queue>(sched_queue_ethernet(1, 0))
        .set<&primary_path::link_type>(path_link::ethernet)
        .set<&primary_path::counter_index>(0xff)
        .set<&qpc::mtu>(static_cast<ib_mtu>(7))
        .set<&qpc::msg_max>(31);
    for (const opcode o : {opcode::rst2init_qp, opcode::init2rtr_qp, opcode::rtr2rts_qp})
      ASSERT_EQ(a.modify(o, raw.number, context.set<&qpc::fpp>(fixed && o == opcode::init2rtr_qp)),
                command_status::ok);
    ASSERT_EQ(map(a, 2, 2), command_status::ok);
    left = {};
    using d = wqe_data;
    a.put(raw, c::bytes,
          image<d>{}.set<&d::byte_count>(60).set<&d::lkey>(a.key).set<&d::address>(here));
    a.put(raw, 0,
          image<c>{}
              .set<&c::opcode>(wqe_opcode::send)
              .set<&c::ds>(2)
              .set<&c::no_icrc>(true)
              .set<&c::cq_update>(wqe_completion::always));
    ++raw.sent;
    a.ring(raw);
    a.expect_done(raw, true, static_cast<unsigned>(wqe_opcode::send));
    EXPECT_EQ(left, fixed ? (std::array{1u, 0u}) : (std::array{0u, 1u}));
  }
}

TEST_F(port_map, a_datagram_for_a_queue_pair_of_the_other_port_is_dropped_while_ports_are_checked) {
  connect(qp_service::ud);
  b.post_receive(qb, there, 1000, b.key);
  const std::uint64_t dropped = b.counter("transport_packets_dropped");
  send_datagram(qb.number, station::qkey, 2);
  EXPECT_TRUE(b.no_completion());
  EXPECT_EQ(b.counter("transport_packets_dropped"), dropped + 1);
  check_ports(b, false);
  send_datagram(qb.number, station::qkey, 2);
  b.expect_done(qb, false, static_cast<unsigned>(cqe_opcode::recv_send));
  check_ports(b, true);
  send_datagram(qb.number, station::qkey, 2);
  EXPECT_TRUE(b.no_completion());
}

TEST_F(port_map, management_that_comes_by_the_port_without_its_queue_pair_goes_to_the_other_ports) {
  constexpr std::uint32_t base = 0x180;
  ASSERT_EQ(b.driver->command(opcode::conf_special_qp, 0, base).status, command_status::ok);
  test_qp gsi = b.make_qp(base + 2, qp_service::mlx);
  ASSERT_EQ(
      b.modify(opcode::rst2init_qp, gsi.number, b.first_context(gsi).set<&qpc::qkey>(gsi_qkey)),
      command_status::ok);
  for (const opcode o : {opcode::init2rtr_qp, opcode::rtr2rts_qp})
    ASSERT_EQ(b.modify(o, gsi.number, context(b, gsi, 0, 0).set<&qpc::qkey>(gsi_qkey)),
              command_status::ok);
  qa = a.make_qp(0x150, qp_service::ud);
  a.to_rts(qa, context(a, qa, 0, 1).set<&qpc::qkey>(gsi_qkey));
  ASSERT_EQ(a.modify(opcode::rts2rts_qp, qa.number, context(a, qa, 0, 1).set<&qpc::qkey>(gsi_qkey),
                     qp_optpar::qkey),
            command_status::ok);
  b.post_receive(gsi, there, 1000, b.key);
  send_datagram(1, gsi_qkey, 2);
  EXPECT_TRUE(b.no_completion());
  check_ports(b, false);
  send_datagram(1, gsi_qkey, 2);
  EXPECT_EQ(b.completion().get<&cqe::qpn>(), gsi.number);
}

namespace {

TEST(port_map_of, infiniband_ports_is_refused_but_for_each_by_itself) {
  options how = test_options();
  how.link[1] = link_layer::ethernet;
  station s{how};
  using v = virt_port_map;
  const auto set = [&](unsigned first, unsigned second_port) {
    return s.driver
        ->command_with(opcode::virt_port_map,
                       image<v>{}.set<&v::v_port1>(first).set<&v::v_port2>(second_port), 0, 1)
        .status;
  };
  EXPECT_EQ(set(1, 2), command_status::ok);
  EXPECT_EQ(set(2, 2), command_status::bad_operation);
  EXPECT_EQ(set(1, 1), command_status::bad_operation);
}

TEST(port_map_of, a_port_that_becomes_infiniband_is_each_by_itself_again) {
  options how = test_options();
  for (const unsigned i : {0u, 1u}) {
    how.link[i] = link_layer::ethernet;
    how.vpi[i] = how.cable[i] = true;
  }
  station s{how};
  using v = virt_port_map;
  ASSERT_EQ(s.driver
                ->command_with(opcode::virt_port_map,
                               image<v>{}.set<&v::v_port1>(2).set<&v::v_port2>(2), 0, 1)
                .status,
            command_status::ok);
  EXPECT_TRUE(s.hca->inside().profile.maps_ports());
  ASSERT_EQ(s.driver->command_with(opcode::set_port, image<set_port_ib>{}, 2).status,
            command_status::ok);
  EXPECT_FALSE(s.hca->inside().profile.maps_ports());
}

}  // namespace

}  // namespace freehca::model::test
