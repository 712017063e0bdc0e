// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A kernel's VFIO and iommufd as far as the host needs them. While a fake_vfio exists, open() of
// /dev/vfio/... and of /dev/iommu, and the ioctls of both, go to it (system_calls.cpp). All other
// calls of this process go to the real kernel.
#pragma once

#include <linux/vfio.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <freehca/vfio_host/iommufd.hpp>
#include <freehca/vfio_host/pci_function.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

namespace freehca::testing {

inline constexpr std::size_t page = 4096;  ///< bytes of memory that are mapped at least

class fake_vfio {
 public:
  fake_vfio();
  ~fake_vfio();
  fake_vfio(const fake_vfio&) = delete;
  fake_vfio& operator=(const fake_vfio&) = delete;

  /// A function that is bound to vfio-pci. With iommufd it has a character device.
  static vfio_host::pci_function function(vfio_host::door way = vfio_host::door::group);
  /// The one that exists, or null.
  static fake_vfio* current();
  /// Opens it; a failure fails the test.
  std::unique_ptr<vfio_host::vfio_device> open(
      vfio_host::door way = vfio_host::door::group,
      vfio_host::memory_pages pages = vfio_host::memory_pages::small);

  unsigned vectors = 16;      ///< that the function has
  unsigned granted = 16;      ///< that the machine has left, as Linux answers a larger request
  bool refuses_more = false;  ///< a larger request is ENOSPC
  bool refuses_unmap = false;
  bool has_line = false;  ///< the function has INTx
  /// Asserts INTx. False: it is not armed, or masked.
  bool assert_line();
  unsigned mappings = 65'535;   ///< how many the IOMMU takes (Linux vfio_iommu_type1.c)
  bool tells_mappings = false;  ///< VFIO_IOMMU_GET_INFO has VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL
  std::uint64_t alignment =
      4096;  ///< of I/O virtual addresses, as IOMMU_IOAS_IOVA_RANGES reports it
  /// What VFIO_IOMMU_GET_INFO reports; empty: it has no capabilities, as before Linux 5.4.
  std::vector<vfio_host::iova_range> ranges;
  unsigned growing = 0;  ///< how often its answer needs more room than the call before was told
  /// Changes its answer, which is whole.
  std::function<void(std::vector<std::byte>& answer)> alters;
  int version = 0;             ///< of the interface
  bool type1 = true;           ///< is there an IOMMU of type 1
  bool viable = true;          ///< the group
  bool has_notices = true;     ///< of removal and of errors of the bus
  std::size_t most_moved = 8;  ///< bytes of configuration space that one call reads or writes
  /// Shared with children.
  struct shared_state {
    unsigned calls = 0;  ///< ioctls of VFIO after open()
    unsigned armed = 0;  ///< MSI-X vectors
    bool line_armed = false;
    unsigned line_unmasked = 0;  ///< how often
    unsigned mapped = 0;         ///< blocks of memory
  };
  shared_state& seen() { return *seen_; }
  /// The command register of configuration space.
  std::uint16_t command() const;

  /// The kernel wants the function back, or the bus reported an error of it.
  void signal_removal() { signal(VFIO_PCI_REQ_IRQ_INDEX); }
  void signal_error() { signal(VFIO_PCI_ERR_IRQ_INDEX); }
  bool function_open() const { return function_ >= 0; }
  /// Is a byte of this memory mapped for the device?
  bool has_mapped(const void* at, std::size_t bytes) const;
  /// May the device write at this I/O virtual address?
  bool may_write(std::uint64_t iova) const { return maps_.at(iova).write; }
  std::size_t mapped() const { return maps_.size(); }

  int ioctl(int descriptor, unsigned long request, void* argument);
  bool has(int descriptor) const;
  int open_path(const char* path);
  void closed(int descriptor);

 private:
  struct mapping {
    std::uint64_t memory, bytes;
    bool write;
  };

  int new_file(std::uint64_t bytes);
  void signal(unsigned index);
  int get_iommu_info(void* argument);
  int set_interrupts(const vfio_irq_set& set);
  int set_line(const vfio_irq_set& set);
  int map(const vfio_iommu_type1_dma_map& what);
  int map_in_address_space(const vfio_host::iommufd::map_request& what);
  int add_mapping(std::uint64_t iova, std::uint64_t memory, std::uint64_t bytes, bool write);
  bool is_allowed(std::uint64_t iova, std::uint64_t last) const;
  int unmap_in_address_space(vfio_host::iommufd::unmap_request& what);
  int get_ranges(vfio_host::iommufd::ranges_request& what);
  int ioctl_of_iommufd(unsigned long request, void* argument);
  int unmap(vfio_iommu_type1_dma_unmap& what);

  shared_state* seen_;
  std::vector<int> files_;
  int function_ = -1;
  int iommufd_ = -1;
  bool bound_ = false, attached_ = false;  // the character device
  int line_ = -1;                          // eventfd of INTx
  bool line_masked_ = false;
  bool has_space_ = false;  // an I/O address space was allocated
  pid_t made_by_ = ::getpid();
  std::map<unsigned, int> notices_;        // index to eventfd
  std::map<std::uint64_t, mapping> maps_;  // by I/O virtual address
};

}  // namespace freehca::testing
