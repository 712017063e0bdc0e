// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/wqe_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

namespace freehca::model {

using namespace layouts;

namespace {

/// A WQE is at most 63 units long: the width of ds.
constexpr std::size_t wqe_bytes_max = 64 * wqe_unit;

struct wqe_bytes {
  std::array<std::byte, wqe_bytes_max> at;
  std::size_t size = 0, position = 0;

  template <class T>
  bool take(image<T>& to) {
    if (size - position < T::bytes) return false;
    to = image<T>::from_bytes(at.data() + position);
    position += T::bytes;
    return true;
  }
};

/// Reads queue bytes that may run over the ring's end (mlx4_en's do).
bool read_ring(memory_regions& regions, const queue_pair& qp, std::uint64_t offset, std::byte* to,
               std::size_t bytes) {
  const std::uint64_t ring = qp.sq.ring.bytes();
  const auto first = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, ring - offset));
  return regions.read_queue(qp.buffer, qp.sq.ring.first + offset, to, first) &&
         (first == bytes ||
          regions.read_queue(qp.buffer, qp.sq.ring.first, to + first, bytes - first));
}

bool take_remote_address(wqe_bytes& wqe, send_request& r) {
  image<wqe_remote_address> remote;
  if (!wqe.take(remote)) return false;
  r.remote_address = remote.get<&wqe_remote_address::remote_address>();
  r.rkey = static_cast<std::uint32_t>(remote.get<&wqe_remote_address::rkey>());
  return true;
}

bool take_atomic(wqe_bytes& wqe, send_request& r) {
  image<wqe_atomic> operands;
  if (!take_remote_address(wqe, r) || !wqe.take(operands)) return false;
  r.swap_add = operands.get<&wqe_atomic::swap_add>();
  r.compare = operands.get<&wqe_atomic::compare>();
  return true;
}

bool take_masked_atomic(wqe_bytes& wqe, send_request& r) {
  using masked = wqe_masked_atomic;
  image<masked> operands;
  if (!take_remote_address(wqe, r) || !wqe.take(operands)) return false;
  r.swap_add = operands.get<&masked::swap_add>();
  r.compare = operands.get<&masked::compare>();
  r.swap_mask = operands.get<&masked::swap_add_mask>();
  r.compare_mask = operands.get<&masked::compare_mask>();
  return true;
}

bool take_local_invalidate(wqe_bytes& wqe, send_request& r) {
  image<wqe_local_invalidate> what;
  if (!wqe.take(what)) return false;
  r.immediate = static_cast<std::uint32_t>(what.get<&wqe_local_invalidate::mem_key>());
  return true;
}

/// On raw Ethernet, and of datagrams: of headers that software made, none.
bool take_large_send(wqe_bytes& wqe, const queue_pair& qp, send_request& r) {
  image<wqe_lso> head;
  if ((!qp.carries_frames() && qp.service != qp_service::ud) || !wqe.take(head)) return false;
  const auto n = static_cast<std::size_t>(head.get<&wqe_lso::header_size>());
  const auto mss = static_cast<std::uint32_t>(head.get<&wqe_lso::mss>());
  if (n == 0 || mss == 0 || n > wqe.size - wqe.position) return false;
  const std::byte* from = wqe.at.data() + wqe.position;
  r.large = std::make_unique<large_send>(large_send{mss, {from, from + n}});
  wqe.position = (wqe.position + n + wqe_unit - 1) / wqe_unit * wqe_unit;
  return true;
}

/// The segments between the control segment and the data. What manages memory has no data.
bool take_operands(wqe_bytes& wqe, const queue_pair& qp, send_request& r) {
  if (qp.service == qp_service::ud && !r.is_local())
    return wqe.take(r.datagram) &&
           (r.row->operands != wqe_operands::large_send || take_large_send(wqe, qp, r));
  switch (r.row->operands) {
    case wqe_operands::none:
      return true;
    case wqe_operands::remote_address:
      return take_remote_address(wqe, r);
    case wqe_operands::atomic:
      return take_atomic(wqe, r);
    case wqe_operands::masked_atomic:
      return take_masked_atomic(wqe, r);
    case wqe_operands::bind:
      return wqe.take(r.binding) && wqe.position == wqe.size;
    case wqe_operands::fast_register:
      return wqe.take(r.registration) && wqe.position == wqe.size;
    case wqe_operands::large_send:
      return take_large_send(wqe, qp, r);
    case wqe_operands::local_invalidate:
      return take_local_invalidate(wqe, r) && wqe.position == wqe.size;
  }
  return false;
}

/// Takes gather entries and inline segments until the WQE ends. False: a segment that cannot be.
bool take_data(wqe_bytes& wqe, data_list& to, rule_book& rules) {
  while (wqe.position < wqe.size) {
    const auto head = image<wqe_inline>::from_bytes(wqe.at.data() + wqe.position);
    if (head.get<&wqe_inline::inline_data>()) {
      const auto n = static_cast<std::size_t>(head.get<&wqe_inline::byte_count>());
      const std::size_t begin = wqe.position + wqe_inline::bytes;
      if (n > wqe.size - begin) {
        rules.because(
            "an inline segment of %zu bytes at byte %zu; wanted: within the %zu bytes of "
            "the work request",
            n, wqe.position, wqe.size);
        return false;
      }
      if (n != 0 && begin / wqe_basic_block != (begin + n - 1) / wqe_basic_block &&
          rules.refuses(rule::inline_segment, "an inline segment of %zu bytes at byte %zu", n,
                        wqe.position))
        return false;
      to.add_inline(wqe.at.data() + begin, n);
      wqe.position = (begin + n + wqe_unit - 1) / wqe_unit * wqe_unit;
      continue;
    }
    image<wqe_data> entry;
    wqe.take(entry);  // a WQE is whole units, as is what stands before its data
    // libmlx4 writes an empty entry as an empty inline segment, Linux's own post as byte count 0.
    // No source says what 0 does to hardware. Chosen: nothing, which is what Linux means by it.
    to.add(static_cast<std::uint32_t>(entry.get<&wqe_data::byte_count>()),
           static_cast<std::uint32_t>(entry.get<&wqe_data::lkey>()),
           entry.get<&wqe_data::address>());
  }
  return true;
}

void decode_control(const queue_pair& qp, const std::byte* at, send_request& r) {
  const auto control = image<wqe_ctrl>::from_bytes(at);
  r.opcode = control.get<&wqe_ctrl::opcode>();
  r.row = send_opcode_of(r.opcode);
  r.no_error_completion = control.get<&wqe_ctrl::nec>();
  r.signaled = control.get<&wqe_ctrl::cq_update>() == wqe_completion::always;
  r.force_loopback = control.get<&wqe_ctrl::force_loopback>();
  r.fence = control.get<&wqe_ctrl::fence>();
  r.strong_order = control.get<&wqe_ctrl::strong_order>();
  r.ip_checksum = control.get<&wqe_ctrl::ip_csum>();
  r.l4_checksum = control.get<&wqe_ctrl::l4_csum>();
  if (qp.service == qp_service::mlx) {
    r.mlx = image<wqe_ctrl_mlx>::from_bytes(at);
    return;
  }
  r.solicited = control.get<&wqe_ctrl::solicited>();
  r.immediate = static_cast<std::uint32_t>(control.get<&wqe_ctrl::immediate>());
  r.remote_srqn = static_cast<std::uint32_t>(control.get<&wqe_ctrl::remote_srqn>());
}

/// The bytes of a block, but for those that a right driver writes when the entry is hardware's
/// already: libmlx4 sets the index and number that BlueFlame wants behind the owner bit
/// (providers/mlx4/qp.c mlx4_post_send).
void without_blueflame_fields(std::byte* first_block) {
  const auto head = image<wqe_ctrl_blueflame>::from_bytes(first_block)
                        .set<&wqe_ctrl_blueflame::wqe_index>(0)
                        .set<&wqe_ctrl_blueflame::qpn>(0);
  std::memcpy(first_block, head.data(), wqe_ctrl_blueflame::bytes);
}

const std::byte* held_block(const queue_pair& qp, std::uint16_t counter, std::size_t block) {
  return qp.sq.ahead == nullptr ? nullptr : qp.sq.ahead->held(qp.sq.ring, counter, block);
}

/// Puts the blocks of `r` that were read ahead over `bytes` bytes of its WQE as memory has them
/// now, and tells where the first difference is.
void lay_over(adapter& a, const queue_pair& qp, const send_request& r, std::byte* wqe,
              std::size_t bytes) {
  constexpr std::size_t whole = wqe_basic_block;
  bool told = false;
  for (std::size_t at = 0; at < bytes; at += whole) {
    const std::byte* ahead = held_block(qp, r.index, at / whole);
    if (ahead == nullptr) continue;
    std::array<std::byte, whole> now{}, then{};
    const std::size_t n = std::min(whole, bytes - at);
    std::copy_n(wqe + at, n, now.begin());
    std::copy_n(ahead, n, then.begin());
    std::copy_n(ahead, n, wqe + at);
    if (at == 0) {
      without_blueflame_fields(now.data());
      without_blueflame_fields(then.data());
    }
    const auto [is, was] = std::mismatch(now.begin(), now.end(), then.begin());
    if (is == now.end() || told) continue;
    told = true;
    a.rules.complain(rule::prefetched_stale,
                     "QP 0x%06x send %u (%s): block %zu of its entry was read ahead when it looked "
                     "valid, and byte %zu of the entry was 0x%02x; it is 0x%02x now, and what was "
                     "read is executed",
                     qp.number(), unsigned{r.index}, name_of(r.opcode), at / whole,
                     at + static_cast<std::size_t>(is - now.begin()), static_cast<unsigned>(*was),
                     static_cast<unsigned>(*is));
  }
}

}  // namespace

std::uint64_t digest_of(const std::byte* from, std::size_t bytes) {
  // Odd, so that another word always gives another product.
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
  std::uint64_t sum = 0;
  std::array<std::byte, wqe_ctrl_blueflame::bytes> head{};
  if (bytes >= head.size()) {
    std::copy_n(from, head.size(), head.begin());
    without_blueflame_fields(head.data());
  }
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, (at < head.size() ? head.data() : from) + at, sizeof word);
    sum = std::rotl(sum, 5) ^ word * factor;
  }
  return sum;
}

bool read_entry(adapter& a, const queue_pair& qp, std::uint16_t counter, std::byte* to,
                std::size_t bytes) {
  const work_queue& ring = qp.sq.ring;
  const std::uint64_t offset = std::uint64_t{counter & (ring.entries() - 1)} << ring.log_stride;
  const host_memory::about what(a.memory, {dma_kind::send_wqe, qp.qpn, counter});
  return bytes <= ring.bytes() && read_ring(*a.regions, qp, offset, to, bytes);
}

namespace {

std::optional<image<wqe_ctrl>> read_given(adapter& a, const queue_pair& qp, std::uint16_t counter) {
  const work_queue& ring = qp.sq.ring;
  image<wqe_ctrl> control;
  if (!ring.present || !read_entry(a, qp, counter, control.data(), wqe_ctrl::bytes) ||
      control.get<&wqe_ctrl::owner>() != ring.hardware_owner(counter))
    return std::nullopt;
  return control;
}

}  // namespace

bool is_hardwares(adapter& a, const queue_pair& qp, std::uint16_t counter) {
  return read_given(a, qp, counter).has_value();
}

bool is_given(adapter& a, const queue_pair& qp, std::uint16_t counter) {
  const auto control = read_given(a, qp, counter);
  return control && control->get<&wqe_ctrl::ds>() != 0;
}

fetch_result fetch_send(adapter& a, const queue_pair& qp, std::uint16_t counter,
                        std::optional<send_request>& request, bool whosever) {
  memory_regions& regions = *a.regions;
  const work_queue& ring = qp.sq.ring;
  const std::uint64_t offset = std::uint64_t{counter & (ring.entries() - 1)} << ring.log_stride;
  wqe_bytes wqe;
  const std::size_t entry = std::size_t{1} << ring.log_stride;
  std::size_t have = std::min(entry, wqe_basic_block);
  if (!read_ring(regions, qp, offset, wqe.at.data(), have)) return fetch_result::fault;

  const std::byte* ahead = held_block(qp, counter, 0);
  const std::byte* head = ahead != nullptr ? ahead : wqe.at.data();
  const auto control = image<wqe_ctrl>::from_bytes(head);
  if (!whosever && control.get<&wqe_ctrl::owner>() != ring.hardware_owner(counter))
    return fetch_result::none;

  send_request& to = request.emplace();
  to.index = counter;
  decode_control(qp, head, to);
  wqe.size = static_cast<std::size_t>(control.get<&wqe_ctrl::ds>()) * wqe_unit;
  to.blocks = static_cast<std::uint16_t>(std::max<std::size_t>(1, (wqe.size + entry - 1) / entry));
  const bool fits = wqe.size >= wqe_ctrl::bytes && to.blocks <= ring.entries();
  const bool served = to.row != nullptr && to.row->served_by(qp.service);
  if (!fits || !served) {
    if (ahead != nullptr) lay_over(a, qp, to, wqe.at.data(), have);
    if (!fits)
      a.rules.because("ds %zu; wanted: 1 at least, and no more than the queue holds",
                      wqe.size / wqe_unit);
    else
      a.rules.because("opcode 0x%x (%s), which service %u does not have",
                      static_cast<unsigned>(to.opcode), name_of(to.opcode),
                      static_cast<unsigned>(qp.service));
    to.blame(failures::local_qp_operation, a.rules);
    to.blocks = 1;
    return fetch_result::fetched;
  }
  if (wqe.size > have && !read_ring(regions, qp, offset, wqe.at.data(), wqe.size))
    return fetch_result::fault;

  to.bytes = static_cast<std::uint16_t>(wqe.size);
  // Of what stands in memory: what was read too early is told of once.
  to.digest = digest_of(wqe.at.data(), wqe.size);
  if (qp.sq.ahead != nullptr) lay_over(a, qp, to, wqe.at.data(), wqe.size);
  wqe.position = wqe_ctrl::bytes;
  if (!take_operands(wqe, qp, to)) {
    a.rules.because("ds %zu, which does not fit the segments of its opcode", wqe.size / wqe_unit);
    to.blame(failures::local_qp_operation, a.rules);
  } else if (!to.is_local() && !take_data(wqe, to.data, a.rules)) {
    to.blame(failures::local_qp_operation, a.rules);
  }
  return fetch_result::fetched;
}

bool is_as_fetched(adapter& a, const queue_pair& qp, const send_request& r) {
  std::array<std::byte, wqe_bytes_max> now;
  return r.bytes == 0 || !read_entry(a, qp, r.index, now.data(), r.bytes) ||
         digest_of(now.data(), r.bytes) == r.digest;
}

bool parse_receive(const std::byte* from, std::size_t bytes, data_list& to) {
  for (std::size_t at = 0; at + wqe_data::bytes <= bytes; at += wqe_data::bytes) {
    const auto entry = image<wqe_data>::from_bytes(from + at);
    const auto lkey = static_cast<std::uint32_t>(entry.get<&wqe_data::lkey>());
    const auto count = static_cast<std::uint32_t>(entry.get<&wqe_data::byte_count>());
    if (count == 0 && lkey == invalid_lkey) break;
    if (entry.get<&wqe_data::inline_data>()) return false;
    to.add(count, lkey, entry.get<&wqe_data::address>());
  }
  return true;
}

}  // namespace freehca::model
