// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Frames by a program on libdpdk: bursts of 32, and buffers that are allocated and freed in the
// loops. The poll mode driver frees the buffers of sent frames in rte_eth_tx_burst().
// Usage: dpdk [EAL ARGUMENTS] -- plain|checksums
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdio>
#include <string_view>

#include "frames.hpp"

using namespace freehca::bench;

namespace {

constexpr std::uint16_t sender = 0, receiver = 1;
constexpr unsigned cached = 256;  // buffers of a pool that a core keeps for itself

rte_mempool* new_pool(const char* name, unsigned buffers) {
  rte_mempool* const p =
      rte_pktmbuf_pool_create(name, buffers, cached, 0, RTE_PKTMBUF_HEADROOM + buffer_bytes, 0);
  if (p == nullptr) fail(name);
  return p;
}

void start(std::uint16_t port, bool checksums, rte_mempool* into) {
  rte_eth_conf how{};
  if (checksums) {
    how.rxmode.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM;
    how.txmode.offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
  }
  if (rte_eth_dev_configure(port, 1, 1, &how) != 0) fail("a port's configuration");
  if (rte_eth_rx_queue_setup(port, 0, ring_frames, 0, nullptr, into) != 0) fail("a receive queue");
  if (rte_eth_tx_queue_setup(port, 0, ring_frames, 0, nullptr) != 0) fail("a transmit queue");
  if (rte_eth_dev_start(port) != 0) fail("a port's start");
  // Linux brings the link up by itself some time after the start.
  rte_eth_link link{};
  for (unsigned looks = 0; link.link_status != RTE_ETH_LINK_UP; ++looks) {
    if (looks == 500 || rte_eth_link_get_nowait(port, &link) != 0) fail("a port without a link");
    let_device_work();
  }
}

/// Each buffer of the pool has the frame.
void write_frames(rte_mempool* pool, unsigned bytes, bool checksums) {
  struct frame_to_write {
    std::uint8_t destination[6];
    unsigned bytes, l4_sum;
  } frame{{}, bytes, 0};
  rte_ether_addr to{};
  if (rte_eth_macaddr_get(receiver, &to) != 0) fail("a port's address");
  std::memcpy(frame.destination, to.addr_bytes, sizeof frame.destination);
  if (checksums) {
    // The offload of UDP wants the sum of the pseudo header in the frame.
    std::byte example[64];
    write_frame(example, sizeof example, frame.destination, 0);
    rte_ipv4_hdr ip;
    std::memcpy(&ip, example + ethernet_header, sizeof ip);
    ip.total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(bytes - ethernet_header));
    frame.l4_sum = rte_be_to_cpu_16(rte_ipv4_phdr_cksum(&ip, RTE_MBUF_F_TX_UDP_CKSUM));
  }
  rte_mempool_obj_iter(
      pool,
      [](rte_mempool*, void* f, void* buffer, unsigned) {
        const auto& of = *static_cast<const frame_to_write*>(f);
        auto* const at = static_cast<rte_mbuf*>(buffer);
        write_frame(static_cast<std::byte*>(at->buf_addr) + RTE_PKTMBUF_HEADROOM, of.bytes,
                    of.destination, of.l4_sum);
      },
      &frame);
}

template <bool Checksums>
[[gnu::noinline]] std::uint64_t transmit(rte_mempool* pool, unsigned bytes, unsigned n) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; i += burst) {
    rte_mbuf* frames[burst];
    if (rte_pktmbuf_alloc_bulk(pool, frames, burst) != 0) fail("no buffers");
    for (rte_mbuf* f : frames) {
      f->data_len = static_cast<std::uint16_t>(bytes);
      f->pkt_len = bytes;
      if (Checksums) {
        f->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
        f->l2_len = ethernet_header;
        f->l3_len = ip_header;
      }
    }
    if (rte_eth_tx_burst(sender, 0, frames, burst) != burst) fail("frames are not taken");
  }
  return executed() - began;
}

template <bool Checksums>
[[gnu::noinline]] std::uint64_t receive(unsigned bytes, unsigned n) {
  constexpr std::uint64_t checked = RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK;
  constexpr std::uint64_t right = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n;) {
    rte_mbuf* frames[burst];
    const unsigned found = rte_eth_rx_burst(receiver, 0, frames, burst);
    if (found == 0) fail("frames are missing");
    for (unsigned k = 0; k < found; ++k) {
      if (frames[k]->pkt_len != bytes) fail("a frame of others");
      if (Checksums && (frames[k]->ol_flags & checked) != right) fail("a wrong checksum");
    }
    rte_pktmbuf_free_bulk(frames, found);
    i += found;
  }
  return executed() - began;
}

template <bool Checksums>
void measure() {
  rte_mempool* const from = new_pool("sent", send_buffers - 1);
  rte_mempool* const into = new_pool("received", 4 * ring_frames - 1);
  for (const std::uint16_t port : {sender, receiver}) start(port, Checksums, into);
  for (const unsigned bytes : frame_sizes) {
    write_frames(from, bytes, Checksums);
    tell_frames(
        bytes, Checksums, [=](unsigned n) { return transmit<Checksums>(from, bytes, n); },
        [=](unsigned n) { return receive<Checksums>(bytes, n); });
  }
  for (const std::uint16_t port : {sender, receiver})
    if (rte_eth_dev_stop(port) != 0 || rte_eth_dev_close(port) != 0) fail("a port's end");
}

}  // namespace

int main(int argc, char** argv) {
  const int own = rte_eal_init(argc, argv);
  if (own < 0 || own + 1 >= argc) {
    std::fprintf(stderr, "usage: %s [EAL ARGUMENTS] -- plain|checksums\n", argv[0]);
    return 2;
  }
  tell_driver("libdpdk");
  need_counted_clock();
  if (rte_eth_dev_count_avail() != 2) fail("there are not two ports");
  if (std::string_view(argv[own + 1]) == "checksums") measure<true>();
  else measure<false>();
  return rte_eal_cleanup() == 0 ? 0 : 1;
}
