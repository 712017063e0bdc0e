// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <freehca/hal/platform.hpp>
#include <freehca/vfio_host/failure.hpp>
#include <freehca/vfio_host/file.hpp>
#include <freehca/vfio_host/iova_allocator.hpp>
#include <freehca/vfio_host/open_options.hpp>
#include <freehca/vfio_host/pci_function.hpp>
#include <freehca/vfio_host/vector_wait.hpp>

namespace freehca::vfio_host {

/// The remedy for a process that may lock less memory than the device needs: the amount, and how to
/// raise the limit.
std::string how_to_lock(std::size_t bytes);

/// One PCI function opened through one of VFIO's doors, as the driver's platform. Only the thread
/// of the control owner, which polls the driver, uses it. Other threads call wake(), and wait by a
/// vector_wait of their own. The destructor releases everything: mappings, vectors, function and
/// IOMMU. The kernel then resets the function if it can.
///
/// A forked child inherits neither BARs nor memory that is mapped for the device, including that of
/// map_memory(). In the child the platform's functions return transport_error::gone, and the
/// destructor only closes the child's descriptors. The adapter still belongs to the parent.
class vfio_device {
 public:
  /// `locked_bytes` is the amount of memory that the caller will map, so that a limit that is too
  /// low is reported at once. Failures: trouble::not_mlx4 ... ::locked_memory_limit, ::in_use,
  /// ::system.
  static outcome<std::unique_ptr<vfio_device>> open(const pci_function& function,
                                                    std::size_t locked_bytes,
                                                    const open_options& how = {});

  /// The obstacle to open(), if the kernel shows one without opening the function. Opening resets a
  /// function that is up (Linux 6.1 vfio_pci_core.c, vfio_pci_core_enable).
  static std::optional<failure> obstacle(const pci_function& function, door way = door::automatic);
  /// The door that open() takes with these rights of the process: `way`, or in place of automatic
  /// group or iommufd. It does not open the IOMMU group, which only one process can open at a time.
  static door usable_door(const pci_function& function, door way = door::automatic);

  ~vfio_device();
  vfio_device(const vfio_device&) = delete;
  vfio_device& operator=(const vfio_device&) = delete;

  /// The platform for device_setup. It is valid as long as this object.
  freehca::platform platform();

  /// Sleeps until an interrupt, until `deadline` (of clock(), 0: does not sleep), or until `wake`
  /// (a file descriptor, -1: none) is readable. Reports interrupts to the driver, except those of
  /// vectors that another thread waits for.
  void wait(std::uint64_t deadline, int wake);
  /// In a forked child: closes its descriptors of the function, so that the function is free when
  /// the parent ends. Safe even if another thread of the parent was in a call. The object is not to
  /// be used or destroyed afterwards.
  void close_in_child() noexcept {
    function_.close();
    group_.close();
    iommu_.close();
  }
  /// Ends the current wait(); if there is none, the next one. Any thread.
  void wake() noexcept;
  /// Moves the waiting for a vector to another thread, until the returned object is destroyed. The
  /// driver must have armed interrupts. If it disarms and arms them again, as recover() does, the
  /// waiting thread is not affected as long as the driver's device is open. Fails with
  /// trouble::system if there is no such vector, or if another thread waits for it already.
  outcome<std::unique_ptr<vector_wait>> wait_for(unsigned vector);
  /// The number of the function's interrupt vectors.
  unsigned vectors() const { return vectors_; }
  /// A descriptor for a loop that sleeps by itself. It is readable while an event waits for a call
  /// of wait(0, -1). This object owns it.
  int descriptor() const { return watched_.get(); }

  /// The kernel requests the function back, because it is being unbound from vfio-pci or unplugged.
  /// The unbinding waits until this object is destroyed. wait() sets this flag
  /// (VFIO_PCI_REQ_IRQ_INDEX; Linux 6.1 vfio_pci_core.c, vfio_pci_core_request).
  bool wanted_back() const { return wanted_back_; }
  /// The PCI bus reported an uncorrected error of the function, so the caller must call
  /// device::mark_as_lost(). wait() sets this flag (VFIO_PCI_ERR_IRQ_INDEX;
  /// vfio_pci_core_aer_err_detected).
  bool failed() const { return failed_; }

  /// Nanoseconds of CLOCK_MONOTONIC.
  static std::uint64_t clock();

  /// The parameter `locked_bytes` of open().
  std::size_t locked_bytes() const { return locked_bytes_; }
  /// The door through which it was opened.
  door used_door() const { return door_; }
  /// The bytes of the program's memory that are mapped, again for each mapping. Any thread.
  std::size_t lent_bytes() const;
  /// Whether the kernel can reset the function.
  bool resettable() const { return resettable_; }
  /// The last refusal of the operating system, for messages: "VFIO_IOMMU_MAP_DMA: Cannot allocate
  /// memory". Empty: none. Any thread.
  std::string last_refusal() const;

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
  /// Opens the files of the door, without an effect on the function.
  std::optional<failure> open_door(const pci_function& function, door way);
  std::optional<failure> open_group(const pci_function& function);
  std::optional<failure> open_character_device(const pci_function& function);
  std::optional<failure> attach_to_container();
  std::optional<failure> attach_to_address_space(const pci_function& function);
  std::optional<failure> open_function(const pci_function& function);
  std::optional<failure> read_container_ranges();
  std::optional<failure> read_address_space_ranges();
  /// Keeps `what` with the words of errno and `why` as the last refusal.
  status refused(const char* what, const std::string& why = {});
  /// An address that agrees with a pointer in the low bits, for large pages of the IOMMU and of
  /// regions.
  std::optional<std::uint64_t> take_iova_like(const std::byte* at, std::size_t bytes);
  // Each returns what ioctl() does.
  int map_in_container(const std::byte* at, std::size_t bytes, std::uint64_t iova, bool write);
  int map_in_address_space(const std::byte* at, std::size_t bytes, std::uint64_t iova, bool write);
  /// `bytes` becomes the number of bytes that the kernel unmapped.
  int unmap_in_container(std::uint64_t iova, std::uint64_t* bytes);
  int unmap_in_address_space(std::uint64_t iova, std::uint64_t* bytes);
  /// What the user can do about a mapping that the kernel refused with `error`. Empty: nothing.
  std::string mapping_remedy(int error, const std::byte* at, std::size_t bytes, bool write) const;
  status map_dma(std::byte* at, std::size_t bytes, std::optional<std::uint64_t> iova, bool write);
  status unmap_dma(std::uint64_t iova, std::size_t bytes);
  /// Sets the eventfds of an interrupt index. An empty list disables the index.
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
  static status map_read_only_memory(void* context, std::byte* memory, std::size_t bytes,
                                     std::uint64_t* device_address);
  status lend(std::byte* memory, std::size_t bytes, bool write, std::uint64_t* device_address);
  static status unmap_memory(void* context, std::uint64_t device_address, std::size_t bytes);
  static status arm_interrupts(void* context, unsigned count,
                               void (*notify)(void*, unsigned) noexcept, void* of);
  static status arm_line_interrupt(void* context, void (*notify)(void*, unsigned) noexcept,
                                   void* of);
  static void disarm_interrupts(void* context);
  /// Arms `count` eventfds for an interrupt index.
  status arm(unsigned index, unsigned count);
  /// Calls the driver for the line interrupt and unmasks the line. Any thread.
  static void on_line(void* self, unsigned vector) noexcept;

  // The destructor closes these in reverse order.
  pid_t opened_by_ = ::getpid();
  file iommu_;  // the container, or /dev/iommu
  file group_;  // closed with iommufd
  file function_;
  door door_ = door::group;
  std::uint32_t address_space_ = 0;             // of iommufd
  std::optional<std::uint32_t> most_mappings_;  // of the container when it was opened
  memory_pages pages_ = memory_pages::small;
  std::uint64_t configuration_at_ = 0;
  std::size_t locked_bytes_ = 0;
  bool resettable_ = false;
  unsigned vectors_ = 0;
  bar bars_[3];
  /// Held during all changes of the next three. Owners of event contexts map memory too.
  mutable std::mutex mapping_;
  std::optional<iova_allocator> iova_;
  std::vector<block> blocks_;
  std::vector<block> lent_;  // the program's memory
  // One for each vector that was ever armed. They are kept, because a vector_wait has the eventfd
  // in its own epoll set.
  struct vector_event {
    file event;
    bool waited_for = false;  // by another thread
  };
  std::vector<vector_event> events_;
  unsigned armed_ = 0;        // number of armed vectors
  unsigned armed_index_ = 0;  // VFIO's interrupt index of the armed vectors
  file watched_;              // epoll instance of the other vectors and of the three events below
  file removal_, error_, woken_;
  int wake_ = -1;  // the caller's descriptor in the epoll set
  bool wanted_back_ = false, failed_ = false;
  vector_wait::listener driver_;  // on_line() if the line interrupt is armed
  vector_wait::listener line_;    // the driver's function for the line interrupt
  mutable std::mutex telling_;    ///< held while refusal_ is used
  std::string refusal_;
};

}  // namespace freehca::vfio_host
