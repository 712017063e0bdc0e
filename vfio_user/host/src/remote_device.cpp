// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The platform's functions, implemented by messages of vfio-user.
#include <freehca/vfio_user_host/remote_device.hpp>

#include <linux/pci_regs.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include <freehca/texts/text.hpp>
#include <freehca/vfio_host/sleep.hpp>

#include "connect.hpp"
#include "windows.hpp"

namespace freehca::vfio_user_host {

using namespace vfio_user;

namespace {

constexpr std::size_t page = 4096;
constexpr unsigned gateway_words[] = {
    22, 23};  // words of configuration space that are never written back

}  // namespace

const platform_operations remote_device::operations = {
    .bytes = sizeof(platform_operations),
    .map_bar = map_bar,
    .read_configuration = read_configuration,
    .write_configuration = write_configuration,
    .reset_function = reset_function,
    .set_bus_master = set_bus_master,
    .restore_after_reset = restore_after_reset,
    .allocate_dma = allocate_dma,
    .free_dma = free_dma,
    .arm_interrupts = arm_interrupts,
    .disarm_interrupts = disarm_interrupts,
    .now = [](void*) { return vfio_host::monotonic_now(); },
    .log =
        [](void*, const log_record& record) {
          char line[200];
          describe(record, line, sizeof line);
          std::fprintf(stderr, "freehca: %s\n", line);
        },
    .trace = nullptr,
};

freehca::platform remote_device::platform() {
  return {&operations, this};
}

std::unique_ptr<remote_device> remote_device::open(const std::string& socket, std::string& why) {
  std::unique_ptr<remote_device> made(new remote_device);
  why = made->begin(socket);
  if (!why.empty()) return nullptr;
  return made;
}

std::string remote_device::begin(const std::string& socket) {
  std::string why;
  if (connect_to(socket, client_, why) != 0) return why;
  irq_info vectors{};
  vectors.index = msix_irq;
  if (client_.describe(vectors) != 0)
    return fmt::format("{}: what is served there is no PCI function", socket);
  vectors_ = vectors.count;
  for (const unsigned number : {0u, 2u}) {
    region_info bar{};
    bar.index = bar0_region + number;
    std::vector<mappable_area> areas;
    vfio_user::descriptor file;
    if (client_.describe(bar, areas, file) != 0 || bar.size == 0)
      return fmt::format("{}: the function has no BAR {}", socket, number);
    // Reserves addresses without memory. The accessors find the register by its address.
    void* at =
        mmap(nullptr, bar.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return std::strerror(errno);
    bars_[number] = {static_cast<std::byte*>(at), bar.size};
    open_window(bars_[number].at, bar.size, *this, number);
    for (const mappable_area& one : areas) {
      std::byte* const there = bars_[number].at + one.offset;
      if (mmap(there, one.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(),
               static_cast<off_t>(bar.offset + one.offset)) == MAP_FAILED)
        return fmt::format("{}: mapping BAR {}: {}", socket, number, std::strerror(errno));
      // A child's exit handlers must not reach the adapter's registers.
      if (madvise(there, one.size, MADV_DONTFORK) != 0)
        return fmt::format("{}: madvise of BAR {}: {}", socket, number, std::strerror(errno));
      open_shared_window(there, one.size, *this);
    }
  }
  for (unsigned i = 0; i < configuration_words; ++i)
    if (!read_configuration(this, 4 * i, &saved_[i]).ok()) return refusal_;
  watched_ = vfio_user::descriptor(epoll_create1(EPOLL_CLOEXEC));
  woken_ = vfio_user::descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!watch(woken_.get(), EPOLLIN | EPOLLET, woken_heard) ||
      !watch(client_.raw().socket(), EPOLLIN, socket_heard))
    return std::strerror(errno);
  return "";
}

remote_device::~remote_device() {
  // In a forked child the adapter still belongs to the parent, so nothing is sent to the server.
  if (is_in_child()) {
    close_windows(*this);
    return;
  }
  disarm_interrupts(this);
  if (client_.connected()) static_cast<void>(set_bus_master(this, false));
  close_windows(*this);
  for (const window& b : bars_)
    if (b.at != nullptr) munmap(b.at, b.bytes);
  client_.disconnect();
  for (const block& b : blocks_) munmap(b.at, b.bytes);
}

bool remote_device::is_in_child() const {
  return getpid() != opened_by_;
}

status remote_device::refused(const char* what, int code) {
  refusal_ = fmt::format("{}: {}", what, std::strerror(code));
  if (code != ECONNRESET) return {transport_error::refused, static_cast<unsigned>(code)};
  // Without the server there is no adapter.
  gone_ = true;
  return transport_error::gone;
}

status remote_device::map_bar(void* context, unsigned number, mmio_region* mapped) {
  remote_device& d = of(context);
  if (number != 0 && number != 2) return driver_error::bad_argument;
  if (const status s = d.write_command(0, PCI_COMMAND_MEMORY); !s.ok()) return s;
  *mapped = {d.bars_[number].at, d.bars_[number].bytes};
  return {};
}

status remote_device::read_configuration(void* context, unsigned offset, std::uint32_t* value) {
  remote_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  const std::lock_guard alone(d.talking_);
  std::array<std::byte, 4> bytes;
  if (const int code = d.client_.read(configuration_region, offset, bytes); code != 0)
    return d.refused("reading configuration space", code);
  *value = 0;
  for (unsigned i = 0; i < 4; ++i) *value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return {};
}

status remote_device::write_configuration(void* context, unsigned offset, std::uint32_t value) {
  remote_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  const std::lock_guard alone(d.talking_);
  std::array<std::byte, 4> bytes;
  for (unsigned i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  const int code = d.client_.write(configuration_region, offset, bytes);
  return code == 0 ? status() : d.refused("writing configuration space", code);
}

// The upper half, the status register, is written with zeros: a zero does not clear a status bit.
status remote_device::write_command(std::uint32_t clear, std::uint32_t set) {
  std::uint32_t command = 0;
  if (const status s = read_configuration(this, PCI_COMMAND, &command); !s.ok()) return s;
  return write_configuration(this, PCI_COMMAND, (command & 0xffff & ~clear) | set);
}

status remote_device::restore_configuration() {
  for (unsigned i = 3; i < configuration_words; ++i) {
    if (std::find(std::begin(gateway_words), std::end(gateway_words), i) != std::end(gateway_words))
      continue;
    if (const status s = write_configuration(this, 4 * i, saved_[i]); !s.ok()) return s;
  }
  return write_command(PCI_COMMAND_MASTER, PCI_COMMAND_MEMORY);
}

status remote_device::reset_function(void* context) {
  remote_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  {
    const std::lock_guard alone(d.talking_);
    if (const int code = d.client_.reset(); code != 0) return d.refused("device_reset", code);
  }
  return d.restore_configuration();
}

status remote_device::set_bus_master(void* context, bool on) {
  return of(context).write_command(on ? 0 : PCI_COMMAND_MASTER, on ? PCI_COMMAND_MASTER : 0);
}

status remote_device::restore_after_reset(void* context) {
  return of(context).restore_configuration();
}

// The device address of memory is its host address, which is unique in the process.
status remote_device::share(std::byte* at, std::size_t bytes) {
  if (is_in_child()) return transport_error::gone;
  const vfio_user::descriptor file(memfd_create("freehca", MFD_CLOEXEC));
  if (!file.open() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return refused("memfd_create", errno);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(file.get(), at + done, bytes - done, static_cast<off_t>(done));
    if (n <= 0) return refused("writing shared memory", errno);
    done += static_cast<std::size_t>(n);
  }
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0) == MAP_FAILED)
    return refused("mmap of shared memory", errno);
  // Without this, stores of a child would change the memory of the adapter.
  if (madvise(at, bytes, MADV_DONTFORK) != 0) return refused("madvise of DMA memory", errno);
  const std::lock_guard alone(talking_);
  const int code = client_.map(reinterpret_cast<std::uintptr_t>(at), bytes, file.get());
  return code == 0 ? status() : refused("dma_map", code);
}

status remote_device::allocate_dma(void* context, std::size_t bytes, std::size_t alignment,
                                   dma_region* out) {
  remote_device& d = of(context);
  bytes = (bytes + page - 1) / page * page;
  const std::size_t more = alignment > page ? alignment : 0;
  void* at =
      mmap(nullptr, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return d.refused("mmap of DMA memory", errno);
  auto* first = static_cast<std::byte*>(at);
  if (more != 0) {
    // Unmap the parts before and after the aligned part.
    auto* const aligned = first + (more - reinterpret_cast<std::uintptr_t>(first) % more) % more;
    if (aligned != first) munmap(first, static_cast<std::size_t>(aligned - first));
    const auto behind = static_cast<std::size_t>(first + bytes + more - (aligned + bytes));
    if (behind != 0) munmap(aligned + bytes, behind);
    first = aligned;
  }
  if (const status s = d.share(first, bytes); !s.ok()) {
    munmap(first, bytes);
    return s;
  }
  d.blocks_.push_back({first, bytes});
  *out = {first, reinterpret_cast<std::uintptr_t>(first), bytes};
  return {};
}

void remote_device::free_dma(void* context, const dma_region& region) {
  remote_device& d = of(context);
  if (d.is_in_child()) return;
  const auto found = std::find_if(d.blocks_.begin(), d.blocks_.end(),
                                  [&](const block& b) { return b.at == region.host; });
  if (found == d.blocks_.end()) return;
  // The adapter can still reach a block that the server keeps mapped: it is the destructor's, which
  // hangs up first.
  auto* const at = reinterpret_cast<std::byte*>(region.device_address);
  if (!d.unshare(at, found->bytes).ok() && !d.gone_) return;
  if (munmap(found->at, found->bytes) != 0)
    static_cast<void>(d.refused("munmap of DMA memory", errno));
  d.blocks_.erase(found);
}

status remote_device::unshare(std::byte* at, std::size_t bytes) {
  const std::lock_guard alone(talking_);
  if (const int code = client_.unmap(reinterpret_cast<std::uintptr_t>(at), bytes); code != 0)
    return refused("dma_unmap", code);
  return {};
}

std::uint32_t remote_device::read_register(unsigned bar, std::size_t offset) noexcept {
  const std::lock_guard alone(talking_);
  std::array<std::byte, 4> bytes;
  if (gone_ || client_.read(bar, offset, bytes) != 0) {
    gone_ = true;
    return 0xffffffff;  // as a read that no device answers
  }
  std::uint32_t value = 0;
  for (const std::byte b : bytes) value = value << 8 | std::to_integer<std::uint32_t>(b);
  return value;
}

void remote_device::write_register(unsigned bar, std::size_t offset, std::uint64_t value,
                                   unsigned bytes) noexcept {
  const std::lock_guard alone(talking_);
  if (gone_) return;
  std::array<std::byte, 8> data;
  for (unsigned i = bytes; i-- > 0; value >>= 8) data[i] = static_cast<std::byte>(value);
  const region_access what{offset, bar, bytes};
  const header head{0, static_cast<std::uint16_t>(command::region_write), 0,
                    type_command | flag_no_reply, 0};
  if (!client_.raw().send(head, bytes_of(what), std::span(data).first(bytes))) gone_ = true;
}

}  // namespace freehca::vfio_user_host
