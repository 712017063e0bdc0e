// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The two doors of VFIO: which one is taken, what the door iommufd asks of the user, and what it
// maps. Also the pages of the driver's own memory.
#include <freehca/vfio_host/vfio_device.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "fake_vfio.hpp"
#include "system_calls.hpp"

namespace freehca::vfio_host {
namespace {

using freehca::testing::fake_vfio;
using freehca::testing::page;
using freehca::testing::system_calls;

constexpr const char* node = "/dev/vfio/devices/vfio3";

class vfio_door_test : public ::testing::Test {
 protected:
  outcome<std::unique_ptr<vfio_device>> open(const pci_function& f, door way) {
    return vfio_device::open(f, page, {.way = way});
  }
  /// Opening iommufd's door fails so, says this, and leaves nothing open.
  void expect(trouble kind, const std::string& words, door way = door::iommufd,
              const pci_function& f = fake_vfio::function(door::iommufd)) {
    const auto opened = open(f, way);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, kind) << opened.error().message;
    EXPECT_NE(opened.error().message.find(words), std::string::npos) << opened.error().message;
    EXPECT_EQ(calls.descriptors(), 0u);
  }
  const platform_operations& operations() { return *device->platform().operations; }
  status allocate(std::size_t bytes, dma_region* block) {
    return operations().allocate_dma(device.get(), bytes, page, block);
  }
  void expect_refusal(const std::string& words) {
    EXPECT_NE(device->last_refusal().find(words), std::string::npos) << device->last_refusal();
  }

  fake_vfio kernel;
  system_calls calls;
  std::unique_ptr<vfio_device> device;
};

TEST_F(vfio_door_test, iommufd_is_taken_where_it_is_there_and_permitted) {
  const pci_function both = fake_vfio::function(door::iommufd);
  const auto taken = [&](const pci_function& f, door way) {
    auto opened = open(f, way);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? (*opened)->used_door() : door::automatic;
  };
  EXPECT_EQ(taken(both, door::automatic), door::iommufd);
  EXPECT_EQ(taken(both, door::iommufd), door::iommufd);
  EXPECT_EQ(taken(both, door::group), door::group);
  EXPECT_EQ(taken(fake_vfio::function(), door::automatic), door::group);
  const auto usable = [&](const pci_function& f, door way) {
    calls.work();
    const door found = vfio_device::usable_door(f, way);
    for (const auto& call : calls.made()) EXPECT_NE(call.name, "/dev/vfio/7") << "held for a while";
    return found;
  };
  EXPECT_EQ(usable(both, door::automatic), door::iommufd);
  EXPECT_EQ(usable(fake_vfio::function(), door::automatic), door::group);
  for (const door way : {door::iommufd, door::group})
    EXPECT_EQ(usable(fake_vfio::function(), way), way);
  for (const char* path : {"/dev/iommu", node})
    for (const int error : {EACCES, EPERM, ENOENT}) {
      calls.work();
      calls.refuse(path, error);
      EXPECT_EQ(taken(both, door::automatic), door::group) << path;
      EXPECT_EQ(vfio_device::usable_door(both), door::group) << path;
      EXPECT_EQ(vfio_device::usable_door(both, door::iommufd), door::iommufd) << path;
    }
  EXPECT_EQ(calls.descriptors(), 0u);
}

TEST_F(vfio_door_test, names_both_doors_where_neither_is_permitted) {
  calls.refuse("/dev/iommu", EACCES);
  calls.refuse("/dev/vfio/7", EACCES);
  expect(trouble::no_permission, "chown \"$USER\" /dev/vfio/7", door::automatic);
  expect(trouble::no_permission, "chmod 0666 /dev/iommu", door::automatic);
  // A kernel without groups.
  calls.work();
  calls.refuse("/dev/vfio/vfio", ENOENT);
  calls.refuse(node, EACCES);
  expect(trouble::no_permission, "chown \"$USER\" /dev/vfio/devices/vfio3", door::automatic);
}

TEST_F(vfio_door_test, says_what_each_refusal_asks_of_the_user) {
  const struct {
    const char* call;
    int error;
    trouble kind;
    const char* words;
  } all[] = {
      {"/dev/iommu", EACCES, trouble::no_permission, "chmod"},
      {"/dev/iommu", ENOENT, trouble::no_iommu, "modprobe iommufd"},
      {"/dev/iommu", ENODEV, trouble::system, "/dev/iommu"},
      {node, EPERM, trouble::no_permission, "chown"},
      {node, ENODEV, trouble::system, node},
      {"VFIO_DEVICE_BIND_IOMMUFD", EBUSY, trouble::in_use, "fuser /dev/vfio/7"},
      {"VFIO_DEVICE_BIND_IOMMUFD", EINVAL, trouble::in_use, "fuser /dev/vfio/devices/vfio3"},
      {"VFIO_DEVICE_BIND_IOMMUFD", EPERM, trouble::no_iommu, "allow_unsafe_interrupts"},
      {"VFIO_DEVICE_BIND_IOMMUFD", ENODEV, trouble::system, "VFIO_DEVICE_BIND_IOMMUFD"},
      {"VFIO_DEVICE_ATTACH_IOMMUFD_PT", EINVAL, trouble::system, "VFIO_DEVICE_ATTACH_IOMMUFD_PT"},
  };
  for (const auto& one : all) {
    SCOPED_TRACE(std::string(one.call) + ": " + std::strerror(one.error));
    calls.refuse(one.call, one.error);
    expect(one.kind, one.words);
    calls.work();
  }
  pci_function f = fake_vfio::function(door::iommufd);
  f.others = {"0000:03:00.1 (e1000e)"};
  calls.refuse("VFIO_DEVICE_BIND_IOMMUFD", EBUSY);
  expect(trouble::group_not_viable, "0000:03:00.1 (e1000e)", door::iommufd, f);
  calls.work();
  expect(trouble::no_iommu, "--door group", door::iommufd, fake_vfio::function());
}

TEST_F(vfio_door_test, the_group_shows_that_another_process_has_the_function) {
  const pci_function f = fake_vfio::function(door::iommufd);
  EXPECT_FALSE(vfio_device::obstacle(f));
  calls.refuse("/dev/vfio/7", EBUSY);
  const auto why = vfio_device::obstacle(f);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->kind, trouble::in_use);
  calls.work();
  calls.refuse("/dev/vfio/7", ENOENT);
  EXPECT_FALSE(vfio_device::obstacle(f)) << "a kernel without groups";
  EXPECT_EQ(calls.descriptors(), 0u);
}

TEST_F(vfio_door_test, maps_inside_of_the_ranges_that_the_attached_device_has) {
  kernel.ranges = {{0x10000, 0x10fff}, {0x20000, 0x20fff}};
  device = kernel.open(door::iommufd);
  ASSERT_NE(device, nullptr);
  dma_region first, second, third;
  ASSERT_TRUE(allocate(page, &first).ok()) << device->last_refusal();
  ASSERT_TRUE(allocate(page, &second).ok()) << device->last_refusal();
  EXPECT_EQ(first.device_address, 0x10000u);
  EXPECT_EQ(second.device_address, 0x20000u);
  EXPECT_FALSE(allocate(page, &third).ok());
  expect_refusal("I/O virtual addresses");
  operations().free_dma(device.get(), first);
  ASSERT_TRUE(allocate(page, &third).ok()) << device->last_refusal();
  device = nullptr;
  EXPECT_EQ(calls.mappings(), 0u);
  EXPECT_EQ(calls.descriptors(), 0u);
}

TEST_F(vfio_door_test, gives_the_answer_about_ranges_the_room_that_it_needs) {
  for (std::uint64_t i = 1; i <= 40; ++i) kernel.ranges.push_back({i << 16, (i << 16) + 0xfff});
  device = kernel.open(door::iommufd);
  ASSERT_NE(device, nullptr);
  dma_region block;
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(allocate(page, &block).ok()) << i;
  EXPECT_EQ(block.device_address, 40u << 16);
  device = nullptr;
  kernel.growing = 1'000'000;
  expect(trouble::system, "IOMMU_IOAS_IOVA_RANGES");
  kernel.growing = 0;
  kernel.alignment = 65536;
  expect(trouble::system, "65536");
}

TEST_F(vfio_door_test, maps_memory_of_the_program_for_reading_alone) {
  device = kernel.open(door::iommufd);
  ASSERT_NE(device, nullptr);
  void* const made = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(made, MAP_FAILED);
  auto* const at = static_cast<std::byte*>(made);
  std::uint64_t address = 0;
  EXPECT_FALSE(operations().map_memory(device.get(), at, page, &address).ok());
  expect_refusal("IOMMU_IOAS_MAP: " + std::string(std::strerror(EFAULT)));
  ASSERT_TRUE(operations().map_read_only_memory(device.get(), at, page, &address).ok());
  EXPECT_FALSE(kernel.may_write(address));
  EXPECT_FALSE(operations().unmap_memory(device.get(), address, 2 * page).ok());
  EXPECT_EQ(kernel.mapped(), 1u);
  EXPECT_TRUE(operations().unmap_memory(device.get(), address, page).ok());
  EXPECT_FALSE(operations().unmap_memory(device.get(), address, page).ok()) << "twice";
  EXPECT_EQ(kernel.mapped(), 0u);
  munmap(made, page);
}

TEST_F(vfio_door_test, the_message_of_a_full_container_names_its_limit) {
  kernel.ranges = {{0x10000, 0xfffff}};
  kernel.tells_mappings = true;
  kernel.mappings = 1;
  device = kernel.open();
  ASSERT_NE(device, nullptr);
  dma_region block;
  ASSERT_TRUE(allocate(page, &block).ok());
  EXPECT_FALSE(allocate(page, &block).ok());
  expect_refusal("it had room for 1)");
  expect_refusal("dma_entry_limit");
  expect_refusal("--door iommufd");
}

TEST_F(vfio_door_test, huge_pages_that_are_not_free_are_named_with_their_number) {
  device = kernel.open(door::iommufd, memory_pages::huge);
  ASSERT_NE(device, nullptr);
  dma_region small, large;
  // A small block has small pages.
  ASSERT_TRUE(allocate(page, &small).ok()) << device->last_refusal();
  EXPECT_EQ(small.bytes, page);
  calls.refuse("mmap", ENOMEM);
  EXPECT_TRUE(allocate((5u << 20) + 1, &large).is(transport_error::refused));
  expect_refusal("3 huge pages of 2 MiB");
  expect_refusal(" + 3)) > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
  EXPECT_EQ(kernel.mapped(), 1u);
}

TEST(vfio_pages, advised_memory_is_aligned_for_large_pages_in_both_address_spaces) {
  fake_vfio kernel;
  auto device = kernel.open(door::iommufd, memory_pages::advised);
  ASSERT_NE(device, nullptr);
  constexpr std::size_t huge = std::size_t{2} << 20;
  const platform_operations& to = *device->platform().operations;
  dma_region blocks[3];
  for (dma_region& b : blocks) {
    ASSERT_TRUE(to.allocate_dma(device.get(), huge + page, page, &b).ok());
    EXPECT_EQ(b.bytes, 2 * huge);
    EXPECT_EQ(b.device_address % huge, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.host) % huge, 0u);
    std::memset(b.host, 1, b.bytes);
  }
  to.free_dma(device.get(), blocks[1]);
  EXPECT_EQ(kernel.mapped(), 2u);
}

}  // namespace
}  // namespace freehca::vfio_host
