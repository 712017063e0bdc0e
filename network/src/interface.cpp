// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The data path of a network interface.
#include <freehca/hal/cache.hpp>
#include <freehca/network/interface.hpp>

namespace freehca::network {

namespace {

constexpr unsigned batch = 32;  // completions of one poll

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

queues::cq* interface::completions(unsigned queue) const {
  completion_queue* const found = queue < queue_count_ ? objects_->find(queues_[queue]) : nullptr;
  return found != nullptr ? &found->rings : nullptr;
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
  const std::uint32_t free = setup_.receives - p->rings.receive.outstanding();
  status s;
  for (unsigned i = 0; i < count && s.ok(); ++i) {
    // A pointer in front of the buffers becomes a large offset.
    const std::size_t offset =
        reinterpret_cast<std::uintptr_t>(buffers[i].at) - reinterpret_cast<std::uintptr_t>(first);
    if (offset >= bytes) s = driver_error::bad_argument;
    else if (i >= free) s = driver_error::queue_full;
    else s = post(*p, first + offset / setup_.buffer_bytes * setup_.buffer_bytes);
  }
  p->rings.receive.ring();
  return s;
}

unsigned interface::receive(unsigned ring, received_buffer* to, unsigned most) {
  queue_pair* const p = receiver(ring);
  queues::cq* const from = p != nullptr ? completions(ring) : nullptr;
  if (from == nullptr) return 0;
  received_buffer* next = to;
  const bool hashed = setup_.receive_rings > 1;
  // Not initialized, because poll() writes each completion that is read.
  alignas(queues::work_completion) std::byte storage[batch * sizeof(queues::work_completion)];
  auto* const done = static_cast<queues::work_completion*>(static_cast<void*>(storage));
  // Counts the filtered frames too: they can arrive without end.
  for (unsigned left = most, polled = 0; left != 0; left -= polled) {
    polled = from->poll(done, left < batch ? left : batch);
    if (polled == 0) break;
    for (unsigned i = 0; i < polled; ++i) {
      const queues::work_completion& c = done[i];
      auto* const buffer = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(c.wr_id));
      std::byte* const at = buffer + setup_.headroom;
      cache::invalidate(at, c.byte_count);
      if (c.ok() && (!filters_ || takes(at))) [[likely]] {
        const queues::received_frame frame(c);
        *next = {.at = at,
                 .length = c.byte_count,
                 .hash = hashed ? hash_of(c) : 0,
                 .ip_checksum_ok = frame.ip_checksum_ok(),
                 .l4_checksum_ok = frame.l4_checksum_ok()};
        if (frame.is_tagged()) next->vlan = frame.vlan(), next->priority = frame.priority();
        ++next;
        continue;
      }
      ++(c.ok() ? counters_.filtered : counters_.receive_errors);
      // A queue pair in error takes the buffer, and flushes it at once.
      if (c.status != queues::completion_status::flushed && post(*p, buffer).ok())
        p->rings.receive.ring();
    }
  }
  const auto taken = static_cast<unsigned>(next - to);
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
    else if (f.headers.from == nullptr && f.pieces.count == 1 && f.pieces.first != nullptr)
      why = to.post(
          queues::send_frame{.wr_id = f.cookie, .data = *f.pieces.first, .frame = f.options});
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
  queues::cq* const from =
      ring < setup_.transmit_rings ? completions(setup_.receive_rings + ring) : nullptr;
  if (from == nullptr) return 0;
  unsigned failed = 0;
  const unsigned taken = from->look(most, [&](const queues::completion_view& c) {
    if (!c.ok()) [[unlikely]]
      ++failed;
    *cookies++ = c.wr_id;
  });
  if (taken == 0) return 0;
  from->release();
  counters_.sent += taken - failed;
  counters_.send_errors += failed;
  return taken;
}

}  // namespace freehca::network
