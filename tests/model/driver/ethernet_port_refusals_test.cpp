// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An InfiniBand path over an Ethernet port is refused by every layer, before any command.
#include "easy_rig.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using layouts::qp_service;
using layouts::qp_state;

/// Port 1 is an Ethernet port, and port 2 as the parameter says.
class ethernet_port : public ::testing::TestWithParam<model::link_layer> {
 protected:
  static in_process::machine_options how(model::link_layer second) {
    in_process::machine_options o;
    o.model.link[0] = model::link_layer::ethernet;
    o.model.link[1] = second;
    return o;
  }
  std::uint64_t sent(device& d) { return d.commands().statistics().posted; }
};

TEST_P(ethernet_port, is_refused_as_a_path_of_queue_pairs_and_addresses) {
  testing::rig_options options;
  options.machine = how(GetParam());
  testing::verbs_rig rig(options);
  const pd_handle domain = rig.objects.create<protection_domain>().value();
  create_completion_queue cq;
  cq.start(rig.objects, {.entries = 31});
  ASSERT_TRUE(rig.await(cq).ok());
  const bool second_is_infiniband = GetParam() == model::link_layer::infiniband;
  for (const qp_service service : {qp_service::rc, qp_service::uc, qp_service::ud}) {
    create_queue_pair qp;
    qp.start(rig.objects, {.pd = domain,
                           .send_cq = cq.made(),
                           .receive_cq = cq.made(),
                           .service = service,
                           .sends = 4,
                           .receives = 4});
    ASSERT_TRUE(rig.await(qp).ok());
    connection_attributes a;
    a.remote_qpn = qpn_of(rig.objects, qp.made());
    infiniband_path path{.dlid = 1, .global = true};
    path.dgid.raw[0] = 0xfe;
    const auto move = [&](qp_state to, unsigned port) {
      path.port = port;
      a.address = path;
      const std::uint64_t before = sent(rig.adapter);
      modify_queue_pair m;
      m.start(rig.objects, qp.made(), to, a);
      const status s = rig.await(m);
      if (!s.ok()) {
        EXPECT_EQ(sent(rig.adapter), before) << "refused, but a command was sent";
      }
      return s;
    };
    EXPECT_TRUE(move(qp_state::init, 1).is(driver_error::bad_argument));
    EXPECT_EQ(rig.objects.refused().what, attribute_id::link_layer);
    EXPECT_TRUE(move(qp_state::init, 0).is(driver_error::bad_argument));
    EXPECT_TRUE(move(qp_state::init, 3).is(driver_error::bad_argument));
    EXPECT_EQ(move(qp_state::init, 2).ok(), second_is_infiniband);
    if (second_is_infiniband) {
      EXPECT_TRUE(move(qp_state::rtr, 1).is(driver_error::bad_argument));
      EXPECT_TRUE(move(qp_state::rtr, 2).ok());
    }
    destroy_queue_pair d;
    d.start(rig.objects, qp.made());
    EXPECT_TRUE(rig.await(d).ok());
  }
  const auto address = [&](unsigned port) {
    return rig.objects.create<address_handle>(
        {.pd = domain, .address = infiniband_path{.port = port, .dlid = 1}});
  };
  ASSERT_FALSE(address(1).ok());
  EXPECT_TRUE(address(1).error().is(driver_error::bad_argument));
  EXPECT_EQ(rig.objects.refused().what, attribute_id::link_layer);
  EXPECT_EQ(rig.objects.refused().value, static_cast<unsigned>(layouts::port_type::ib));
  EXPECT_EQ(rig.objects.refused().limit, static_cast<unsigned>(layouts::port_type::ethernet));
  EXPECT_TRUE(address(3).error().is(driver_error::bad_argument));
  const auto second = address(2);
  ASSERT_EQ(second.ok(), second_is_infiniband);
  if (second.ok()) {
    EXPECT_TRUE(rig.objects.destroy(second.value()).ok());
  }
  destroy_completion_queue d;
  d.start(rig.objects, cq.made());
  EXPECT_TRUE(rig.await(d).ok());
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

TEST_P(ethernet_port, is_refused_by_what_a_program_uses) {
  testing::easy_rig rig(testing::easy_rig::exact_sizes(), how(GetParam()));
  rig.bring_up();
  const std::uint64_t before = sent(rig.hca.hardware());
  auto rc = rig.hca.open_rc();
  EXPECT_TRUE(rig.await(rc).is(driver_error::unsupported));
  auto ud = rig.hca.open_ud();
  EXPECT_TRUE(rig.await(ud).is(driver_error::unsupported));
  port_operation close;
  close.close(rig.hca.hardware(), 1);
  EXPECT_TRUE(rig.await(close).is(driver_error::bad_state)) << "bring-up does not open it";
  EXPECT_EQ(sent(rig.hca.hardware()), before);
}

INSTANTIATE_TEST_SUITE_P(beside, ethernet_port,
                         ::testing::Values(model::link_layer::ethernet,
                                           model::link_layer::infiniband),
                         [](const auto& p) {
                           return p.param == model::link_layer::ethernet ? "ethernet"
                                                                         : "infiniband";
                         });

}  // namespace
}  // namespace freehca
