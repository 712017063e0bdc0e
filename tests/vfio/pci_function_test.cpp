// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_host/pci_function.hpp>

#include <gtest/gtest.h>

#include "fake_sysfs.hpp"

namespace freehca::vfio_host {
namespace {

class pci_function_test : public ::testing::Test {
 protected:
  pci_function_test() {
    tree.add("0000:03:00.0", "0x15b3", "0x1007", "vfio-pci", 7);
    tree.add("0000:04:00.0", "0x15b3", "0x1003", "mlx4_core", 8);
    tree.add("0000:04:00.1", "0x8086", "0x10d3", nullptr, 8);
    tree.add("0000:05:00.0", "0x15b3", "0x673c", nullptr, -1);
    tree.add("0000:06:00.0", "0x15b3", "0x1013", "mlx5_core", 9);
  }
  outcome<pci_function> read(const char* address) {
    return sysfs{tree.root()}.read(*parse_pci_address(address));
  }
  failure obstacle(const char* address) {
    const auto f = read(address);
    EXPECT_TRUE(f);
    const auto why = unusable(*f);
    EXPECT_TRUE(why) << address;
    return why.value_or(failure{});
  }
  testing::fake_sysfs tree;
};

TEST_F(pci_function_test, adapters_are_those_of_the_mlx4_class) {
  const auto all = sysfs{tree.root()}.adapters();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_STREQ(all[0].model(), "ConnectX-3 Pro");
  EXPECT_STREQ(all[1].model(), "ConnectX-3");
  EXPECT_STREQ(all[2].model(), "ConnectX-2");
}

TEST_F(pci_function_test, one_that_vfio_has_is_usable) {
  const auto f = read("0000:03:00.0");
  ASSERT_TRUE(f);
  EXPECT_EQ(f->group, 7u);
  EXPECT_TRUE(f->others.empty());
  EXPECT_FALSE(unusable(*f));
}

TEST_F(pci_function_test, a_character_device_is_one_that_has_a_number) {
  EXPECT_EQ(read("0000:03:00.0")->character_device, "");
  // Linux 6.1 has the folder, without character devices.
  tree.write("0000:03:00.0", "vfio-dev/vfio4/uevent", "");
  EXPECT_EQ(read("0000:03:00.0")->character_device, "");
  tree.write("0000:03:00.0", "vfio-dev/vfio4/dev", "511:4");
  EXPECT_EQ(read("0000:03:00.0")->character_device, "vfio4");
  EXPECT_EQ(read("0000:03:00.0")->character_device_path(), "/dev/vfio/devices/vfio4");
}

TEST_F(pci_function_test, an_absent_one_is_told_with_where_to_look) {
  const auto f = read("0000:09:00.0");
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().kind, trouble::absent);
  EXPECT_NE(f.error().message.find("hcactl list"), std::string::npos);
}

TEST_F(pci_function_test, another_device_is_not_ours) {
  EXPECT_EQ(obstacle("0000:06:00.0").kind, trouble::not_mlx4);
}

TEST_F(pci_function_test, another_driver_is_named_with_the_commands_that_replace_it) {
  const failure why = obstacle("0000:04:00.0");
  EXPECT_EQ(why.kind, trouble::wrong_driver);
  EXPECT_NE(why.message.find("mlx4_core"), std::string::npos);
  EXPECT_NE(why.message.find("echo vfio-pci > /sys/bus/pci/devices/0000:04:00.0/driver_override"),
            std::string::npos);
}

TEST_F(pci_function_test, without_a_group_there_is_no_iommu) {
  const failure why = obstacle("0000:05:00.0");
  EXPECT_EQ(why.kind, trouble::no_iommu);
  EXPECT_NE(why.message.find("intel_iommu=on"), std::string::npos);
}

TEST_F(pci_function_test, the_other_members_of_the_group_are_named) {
  const auto f = read("0000:04:00.0");
  ASSERT_TRUE(f);
  ASSERT_EQ(f->others.size(), 1u);
  EXPECT_EQ(f->others[0], "0000:04:00.1 (no driver)");
}

}  // namespace
}  // namespace freehca::vfio_host
