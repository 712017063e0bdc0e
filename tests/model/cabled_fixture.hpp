// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two started adapters whose ports 1 are cabled to each other, or one whose two ports are. The test
// is the subnet manager.
#pragma once

#include <memory>

#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/smp.hpp>

#include "fabric/mad_packet.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

/// An adapter with a host, without ports that are open.
struct station final : transport_fixture {
  explicit station(const options& how) : transport_fixture(how) {}
  void TestBody() override {}

  using transport_fixture::byte_at, transport_fixture::completion, transport_fixture::context_of;
  using transport_fixture::came, transport_fixture::modify, transport_fixture::no_completion;
  using transport_fixture::cq, transport_fixture::driver, transport_fixture::eq;
  using transport_fixture::events, transport_fixture::expect_done,
      transport_fixture::expect_pattern;
  using transport_fixture::fill, transport_fixture::first_context, transport_fixture::hca;
  using transport_fixture::host;
  using transport_fixture::info, transport_fixture::key, transport_fixture::links;
  using transport_fixture::local, transport_fixture::make_qp, transport_fixture::port_info_request;
  using transport_fixture::pattern, transport_fixture::post_receive, transport_fixture::post_send;
  using transport_fixture::put, transport_fixture::ring;
  using transport_fixture::qkey, transport_fixture::ready_context, transport_fixture::region_start;
  using transport_fixture::send, transport_fixture::state_of, transport_fixture::to_rts;
  using transport_fixture::set_info;
  using transport_fixture::transfer, transport_fixture::watch;

  /// Sets LID, state and physical state, as a subnet manager does.
  void manage(std::uint16_t lid, layouts::port_state state, unsigned port = 1,
              layouts::port_physical_state physical = layouts::port_physical_state::no_change) {
    set_info(info(port)
                 .set<&layouts::port_info::lid>(lid)
                 .set<&layouts::port_info::master_sm_lid>(1)
                 .set<&layouts::port_info::state>(state)
                 .set<&layouts::port_info::physical_state>(physical),
             port);
  }
  layouts::port_state state(unsigned port = 1) {
    return info(port).get<&layouts::port_info::state>();
  }
  void open(unsigned port = 1) {
    ASSERT_EQ(driver->command(layouts::opcode::init_port, 0, port).status,
              layouts::command_status::ok);
  }
  void close(unsigned port = 1) {
    ASSERT_EQ(driver->command(layouts::opcode::close_port, 0, port).status,
              layouts::command_status::ok);
  }
  /// From Initialize to Active with that LID.
  void activate(std::uint16_t lid, unsigned port = 1) {
    ASSERT_EQ(state(port), layouts::port_state::initialize);
    manage(lid, layouts::port_state::armed, port);
    manage(lid, layouts::port_state::active, port);
    ASSERT_TRUE(links().active(port));
  }
  /// A queue pair connected to `remote` at `dlid`.
  void connect(const test_qp& qp, std::uint32_t remote, std::uint16_t dlid) {
    to_rts(qp, ready_context(qp, remote).set<&layouts::primary_path::rlid>(dlid));
  }
  /// The one member of a multicast group.
  void join(const std::byte (&mgid)[16], std::uint32_t qpn) {
    std::memcpy(host->at(driver->input), mgid, sizeof mgid);
    const auto index = static_cast<std::uint32_t>(
        driver->command(layouts::opcode::mgid_hash, driver->input).output);
    layouts::image<layouts::mcg_header> head;
    head.set<&layouts::mcg_header::members_count>(1).set_bytes<&layouts::mcg_header::gid>(mgid);
    layouts::image<layouts::mcg_member> member;
    member.set<&layouts::mcg_member::qpn>(qpn);
    host->store(driver->input, head);
    std::memcpy(host->at(driver->input + layouts::mcg_header::bytes), member.data(), 4);
    ASSERT_EQ(driver->command(layouts::opcode::write_mcg, driver->input, index).status,
              layouts::command_status::ok);
  }
  /// A datagram for a queue pair, or with `mgid` for a group.
  void send_datagram(test_qp& qp, std::uint32_t bytes, std::uint32_t dqpn, std::uint16_t dlid,
                     const std::byte* mgid = nullptr,
                     layouts::wqe_opcode opcode = layouts::wqe_opcode::send) {
    test_send s;
    s.opcode = opcode;
    s.immediate = 0x1234;
    s.address = region_start;
    s.bytes = bytes;
    s.lkey = key;
    s.dqpn = mgid != nullptr ? layouts::multicast_qpn : dqpn;
    s.dlid = dlid;
    s.qkey = qkey;
    s.global = mgid != nullptr;
    const std::size_t at = std::size_t{qp.sent % test_qp::entries} * test_qp::stride + 16;
    post_send(qp, s);
    if (mgid != nullptr)
      put(qp, at,
          layouts::image<layouts::wqe_datagram>::from_bytes(driver->bytes_of(qp.ring, at))
              .set_bytes<&layouts::wqe_datagram::dgid>(mgid));
    ring(qp);
  }
  std::uint64_t counter(const char* name) const { return driver->counter_named(name); }
};

/// Port 1 of both: not open.
class cabled : public testing::Test {
 protected:
  static constexpr std::uint16_t lid_a = 4, lid_b = 9;

  cabled() : a(with_guid(0)), b(with_guid(0x100)) { a.host->lay_cable(1, *b.host, 1); }
  ~cabled() override { a.host->part(); }

  static options with_guid(std::uint64_t add) {
    options how = test_options();
    how.cable[0] = true;
    how.node_guid += add;
    return how;
  }
  void pass(std::uint64_t nanoseconds) { a.host->advance(nanoseconds); }
  void link_up() {
    a.open();
    b.open();
    pass(second);
    ASSERT_EQ(a.state(), layouts::port_state::initialize);
    ASSERT_EQ(b.state(), layouts::port_state::initialize);
  }
  void activate() {
    link_up();
    a.activate(lid_a);
    b.activate(lid_b);
  }

  station a, b;
};

}  // namespace freehca::model::test
