// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The module of an Ethernet port as MAD_IFC reads it.
#include <algorithm>
#include <numeric>
#include <string>

#include <freehca/layouts/module_info.hpp>

#include "ethernet_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

class optical_module : public ethernet_fixture {
 protected:
  struct reading {
    std::uint64_t status = 0;
    bytes data;
  };
  reading read(unsigned i2c_address, unsigned address, unsigned size, unsigned page = 0) {
    using l = module_info;
    auto m = request(mad_method::get, smp_attribute::module_info);
    image<l> wanted;
    wanted.set<&l::i2c_address>(i2c_address)
        .set<&l::page>(page)
        .set<&l::address>(address)
        .set<&l::size>(size);
    set_attribute<&smp::data>(m, wanted);
    EXPECT_EQ(mad_ifc(m), status::ok);
    EXPECT_EQ(m.get<&smp::method>(), mad_method::get_resp);
    const auto told = attribute<&smp::data, l>(m);
    EXPECT_EQ(told.get<&l::i2c_address>(), i2c_address);
    EXPECT_EQ(told.get<&l::address>(), address);
    EXPECT_EQ(told.get<&l::size>(), size);
    const std::byte* from = told.bytes_of<&l::data>();
    return {m.get<&smp::status>(), bytes(from, from + std::min<unsigned>(size, 48))};
  }
  /// All 256 bytes, in pieces as Linux reads them (en_ethtool.c mlx4_en_get_module_eeprom).
  bytes read_all(unsigned i2c_address) {
    bytes all;
    while (all.size() < module_page_bytes) {
      const unsigned at = static_cast<unsigned>(all.size());
      const reading r = read(i2c_address, at, std::min(48u, module_page_bytes - at));
      EXPECT_EQ(r.status, 0u);
      if (r.status != 0) break;
      all.insert(all.end(), r.data.begin(), r.data.end());
    }
    return all;
  }
  static unsigned sum(const bytes& all, std::size_t from, std::size_t to) {
    unsigned total = 0;
    for (std::size_t at = from; at < to; ++at) total += static_cast<unsigned>(all[at]);
    return total & 0xff;
  }
  static std::string text(const bytes& all, std::size_t from, std::size_t length) {
    std::string s;
    for (std::size_t at = from; at < from + length; ++at) s += static_cast<char>(all[at]);
    return s;
  }
  static unsigned word(const bytes& all, std::size_t at) {
    return static_cast<unsigned>(all[at]) << 8 | static_cast<unsigned>(all[at + 1]);
  }
};

}  // namespace

// Offsets and codes are those by which ethtool prints a module (SFF-8472).
TEST_F(optical_module, is_one_for_10_gigabit_by_fibre) {
  const bytes all = read_all(0x50);
  ASSERT_EQ(all.size(), 256u);
  EXPECT_EQ(all[0], std::byte{0x03});   // SFP
  EXPECT_EQ(all[2], std::byte{0x07});   // LC
  EXPECT_EQ(all[3], std::byte{0x10});   // 10GBASE-SR
  EXPECT_EQ(all[11], std::byte{0x06});  // 64B/66B
  EXPECT_EQ(all[12], std::byte{103});
  EXPECT_EQ(text(all, 20, 16), "freehca         ");
  EXPECT_EQ(word(all, 60), 850u);
  EXPECT_EQ(static_cast<unsigned>(all[63]), sum(all, 0, 63));
  EXPECT_EQ(static_cast<unsigned>(all[95]), sum(all, 64, 95));
  EXPECT_EQ(all[92], std::byte{0x68});
}

TEST_F(optical_module, tells_how_it_fares) {
  const bytes all = read_all(0x51);
  ASSERT_EQ(all.size(), 256u);
  EXPECT_EQ(static_cast<unsigned>(all[95]), sum(all, 0, 95));
  // Temperature, voltage, bias, light sent and received: each within its bounds of warning.
  const std::size_t measured[] = {96, 98, 100, 102, 104};
  for (std::size_t i = 0; i < std::size(measured); ++i) {
    const unsigned high = word(all, 8 * i + 4), low = word(all, 8 * i + 6);
    EXPECT_LT(word(all, measured[i]), high) << i;
    EXPECT_GT(word(all, measured[i]), low) << i;
  }
  EXPECT_EQ(all[110], std::byte{0});
  EXPECT_EQ(word(all, 112), 0u);
}

TEST_F(optical_module, sees_no_light_once_the_cable_is_pulled) {
  port().plug(false);
  const bytes all = read_all(0x51);
  ASSERT_EQ(all.size(), 256u);
  EXPECT_EQ(word(all, 104), 0u);
  EXPECT_EQ(all[110], std::byte{0x02});  // RX_LOS
  EXPECT_EQ(word(all, 112), 0x0040u);    // received power below its alarm
  EXPECT_EQ(word(all, 116), 0x0040u);
  EXPECT_EQ(read_all(0x50)[0], std::byte{0x03});
}

// The errors are those that Linux has words for (port.c cable_info_mad_err_str), the statuses those
// that cards have answered (module_info.hpp).
TEST_F(optical_module, refuses_what_cannot_be_read) {
  EXPECT_EQ(read(0x50, 0, 0).status, 0x061cu);
  EXPECT_EQ(read(0x50, 0, 49).status, 0x061cu);
  EXPECT_EQ(read(0x50, 209, 48).status, 0x061cu);
  EXPECT_EQ(read(0x50, 208, 48).status, 0u);
  EXPECT_EQ(read(0x50, 0xffff, 2).status, 0x061cu);
  EXPECT_EQ(read(0x52, 0, 1).status, 0x071cu);
  EXPECT_EQ(read(0x50, 0, 1, 16).status, 0x051cu);
  EXPECT_EQ(read(0x52, 0, 1).data, bytes(1));
}

// A ConnectX-2 with firmware 2.10.720 (netdev 2024).
TEST_F(optical_module, behind_connectx2_has_one_address_whose_last_byte_is_not_read) {
  options how = ethernet_options();
  how.kind = variant::connectx2;
  start_ethernet(how);
  EXPECT_EQ(read(0x50, 207, 48).status, 0u);
  EXPECT_EQ(read(0x50, 208, 48).status, 0x061cu);
  EXPECT_EQ(read(0x50, 255, 1).status, 0x061cu);
  EXPECT_EQ(read(0x51, 0, 1).status, 0x071cu);
  EXPECT_EQ(read(0x50, 0, 1).data, bytes(1, std::byte{0x03}));
}

TEST_F(optical_module, is_not_there_without_a_cable) {
  options how = ethernet_options();
  how.cable[0] = false;
  start_ethernet(how);
  EXPECT_EQ(read(0x50, 0, 1).status, 0x031cu);
}

TEST_F(optical_module, of_each_port_has_a_number_of_its_own) {
  options how = ethernet_options();
  how.link[1] = link_layer::ethernet;
  how.cable[1] = true;
  start_ethernet(how);
  const auto serial = [this](unsigned port) {
    auto m = request(mad_method::get, smp_attribute::module_info);
    image<module_info> wanted;
    wanted.set<&module_info::i2c_address>(sfp_identity_address)
        .set<&module_info::address>(sfp_identity{}.serial_number.offset)
        .set<&module_info::size>(sfp_identity{}.serial_number.length);
    set_attribute<&smp::data>(m, wanted);
    EXPECT_EQ(mad_ifc(m, port), status::ok);
    const auto told = attribute<&smp::data, module_info>(m);
    const std::byte* from = told.bytes_of<&module_info::data>();
    return bytes(from, from + sfp_identity{}.serial_number.length);
  };
  EXPECT_NE(serial(1), serial(2));
}

}  // namespace freehca::model::test
