// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The host over a kernel that the test plays: interrupt vectors, and what a forked child inherits.
#include <freehca/vfio_host/vfio_device.hpp>

#include <linux/pci_regs.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include <gtest/gtest.h>

#include "fake_vfio.hpp"
#include "old_kernel.hpp"

namespace freehca::vfio_host {
namespace {

using freehca::testing::fake_vfio;
using freehca::testing::last_epoll_sleep;
using freehca::testing::old_kernel;
using freehca::testing::page;

class vfio_device_test : public ::testing::Test {
 protected:
  void SetUp() override {
    device = kernel.open();
    ASSERT_NE(device, nullptr);
  }
  const platform_operations& operations() { return *device->platform().operations; }
  void* context() { return device->platform().context; }
  status arm(unsigned count) {
    return operations().arm_interrupts(
        context(), count, [](void*, unsigned) noexcept {}, nullptr);
  }
  status map(std::byte* at, std::size_t bytes, std::uint64_t* address) {
    return operations().map_memory(context(), at, bytes, address);
  }
  status unmap(std::uint64_t address, std::size_t bytes) {
    return operations().unmap_memory(context(), address, bytes);
  }

  fake_vfio kernel;
  std::unique_ptr<vfio_device> device;
};

std::byte* some_pages(std::size_t count) {
  void* const at =
      mmap(nullptr, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

/// What a child's main function returns.
int in_child(const std::function<int()>& what) {
  const pid_t child = fork();
  if (child == 0) _exit(what());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

bool is_mapped(const void* at) {
  return msync(const_cast<void*>(at), page, MS_ASYNC) == 0;
}

/// As a string of digits, one a page: 1 for those that a child inherits.
std::string inherited(const std::byte* at, unsigned pages) {
  std::string all;
  for (unsigned i = 0; i < pages; ++i)
    all += in_child([&] { return is_mapped(at + i * page) ? 1 : 0; }) == 1 ? '1' : '0';
  return all;
}

TEST_F(vfio_device_test, says_unsupported_when_there_are_fewer_vectors) {
  struct {
    unsigned function, machine;
  } const machines[] = {{1, 16}, {2, 16}, {4, 16}, {16, 1}, {16, 2}, {16, 4}};
  for (const auto& m : machines) {
    kernel.vectors = m.function;
    kernel.granted = m.machine;
    device = kernel.open();
    ASSERT_NE(device, nullptr);
    const unsigned most = std::min(m.function, m.machine);
    for (unsigned count = 5; count > most; --count) {
      EXPECT_TRUE(arm(count).is(driver_error::unsupported)) << count << " of " << most;
      EXPECT_EQ(kernel.seen().armed, 0u);
    }
    EXPECT_TRUE(arm(most).ok()) << most;
    EXPECT_EQ(kernel.seen().armed, most);
    const auto behind = device->wait_for(most);
    ASSERT_FALSE(behind);
    EXPECT_NE(behind.error().message.find("vector " + std::to_string(most)), std::string::npos)
        << behind.error().message;
    EXPECT_NE(behind.error().message.find(std::to_string(most) + " are"), std::string::npos)
        << behind.error().message;
    EXPECT_TRUE(device->wait_for(most - 1));
  }
}

TEST_F(vfio_device_test, says_unsupported_when_the_machine_has_no_vector_left) {
  kernel.granted = 2;
  kernel.refuses_more = true;
  EXPECT_TRUE(arm(3).is(driver_error::unsupported));
  EXPECT_NE(device->last_refusal().find("VFIO_DEVICE_SET_IRQS"), std::string::npos);
  EXPECT_TRUE(arm(2).ok());
  kernel.granted = 0;
  EXPECT_TRUE(arm(1).is(transport_error::refused)) << "there is no smaller number to ask for";
}

/// Counts the calls of the driver's function for the line interrupt.
struct line_listener {
  static void notify(void* self, unsigned vector) noexcept {
    auto& me = *static_cast<line_listener*>(self);
    EXPECT_EQ(vector, 0u);
    EXPECT_EQ(me.kernel.seen().line_unmasked, me.calls) << "the line is masked during the call";
    ++me.calls;
  }
  status arm(vfio_device& device) {
    return device.platform().operations->arm_line_interrupt(device.platform().context, notify,
                                                            this);
  }
  fake_vfio& kernel;
  unsigned calls = 0;
};

TEST_F(vfio_device_test, unmasks_the_line_after_each_call_of_the_driver) {
  kernel.vectors = 0;
  kernel.has_line = true;
  device = kernel.open();
  ASSERT_NE(device, nullptr);
  EXPECT_TRUE(arm(1).is(driver_error::unsupported));
  line_listener driver{kernel};
  for (unsigned again = 0; again < 2; ++again) {
    ASSERT_TRUE(driver.arm(*device).ok()) << device->last_refusal();
    EXPECT_TRUE(kernel.seen().line_armed);
    for (unsigned n = 0; n < 3; ++n) {
      const unsigned before = driver.calls;
      ASSERT_TRUE(kernel.assert_line()) << "the line stayed masked";
      EXPECT_FALSE(kernel.assert_line()) << "the kernel masks it";
      device->wait(0, -1);
      EXPECT_EQ(driver.calls, before + 1);
      EXPECT_EQ(kernel.seen().line_unmasked, driver.calls);
    }
    operations().disarm_interrupts(context());
    EXPECT_FALSE(kernel.seen().line_armed);
    EXPECT_FALSE(kernel.assert_line());
  }
}

TEST_F(vfio_device_test, another_thread_that_waits_for_the_line_unmasks_it_too) {
  kernel.has_line = true;
  line_listener driver{kernel};
  ASSERT_TRUE(driver.arm(*device).ok()) << device->last_refusal();
  auto wait = device->wait_for(0);
  ASSERT_TRUE(wait);
  ASSERT_TRUE(kernel.assert_line());
  (*wait)->wait(0);
  EXPECT_EQ(driver.calls, 1u);
  EXPECT_TRUE(kernel.assert_line());
  // The call comes late: the line is not armed any more, and the kernel refuses to unmask it.
  operations().disarm_interrupts(context());
  (*wait)->wait(0);
  EXPECT_EQ(driver.calls, 2u);
  EXPECT_EQ(kernel.seen().line_unmasked, 1u);
  EXPECT_EQ(device->last_refusal(), "");
}

TEST_F(vfio_device_test, vectors_and_the_line_take_turns) {
  kernel.has_line = true;
  line_listener driver{kernel};
  ASSERT_TRUE(arm(2).ok());
  ASSERT_TRUE(driver.arm(*device).ok()) << device->last_refusal();
  EXPECT_EQ(kernel.seen().armed, 0u);
  EXPECT_FALSE(device->wait_for(1));
  ASSERT_TRUE(arm(2).ok());
  EXPECT_FALSE(kernel.seen().line_armed);
  EXPECT_EQ(kernel.seen().armed, 2u);
}

TEST_F(vfio_device_test, a_function_without_a_pin_has_no_line) {
  line_listener driver{kernel};
  EXPECT_TRUE(driver.arm(*device).is(transport_error::refused));
  EXPECT_NE(device->last_refusal().find("VFIO_DEVICE_SET_IRQS"), std::string::npos);
  EXPECT_FALSE(device->wait_for(0));
}

// A child that writes first would otherwise take the page away from under the device.
TEST_F(vfio_device_test, memory_that_is_mapped_stays_out_of_children) {
  std::byte* const at = some_pages(6);
  ASSERT_NE(at, nullptr);
  std::uint64_t whole = 0, part = 0, behind = 0;
  EXPECT_EQ(inherited(at, 6), "111111");
  ASSERT_TRUE(map(at + page, 3 * page, &whole).ok());
  EXPECT_EQ(inherited(at, 6), "100011");
  ASSERT_TRUE(map(at + 2 * page, page, &part).ok());
  ASSERT_TRUE(map(at + 3 * page, 2 * page, &behind).ok());
  EXPECT_EQ(inherited(at, 6), "100001");
  ASSERT_TRUE(unmap(whole, 3 * page).ok());
  EXPECT_EQ(inherited(at, 6), "110001") << "two mappings of some of its pages are left";
  ASSERT_TRUE(unmap(part, page).ok());
  EXPECT_EQ(inherited(at, 6), "111001");
  device = nullptr;
  EXPECT_EQ(inherited(at, 6), "111111");
  munmap(at, 6 * page);
}

TEST_F(vfio_device_test, memory_that_could_not_be_unmapped_stays_out_of_children) {
  std::byte* const at = some_pages(1);
  ASSERT_NE(at, nullptr);
  std::uint64_t address = 0;
  ASSERT_TRUE(map(at, page, &address).ok());
  kernel.refuses_unmap = true;
  ASSERT_FALSE(unmap(address, page).ok());
  EXPECT_EQ(inherited(at, 1), "0");
  kernel.refuses_unmap = false;
  munmap(at, page);
}

TEST_F(vfio_device_test, a_child_leaves_the_adapter_to_its_parent) {
  mmio_region bar;
  ASSERT_TRUE(operations().map_bar(context(), 0, &bar).ok());
  dma_region block;
  ASSERT_TRUE(operations().allocate_dma(context(), page, page, &block).ok());
  ASSERT_TRUE(operations().set_bus_master(context(), true).ok());
  ASSERT_TRUE(arm(2).ok());
  auto wait = device->wait_for(1);
  ASSERT_TRUE(wait);
  const auto before = kernel.seen();
  const auto command = kernel.command();
  EXPECT_NE(command & PCI_COMMAND_MASTER, 0);

  EXPECT_EQ(in_child([&] { return is_mapped(bar.base) ? 1 : 0; }), 0) << "its registers";
  EXPECT_EQ(in_child([&] { return is_mapped(block.host) ? 1 : 0; }), 0) << "the driver's memory";
  EXPECT_EQ(in_child([&] {
              std::uint32_t value = 0;
              std::uint64_t address = 0;
              mmio_region other;
              dma_region another;
              const status all[] = {
                  operations().map_bar(context(), 2, &other),
                  operations().read_configuration(context(), 0, &value),
                  operations().write_configuration(context(), 0, value),
                  operations().reset_function(context()),
                  operations().set_bus_master(context(), false),
                  operations().restore_after_reset(context()),
                  operations().allocate_dma(context(), page, page, &another),
                  map(some_pages(1), page, &address),
                  unmap(block.device_address, page),
                  arm(1),
                  line_listener{kernel}.arm(*device),
              };
              int refused = 0;
              for (const status& s : all) refused += s.is(transport_error::gone) ? 1 : 0;
              operations().free_dma(context(), block);
              operations().disarm_interrupts(context());
              return refused;
            }),
            11)
      << "each function that acts";
  EXPECT_EQ(in_child([&] {
              // Whatever got the addresses of the mappings since is the child's own.
              std::byte* const own = static_cast<std::byte*>(
                  mmap(block.host, page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
              if (own != block.host) return 2;
              *wait = nullptr;
              device = nullptr;
              return is_mapped(own) ? 0 : 3;
            }),
            0)
      << "the destructor";
  EXPECT_EQ(kernel.seen().calls, before.calls) << "no ioctl from a child";
  EXPECT_EQ(kernel.seen().armed, before.armed);
  EXPECT_EQ(kernel.seen().mapped, before.mapped);
  EXPECT_EQ(kernel.command(), command);

  // And the parent works on.
  EXPECT_TRUE(operations().set_bus_master(context(), false).ok());
  EXPECT_EQ(kernel.command() & PCI_COMMAND_MASTER, 0);
}

TEST_F(vfio_device_test, sleeps_by_kernels_that_know_no_nanoseconds) {
  for (const int error : {ENOSYS, EPERM}) {
    const old_kernel old(error);
    // Never back before the deadline, or the driver would spin until it.
    for (const std::uint64_t time : {100'000u, 1'000'000u, 20'500'000u}) {
      const std::uint64_t deadline = vfio_device::clock() + time;
      device->wait(deadline, -1);
      EXPECT_GE(vfio_device::clock(), deadline);
    }
    device->wake();
    device->wait(vfio_device::clock() + 900'000'000, -1);
    EXPECT_EQ(last_epoll_sleep.events, 1) << "wake() ends it";
    device->wait(0, -1);
    EXPECT_EQ(last_epoll_sleep.nanoseconds, 0) << "it does not sleep";
  }
}

TEST_F(vfio_device_test, a_vector_is_waited_for_by_such_kernels_too) {
  ASSERT_TRUE(arm(1).ok());
  auto wait = device->wait_for(0);
  ASSERT_TRUE(wait);
  const old_kernel old(ENOSYS);
  const std::uint64_t deadline = vfio_device::clock() + 5'300'000;
  (*wait)->wait(deadline);
  EXPECT_GE(vfio_device::clock(), deadline);
}

TEST_F(vfio_device_test, keeps_its_own_memory_out_of_children_when_another_mapping_of_it_ends) {
  dma_region own;
  ASSERT_TRUE(operations().allocate_dma(context(), 2 * page, page, &own).ok());
  std::uint64_t address = 0;
  ASSERT_TRUE(map(own.host, page, &address).ok());
  ASSERT_TRUE(unmap(address, page).ok());
  EXPECT_EQ(inherited(own.host, 2), "00");
  operations().free_dma(context(), own);
}

}  // namespace
}  // namespace freehca::vfio_host
