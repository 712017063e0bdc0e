// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Interrupts by eventfd: who is told, when not, and what a client may ask for.
#include "interrupts.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/pci_regs.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace freehca::device_server {
namespace {

using namespace vfio_user;

constexpr std::uint32_t by_file = irq_set_eventfd | irq_set_trigger;

struct interrupts_test : ::testing::Test {
  int set(std::uint32_t index, std::uint32_t start, std::uint32_t count, std::uint32_t flags,
          std::initializer_list<int> files = {}, std::span<const std::byte> wanted = {}) {
    std::vector<descriptor> copies;
    for (const int one : files) copies.emplace_back(dup(one));
    return signals.set({sizeof(irq_set), flags, index, start, count}, wanted, std::move(copies));
  }
  // How often it was told since the last time.
  static std::uint64_t told(const descriptor& event) {
    std::uint64_t count = 0;
    return read(event.get(), &count, sizeof count) == sizeof count ? count : 0;
  }

  configuration_space space{configuration_options{}};
  interrupts signals{space};
  descriptor a{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, b{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

TEST_F(interrupts_test, vectors_tell_their_own_eventfd) {
  ASSERT_EQ(0, set(msix_irq, 3, 2, by_file, {a.get(), b.get()}));
  EXPECT_TRUE(space.msix_enabled());
  signals.msix(3);
  EXPECT_EQ(1u, told(a));
  EXPECT_EQ(0u, told(b));
  signals.msix(4);
  signals.msix(4);
  EXPECT_EQ(2u, told(b));
  signals.msix(msix_vectors);
}

TEST_F(interrupts_test, a_vector_without_an_eventfd_is_pending_until_it_has_one) {
  ASSERT_EQ(0, set(msix_irq, 0, 1, by_file, {a.get()}));
  signals.msix(9);
  EXPECT_EQ(2u, signals.pending_byte(1));
  ASSERT_EQ(0, set(msix_irq, 9, 1, by_file, {b.get()}));
  EXPECT_EQ(1u, told(b));
  EXPECT_EQ(0u, signals.pending_byte(1));
  ASSERT_EQ(0, set(msix_irq, 9, 1, by_file)) << "without files: taken back";
  signals.msix(9);
  EXPECT_EQ(0u, told(b));
  signals.reset();
  EXPECT_EQ(0u, signals.pending_byte(1));
}

TEST_F(interrupts_test, masked_vectors_wait) {
  ASSERT_EQ(0, set(msix_irq, 0, 2, by_file, {a.get(), b.get()}));
  ASSERT_EQ(0, set(msix_irq, 1, 1, irq_set_none | irq_set_mask));
  signals.msix(0);
  signals.msix(1);
  EXPECT_EQ(1u, told(a));
  EXPECT_EQ(0u, told(b));
  const std::byte wanted[] = {std::byte{0}, std::byte{1}};
  ASSERT_EQ(0, set(msix_irq, 0, 2, irq_set_bool | irq_set_unmask, {}, wanted));
  EXPECT_EQ(1u, told(b));
  space.write(msix_at + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, 2);
  signals.msix(0);
  EXPECT_EQ(0u, told(a));
  space.write(msix_at + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE, 2);
  signals.registers_changed();
  EXPECT_EQ(1u, told(a));
}

TEST_F(interrupts_test, all_vectors_are_disabled_at_once) {
  ASSERT_EQ(0, set(msix_irq, 0, 2, by_file, {a.get(), b.get()}));
  ASSERT_EQ(0, set(msix_irq, 0, 0, irq_set_none | irq_set_trigger));
  EXPECT_FALSE(space.msix_enabled());
  signals.msix(0);
  EXPECT_EQ(0u, told(a));
  EXPECT_EQ(0u, signals.pending_byte(0)) << "nothing is pending where MSI-X is off";
}

TEST_F(interrupts_test, a_client_may_ring_by_itself) {
  ASSERT_EQ(0, set(msix_irq, 0, 2, by_file, {a.get(), b.get()}));
  const std::byte wanted[] = {std::byte{0}, std::byte{1}};
  ASSERT_EQ(0, set(msix_irq, 0, 2, irq_set_bool | irq_set_trigger, {}, wanted));
  EXPECT_EQ(0u, told(a));
  EXPECT_EQ(1u, told(b));
  ASSERT_EQ(0, set(msix_irq, 0, 2, irq_set_none | irq_set_trigger));
  EXPECT_EQ(1u, told(a));
  EXPECT_EQ(1u, told(b));
}

TEST_F(interrupts_test, the_pin_masks_itself) {
  ASSERT_EQ(0, set(intx_irq, 0, 1, by_file, {a.get()}));
  signals.intx(true);
  signals.intx(true);
  EXPECT_EQ(1u, told(a));
  EXPECT_EQ(unsigned{PCI_STATUS_INTERRUPT}, space.read(PCI_STATUS, 2) & PCI_STATUS_INTERRUPT);
  ASSERT_EQ(0, set(intx_irq, 0, 1, irq_set_none | irq_set_unmask));
  EXPECT_EQ(1u, told(a)) << "still asserted";
  signals.intx(false);
  EXPECT_EQ(0u, space.read(PCI_STATUS, 2) & PCI_STATUS_INTERRUPT);
  ASSERT_EQ(0, set(intx_irq, 0, 1, irq_set_none | irq_set_unmask));
  EXPECT_EQ(0u, told(a));
  signals.intx(true);
  EXPECT_EQ(1u, told(a));
}

TEST_F(interrupts_test, the_pin_is_unmasked_by_an_eventfd) {
  ASSERT_EQ(0, set(intx_irq, 0, 1, by_file, {a.get()}));
  EXPECT_EQ(-1, signals.unmask_descriptor());
  ASSERT_EQ(0, set(intx_irq, 0, 1, irq_set_eventfd | irq_set_unmask, {b.get()}));
  signals.intx(true);
  EXPECT_EQ(1u, told(a));
  signals.unmask_signalled();
  EXPECT_EQ(0u, told(a)) << "nobody has written there";
  const std::uint64_t one = 1;
  ASSERT_EQ(8, write(b.get(), &one, sizeof one));
  signals.unmask_signalled();
  EXPECT_EQ(1u, told(a));
}

TEST_F(interrupts_test, the_pin_is_silent_when_it_is_disabled_or_msix_is_on) {
  ASSERT_EQ(0, set(intx_irq, 0, 1, by_file, {a.get()}));
  space.write(PCI_COMMAND, PCI_COMMAND_INTX_DISABLE, 2);
  signals.intx(true);
  EXPECT_EQ(0u, told(a));
  space.write(PCI_COMMAND, 0, 2);
  signals.registers_changed();
  EXPECT_EQ(1u, told(a));
  ASSERT_EQ(0, set(msix_irq, 0, 1, by_file, {b.get()}));
  ASSERT_EQ(0, set(intx_irq, 0, 1, irq_set_none | irq_set_unmask));
  EXPECT_EQ(0u, told(a));
  ASSERT_EQ(0, set(msix_irq, 0, 0, irq_set_none | irq_set_trigger));
  EXPECT_EQ(1u, told(a));
}

TEST_F(interrupts_test, errors_of_the_bus_have_an_eventfd_that_only_the_client_rings) {
  ASSERT_EQ(0, set(error_irq, 0, 1, by_file, {a.get()}));
  signals.msix(0);
  signals.intx(true);
  EXPECT_EQ(0u, told(a));
  ASSERT_EQ(0, set(error_irq, 0, 1, irq_set_none | irq_set_trigger));
  EXPECT_EQ(1u, told(a));
  ASSERT_EQ(0, set(error_irq, 0, 0, irq_set_none | irq_set_trigger));
  ASSERT_EQ(0, set(error_irq, 0, 1, irq_set_none | irq_set_trigger));
  EXPECT_EQ(0u, told(a));
  EXPECT_EQ(ENOTSUP, set(error_irq, 0, 1, irq_set_none | irq_set_mask));
}

TEST_F(interrupts_test, what_cannot_be_asked_for) {
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 129, by_file, {a.get()}));
  EXPECT_EQ(EINVAL, set(msix_irq, 128, 1, by_file, {a.get()}));
  EXPECT_EQ(EINVAL, set(msix_irq, ~0u, 2, by_file, {a.get(), b.get()}));
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 2, by_file, {a.get()})) << "fewer files than vectors";
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 0, by_file));
  EXPECT_EQ(EINVAL, set(msi_irq, 0, 1, by_file, {a.get()}));
  EXPECT_EQ(EINVAL, set(5, 0, 1, by_file, {a.get()}));
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 1, irq_set_eventfd, {a.get()})) << "no action";
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 1, irq_set_trigger)) << "no kind of data";
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 1, by_file | irq_set_mask, {a.get()})) << "two actions";
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 1, by_file | 1u << 6, {a.get()}));
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 1, irq_set_none | irq_set_trigger, {a.get()}));
  EXPECT_EQ(EINVAL,
            set(msix_irq, 0, 2, irq_set_bool | irq_set_trigger, {}, std::span<const std::byte>()))
      << "no booleans";
  EXPECT_EQ(ENOTSUP, set(msix_irq, 0, 1, irq_set_eventfd | irq_set_mask, {a.get()}));
  EXPECT_EQ(ENOTSUP, set(intx_irq, 0, 1, irq_set_eventfd | irq_set_mask, {a.get()}));
  EXPECT_FALSE(space.msix_enabled());
}

TEST_F(interrupts_test, descriptors_that_are_no_eventfd) {
  int ends[2];
  ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
  const descriptor one(ends[0]), other(ends[1]);
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 1, by_file, {other.get()}));
  EXPECT_EQ(EINVAL, set(msix_irq, 0, 2, by_file, {a.get(), other.get()}));
  EXPECT_FALSE(space.msix_enabled());
}

TEST_F(interrupts_test, a_full_eventfd_holds_nobody_up) {
  const descriptor full(eventfd(0, EFD_CLOEXEC));
  const std::uint64_t most = ~std::uint64_t{0} - 1;
  ASSERT_EQ(8, write(full.get(), &most, sizeof most));
  ASSERT_EQ(0, set(msix_irq, 0, 1, by_file, {full.get()}));
  signals.msix(0);  // would wait for ever
}

TEST_F(interrupts_test, the_client_leaves) {
  ASSERT_EQ(0, set(msix_irq, 0, 1, by_file, {a.get()}));
  ASSERT_EQ(0, set(intx_irq, 0, 1, by_file, {b.get()}));
  signals.forget();
  EXPECT_FALSE(space.msix_enabled());
  signals.intx(true);
  EXPECT_EQ(0u, told(b));
}

}  // namespace
}  // namespace freehca::device_server
