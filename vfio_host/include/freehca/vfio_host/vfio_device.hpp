// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <freehca/hal/platform.hpp>
#include <freehca/vfio_host/failure.hpp>
#include <freehca/vfio_host/file.hpp>
#include <freehca/vfio_host/iova_allocator.hpp>
#include <freehca/vfio_host/pci_function.hpp>
#include <freehca/vfio_host/vector_wait.hpp>

namespace freehca::vfio_host {

/// For a process that may lock less than the device needs: how much that is, and how to get it.
std::string how_to_lock(std::size_t bytes);

/// One PCI function opened through VFIO's group and container (type 1 IOMMU), as the driver's
/// platform. One thread uses it: that of the control owner, which polls the driver; other threads
/// call wake(), and wait by a vector_wait of their own. Everything is given back by the destructor:
/// mappings, vectors, group, container; the kernel then resets the function where it can.
///
/// A forked child inherits neither BARs nor memory that is mapped for the device, map_memory()'s
/// included. In it the platform's functions answer transport_error::gone, and the destructor only
/// closes the child's descriptors: the adapter stays the parent's.
class vfio_device {
 public:
  /// `locked_bytes`: how much memory the caller is going to map, so that a limit that is too low is
  /// told at once. trouble::not_mlx4 ... ::locked_memory_limit, ::in_use, ::system.
  static outcome<std::unique_ptr<vfio_device>> open(const pci_function& function,
                                                    std::size_t locked_bytes);

  /// What stands in the way of open(), as far as the kernel tells it before the function is opened:
  /// opening resets a function that is up (Linux 6.1 vfio_pci_core.c, vfio_pci_core_enable).
  static std::optional<failure> obstacle(const pci_function& function);

  ~vfio_device();
  vfio_device(const vfio_device&) = delete;
  vfio_device& operator=(const vfio_device&) = delete;

  /// For device_setup; lives as long as this.
  freehca::platform platform();

  /// Sleeps until an interrupt, until `deadline` (of clock(), 0: does not sleep), or until `wake`
  /// (a file descriptor, -1: none) can be read; tells the driver of interrupts, but for vectors
  /// that somebody else waits for.
  void wait(std::uint64_t deadline, int wake);
  /// Ends the wait() that is under way, or else the next one. Any thread.
  void wake() noexcept;
  /// From here on, until the object is destroyed, another thread waits for the vector. The driver
  /// has armed interrupts; what it does with them afterwards (recover() disarms and arms) changes
  /// nothing for who waits, as long as the driver's device is open. trouble::system: there is no
  /// such vector, or it is waited for.
  outcome<std::unique_ptr<vector_wait>> wait_for(unsigned vector);
  /// How many interrupt vectors the function has.
  unsigned vectors() const { return vectors_; }
  /// Can be read when wait(0, -1) has something to tell of, for a loop that sleeps by itself; stays
  /// this object's.
  int descriptor() const { return watched_.get(); }

  /// The kernel wants the function back: it is being unbound from vfio-pci, or unplugged, and
  /// whoever asked for that waits until this object is gone. wait() notices it
  /// (VFIO_PCI_REQ_IRQ_INDEX; Linux 6.1 vfio_pci_core.c, vfio_pci_core_request).
  bool wanted_back() const { return wanted_back_; }
  /// The PCI bus reported an error of the function that was not corrected: device::lost() is due.
  /// wait() notices it (VFIO_PCI_ERR_IRQ_INDEX; vfio_pci_core_aer_err_detected).
  bool failed() const { return failed_; }

  /// Nanoseconds of CLOCK_MONOTONIC.
  static std::uint64_t clock();

  /// How much memory open() was told of.
  std::size_t locked_bytes() const { return locked_bytes_; }
  /// Can the kernel reset the function by itself?
  bool resettable() const { return resettable_; }
  /// What the operating system refused last, for messages: "VFIO_IOMMU_MAP_DMA: ENOMEM ...". Empty:
  /// nothing.
  const std::string& last_refusal() const { return refusal_; }

 private:
  struct bar {
    std::byte* at = nullptr;
    std::size_t bytes = 0;
  };
  struct block {
    std::byte* at;
    std::uint64_t iova;
    std::size_t bytes;
  };

  vfio_device() = default;
  bool is_in_child() const;
  /// Lets children inherit the pages of memory that is not mapped any more, and not in `lent_`.
  /// False: not all of them, and errno says why.
  bool take_back(const block& b) const;
  std::optional<failure> open_group(const pci_function& function);
  std::optional<failure> attach(const pci_function& function);
  std::optional<failure> open_function(const pci_function& function);
  std::optional<failure> read_iova_ranges();
  status refused(const char* what);
  status map_dma(std::byte* at, std::size_t bytes, std::size_t alignment, std::uint64_t* iova);
  status unmap_dma(std::uint64_t iova, std::size_t bytes);
  /// None: the index is silent from then on.
  status set_interrupts(unsigned index, const std::vector<int>& descriptors);
  /// Opens `event` for a notice that is no interrupt of the device. It stays closed where the
  /// kernel has no such notice.
  status listen_for(unsigned index, std::uint32_t what, file* event);
  // What wait() hears of, besides vectors.
  static constexpr std::uint32_t removal = 0x10000, bus_error = 0x10001, wake_of_caller = 0x10002,
                                 wake_of_others = 0x10003;
  /// epoll_ctl() on the set that wait() sleeps on; wait() gets `what`.
  status set_watched(int descriptor, int change, std::uint32_t events, std::uint32_t what);
  /// Adds an eventfd. wait() reports each write to it once and reads none.
  status watch(int event, std::uint32_t what);
  /// Configuration space. False: errno says why not.
  bool read(unsigned offset, void* to, std::size_t bytes) const;
  bool write(unsigned offset, const void* from, std::size_t bytes) const;
  status write_command(std::uint32_t clear, std::uint32_t set);

  static const platform_operations operations;
  static vfio_device& of(void* context) { return *static_cast<vfio_device*>(context); }
  static status map_bar(void* context, unsigned bar, mmio_region* mapped);
  static status read_configuration(void* context, unsigned offset, std::uint32_t* value);
  static status write_configuration(void* context, unsigned offset, std::uint32_t value);
  static status reset_function(void* context);
  static status set_bus_master(void* context, bool allowed);
  static status restore_after_reset(void* context);
  static status allocate_dma(void* context, std::size_t bytes, std::size_t alignment,
                             dma_region* out);
  static void free_dma(void* context, const dma_region& region);
  static status map_memory(void* context, std::byte* memory, std::size_t bytes,
                           std::uint64_t* device_address);
  static status unmap_memory(void* context, std::uint64_t device_address, std::size_t bytes);
  static status arm_interrupts(void* context, unsigned count,
                               void (*notify)(void*, unsigned) noexcept, void* of);
  static void disarm_interrupts(void* context);

  // In the order in which they are closed last to first.
  pid_t opened_by_ = ::getpid();
  file container_, group_, function_;
  std::uint64_t configuration_at_ = 0;
  std::size_t locked_bytes_ = 0;
  bool resettable_ = false;
  unsigned vectors_ = 0;
  bar bars_[3];
  std::optional<iova_allocator> iova_;
  std::vector<block> blocks_;
  std::vector<block> lent_;  // the caller's memory
  // One for each vector that was ever armed, and then kept: who waits for one has it in a set of
  // their own.
  struct vector_event {
    file event;
    bool waited_for = false;  // by another thread
  };
  std::vector<vector_event> events_;
  unsigned armed_ = 0;  // vectors
  file watched_;        // all others of them, and those that follow: an epoll instance
  file removal_, error_, woken_;
  int wake_ = -1;  // what the caller has watched; its own
  bool wanted_back_ = false, failed_ = false;
  vector_wait::listener driver_;
  std::string refusal_;
};

}  // namespace freehca::vfio_host
