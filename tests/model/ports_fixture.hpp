// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A started adapter, and management datagrams as a host sends them by MAD_IFC.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/opcode.hpp>
#include <freehca/layouts/smp.hpp>

#include "test_driver.hpp"

namespace freehca::model::test {

class ports_fixture : public testing::Test {
 protected:
  using status = layouts::command_status;
  static constexpr std::uint32_t eqn = 35;
  static constexpr unsigned ignore_keys = 3;  ///< MAD_IFC: M_Key and B_Key

  ports_fixture() { start(test_options()); }

  void start(options how) {
    how.capture[0] = how.capture[0] || (capture_wanted() && how.link[0] == link_layer::infiniband);
    host = std::make_unique<test_host>();
    hca = std::make_unique<device>(*host, how);
    driver = std::make_unique<test_driver>(*host, *hca);
    ASSERT_TRUE(driver->bring_up());
    ASSERT_EQ(driver->make_eq(eq, eqn, 1).status, status::ok);
    ASSERT_EQ(driver->command(layouts::opcode::map_eq, ~std::uint64_t{1 << 10}, eqn).status,
              status::ok);
  }

  static layouts::image<layouts::smp> request(layouts::mad_method method,
                                              layouts::smp_attribute attribute,
                                              std::uint32_t modifier = 0) {
    layouts::image<layouts::smp> m;
    m.set<&layouts::smp::base_version>(1)
        .set<&layouts::smp::mgmt_class>(layouts::mad_class::subnet_lid_routed)
        .set<&layouts::smp::class_version>(1)
        .set<&layouts::smp::method>(method)
        .set<&layouts::smp::attribute_id>(static_cast<unsigned>(attribute))
        .set<&layouts::smp::attribute_modifier>(modifier);
    return m;
  }

  /// MAD_IFC; `m` becomes the answer.
  template <class M>
  status mad_ifc(layouts::image<M>& m, unsigned port = 1, unsigned modifier = ignore_keys) {
    std::memset(host->at(driver->input), 0, 4096);
    std::memset(host->at(driver->output), 0, 4096);
    host->store(driver->input, m);
    const outcome o =
        driver->command(layouts::opcode::mad_ifc, driver->input, port, modifier, driver->output);
    if (o.status == status::ok) m = host->load<M>(driver->output);
    return o.status;
  }

  template <class A>
  layouts::image<A> get(layouts::smp_attribute attribute, std::uint32_t modifier = 0,
                        unsigned port = 1) {
    auto m = request(layouts::mad_method::get, attribute, modifier);
    EXPECT_EQ(mad_ifc(m, port), status::ok);
    EXPECT_EQ(m.get<&layouts::smp::method>(), layouts::mad_method::get_resp);
    EXPECT_EQ(m.get<&layouts::smp::status>(), layouts::mad_status::success);
    return layouts::attribute<&layouts::smp::data, A>(m);
  }
  layouts::image<layouts::port_info> info(unsigned port = 1) {
    return get<layouts::port_info>(layouts::smp_attribute::port_info, port, port);
  }
  /// Set; the status word of the answer.
  template <class A>
  std::uint64_t set(layouts::smp_attribute attribute, const layouts::image<A>& value,
                    std::uint32_t modifier = 0, unsigned port = 1) {
    auto m = request(layouts::mad_method::set, attribute, modifier);
    layouts::set_attribute<&layouts::smp::data>(m, value);
    EXPECT_EQ(mad_ifc(m, port), status::ok);
    return m.get<&layouts::smp::status>();
  }

  status init_port(unsigned port = 1) {
    return driver->command(layouts::opcode::init_port, 0, port).status;
  }
  status close_port(unsigned port = 1) {
    return driver->command(layouts::opcode::close_port, 0, port).status;
  }
  void bring_to_active(unsigned port = 1) {
    ASSERT_EQ(init_port(port), status::ok);
    host->advance(second);
    ASSERT_EQ(info(port).get<&layouts::port_info::state>(), layouts::port_state::active);
  }

  std::vector<layouts::image<layouts::eqe>> events() {
    std::vector<layouts::image<layouts::eqe>> all;
    for (layouts::image<layouts::eqe> e; driver->next_event(eq, e);) all.push_back(e);
    driver->ring_eq(eq, true);
    return all;
  }
  template <class T>
  static layouts::image<T> as_table(const layouts::image<layouts::eqe>& e) {
    return layouts::image<T>::from_bytes(e.data());
  }

  std::unique_ptr<test_host> host;
  std::unique_ptr<device> hca;
  std::unique_ptr<test_driver> driver;
  test_driver::queue eq;
};

}  // namespace freehca::model::test
