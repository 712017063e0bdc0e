// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <cstring>

#include "counts.hpp"

namespace freehca {
namespace {

using layouts::address_vector_rows;

struct address_handle_test : ::testing::Test {
  testing::verbs_rig rig{testing::exact()};
  pd_handle domain = rig.objects.create<protection_domain>().value();
  infiniband_path way{.port = 2, .dlid = 0x1234, .sl = 3, .path_bits = 5};

  status refusal() {
    const auto made = rig.objects.create<address_handle>({.pd = domain, .address = way});
    return made.ok() ? status() : made.error();
  }
};

TEST_F(address_handle_test, says_where_a_datagram_goes) {
  const auto made = rig.objects.create<address_handle>({.pd = domain, .address = way});
  ASSERT_TRUE(made.ok()) << testing::words(made.error());
  const auto& v = rig.objects.find(made.value())->address.vector;
  EXPECT_EQ(v.get<&address_vector_rows::port>(), 2u);
  EXPECT_EQ(v.get<&address_vector_rows::pd>(), rig.objects.find(domain)->number);
  EXPECT_EQ(v.get<&address_vector_rows::rlid>(), 0x1234u);
  EXPECT_EQ(v.get<&address_vector_rows::sl>(), 3u);
  EXPECT_EQ(v.get<&address_vector_rows::my_lid_smac_idx>(), 5u);
  EXPECT_FALSE(v.get<&address_vector_rows::grh>());
  EXPECT_EQ(rig.objects.find(made.value())->address.vlan_and_mac, 0u);

  EXPECT_TRUE(rig.objects.destroy(domain).is(driver_error::busy));
  EXPECT_TRUE(rig.objects.destroy(made.value()).ok());
  EXPECT_TRUE(rig.objects.destroy(made.value()).is(driver_error::stale_handle));
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

TEST_F(address_handle_test, a_place_that_was_used_before_has_nothing_of_that) {
  way.global = true;
  way.hop_limit = 7;
  way.dgid.raw[0] = 0xfe;
  const auto first = rig.objects.create<address_handle>({.pd = domain, .address = way});
  const auto& v = rig.objects.find(first.value())->address.vector;
  EXPECT_TRUE(v.get<&address_vector_rows::grh>());
  EXPECT_EQ(v.get<&address_vector_rows::hop_limit>(), 7u);
  EXPECT_EQ(v.bytes_of<&address_vector_rows::dgid>()[0], std::byte{0xfe});
  EXPECT_TRUE(rig.objects.destroy(first.value()).ok());
  way.global = false;
  const auto second = rig.objects.create<address_handle>({.pd = domain, .address = way});
  const auto& w = rig.objects.find(second.value())->address.vector;
  EXPECT_FALSE(w.get<&address_vector_rows::grh>());
  EXPECT_EQ(w.get<&address_vector_rows::hop_limit>(), 0u);
  EXPECT_EQ(w.bytes_of<&address_vector_rows::dgid>()[0], std::byte{0});
  EXPECT_TRUE(rig.objects.destroy(second.value()).ok());
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

TEST_F(address_handle_test, ways_that_are_none_are_refused) {
  const infiniband_path good = way;
  const auto refused = [&](auto spoil) {
    way = good;
    spoil(way);
    return refusal().is(driver_error::bad_argument);
  };
  EXPECT_TRUE(refused([](infiniband_path& w) { w.port = 0; }));
  EXPECT_TRUE(refused([](infiniband_path& w) { w.port = 3; }));
  EXPECT_TRUE(refused([](infiniband_path& w) { w.dlid = 0; }));
  EXPECT_TRUE(refused([](infiniband_path& w) { w.sl = 16; }));
  EXPECT_TRUE(refused([](infiniband_path& w) { w.path_bits = 128; }));
  EXPECT_TRUE(refused([](infiniband_path& w) { w.static_rate = 200; }));
  EXPECT_TRUE(refused([](infiniband_path& w) { w.flow_label = 1u << 20; }));
  EXPECT_TRUE(refused([](infiniband_path& w) { w.dlid = 0xc001; })) << "a group has a GID";
  way = good;
  const auto stale = rig.objects.create<address_handle>({.address = way});
  EXPECT_TRUE(!stale.ok() && stale.error().is(driver_error::stale_handle));
  EXPECT_EQ(rig.objects.held<address_handle>(), 0u);
  EXPECT_TRUE(rig.objects.destroy(domain).ok()) << "nothing refers to it";
}

TEST_F(address_handle_test, the_budget_of_them_ends_with_their_name) {
  std::vector<ah_handle> all;
  for (;;) {
    const auto made = rig.objects.create<address_handle>({.pd = domain, .address = way});
    if (!made.ok()) {
      EXPECT_TRUE(made.error().is(driver_error::no_resource));
      EXPECT_EQ(made.error().where(), address_handle::facts.item);
      break;
    }
    all.push_back(made.value());
  }
  EXPECT_EQ(all.size(), every_kind().count<address_handle>());
  for (const ah_handle h : all) EXPECT_TRUE(rig.objects.destroy(h).ok());
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

}  // namespace
}  // namespace freehca
