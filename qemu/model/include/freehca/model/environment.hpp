// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/model/remark.hpp>

namespace freehca::model {

/// What surrounds the modelled adapter. Implemented by QEMU's glue, by the in-process target of the
/// driver, and by tests. All calls come from inside a call into `device`, on the caller's thread;
/// the model starts no thread and calls nothing after its destructor returned.
class environment {
 public:
  /// Reads `bytes` bytes of host memory at bus address `address`. False: the bus refused (no such
  /// memory, or an IOMMU fault); `to` is then unspecified.
  virtual bool dma_read(std::uint64_t address, void* to, std::size_t bytes) = 0;

  /// Writes host memory. A write of at most 8 naturally aligned bytes is seen whole or not at all,
  /// and writes become visible in the order of the calls.
  virtual bool dma_write(std::uint64_t address, const void* from, std::size_t bytes) = 0;

  /// Is the device allowed to master the bus (PCI_COMMAND)? Without it every DMA and every
  /// interrupt message is refused.
  virtual bool bus_master() = 0;

  /// Has the host enabled MSI-X? If not, interrupts go to the INTx pin.
  virtual bool msix_enabled() = 0;

  /// Sends MSI-X message `vector` (0-based); masking and pending bits are the environment's.
  virtual void msix(unsigned vector) = 0;

  /// Sets the level of the INTx pin (true: asserted).
  virtual void intx(bool asserted) = 0;

  /// Nanoseconds on a clock that never goes back; virtual time where the environment has it.
  virtual std::uint64_t now() = 0;

  /// Asks for one call of device::on_timer() at or after `deadline` (same clock as now()). A later
  /// call replaces an earlier one; `never` disarms. The call must not come from inside arm_timer
  /// itself.
  virtual void arm_timer(std::uint64_t deadline) = 0;
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  /// The host wrote the software-reset register: configuration space returns to its values at
  /// power-on.
  virtual void wipe_configuration_space() = 0;

  /// Bytes leave port `port` (1-based) by its cable. Of an InfiniBand port: a packet from the first
  /// byte of its LRH to the last of its VCRC, at most layouts::greatest_packet_bytes(4096), or a
  /// link packet of layouts::link_packet::bytes. Of an Ethernet port: a frame from the destination
  /// MAC on, padded to 60 bytes, without its FCS, as networks of a host carry frames. The order of
  /// the calls is the order on the link; `from` is lent for the call. False: there is no room now;
  /// the adapter keeps the bytes, and goes on when device::link_has_room() is called. Only ports
  /// with options::cable call it.
  virtual bool link_send(unsigned port, const std::byte* from, std::size_t bytes) {
    static_cast<void>(port), static_cast<void>(from), static_cast<void>(bytes);
    return true;
  }

  /// A packet or frame has passed port `port` (1-based), in either direction or looped back inside:
  /// its bytes as on the link, from LRH to VCRC, or from the destination MAC on without the FCS.
  /// What arrives by a cable comes as it is, damaged or not; link packets do not come. `from` is
  /// lent for the call. Only ports with options::capture call it.
  virtual void packet_passed(unsigned port, const std::byte* from, std::size_t bytes) {
    static_cast<void>(port), static_cast<void>(from), static_cast<void>(bytes);
  }

  /// More of the recording (docs/recording.md): whole lines of text, from the header on, which
  /// comes when the device is made, to the last record, which comes when it is destroyed. `from` is
  /// lent for the call. False: it cannot be kept; the recording ends there, and nothing else
  /// changes. Only adapters with options::record call it.
  virtual bool record(const char* from, std::size_t bytes) {
    static_cast<void>(from), static_cast<void>(bytes);
    return true;
  }

  /// Is anybody listening to remarks of a kind that explains nothing (explains()), or to all of
  /// those about dropped packets (drop_remarks_interval_ns)? The others always come.
  virtual bool listens(remark_kind kind) {
    static_cast<void>(kind);
    return false;
  }
  /// The adapter tells something about its own doings, among them what a real card would have to
  /// suffer silently. `what` is lent for the call, which must not call the device.
  virtual void tell(const remark& what) = 0;

 protected:
  ~environment() = default;
};

}  // namespace freehca::model
