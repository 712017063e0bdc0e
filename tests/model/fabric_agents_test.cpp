// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The agents of QP1 by MAD_IFC: the vendor's classes, and the samples of performance management.
#include <cstring>
#include <string>

#include <freehca/layouts/general_info.hpp>
#include <freehca/layouts/pma.hpp>

#include "ports_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

class fabric_agents : public ports_fixture {
 protected:
  template <class M>
  static image<M> general(mad_class what, mad_method method, std::uint16_t attribute_id) {
    return image<M>{}
        .template set<&M::base_version>(1)
        .template set<&M::mgmt_class>(what)
        .template set<&M::class_version>(1)
        .template set<&M::method>(method)
        .template set<&M::attribute_id>(attribute_id);
  }
  static image<mad> vendor(mad_class what, vendor_attribute attribute,
                           mad_method method = mad_method::get) {
    return general<mad>(what, method, static_cast<std::uint16_t>(attribute));
  }
  image<pma_mad> performance(mad_method method, pma_attribute what) {
    return general<pma_mad>(mad_class::performance, method, static_cast<std::uint16_t>(what));
  }
  image<port_samples_control> samples(mad_method method, image<port_samples_control> c) {
    auto m = performance(method, pma_attribute::port_samples_control);
    set_attribute<&pma_mad::data>(m, c.set<&port_samples_control::port_select>(1));
    EXPECT_EQ(mad_ifc(m), status::ok);
    EXPECT_EQ(m.get<&pma_mad::status>(), mad_status::success);
    return attribute<&pma_mad::data, port_samples_control>(m);
  }
  image<port_samples_result> result() {
    auto m = performance(mad_method::get, pma_attribute::port_samples_result);
    EXPECT_EQ(mad_ifc(m), status::ok);
    EXPECT_EQ(m.get<&pma_mad::status>(), mad_status::success);
    return attribute<&pma_mad::data, port_samples_result>(m);
  }
};

TEST_F(fabric_agents, the_vendors_class_tells_firmware_and_board) {
  auto m = vendor(vendor_class_2, vendor_attribute::general_info);
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(m.get<&mad::status>(), mad_status::success);
  EXPECT_EQ(m.get<&mad::method>(), mad_method::get_resp);
  const auto i = attribute<&mad::data, general_info>(m);
  EXPECT_EQ(i.get<&general_info::device_id>(), 0x1007u);
  EXPECT_EQ(i.get<&general_info::extended_major>(), 2u);
  EXPECT_EQ(i.get<&general_info::extended_minor>(), 42u);
  EXPECT_EQ(i.get<&general_info::extended_subminor>(), 5700u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(i.bytes_of<&general_info::psid>()), 13),
            "MT_1090120019");
}

TEST_F(fabric_agents, both_vendor_classes_tell_their_version_and_refuse_what_they_do_not_have) {
  for (const mad_class c : {vendor_class_1, vendor_class_2}) {
    auto m = vendor(c, vendor_attribute::class_port_info);
    ASSERT_EQ(mad_ifc(m), status::ok);
    EXPECT_EQ(m.get<&mad::status>(), mad_status::success);
    const auto i = attribute<&mad::data, class_port_info>(m);
    EXPECT_EQ(i.get<&class_port_info::base_version>(), 1u);
    EXPECT_EQ(i.get<&class_port_info::class_version>(), 1u);
    m = vendor(c, vendor_attribute::config_space_access);
    ASSERT_EQ(mad_ifc(m), status::ok);
    EXPECT_EQ(m.get<&mad::status>(), mad_status::unsupported_method_attribute);
    m = vendor(c, vendor_attribute::class_port_info, mad_method::set);
    ASSERT_EQ(mad_ifc(m), status::ok);
    EXPECT_EQ(m.get<&mad::status>(), mad_status::unsupported_method_attribute);
    m = vendor(c, vendor_attribute::class_port_info).set<&mad::class_version>(2);
    ASSERT_EQ(mad_ifc(m), status::ok);
    EXPECT_EQ(m.get<&mad::status>(), mad_status::bad_version);
    m = vendor(c, vendor_attribute::class_port_info, mad_method::get_resp);
    EXPECT_EQ(mad_ifc(m), status::bad_management_packet);
  }
  auto m = vendor(vendor_class_1, vendor_attribute::general_info);
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(m.get<&mad::status>(), mad_status::unsupported_method_attribute);
}

TEST_F(fabric_agents, samples_begin_count_and_end) {
  const auto idle = samples(mad_method::get, {});
  EXPECT_EQ(idle.get<&port_samples_control::counter_width>(), sample_width_32);
  EXPECT_EQ(idle.get<&port_samples_control::counter_masks_0_9>(), 0x09248000u);
  EXPECT_EQ(idle.get<&port_samples_control::status>(), sample_status::done);

  constexpr std::uint32_t ticks = 250'000'000;  // of 4 ns
  image<port_samples_control> wanted;
  wanted.set<&port_samples_control::sample_start>(ticks)
      .set<&port_samples_control::sample_interval>(2 * ticks)
      .set<&port_samples_control::tag>(0x1234);
  set_element<&port_samples_control::counter_select, std::uint16_t>(
      wanted, 0, static_cast<std::uint16_t>(sampled_counter::xmit_packets));
  set_element<&port_samples_control::counter_select, std::uint16_t>(
      wanted, 1, static_cast<std::uint16_t>(sampled_counter::rcv_packets));
  EXPECT_EQ(samples(mad_method::set, wanted).get<&port_samples_control::status>(),
            sample_status::started);
  host->advance(second / 2);
  // A Set meanwhile changes nothing.
  EXPECT_EQ(samples(mad_method::set,
                    image<port_samples_control>{wanted}.set<&port_samples_control::tag>(0x5678))
                .get<&port_samples_control::tag>(),
            0x1234u);
  host->advance(second);
  EXPECT_EQ(result().get<&port_samples_result::status>(), sample_status::running);
  // The manager's questions and the answers to them.
  ASSERT_EQ(init_port(), status::ok);
  host->advance(second);
  const std::uint64_t sent = driver->counter_named("port1_packets_sent");
  ASSERT_GT(sent, 0u);
  host->advance(second);
  const auto r = result();
  EXPECT_EQ(r.get<&port_samples_result::status>(), sample_status::done);
  EXPECT_EQ(r.get<&port_samples_result::tag>(), 0x1234u);
  EXPECT_EQ((element<&port_samples_result::counters, std::uint32_t>(r, 0)), sent);
  EXPECT_EQ((element<&port_samples_result::counters, std::uint32_t>(r, 1)),
            driver->counter_named("port1_packets_received"));
  EXPECT_EQ((element<&port_samples_result::counters, std::uint32_t>(r, 2)), 0u);
}

TEST_F(fabric_agents, samples_are_of_this_port_and_their_result_is_only_read) {
  auto m = performance(mad_method::get, pma_attribute::port_samples_control);
  set_attribute<&pma_mad::data>(
      m, image<port_samples_control>{}.set<&port_samples_control::port_select>(2));
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(m.get<&pma_mad::status>(), mad_status::invalid_attribute_value);
  m = performance(mad_method::set, pma_attribute::port_samples_result);
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(m.get<&pma_mad::status>(), mad_status::unsupported_method_attribute);
}

TEST_F(fabric_agents, the_cable_to_the_built_in_manager_can_be_pulled) {
  bring_to_active();
  hca->plug_cable(1, false);
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::down);
  EXPECT_EQ(info().get<&port_info::physical_state>(), port_physical_state::polling);
  host->advance(second);
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::down);
  hca->plug_cable(1, true);
  host->advance(second);
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::active);
  // It stays out over a reset of the adapter, and there may be no such port.
  hca->plug_cable(1, false);
  hca->plug_cable(3, false);
  ASSERT_EQ(close_port(), status::ok);
  ASSERT_EQ(init_port(), status::ok);
  host->advance(second);
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::down);
  EXPECT_EQ(hca->complaints(), 0u);
}

}  // namespace freehca::model::test
