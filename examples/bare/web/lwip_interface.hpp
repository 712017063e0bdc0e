// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <lwip/netif.h>
#include <lwip/pbuf.h>

#include <freehca/hal/regions.hpp>
#include <freehca/network/interface.hpp>

namespace freehca::bare::web {

struct ip_settings {
  ip4_addr_t address{}, mask{}, gateway{};
};

/// The adapter's interface below lwIP, without port and memory.
constexpr network::interface_setup interface_shape() {
  network::interface_setup s;
  s.receives = 128;
  s.sends = 256;
  s.buffer_bytes = 2048;
  // The headers of TCP, copied bytes, and up to two parts of a page.
  s.pieces = 4;
  s.large_sends = false;
  return s;
}

/// lwIP's network interface on an Ethernet port. No byte of a frame is copied: lwIP reads received
/// frames in the buffers of the receive ring, and the adapter reads sent frames in lwIP's heap and
/// in other memory of `memory`. The adapter computes and checks the checksums of IPv4 and TCP.
class lwip_interface {
 public:
  static constexpr network::interface_setup shape = interface_shape();
  static constexpr std::size_t heap_bytes = MEM_SIZE + 256;
  /// The bytes of `memory` that the receive buffers and lwIP's heap take, at its begin.
  static constexpr std::size_t own_bytes = network::interface::receive_bytes(shape) + heap_bytes;

  struct counters {
    std::uint64_t wrong_checksums = 0;  ///< received frames that were dropped
    std::uint64_t copied = 0;           ///< sent frames of too many pieces
    std::uint64_t not_sent = 0;         ///< frames for which the transmit ring had no room
  };

  lwip_interface() = default;
  lwip_interface(const lwip_interface&) = delete;
  lwip_interface& operator=(const lwip_interface&) = delete;

  /// Starts lwIP, brings the interface of the adapter up and adds it to lwIP. `memory` is DMA
  /// memory of at least own_bytes bytes. Called once.
  status up(verbs& objects, unsigned port, const dma_region& memory, const ip_settings& ip);
  /// One turn of the loop: gives lwIP the frames that have arrived, takes back the memory of frames
  /// that were sent, follows the link, and runs lwIP's timers. Error: transport_error::gone (the
  /// interface does not work any more).
  status turn();
  status down();

  const network::interface& adapter() const { return nic_; }
  const ip4_addr_t& address() const { return *netif_ip4_addr(&netif_); }
  const counters& counted() const { return counters_; }

 private:
  static constexpr unsigned batch = 16;
  /// A received frame that lwIP has not freed yet. Each receive buffer has one.
  struct arrival {
    pbuf_custom buffer{};  // the first member: lwIP passes its address to free_arrival()
    lwip_interface* owner = nullptr;
    std::byte* at = nullptr;
  };

  static err_t set_up(netif* n);
  static err_t send(netif* n, pbuf* frame);
  static void free_arrival(pbuf* frame);

  void receive();
  status release();
  void reap();
  unsigned list(const pbuf* frame, queues::data_entry* to) const;

  verbs* objects_ = nullptr;
  dma_region memory_;
  network::interface nic_;
  network::interface_operation change_;  // larger than a stack should hold
  netif netif_{};
  bool link_ = false;
  unsigned turns_ = 0;
  counters counters_;
  arrival arrivals_[shape.receives];
  network::received_buffer returned_[shape.receives];  // freed by lwIP, not yet released
  unsigned returned_count_ = 0;
};

}  // namespace freehca::bare::web
