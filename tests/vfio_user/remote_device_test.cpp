// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The driver's port to an adapter behind a socket: when nobody is behind it any more, on kernels
// that know no nanoseconds, in a forked child, and when the kernel or the server refuses something.
// Memory of the program is no memory of the device.
#include <freehca/blocking/session.hpp>
#include <freehca/vfio_user_host/remote_device.hpp>

#include <linux/pci_regs.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <old_kernel.hpp>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "refused_advice.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user_host {
namespace {

/// A server with an adapter, and the driver's port to it.
struct remote_device_test : ::testing::Test {
  void open(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"--socket", files.path("device")});
    server.start(options);
    device = remote_device::open(files.path("device"), why);
  }

  const vfio_user::folder files;
  vfio_user::served_program server;
  std::string why;
  std::unique_ptr<remote_device> device;
};

// Whatever the driver was about to ask for then, its adapter is gone, as one that reads as all
// ones.
TEST_F(remote_device_test, is_gone_when_its_server_is) {
  open();
  ASSERT_NE(nullptr, device) << why;
  const platform to = device->platform();
  kill(server.process(), SIGKILL);
  server.wait();
  dma_region memory;
  EXPECT_TRUE(
      to.operations->allocate_dma(to.context, 0x1000, 0x1000, &memory).is(transport_error::gone));
  EXPECT_TRUE(to.operations->reset_function(to.context).is(transport_error::gone));
  EXPECT_TRUE(to.operations->set_bus_master(to.context, true).is(transport_error::gone));
  EXPECT_TRUE(device->gone());
}

TEST_F(remote_device_test, sleeps_by_kernels_that_know_no_nanoseconds) {
  open();
  ASSERT_NE(nullptr, device) << why;
  const platform of = device->platform();
  for (const int error : {ENOSYS, EPERM}) {
    const testing::old_kernel old(error);
    for (const std::uint64_t time : {100'000u, 1'000'000u, 20'500'000u}) {
      const std::uint64_t deadline = of.now() + time;
      device->wait(deadline);
      EXPECT_GE(of.now(), deadline) << "never back before it, or the driver spins";
    }
  }
}

TEST_F(remote_device_test, is_left_alone_by_a_child) {
  open();
  ASSERT_NE(nullptr, device) << why;
  const platform of = device->platform();
  dma_region memory;
  ASSERT_TRUE(of.operations->allocate_dma(of.context, 0x1000, 0x1000, &memory).ok());
  ASSERT_TRUE(of.operations->set_bus_master(of.context, true).ok());
  const pid_t child = fork();
  if (child == 0) {
    if (msync(memory.host, 0x1000, MS_ASYNC) == 0) _exit(1);
    if (!of.operations->set_bus_master(of.context, false).is(transport_error::gone)) _exit(2);
    if (!of.operations->reset_function(of.context).is(transport_error::gone)) _exit(3);
    of.operations->free_dma(of.context, memory);
    device = nullptr;
    _exit(0);
  }
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  ASSERT_TRUE(WIFEXITED(ended));
  EXPECT_EQ(WEXITSTATUS(ended), 0);
  std::uint32_t command = 0;
  ASSERT_TRUE(of.operations->read_configuration(of.context, PCI_COMMAND, &command).ok())
      << "the server still serves the parent";
  EXPECT_NE(command & PCI_COMMAND_MASTER, 0u);
  EXPECT_FALSE(device->gone());
}

// A child that inherits the adapter's registers or memory writes to them.
TEST_F(remote_device_test, opens_nothing_that_a_child_would_inherit) {
  const testing::refused_advice none;
  open({"--doorbells", "polled"});
  EXPECT_EQ(nullptr, device);
  EXPECT_EQ(why, files.path("device") + ": madvise of BAR 2: Cannot allocate memory");
}

TEST_F(remote_device_test, lends_no_memory_that_a_child_would_inherit) {
  open();
  ASSERT_NE(nullptr, device) << why;
  const platform of = device->platform();
  dma_region memory;
  {
    const testing::refused_advice none;
    EXPECT_TRUE(of.operations->allocate_dma(of.context, 0x1000, 0x1000, &memory)
                    .is(transport_error::refused));
    EXPECT_EQ(device->last_refusal(), "madvise of DMA memory: Cannot allocate memory");
  }
  EXPECT_TRUE(of.operations->allocate_dma(of.context, 0x1000, 0x1000, &memory).ok());
}

TEST_F(remote_device_test, keeps_memory_that_the_server_refuses_to_unmap) {
  open();
  ASSERT_NE(nullptr, device) << why;
  const platform of = device->platform();
  dma_region memory;
  ASSERT_TRUE(of.operations->allocate_dma(of.context, 0x2000, 0x1000, &memory).ok());
  dma_region another = memory;
  another.device_address += 0x1000;  // the server has no mapping that begins there
  of.operations->free_dma(of.context, another);
  EXPECT_EQ(msync(memory.host, 0x2000, MS_ASYNC), 0) << "unmapped here, and not at the server";
  of.operations->free_dma(of.context, memory);
  EXPECT_EQ(msync(memory.host, 0x2000, MS_ASYNC), -1) << "what the server unmaps is given back";
}

// The server maps files (docs/decisions/program-memory.md). A program with memory of the driver's
// works on.
TEST_F(remote_device_test, registers_no_memory_of_the_program) {
  open();
  ASSERT_NE(nullptr, device) << why;
  blocking::session s(*device);
  ASSERT_TRUE(s.open().ok());
  ASSERT_TRUE(s.wait(s.adapter().bring_up()).ok());
  std::byte memory[8]{};
  const auto refused = s.wait(s.adapter().register_memory(memory, sizeof memory));
  EXPECT_TRUE(refused.error().is(driver_error::unsupported)) << s.words(refused.error());
  EXPECT_TRUE(s.wait(s.adapter().allocate(sizeof memory)).ok());
  EXPECT_TRUE(s.tear_down().ok());
}

}  // namespace
}  // namespace freehca::vfio_user_host
