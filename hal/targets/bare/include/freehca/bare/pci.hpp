// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// PCI Express as far as an image needs it: the adapter is found by ECAM, and given bus numbers and
// addresses where no firmware did that. PCI Express Base Specification 3.0, chapter 7; PCI-to-PCI
// Bridge Architecture 1.2, chapter 3.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/bare/machine.hpp>

namespace freehca::bare {

/// What was read from a device before it is there before any access behind it begins, whichever
/// device that is for (docs/memory-order.md has the sources).
inline void end_loads() {
#if defined(__aarch64__)
  __asm__ __volatile__("dmb oshld" ::: "memory");
#elif defined(__riscv)
  __asm__ __volatile__("fence i,iorw" ::: "memory");
#endif
}

/// A function's 4 KiB of configuration space.
class pci_space {
 public:
  static constexpr unsigned identity = 0x00, command = 0x04, header = 0x0c, first_bar = 0x10,
                            buses = 0x18, memory_window = 0x20, prefetchable_window = 0x24,
                            prefetchable_base_above = 0x28, prefetchable_limit_above = 0x2c,
                            capabilities = 0x34;
  static constexpr std::uint32_t memory_decode = 1u << 1, bus_master = 1u << 2,
                                 no_interrupt_pin = 1u << 10;

  pci_space() = default;
  explicit pci_space(std::byte* at) : at_(at) {}
  bool is_there() const { return at_ != nullptr; }

  /// 4 bytes, at a multiple of 4.
  std::uint32_t read(unsigned offset) const {
    return *static_cast<const volatile std::uint32_t*>(static_cast<const void*>(at_ + offset));
  }
  /// It has reached the function on return: ECAM need not be mapped so that the processor waits for
  /// that, and a read of the same register is answered behind the write (PCI Express Base
  /// Specification 3.0, 7.2.2 and 2.4.1).
  void write(unsigned offset, std::uint32_t value) const {
    *static_cast<volatile std::uint32_t*>(static_cast<void*>(at_ + offset)) = value;
    static_cast<void>(read(offset));
    end_loads();
  }
  /// Switches bits of the command register; leaves the status register, beside it, as it is.
  void set_command(std::uint32_t bits, bool to) const {
    const std::uint32_t before = read(command) & 0xffff;
    write(command, to ? before | bits : before & ~bits);
  }
  bool is_bridge() const { return (read(header) >> 16 & 0x7f) == 1; }
  bool has_more_functions() const { return (read(header) >> 23 & 1) != 0; }
  /// Offset of a capability; 0: it has none such.
  unsigned capability(unsigned identifier) const;

 private:
  std::byte* at_ = nullptr;
};

/// One of a function's BARs.
struct pci_bar {
  std::uint64_t address = 0;  ///< 0: nobody has given it one
  std::uint64_t bytes = 0;    ///< 0: there is no memory behind it
  bool wide = false;          ///< 64 bits: it takes the next one's place too
};

/// A function and how one comes to it.
struct pci_function_place {
  static constexpr unsigned deepest = 8;  ///< bridges above it
  static constexpr unsigned most_bars = 6;

  pci_space space;
  unsigned bus = 0, device = 0, function = 0;
  pci_space bridges[deepest];
  unsigned depth = 0;
  pci_bar bars[most_bars];
  bool assigned_here = false;  ///< the addresses are this program's, not firmware's

  /// Whether accesses reach its BARs, and its own get through the bridges.
  void decode(bool to) const;
  unsigned requester() const { return bus << 8 | device << 3 | function; }
};

/// The tree below a host bridge.
class pci_tree {
 public:
  explicit pci_tree(const pci_host& host) : host_(host), last_bus_(host.first_bus) {}

  /// Looks for the first mlx4-class adapter, gives bus numbers to bridges on the way that have
  /// none, and addresses to its BARs where no firmware has given out any (or `anew`: whatever
  /// firmware did). Memory decoding is on afterwards, all along the way, and bus mastering on in
  /// the bridges, off in the adapter. One that is not there yet has a second to come, by
  /// machine::now().
  trouble find_adapter(bool anew, pci_function_place* to);

 private:
  static constexpr unsigned most_buses = 256;

  unsigned buses() const { return static_cast<unsigned>(host_.ecam.bytes >> 20); }
  pci_space at(unsigned bus, unsigned device, unsigned function) const;
  bool search_for_a_while(pci_function_place& to);
  bool search(unsigned bus, pci_function_place& to);
  bool look_at(unsigned bus, unsigned device, unsigned function, pci_function_place& to);
  bool look_behind(const pci_space& bridge, unsigned bus, pci_function_place& to);
  trouble assign(pci_function_place& to) const;

  pci_host host_;
  unsigned last_bus_;              // the highest number that is given away
  std::uint32_t stranger_ = 0;     // identity of another adapter of the same maker; 0: none was met
  bool firmware_assigns_ = false;  // something is decoded already
  std::byte* mapped_ = nullptr;
  pci_space numbered_bridges_[most_buses];  // from the root on, those that got their number here
  unsigned numbered_ = 0;
};

/// Reads a function's `count` BARs; memory decoding is off meanwhile.
void read_bars(const pci_space& of, pci_bar* bars, unsigned count);

}  // namespace freehca::bare
