// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// vfio-user takes its structures from the kernel's VFIO: the kernel's own header is the witness for
// sizes, offsets and numbers.
#include <gtest/gtest.h>
#include <linux/vfio.h>

#include <freehca/vfio_user/messages.hpp>

namespace freehca::vfio_user {
namespace {

#define EXPECT_SAME_PLACE(ours, own, theirs, other)        \
  EXPECT_EQ(offsetof(theirs, other), offsetof(ours, own)); \
  EXPECT_EQ(sizeof(theirs::other), sizeof(ours::own))

TEST(structures, device_info_is_the_kernels) {
  EXPECT_SAME_PLACE(device_info, argsz, vfio_device_info, argsz);
  EXPECT_SAME_PLACE(device_info, flags, vfio_device_info, flags);
  EXPECT_SAME_PLACE(device_info, num_regions, vfio_device_info, num_regions);
  EXPECT_SAME_PLACE(device_info, num_irqs, vfio_device_info, num_irqs);
  EXPECT_EQ(std::uint32_t{VFIO_DEVICE_FLAGS_RESET}, device_can_reset);
  EXPECT_EQ(std::uint32_t{VFIO_DEVICE_FLAGS_PCI}, device_is_pci);
}

TEST(structures, region_info_is_the_kernels) {
  EXPECT_EQ(sizeof(vfio_region_info), sizeof(region_info));
  EXPECT_SAME_PLACE(region_info, argsz, vfio_region_info, argsz);
  EXPECT_SAME_PLACE(region_info, flags, vfio_region_info, flags);
  EXPECT_SAME_PLACE(region_info, index, vfio_region_info, index);
  EXPECT_SAME_PLACE(region_info, cap_offset, vfio_region_info, cap_offset);
  EXPECT_SAME_PLACE(region_info, size, vfio_region_info, size);
  EXPECT_SAME_PLACE(region_info, offset, vfio_region_info, offset);
  EXPECT_EQ(std::uint32_t{VFIO_REGION_INFO_FLAG_READ}, region_readable);
  EXPECT_EQ(std::uint32_t{VFIO_REGION_INFO_FLAG_WRITE}, region_writeable);
  EXPECT_EQ(std::uint32_t{VFIO_PCI_BAR0_REGION_INDEX}, bar0_region);
  EXPECT_EQ(std::uint32_t{VFIO_PCI_BAR2_REGION_INDEX}, bar2_region);
  EXPECT_EQ(std::uint32_t{VFIO_PCI_CONFIG_REGION_INDEX}, configuration_region);
  EXPECT_EQ(std::uint32_t{VFIO_PCI_NUM_REGIONS}, pci_regions);
}

TEST(structures, irq_info_is_the_kernels) {
  EXPECT_EQ(sizeof(vfio_irq_info), sizeof(irq_info));
  EXPECT_SAME_PLACE(irq_info, argsz, vfio_irq_info, argsz);
  EXPECT_SAME_PLACE(irq_info, flags, vfio_irq_info, flags);
  EXPECT_SAME_PLACE(irq_info, index, vfio_irq_info, index);
  EXPECT_SAME_PLACE(irq_info, count, vfio_irq_info, count);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_INFO_EVENTFD}, irq_eventfd);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_INFO_MASKABLE}, irq_maskable);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_INFO_AUTOMASKED}, irq_automasked);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_INFO_NORESIZE}, irq_noresize);
  EXPECT_EQ(std::uint32_t{VFIO_PCI_INTX_IRQ_INDEX}, intx_irq);
  EXPECT_EQ(std::uint32_t{VFIO_PCI_MSI_IRQ_INDEX}, msi_irq);
  EXPECT_EQ(std::uint32_t{VFIO_PCI_MSIX_IRQ_INDEX}, msix_irq);
  EXPECT_EQ(std::uint32_t{VFIO_PCI_ERR_IRQ_INDEX}, error_irq);
  EXPECT_EQ(std::uint32_t{VFIO_PCI_NUM_IRQS}, pci_irqs);
}

TEST(structures, irq_set_is_the_kernels) {
  EXPECT_EQ(sizeof(vfio_irq_set), sizeof(irq_set));
  EXPECT_SAME_PLACE(irq_set, argsz, vfio_irq_set, argsz);
  EXPECT_SAME_PLACE(irq_set, flags, vfio_irq_set, flags);
  EXPECT_SAME_PLACE(irq_set, index, vfio_irq_set, index);
  EXPECT_SAME_PLACE(irq_set, start, vfio_irq_set, start);
  EXPECT_SAME_PLACE(irq_set, count, vfio_irq_set, count);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_SET_DATA_NONE}, irq_set_none);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_SET_DATA_BOOL}, irq_set_bool);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_SET_DATA_EVENTFD}, irq_set_eventfd);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_SET_ACTION_MASK}, irq_set_mask);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_SET_ACTION_UNMASK}, irq_set_unmask);
  EXPECT_EQ(std::uint32_t{VFIO_IRQ_SET_ACTION_TRIGGER}, irq_set_trigger);
}

TEST(structures, mappings_have_the_kernels_flags) {
  EXPECT_EQ(std::uint32_t{VFIO_DMA_MAP_FLAG_READ}, dma_readable);
  EXPECT_EQ(std::uint32_t{VFIO_DMA_MAP_FLAG_WRITE}, dma_writeable);
  EXPECT_EQ(std::uint32_t{VFIO_DMA_UNMAP_FLAG_GET_DIRTY_BITMAP}, dma_unmap_dirty_bitmap);
  EXPECT_EQ(std::uint32_t{VFIO_DMA_UNMAP_FLAG_ALL}, dma_unmap_all);
  EXPECT_SAME_PLACE(dma_unmap, address, vfio_iommu_type1_dma_unmap, iova);
  EXPECT_SAME_PLACE(dma_unmap, size, vfio_iommu_type1_dma_unmap, size);
}

TEST(structures, a_body_is_read_only_when_it_is_long_enough) {
  const dma_unmap sent{24, 0, 0x1000, 0x2000};
  const auto body = bytes_of(sent);
  EXPECT_EQ(0x2000u, whole<dma_unmap>(body)->size);
  EXPECT_FALSE(whole<dma_unmap>(body.first(23)));
  EXPECT_FALSE(beginning<dma_unmap>(body.first(23)));
  EXPECT_FALSE(whole<irq_info>(body));
  EXPECT_EQ(24u, beginning<irq_info>(body)->argsz);
}

}  // namespace
}  // namespace freehca::vfio_user
