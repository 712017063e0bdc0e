// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What stands between a user and an open function, the I/O virtual addresses that the kernel
// allows, and the notices that are no interrupts.
#include <freehca/vfio_host/vfio_device.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fake_vfio.hpp"
#include "system_calls.hpp"

namespace freehca::vfio_host {
namespace {

using freehca::testing::fake_vfio;
using freehca::testing::page;
using freehca::testing::system_calls;

class vfio_open_test : public ::testing::Test {
 protected:
  failure why() {
    auto opened = vfio_device::open(fake_vfio::function(), page);
    EXPECT_FALSE(opened);
    return opened ? failure{} : opened.error();
  }
  /// open() fails so and says this.
  void expect(trouble kind, const std::string& words) {
    const failure f = why();
    EXPECT_EQ(f.kind, kind) << f.message;
    EXPECT_NE(f.message.find(words), std::string::npos) << f.message;
    EXPECT_EQ(calls.descriptors(), 0u);
  }
  status allocate(std::size_t alignment, dma_region* block) {
    return device->platform().operations->allocate_dma(device.get(), page, alignment, block);
  }
  void free(const dma_region& block) {
    device->platform().operations->free_dma(device.get(), block);
  }
  void expect_refusal(const std::string& words) {
    EXPECT_NE(device->last_refusal().find(words), std::string::npos) << device->last_refusal();
  }

  fake_vfio kernel;
  system_calls calls;
  std::unique_ptr<vfio_device> device;
};

TEST_F(vfio_open_test, says_what_each_refusal_asks_of_the_user) {
  const struct {
    const char* call;
    int error;
    trouble kind;
    const char* words;
  } all[] = {
      {"/dev/vfio/vfio", EACCES, trouble::no_permission, "chmod"},
      {"/dev/vfio/vfio", EPERM, trouble::no_permission, "chmod"},
      {"/dev/vfio/vfio", ENOENT, trouble::no_iommu, "modprobe vfio-pci"},
      {"/dev/vfio/vfio", ENODEV, trouble::system, "/dev/vfio/vfio"},
      {"/dev/vfio/7", EACCES, trouble::no_permission, "chown"},
      {"/dev/vfio/7", EPERM, trouble::no_permission, "chown"},
      {"/dev/vfio/7", EBUSY, trouble::in_use, "fuser /dev/vfio/7"},
      {"/dev/vfio/7", ENOENT, trouble::system, "/dev/vfio/7"},
      {"VFIO_SET_IOMMU", EPERM, trouble::no_iommu, "allow_unsafe_interrupts"},
      {"VFIO_SET_IOMMU", ENODEV, trouble::system, "VFIO_SET_IOMMU"},
      {"VFIO_GROUP_GET_DEVICE_FD", EBUSY, trouble::system, "VFIO_GROUP_GET_DEVICE_FD 0000:03:00.0"},
  };
  for (const auto& one : all) {
    SCOPED_TRACE(std::string(one.call) + ": " + std::strerror(one.error));
    calls.refuse(one.call, one.error);
    expect(one.kind, one.words);
    calls.work();
  }
  kernel.version = 1;
  expect(trouble::system, "another version");
  kernel.version = 0;
  kernel.type1 = false;
  expect(trouble::no_iommu, "vfio_iommu_type1");
  kernel.type1 = true;
  kernel.viable = false;
  expect(trouble::group_not_viable, "group 7");
  kernel.viable = true;
  EXPECT_NE(kernel.open(), nullptr);
}

/// Linux 6.1 vfio_pci_core.c answers EINVAL for a notice that the function does not have.
TEST_F(vfio_open_test, works_without_notices_that_the_kernel_does_not_have) {
  device = kernel.open();
  ASSERT_NE(device, nullptr);
  kernel.signal_removal();
  device->wait(0, -1);
  EXPECT_TRUE(device->wanted_back());
  EXPECT_FALSE(device->failed());
  kernel.signal_error();
  device->wait(0, -1);
  EXPECT_TRUE(device->failed());

  device = nullptr;
  kernel.has_notices = false;
  device = kernel.open();
  ASSERT_NE(device, nullptr);
  device->wait(0, -1);
  EXPECT_FALSE(device->wanted_back() || device->failed());
}

TEST_F(vfio_open_test, stays_off_the_interrupt_window_where_the_kernel_tells_no_ranges) {
  device = kernel.open();
  ASSERT_NE(device, nullptr);
  // So many that they reach over the window. The fake kernel refuses what lies in it.
  constexpr std::uint64_t step = 1 << 21;
  std::uint64_t last = 0;
  for (unsigned i = 0; i < 0x1'0000'0000 / step; ++i) {
    dma_region block;
    ASSERT_TRUE(allocate(step, &block).ok()) << device->last_refusal();
    ASSERT_EQ(block.device_address % step, 0u);
    ASSERT_GT(block.device_address, last);
    last = block.device_address;
  }
  EXPECT_GT(last, 0xfeefffffu);
}

TEST_F(vfio_open_test, maps_inside_of_the_ranges_until_they_are_used_up) {
  kernel.ranges = {{0x10000, 0x10fff}, {0x20000, 0x21fff}};
  device = kernel.open();
  ASSERT_NE(device, nullptr);
  dma_region first, second, third, fourth;
  ASSERT_TRUE(allocate(page, &first).ok());
  ASSERT_TRUE(allocate(page, &second).ok());
  EXPECT_EQ(first.device_address, 0x10000u);
  EXPECT_EQ(second.device_address, 0x20000u);

  // The IOMMU takes no more: the address goes back.
  kernel.mappings = 2;
  EXPECT_TRUE(allocate(page, &third).is(transport_error::refused));
  expect_refusal("VFIO_IOMMU_MAP_DMA: " + std::string(std::strerror(ENOSPC)));
  kernel.mappings = 3;
  ASSERT_TRUE(allocate(page, &third).ok()) << device->last_refusal();
  EXPECT_EQ(third.device_address, 0x21000u);

  kernel.mappings = 10;
  EXPECT_TRUE(allocate(page, &fourth).is(transport_error::refused));
  expect_refusal("I/O virtual addresses");
  EXPECT_EQ(kernel.mapped(), 3u);
  free(second);
  ASSERT_TRUE(allocate(page, &fourth).ok()) << device->last_refusal();
  EXPECT_EQ(fourth.device_address, 0x20000u);
  device = nullptr;
  EXPECT_EQ(calls.mappings(), 0u);
}

TEST_F(vfio_open_test, gives_the_answer_about_ranges_the_room_that_it_needs) {
  kernel.ranges = {{0x10000, 0x10fff}};
  for (unsigned growing = 0; growing < 4; ++growing) {
    kernel.growing = growing;
    device = kernel.open();
    ASSERT_NE(device, nullptr) << growing;
    EXPECT_EQ(kernel.growing, 0u);
    dma_region block;
    ASSERT_TRUE(allocate(page, &block).ok()) << device->last_refusal();
    EXPECT_EQ(block.device_address, 0x10000u);
    device = nullptr;
  }
  kernel.growing = 1'000'000;
  expect(trouble::system, "VFIO_IOMMU_GET_INFO");
}

TEST_F(vfio_open_test, refuses_lists_of_capabilities_that_are_not_whole) {
  kernel.ranges = {{0x10000, 0x10fff}};
  const auto set = [](std::vector<std::byte>& answer, std::size_t at, std::uint32_t value) {
    std::memcpy(answer.data() + at, &value, sizeof value);
  };
  constexpr std::size_t first = sizeof(vfio_iommu_type1_info);
  constexpr std::size_t next = offsetof(vfio_info_cap_header, next);
  const std::function<void(std::vector<std::byte>&)> wrong[] = {
      [&](auto& a) { set(a, offsetof(vfio_iommu_type1_info, cap_offset), 0x7fffffff); },
      [&](auto& a) { set(a, first + next, 0xfffffff0); },
      [&](auto& a) { set(a, first + next, first); },
      [&](auto& a) {
        set(a,
            first + sizeof(vfio_info_cap_header) +
                offsetof(vfio_iommu_type1_info_cap_iova_range, nr_iovas),
            0x10000000);
      },
  };
  for (const auto& w : wrong) {
    kernel.alters = w;
    expect(trouble::system, "VFIO_IOMMU_GET_INFO");
  }
  kernel.alters = nullptr;
  EXPECT_NE(kernel.open(), nullptr);
}

/// Linux leaves errno alone where a call moves only a part.
TEST_F(vfio_open_test, reports_a_part_of_configuration_space_as_an_error) {
  device = kernel.open();
  ASSERT_NE(device, nullptr);
  const platform_operations& to = *device->platform().operations;
  std::uint32_t value = 0;
  kernel.most_moved = 1;
  errno = 0;
  const status all[] = {to.read_configuration(device.get(), 0, &value),
                        to.write_configuration(device.get(), 0x40, 0),
                        to.set_bus_master(device.get(), true)};
  for (const status& s : all) {
    EXPECT_TRUE(s.is(transport_error::refused));
    EXPECT_EQ(s.where(), static_cast<unsigned>(EIO));
  }
  kernel.most_moved = 4;
}

/// The kernel unmaps each mapping in the range, and says how much that was.
TEST_F(vfio_open_test, unmaps_what_was_lent_and_nothing_else) {
  device = kernel.open();
  ASSERT_NE(device, nullptr);
  const platform_operations& to = *device->platform().operations;
  dma_region memory, behind;
  ASSERT_TRUE(allocate(page, &memory).ok());
  std::uint64_t lent = 0;
  ASSERT_TRUE(to.map_memory(device.get(), memory.host, page, &lent).ok());
  ASSERT_TRUE(allocate(page, &behind).ok());
  ASSERT_EQ(behind.device_address, lent + page);
  const std::size_t before = kernel.mapped();
  EXPECT_FALSE(to.unmap_memory(device.get(), lent, 2 * page).ok()) << "its neighbour's too";
  EXPECT_FALSE(to.unmap_memory(device.get(), lent + 16 * page, page).ok()) << "nothing is there";
  EXPECT_FALSE(to.unmap_memory(device.get(), behind.device_address, page).ok())
      << "the driver's own";
  EXPECT_EQ(kernel.mapped(), before);
  EXPECT_TRUE(to.unmap_memory(device.get(), lent, page).ok());
  EXPECT_EQ(kernel.mapped(), before - 1);
  EXPECT_FALSE(to.unmap_memory(device.get(), lent, page).ok()) << "twice";
}

}  // namespace
}  // namespace freehca::vfio_host
