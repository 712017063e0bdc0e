// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a client learns of the function before it uses it.
#include <linux/pci_regs.h>

#include <cerrno>
#include <utility>

#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

using description = served;

TEST_F(description, the_server_says_what_it_takes) {
  start();
  EXPECT_EQ(0, c.server().major);
  EXPECT_EQ(1, c.server().minor);
  EXPECT_EQ(16u, c.server().max_msg_fds);
  EXPECT_EQ(1048576u, c.server().max_data_xfer_size);
  EXPECT_EQ(65535u, c.server().max_dma_maps);
  EXPECT_EQ(4096u, c.server().pgsizes);
}

TEST_F(description, the_lower_minor_version_is_agreed_upon) {
  server.start({"--socket", socket});
  ASSERT_EQ(0, c.connect(socket));
  ASSERT_EQ(0, c.negotiate({.minor = 0}));
  EXPECT_EQ(0, c.server().minor);
}

TEST_F(description, device_regions_and_interrupts) {
  start();
  device_info device{};
  ASSERT_EQ(0, c.describe(device));
  EXPECT_EQ(16u, device.argsz);
  EXPECT_EQ(device_can_reset | device_is_pci, device.flags);
  EXPECT_EQ(9u, device.num_regions);
  EXPECT_EQ(5u, device.num_irqs);
  const std::uint64_t sizes[] = {1u << 20, 0, 8u << 20, 0, 0, 0, 0, 4096, 0};
  for (std::uint32_t i = 0; i < 9; ++i) {
    region_info region{};
    region.index = i;
    ASSERT_EQ(0, c.describe(region)) << i;
    EXPECT_EQ(sizes[i], region.size) << i;
    EXPECT_EQ(i, region.index);
    EXPECT_EQ(sizes[i] == 0 ? 0 : region_readable | region_writeable, region.flags) << i;
  }
  const std::uint32_t counts[] = {1, 0, 128, 1, 0};
  for (std::uint32_t i = 0; i < 5; ++i) {
    irq_info irq{};
    irq.index = i;
    ASSERT_EQ(0, c.describe(irq)) << i;
    EXPECT_EQ(counts[i], irq.count) << i;
  }
  region_info region{};
  region.index = 9;
  EXPECT_EQ(EINVAL, c.describe(region));
  irq_info irq{};
  irq.index = 5;
  EXPECT_EQ(EINVAL, c.describe(irq));
}

TEST_F(description, another_size_of_bar_2) {
  start({"--bar2-size", "32M"});
  region_info region{};
  region.index = bar2_region;
  ASSERT_EQ(0, c.describe(region));
  EXPECT_EQ(32u << 20, region.size);
  set_configuration(PCI_BASE_ADDRESS_2, 0xffffffff);
  EXPECT_EQ(0xfe00000cu, configuration(PCI_BASE_ADDRESS_2));
}

TEST_F(description, bars_tell_their_size) {
  start();
  for (const auto& [offset, expected] : {std::pair{0x10u, 0xfff00004u},
                                         {0x14u, 0xffffffffu},
                                         {0x18u, 0xff80000cu},
                                         {0x1cu, 0xffffffffu},
                                         {0x20u, 0u},
                                         {0x24u, 0u},
                                         {0x30u, 0u}}) {
    set_configuration(offset, 0xffffffff);
    EXPECT_EQ(expected, configuration(offset)) << offset;
  }
}

struct card {
  const char* variant;
  std::uint32_t id, class_revision, subsystem, power, devcap, lnkcap;
  bool gen3;
};

// As captures of real cards have it (docs/hardware-pci.md); tests/qom/test_identity.py has the same
// of QEMU's device.
TEST_F(description, each_variant_as_captured) {
  const card cards[] = {
      {"connectx3-pro", 0x100715b3, 0x02800000, 0x005015b3, 8, 0x10008e02, 0x0843f483, true},
      {"connectx3", 0x100315b3, 0x02800000, 0x005015b3, 8, 0x10008e02, 0x0843f483, true},
      {"connectx2", 0x673c15b3, 0x0c0600b0, 0x002115b3, 0, 0x10008e01, 0x0803f482, false},
  };
  for (const card& one : cards) {
    SCOPED_TRACE(one.variant);
    start({"--variant", one.variant});
    EXPECT_EQ(one.id, configuration(0x00));
    EXPECT_EQ(0x00100000u, configuration(0x04));
    EXPECT_EQ(one.class_revision, configuration(0x08));
    EXPECT_EQ(one.subsystem, configuration(0x2c));
    EXPECT_EQ(1u, configuration(0x3d, 1));
    std::vector<std::pair<unsigned, unsigned>> chain, extended;
    for (unsigned at = configuration(0x34, 1); at != 0; at = configuration(at + 1, 1))
      chain.emplace_back(at, configuration(at, 1));
    for (unsigned at = 0x100; at != 0; at = configuration(at) >> 20)
      extended.emplace_back(at, configuration(at) & 0xfffff);
    std::vector<std::pair<unsigned, unsigned>> expected{
        {0x40, 1}, {0x48, 3}, {0x9c, 0x11}, {0x60, 0x10}};
    std::vector<std::pair<unsigned, unsigned>> expected_extended{{0x100, 0x1000e},
                                                                 {0x148, 0x10003}};
    if (one.gen3) {
      expected.emplace_back(0xc0, 9);
      expected_extended.emplace_back(0x154, 0x20001);
      expected_extended.emplace_back(0x18c, 0x10019);
    }
    EXPECT_EQ(expected, chain);
    EXPECT_EQ(expected_extended, extended);
    EXPECT_EQ(one.power, configuration(0x44, 2));
    EXPECT_EQ(one.devcap, configuration(0x64));
    EXPECT_EQ(one.lnkcap, configuration(0x6c));
    EXPECT_EQ(127u, configuration(0x9e, 2));
    EXPECT_EQ(0x7c000u, configuration(0xa0));
    EXPECT_EQ(0x7d000u, configuration(0xa4));
    c.disconnect();
    EXPECT_EQ(0, server.stop());
  }
}

TEST_F(description, guid_and_ports) {
  start({"--guid", "0002:c903:00f0:ca10", "--ports", "1", "--flr", "off"});
  EXPECT_EQ(0x00f0ca10u, configuration(0x14c));
  EXPECT_EQ(0x0002c903u, configuration(0x150));
  EXPECT_EQ(0x005115b3u, configuration(0x2c));
  EXPECT_EQ(0x00008e02u, configuration(0x64));
}

TEST_F(description, product_data) {
  start();
  std::string all;
  for (unsigned at = 0; at < 4096; at += 4) {
    set_configuration(0x4a, at, 2);
    ASSERT_EQ(0x8000 | at, configuration(0x4a, 2));
    const std::uint32_t value = configuration(0x4c);
    for (unsigned i = 0; i < 4; ++i) all += static_cast<char>(value >> (8 * i));
  }
  const std::string name = "CX354A - ConnectX-3 Pro QSFP";
  EXPECT_EQ('\x82', all[0]);
  EXPECT_EQ(name, all.substr(3, name.size()));
  EXPECT_NE(std::string::npos, all.find("MCX354A-FCCT"));
  EXPECT_EQ('\x78', all.back());
  const std::size_t checksum = all.find("RV\x01");
  ASSERT_NE(std::string::npos, checksum);
  unsigned sum = 0;
  for (std::size_t i = 0; i <= checksum + 3; ++i) sum += static_cast<unsigned char>(all[i]);
  EXPECT_EQ(0u, sum & 0xff);
}

TEST_F(description, what_may_not_be_written_stays) {
  start();
  for (const unsigned offset : {0x00u, 0x08u, 0x2cu, 0x34u, 0x40u, 0x60u, 0x64u, 0x100u, 0xffcu}) {
    const std::uint32_t before = configuration(offset);
    set_configuration(offset, ~before);
    EXPECT_EQ(before, configuration(offset)) << offset;
  }
}

TEST_F(description, the_whole_of_configuration_space_at_once) {
  start();
  std::vector<std::byte> all(4096);
  ASSERT_EQ(0, c.read(configuration_region, 0, all));
  for (unsigned at = 0; at < 4096; at += 4) {
    if (at == 0x5c) continue;  // the gateway's data: a register
    std::uint32_t value;
    std::memcpy(&value, &all[at], 4);
    EXPECT_EQ(value, configuration(at)) << at;
  }
}

}  // namespace
}  // namespace freehca::vfio_user
