// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The data path of a network interface.
#include <freehca/hal/cache.hpp>
#include <freehca/network/interface.hpp>

namespace freehca::network {

namespace {

constexpr unsigned batch = 16;  // completions of one poll

void clean(const queues::data_entry& piece) {
  cache::clean(reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(piece.address)),
               piece.length);
}

}  // namespace

bool interface::working() const {
  for (unsigned i = 0; i < pair_count_; ++i) {
    const queue_pair* const p = objects_->find(pairs_[i]);
    if (p == nullptr || p->qp_state < layouts::qp_state::rtr ||
        p->qp_state > layouts::qp_state::rts)
      return false;
  }
  return pair_count_ != 0 && pair_count_ == pair_total();
}

bool interface::link_up() const {
  return working() && objects_->adapter().port(setup_.port).active();
}

void interface::keep_filter(const interface_filter& f) {
  for (unsigned i = 0; i < f.group_entries; ++i) groups_[i] = f.groups[i];
  setup_.filter = f;
  setup_.filter.groups = groups_;
}

std::uint32_t interface::outstanding(unsigned ring) const {
  const queue_pair* const p = sender(ring);
  return p != nullptr ? p->rings.send.outstanding() : 0;
}

void interface::arm() {
  for (unsigned i = 0; i < queue_count_; ++i)
    if (completion_queue* const queue = objects_->find(queues_[i])) queue->rings.arm();
}

/// Returns 0 if there is no such queue.
unsigned interface::poll(unsigned queue, queues::work_completion* to, unsigned most) const {
  completion_queue* const from = queue < queue_count_ ? objects_->find(queues_[queue]) : nullptr;
  return from != nullptr ? from->rings.poll(to, most < batch ? most : batch) : 0;
}

// ---- Receiving.

bool interface::takes(const std::byte* frame) const {
  const std::uint64_t to = layouts::load_be<std::uint64_t>(frame) >> 16;
  const interface_filter& f = setup_.filter;
  if (f.promiscuous || to == mac_ || to == most_mac) return true;
  bool found = f.all_groups && is_multicast_mac(to);
  for (unsigned i = 0; i < f.group_entries; ++i) found = found || groups_[i] == to;
  return found;
}

status interface::post(queue_pair& to, std::byte* buffer) const {
  const queues::data_entry room =
      entry(buffer + setup_.headroom, setup_.buffer_bytes - setup_.headroom);
  cache::clean(buffer, setup_.buffer_bytes);  // so that nothing is written back later
  return to.rings.receive.post(
      {.wr_id = reinterpret_cast<std::uintptr_t>(buffer), .list = &room, .entries = 1});
}

/// All buffers of a ring, when its queue pair takes receives for the first time.
status interface::post_all(unsigned ring) const {
  queue_pair& to = *receiver(ring);
  std::byte* at = setup_.memory + std::size_t{ring} * setup_.receives * setup_.buffer_bytes;
  for (std::uint32_t i = 0; i < setup_.receives; ++i, at += setup_.buffer_bytes)
    FREEHCA_TRY(post(to, at));
  to.rings.receive.ring();
  return {};
}

status interface::release(unsigned ring, const received_buffer* buffers, unsigned count) {
  queue_pair* const p = receiver(ring);
  if (p == nullptr) return driver_error::bad_state;
  const std::size_t bytes = std::size_t{setup_.receives} * setup_.buffer_bytes;
  std::byte* const first = setup_.memory + ring * bytes;
  status s;
  for (unsigned i = 0; i < count && s.ok(); ++i) {
    // A pointer in front of the buffers becomes a large offset.
    const std::size_t offset =
        reinterpret_cast<std::uintptr_t>(buffers[i].at) - reinterpret_cast<std::uintptr_t>(first);
    if (offset >= bytes) s = driver_error::bad_argument;
    else if (p->rings.receive.outstanding() >= setup_.receives) s = driver_error::queue_full;
    else s = post(*p, first + offset / setup_.buffer_bytes * setup_.buffer_bytes);
  }
  p->rings.receive.ring();
  return s;
}

unsigned interface::receive(unsigned ring, received_buffer* to, unsigned most) {
  queue_pair* const p = receiver(ring);
  unsigned taken = 0;
  queues::work_completion done[batch];
  // Counts the filtered frames too: they can arrive without end.
  for (unsigned polled = 1, left = p != nullptr ? most : 0; polled != 0; left -= polled) {
    polled = poll(ring, done, left);
    for (unsigned i = 0; i < polled; ++i) {
      const queues::work_completion& c = done[i];
      auto* const buffer = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(c.wr_id));
      std::byte* const at = buffer + setup_.headroom;
      cache::invalidate(at, c.byte_count);
      if (c.ok() && (!filters_ || takes(at))) {
        const queues::received_frame frame(c);
        to[taken] = {.at = at,
                     .length = c.byte_count,
                     .hash = setup_.receive_rings > 1 ? hash_of(c) : 0,
                     .ip_checksum_ok = frame.ip_checksum_ok(),
                     .l4_checksum_ok = frame.l4_checksum_ok()};
        if (frame.is_tagged()) to[taken].vlan = frame.vlan(), to[taken].priority = frame.priority();
        ++taken;
        continue;
      }
      ++(c.ok() ? counters_.filtered : counters_.receive_errors);
      // A queue pair in error takes the buffer, and flushes it at once.
      if (c.status != queues::completion_status::flushed && post(*p, buffer).ok())
        p->rings.receive.ring();
    }
  }
  counters_.received += taken;
  return taken;
}

// ---- Sending.

unsigned interface::send(unsigned ring, const outgoing_frame* frames, unsigned count, status& why) {
  queue_pair* const p = sender(ring);
  why = p != nullptr ? status() : driver_error::bad_state;
  unsigned posted = 0;
  for (; why.ok() && posted < count; ++posted) {
    const outgoing_frame& f = frames[posted];
    queues::sq& to = p->rings.send;
    for (std::uint32_t i = 0; cache::is_maintained && i < f.pieces.count; ++i)
      if (f.pieces.first[i].lkey == key_) clean(f.pieces.first[i]);
    if (to.outstanding() >= setup_.sends) why = driver_error::queue_full;
    else if (f.headers.from == nullptr)
      why =
          to.post(queues::send_frame_list{.wr_id = f.cookie, .data = f.pieces, .frame = f.options});
    else
      why = to.post(queues::send_large_frame_list{
          .wr_id = f.cookie, .headers = f.headers, .data = f.pieces, .frame = f.options});
    if (!why.ok()) break;
  }
  if (posted != 0) p->rings.send.ring();
  return posted;
}

unsigned interface::reap(unsigned ring, std::uint64_t* cookies, unsigned most) {
  unsigned taken = 0;
  queues::work_completion done[batch];
  const unsigned queue = setup_.receive_rings + ring;
  while (const unsigned polled =
             ring < setup_.transmit_rings ? poll(queue, done, most - taken) : 0) {
    for (unsigned i = 0; i < polled; ++i) {
      ++(done[i].ok() ? counters_.sent : counters_.send_errors);
      cookies[taken++] = done[i].wr_id;
    }
  }
  return taken;
}

}  // namespace freehca::network
