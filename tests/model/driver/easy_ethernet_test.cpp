// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The facade on Ethernet: one program for both link layers, the addresses of a port, and peers and
// options that do not fit.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <freehca/in_process/fabric.hpp>
#include <freehca/texts/names.hpp>

#include "easy_rig.hpp"

namespace freehca::easy_ethernet_tests {
namespace {

using namespace testing;
using id = attribute_id;
using model::link_layer;

constexpr std::uint64_t mac_of(unsigned host) {
  return 0x0002'c9f0'ca01 + 0x100 * host;
}
const gid named[2][2] = {{gid_of_ipv4(0x0a000001), gid_of_mac(mac_of(0))},
                         {gid_of_ipv4(0x0a000002), gid_of_mac(mac_of(1))}};
constexpr std::uint16_t vlans[] = {0x123};

in_process::machine_options one_host(link_layer link) {
  in_process::machine_options how;
  how.takes_fills = false;
  how.model.link[0] = link;
  return how;
}

/// Two hosts with a cable between their first ports, which are Ethernet ports.
class two_hosts {
 public:
  two_hosts() {
    const easy::sizes size = easy_rig::exact_sizes();
    for (unsigned i = 0; i < 2; ++i) {
      in_process::machine_options how = one_host(link_layer::ethernet);
      how.clock = &fabric.clock();
      how.model.cable[0] = true;
      how.model.node_guid += std::uint64_t{i} << 8;
      how.model.mac = mac_of(i);
      machines[i] = std::make_unique<in_process::machine>(how);
      storages[i] = std::make_unique<storage>(easy::adapter::storage_bytes(size));
      fabric.add(*machines[i]);
      EXPECT_TRUE(hca[i]
                      .open({.platform = machines[i]->platform(),
                             .size = size,
                             .storage = storages[i]->at(),
                             .storage_bytes = storages[i]->bytes(),
                             .port_wait = 0,
                             .events = {}})
                      .ok());
    }
    fabric.lay_cable(*machines[0], 1, *machines[1], 1);
    for (easy::adapter& a : hca) must(a.bring_up());
  }
  ~two_hosts() {
    for (unsigned i = 0; i < 2; ++i) {
      must(hca[i].tear_down());
      EXPECT_TRUE(hca[i].hardware().holdings().none());
      EXPECT_EQ(hca[i].places_taken(), 0u);
      for (const std::string& c : machines[i]->complaints()) ADD_FAILURE() << i << ": " << c;
    }
  }

  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 100'000'000'000) {
    const std::uint64_t until = fabric.time() + limit_ns;
    for (;;) {
      std::uint64_t deadline = until;
      for (easy::adapter& a : hca) {
        a.poll();
        deadline = std::min(deadline, a.next_deadline());
      }
      if (done()) return true;
      if (fabric.time() >= until) return false;
      fabric.step(deadline);
    }
  }
  status await(operation& op) {
    EXPECT_TRUE(run([&] { return op.done(); })) << "no completion";
    return op.done() ? op.outcome() : status(transport_error::timeout);
  }
  template <class Operation>
  auto get(Operation&& op) {
    const status s = await(op);
    EXPECT_TRUE(s.ok()) << words(s);
    return op.value().value();
  }
  void must(operation&& op) {
    const status s = await(op);
    EXPECT_TRUE(s.ok()) << words(s);
  }
  /// Both ports have an IPv4 address, the link-local IPv6 address, and a VLAN.
  void open_ports() {
    for (unsigned i = 0; i < 2; ++i)
      must(hca[i].open_ethernet(
          1, {.addresses = named[i], .address_entries = 2, .vlans = vlans, .vlan_entries = 1}));
    run([] { return false; }, clock::milliseconds(100));  // the links come up
  }

  in_process::fabric fabric;
  std::unique_ptr<in_process::machine> machines[2];
  std::unique_ptr<storage> storages[2];
  easy::adapter hca[2];
};

/// What a program does on either link layer. The peers pass through bytes, as between processes.
template <class Rig>
void move_data(Rig& rig, easy::adapter& here, easy::adapter& there,
               const easy::connection_options& how) {
  const auto passed = [](const easy::peer& p) {
    std::byte form[easy::peer_bytes];
    easy::peer got;
    EXPECT_TRUE(easy::write(p, form).ok());
    EXPECT_TRUE(easy::read(form, sizeof form, got).ok());
    return got;
  };
  const auto from = rig.get(here.allocate(8192, easy::rights::all));
  const auto to = rig.get(there.allocate(8192, easy::rights::all));
  for (unsigned i = 0; i < 3000; ++i) from.host[i] = static_cast<std::byte>(i * 7 + 3);

  const auto a = rig.get(here.open_rc(how)), b = rig.get(there.open_rc(how));
  rig.must(here.connect(a, passed(b.self)));
  rig.must(there.connect(b, passed(a.self)));
  const queues::data_entry room = to.part(0, 4096);
  ASSERT_TRUE(b.post(queues::receive_request{.wr_id = 1, .list = &room, .entries = 1}).ok());
  ASSERT_TRUE(a.post(queues::send{.wr_id = 2, .data = from.part(0, 3000)}).ok());
  EXPECT_EQ(rig.get(there.next(b)).byte_count, 3000u);
  EXPECT_TRUE(rig.get(here.next(a)).ok());
  EXPECT_EQ(std::memcmp(from.host, to.host, 3000), 0);
  ASSERT_TRUE(
      b.post(queues::rdma_write{.remote = from.remote(4096), .data = to.part(0, 2001)}).ok());
  EXPECT_TRUE(rig.get(there.next(b)).ok());
  EXPECT_EQ(std::memcmp(from.host, from.host + 4096, 2001), 0);

  const auto c = rig.get(here.open_ud(how)), d = rig.get(there.open_ud(how));
  ASSERT_TRUE(d.post(queues::receive_request{.wr_id = 1, .list = &room, .entries = 1}).ok());
  const auto way = here.address_of(c, passed(d.self));
  ASSERT_TRUE(way.ok());
  ASSERT_TRUE(c.post(queues::send_datagram{
                         .to = {.at = &way.value(), .qpn = d.self.qpn, .qkey = d.self.qkey},
                         .data = from.part(0, 300)})
                  .ok());
  const auto got = rig.get(there.next(d));
  EXPECT_TRUE(got.ok());
  EXPECT_EQ(got.byte_count, queues::grh_bytes + 300);
  EXPECT_EQ(got.source_qpn(), c.self.qpn);
  EXPECT_EQ(std::memcmp(from.host, to.host + queues::grh_bytes, 300), 0);
  EXPECT_TRUE(rig.get(here.next(c)).ok());
}

TEST(either_link_layer, one_program_connects_on_infiniband) {
  easy_rig rig;
  rig.bring_up();
  move_data(rig, rig.hca, rig.hca, {});
}

TEST(either_link_layer, one_program_connects_by_each_kind_of_address_and_version) {
  two_hosts both;
  both.open_ports();
  for (const unsigned address : {0u, 1u})
    for (const roce_version version : {roce_version::v1, roce_version::v2})
      for (const std::uint16_t vlan : {no_vlan, vlans[0]})
        move_data(both, both.hca[0], both.hca[1],
                  {.sl = static_cast<std::uint8_t>(vlan == no_vlan ? 0 : 5),
                   .address = address,
                   .version = version,
                   .vlan = vlan});
}

TEST(either_link_layer, a_port_has_the_link_local_address_of_its_mac_by_default) {
  two_hosts both;
  for (easy::adapter& a : both.hca) both.must(a.open_ethernet());
  move_data(both, both.hca[0], both.hca[1], {});
  const auto c = both.get(both.hca[1].open_rc());
  EXPECT_EQ(c.self.mac, mac_of(1));
  EXPECT_EQ(c.self.gid, gid_of_mac(mac_of(1)));
  EXPECT_EQ(c.self.type, gid_type::v2_ipv6);
  EXPECT_EQ(c.self.vlan, no_vlan);
  EXPECT_EQ(c.self.lid, 0u);
  EXPECT_EQ(c.self.pkey, 0xffff);
  EXPECT_NE(layouts::mtu_bytes(c.self.mtu), 0u);
}

class one_port : public ::testing::Test {
 protected:
  one_port() { rig.bring_up(); }
  /// The operation is refused, and what it refused is noted.
  void refuses(operation&& op, driver_error why, id what = id::none, bool by_port = false) {
    const status s = rig.await(op);
    EXPECT_TRUE(s.is(why)) << words(s);
    if (what == id::none) return;
    const refused_attribute& note =
        by_port ? rig.hca.hardware().refused() : rig.hca.objects().refused();
    EXPECT_EQ(name_of(note.what), std::string(name_of(what)));
  }
  std::uint64_t sent() { return rig.hca.hardware().commands().statistics().posted; }

  easy_rig rig{easy_rig::exact_sizes(), one_host(link_layer::ethernet)};
  easy::adapter& hca = rig.hca;
};

TEST_F(one_port, has_another_mac_if_the_program_says_so) {
  constexpr std::uint64_t other = 0x0200'0000'0001;
  rig.must(hca.open_ethernet(1, {.mac = other}));
  const auto c = rig.get(hca.open_rc());
  EXPECT_EQ(c.self.mac, other);
  EXPECT_EQ(c.self.gid, gid_of_mac(other));
}

TEST_F(one_port, changes_its_addresses_while_it_is_open) {
  rig.must(hca.open_ethernet());
  const auto before = rig.get(hca.open_rc());
  const gid both[] = {before.self.gid, named[0][0]};
  rig.must(hca.open_ethernet(1, {.addresses = both, .address_entries = 2}));
  const auto c = rig.get(hca.open_rc({.address = 1}));
  EXPECT_EQ(c.self.gid, named[0][0]);
  EXPECT_EQ(c.self.type, gid_type::v2_ipv4);
  EXPECT_EQ(rig.get(hca.open_rc()).self.gid, before.self.gid);
}

TEST_F(one_port, must_be_opened_and_opened_again_after_a_teardown) {
  refuses(hca.open_rc(), driver_error::unsupported);
  rig.must(hca.open_ethernet());
  static_cast<void>(rig.get(hca.open_rc()));
  rig.must(hca.tear_down());
  refuses(hca.open_ethernet(), driver_error::bad_state);
  rig.bring_up();
  refuses(hca.open_rc(), driver_error::bad_state);
  rig.must(hca.open_ethernet());
  static_cast<void>(rig.get(hca.open_rc()));
}

TEST_F(one_port, refuses_addresses_that_no_port_has) {
  rig.settle();  // InfiniBand port 2 is read after its events
  const std::uint64_t before = sent();
  gid many[9];
  for (unsigned i = 0; i < 9; ++i) many[i] = gid_of_ipv4(0x0a000001 + i);
  const gid group[] = {gid_of_ipv4(0xe0000001)}, twice[] = {named[0][0], named[0][0]};
  const std::uint16_t wrong_vlan[] = {4095};
  refuses(hca.open_ethernet(0), driver_error::bad_argument, id::port, true);
  refuses(hca.open_ethernet(3), driver_error::bad_argument, id::port, true);
  refuses(hca.open_ethernet(2), driver_error::unsupported);  // an InfiniBand port
  refuses(hca.open_ethernet(1, {.addresses = many, .address_entries = 9}),
          driver_error::bad_argument, id::gid_entries);
  refuses(hca.open_ethernet(1, {.addresses = group, .address_entries = 1}),
          driver_error::bad_argument, id::port_gid, true);
  refuses(hca.open_ethernet(1, {.addresses = twice, .address_entries = 2}),
          driver_error::bad_argument, id::port_gid, true);
  refuses(hca.open_ethernet(1, {.mac = 0x0100'5e00'0001}), driver_error::bad_argument, id::port_mac,
          true);
  refuses(hca.open_ethernet(1, {.vlans = wrong_vlan, .vlan_entries = 1}),
          driver_error::bad_argument, id::port_vlan, true);
  EXPECT_EQ(sent(), before) << "a command was sent";
  rig.must(hca.open_ethernet(1, {.addresses = many, .address_entries = 8}));
  EXPECT_EQ(rig.get(hca.open_rc({.address = 7})).self.gid, many[7]);
}

TEST_F(one_port, refuses_options_that_it_does_not_have) {
  rig.must(hca.open_ethernet(
      1, {.addresses = named[0], .address_entries = 2, .vlans = vlans, .vlan_entries = 1}));
  rig.settle();  // the port is read again after its events
  const auto before = rig.counts();
  const std::uint64_t commands = sent();
  const struct {
    easy::connection_options how;
    id what;
  } wrongs[] = {{{.sl = 8}, id::priority},
                {{.sl = 255}, id::priority},
                {{.pkey_index = 1}, id::pkey_index},
                {{.address = 2}, id::sgid_index},
                {{.address = ~0u}, id::sgid_index}};
  for (const auto& w : wrongs) {
    refuses(hca.open_rc(w.how), driver_error::bad_argument, w.what);
    refuses(hca.open_ud(w.how), driver_error::bad_argument, w.what);
  }
  EXPECT_EQ(sent(), commands) << "a command was sent";
  EXPECT_EQ(rig.counts(), before);
}

TEST_F(one_port, refuses_peers_of_another_kind) {
  rig.must(hca.open_ethernet(
      1, {.addresses = named[0], .address_entries = 2, .vlans = vlans, .vlan_entries = 1}));
  const auto c = rig.get(hca.open_rc({.address = 1, .vlan = vlans[0]}));
  const auto d = rig.get(hca.open_ud({.address = 1, .vlan = vlans[0]}));
  const auto spoilt = [&](auto spoil) {
    easy::peer p = c.self;
    spoil(p);
    return p;
  };
  const struct {
    easy::peer to;
    id what;
  } wrongs[] = {
      {spoilt([](easy::peer& p) { p.type = gid_type::none; }), id::link_layer},
      {spoilt([](easy::peer& p) { p.type = gid_type::v1; }), id::link_layer},
      {spoilt([](easy::peer& p) { p.type = gid_type::v2_ipv4; }), id::link_layer},
      {spoilt([](easy::peer& p) { p.vlan = no_vlan; }), id::vlan},
      {spoilt([](easy::peer& p) { p.pkey = 0x8001; }), id::none},
      {spoilt([](easy::peer& p) { p.mac = 0; }), id::dmac},
      {spoilt([](easy::peer& p) { p.mac = std::uint64_t{1} << 48; }), id::dmac},
      {spoilt([](easy::peer& p) { p.gid = {}; }), id::dgid},
      {spoilt([](easy::peer& p) { p.gid = named[0][0]; }), id::dgid},
      {spoilt([](easy::peer& p) { p.sl = 8; }), id::priority},
  };
  for (const auto& w : wrongs) {
    refuses(hca.connect(c, w.to), driver_error::bad_argument, w.what);
    EXPECT_TRUE(hca.address_of(d, w.to).error().is(driver_error::bad_argument));
    if (w.what != id::none) {
      EXPECT_EQ(hca.objects().refused().what, w.what) << name_of(w.what);
    }
  }
  rig.must(hca.connect(c, c.self));
  // A VLAN that the port does not have.
  for (const std::uint16_t stranger : {std::uint16_t{5}, std::uint16_t{4095}}) {
    const auto e = rig.get(hca.open_rc({.address = 1, .vlan = stranger}));
    refuses(hca.connect(e, e.self), driver_error::bad_argument, id::vlan);
  }
}

TEST_F(one_port, a_connection_on_infiniband_refuses_a_peer_on_ethernet) {
  rig.must(hca.open_ethernet());
  const auto ethernet = rig.get(hca.open_rc()), infiniband = rig.get(hca.open_rc({.port = 2}));
  refuses(hca.connect(infiniband, ethernet.self), driver_error::bad_argument, id::link_layer);
  refuses(hca.connect(ethernet, infiniband.self), driver_error::bad_argument, id::link_layer);
}

TEST(one_port_without_v2, has_version_1_alone) {
  in_process::machine_options how = one_host(link_layer::ethernet);
  how.model.kind = model::variant::connectx3;
  easy_rig rig(easy_rig::exact_sizes(), how);
  rig.bring_up();
  rig.must(rig.hca.open_ethernet());
  auto refused = rig.hca.open_rc();
  EXPECT_TRUE(rig.await(refused).is(driver_error::unsupported));
  EXPECT_EQ(rig.get(rig.hca.open_rc({.version = roce_version::v1})).self.type, gid_type::v1);
}

// ---- What goes wrong while a port is opened.

TEST_F(one_port, a_command_that_is_refused_ends_the_operation_and_a_second_one_succeeds) {
  unsigned commands = 0;
  for (unsigned wrong = 1;; ++wrong) {
    commands = 0;
    rig.machine.adapter().judge_commands(
        [&](layouts::opcode code, std::uint32_t) -> model::command_verdict {
          if (code == layouts::opcode::mad_ifc || ++commands != wrong) return {};
          return {.what = model::command_verdict::fate::refuse};
        });
    auto opens = hca.open_ethernet();
    const status s = rig.await(opens);
    rig.machine.adapter().judge_commands({});
    if (commands < wrong) {
      EXPECT_TRUE(s.ok()) << words(s);
      break;
    }
    EXPECT_EQ(s.who(), origin::firmware) << words(s);
    auto refused = hca.open_rc();
    EXPECT_TRUE(rig.await(refused).is(driver_error::bad_state));
  }
  EXPECT_GE(commands, 5u) << "the tables and INIT_PORT";
  static_cast<void>(rig.get(hca.open_rc()));
}

TEST_F(one_port, may_be_cancelled_late_or_dropped_while_it_is_opened) {
  const auto ends = [&](auto&& how, const auto& is) {
    easy::opening_port op;
    op.start(hca, 1, {});
    how(op);
    const status s = rig.await(op);
    EXPECT_TRUE(s.is(is)) << words(s);
  };
  ends([](easy::opening_port& op) { op.cancel(); }, driver_error::cancelled);
  ends([&](easy::opening_port& op) { op.set_deadline(rig.machine.time() + 1); },
       transport_error::timeout);
  for (unsigned turns = 0; turns < 4; ++turns) {
    easy::opening_port op;
    op.start(hca, 1, {});
    for (unsigned i = 0; i < turns; ++i) hca.poll();
  }
  rig.settle();
  rig.must(hca.open_ethernet());
  static_cast<void>(rig.get(hca.open_rc()));
}

}  // namespace
}  // namespace freehca::easy_ethernet_tests
