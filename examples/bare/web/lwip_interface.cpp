// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "lwip_interface.hpp"

#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/timeouts.h>

#include <freehca/bare/machine.hpp>

#include "bring_up.hpp"

namespace freehca::bare::web {

namespace {

constexpr unsigned log_page = 12;
// A turn takes microseconds, lwIP's timers have steps of 250 ms, and a clock can be a register of a
// slow device.
constexpr unsigned turns_of_a_timer = 64;
constexpr std::uint64_t change_limit = clock::seconds(10);

/// The protocols of a frame that the adapter has checksums for.
struct protocols {
  explicit protocols(const std::byte* frame, std::size_t bytes)
      : ipv4(bytes >= 34 && frame[12] == std::byte{0x08} && frame[13] == std::byte{0}),
        tcp(ipv4 && frame[23] == std::byte{6}) {}
  bool ipv4, tcp;
};

}  // namespace

status lwip_interface::up(verbs& objects, unsigned port, const dma_region& memory,
                          const ip_settings& ip) {
  objects_ = &objects;
  memory_ = memory;
  for (arrival& a : arrivals_) {
    a.owner = this;
    a.buffer.custom_free_function = &free_arrival;
  }
  network::interface_setup setup = shape;
  setup.port = port;
  setup.memory = memory.host;
  setup.memory_bytes = memory.bytes;
  setup.pages = page_list(memory, log_page);
  change_.set_deadline(clock::after(machine::now(), change_limit));
  change_.up(nic_, objects, setup);
  FREEHCA_TRY(finish(change_, objects));

  freehca_web_heap =
      reinterpret_cast<unsigned char*>(memory.host) + network::interface::receive_bytes(shape);
  lwip_init();
  netif_add(&netif_, &ip.address, &ip.mask, &ip.gateway, this, &set_up, &netif_input);
  netif_set_default(&netif_);
  netif_set_up(&netif_);
  return {};
}

err_t lwip_interface::set_up(netif* n) {
  const lwip_interface& self = *static_cast<lwip_interface*>(n->state);
  n->name[0] = 'h';
  n->name[1] = 'c';
  n->mtu = self.nic_.setup().mtu;
  n->hwaddr_len = ETH_HWADDR_LEN;
  for (unsigned i = 0; i < ETH_HWADDR_LEN; ++i)
    n->hwaddr[i] = static_cast<u8_t>(self.nic_.mac() >> 8 * (ETH_HWADDR_LEN - 1 - i));
  n->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET;
  n->output = &etharp_output;
  n->linkoutput = &send;
  return ERR_OK;
}

status lwip_interface::turn() {
  objects_->poll();
  if (!nic_.working()) return transport_error::gone;
  if (const bool link = nic_.link_up(); link != link_) {
    link_ = link;
    if (link) netif_set_link_up(&netif_);
    else netif_set_link_down(&netif_);
  }
  receive();
  reap();
  if (++turns_ % turns_of_a_timer == 0) sys_check_timeouts();
  return release();
}

void lwip_interface::receive() {
  network::received_buffer got[batch];
  const unsigned count = nic_.receive(0, got, batch);
  for (unsigned i = 0; i < count; ++i) {
    const network::received_buffer& frame = got[i];
    const auto offset = static_cast<std::size_t>(frame.at - memory_.host);
    arrival& a = arrivals_[offset / shape.buffer_bytes];
    a.at = frame.at;
    const auto length = static_cast<u16_t>(frame.length);
    pbuf* const p =
        pbuf_alloced_custom(PBUF_RAW, length, PBUF_REF, &a.buffer, frame.at,
                            static_cast<u16_t>(shape.buffer_bytes - offset % shape.buffer_bytes));
    const protocols of(frame.at, frame.length);
    if ((of.ipv4 && !frame.ip_checksum_ok) || (of.tcp && !frame.l4_checksum_ok)) {
      ++counters_.wrong_checksums;
      pbuf_free(p);
    } else if (netif_.input(p, &netif_) != ERR_OK) {
      pbuf_free(p);
    }
  }
}

void lwip_interface::free_arrival(pbuf* frame) {
  const arrival& a = *reinterpret_cast<const arrival*>(frame);
  a.owner->returned_[a.owner->returned_count_++].at = a.at;
}

/// Gives the ring the buffers that lwIP has freed.
status lwip_interface::release() {
  const unsigned count = returned_count_;
  returned_count_ = 0;
  return nic_.release(0, returned_, count);
}

/// Frees the frames that the adapter has sent.
void lwip_interface::reap() {
  std::uint64_t frames[batch];
  while (const unsigned count = nic_.reap(0, frames, batch))
    for (unsigned i = 0; i < count; ++i)
      pbuf_free(reinterpret_cast<pbuf*>(static_cast<std::uintptr_t>(frames[i])));
}

/// Writes the pieces of a frame. Returns 0 if there are too many, or if one is not in memory_.
unsigned lwip_interface::list(const pbuf* frame, queues::data_entry* to) const {
  unsigned count = 0;
  for (const pbuf* p = frame; p != nullptr; p = p->next) {
    const auto* const at = static_cast<const std::byte*>(p->payload);
    if (p->len == 0) continue;
    if (count == shape.pieces || at < memory_.host || at >= memory_.host + memory_.bytes) return 0;
    to[count++] = nic_.entry(at, p->len);
  }
  return count;
}

/// The frame stays referenced until reap(). While it is referenced, TCP does not change it
/// (tcp_output_segment_busy of lwIP).
err_t lwip_interface::send(netif* n, pbuf* frame) {
  lwip_interface& self = *static_cast<lwip_interface*>(n->state);
  queues::data_entry parts[shape.pieces];
  unsigned count = self.list(frame, parts);
  if (count != 0) {
    pbuf_ref(frame);
  } else {
    frame = pbuf_clone(PBUF_RAW, PBUF_RAM, frame);
    if (frame == nullptr) return ERR_MEM;
    ++self.counters_.copied;
    count = self.list(frame, parts);
  }
  const protocols of(static_cast<const std::byte*>(frame->payload), frame->len);
  const network::outgoing_frame out{.cookie = reinterpret_cast<std::uintptr_t>(frame),
                                    .pieces = {parts, count},
                                    .options = {.ip_checksum = of.ipv4, .l4_checksum = of.tcp}};
  status s = self.nic_.send(0, out);
  if (s == driver_error::queue_full) {
    self.reap();
    s = self.nic_.send(0, out);
  }
  if (s.ok()) return ERR_OK;
  ++self.counters_.not_sent;
  pbuf_free(frame);
  return s == driver_error::queue_full ? ERR_MEM : ERR_IF;
}

status lwip_interface::down() {
  change_.set_deadline(clock::after(machine::now(), change_limit));
  change_.down(nic_);
  return finish(change_, *objects_);
}

}  // namespace freehca::bare::web
