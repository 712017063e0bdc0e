// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/sq.hpp>

namespace freehca::queues {

using namespace layouts;

status sq::open(const sq_resources& r) {
  const std::size_t stride = std::size_t{1} << r.shape.log_stride;
  const std::size_t longest =
      wqe_bytes_for(r.most_gather, r.most_inline,
                    has_datagrams(r.opcodes) ? datagram_header_bytes : rdma_header_bytes);
  if (r.shape.log_stride < 6 || r.shape.log_stride > 10 || r.shape.log_entries > 15 ||
      r.shape.most_posted() == 0 || r.ring.host == nullptr || r.ring.bytes < r.shape.bytes() ||
      r.slots == nullptr || r.uar.bytes < uar::page_size || longest > stride ||
      longest > most_wqe_bytes)
    return driver_error::bad_argument;
  ring_ = r.ring.host;
  slots_ = r.slots;
  uar_ = r.uar;
  most_message_bytes_ = r.most_message_bytes;
  if (r.most_gather != 0)
    most_bytes_ = static_cast<std::uint32_t>(
        r.most_message_bytes < most_data_bytes ? r.most_message_bytes : most_data_bytes);
  doorbell_ = send_doorbell_word(r.qpn);
  mask_ = r.shape.entries() - 1;
  stride_ = stride;
  spare_ = r.shape.spare();
  most_posted_ = r.shape.most_posted();
  most_inline_ = static_cast<std::uint16_t>(r.most_inline);
  most_gather_ = static_cast<std::uint16_t>(r.most_gather);
  opcodes_ = r.opcodes;
  reset();
  return {};
}

void sq::reset() {
  FREEHCA_ASSERT(open_batch_ == 0);
  accepts_ = false;
  open_batch_ = 0;
  head_ = tail_ = 0;
  next_ = {ring_, 0, slots_, 0};
  const std::size_t whole = stride_ / wqe_unit, units = whole > 63 ? 63 : whole;
  const std::uint64_t unused = in_word<&wqe_ctrl::owner>(1) | in_word<&wqe_ctrl::ds>(units);
  for (std::uint32_t i = 0; i <= mask_; ++i) {
    std::byte* const entry = ring_ + i * stride_;
    dma::clear(entry, stride_);
    for (std::size_t at = wqe_basic_block; at < stride_; at += wqe_basic_block)
      dma::store_be32(entry + at, wqe_stamp);
    dma::store_be64(entry, unused);
    slots_[i] = {};
  }
}

status sq::prepare(std::uint32_t asker) {
  if (!is_open() || !accepts_) return driver_error::bad_state;
  if (asker != open_batch_) return driver_error::busy;
  const std::uint32_t room = most_posted_ - outstanding();
  if (room == 0) return driver_error::queue_full;
  std::uint32_t run = mask_ + 1 - (head_ & mask_);
  if (run > room) run = room;
  if (run > most_prepared) run = most_prepared;
  prepared_ = place(static_cast<std::int32_t>(run - 1));
  // What the headroom grows by: the WQEs there are retired, and the device does not look at them
  // before those that come now. An entry of one block has no stamp but its owner bit.
  if (stride_ == wqe_basic_block) return {};
  for (std::uint32_t n = head_ + spare_; n != head_ + spare_ + run; ++n)
    for (std::size_t block = wqe_basic_block; block < stride_; block += wqe_basic_block)
      dma::store_be32(ring_ + (n & mask_) * stride_ + block, wqe_stamp);
  return {};
}

namespace {

constexpr request_flags flags_of(const send_request& r) {
  return (r.signaled ? request_flags::signaled : request_flags::none) |
         (r.solicited ? request_flags::solicited : request_flags::none) |
         (r.fence ? request_flags::fence : request_flags::none);
}

/// `one` entry, many of them, or inline data: whichever the request has.
template <class One, class Many, class Inline>
status post_with(sq& queue, const send_request& r, One one, Many many, Inline inlined) {
  const auto common = [&r](auto& to) {
    to.wr_id = r.wr_id;
    to.flags = flags_of(r);
    if constexpr (requires { to.to; }) to.to = {r.to, r.remote_qpn, r.qkey};
    if constexpr (requires { to.remote; }) to.remote = {r.remote_address, r.rkey};
    if constexpr (requires { to.immediate; }) to.immediate = r.immediate;
  };
  if (r.inline_bytes != nullptr) {
    if (r.entries != 0) return driver_error::bad_argument;
    if constexpr (requires { inlined.data; }) {
      common(inlined);
      inlined.data = {r.inline_bytes, r.inline_length};
      return queue.post(inlined);
    } else {
      return driver_error::bad_argument;
    }
  }
  if (r.inline_length != 0) return driver_error::bad_argument;
  if constexpr (requires { one.operand; }) {
    // Entries of no bytes name nothing.
    const data_entry* only = nullptr;
    for (unsigned i = 0; i < r.entries; ++i) {
      if (r.list[i].length == 0) continue;
      if (only != nullptr) return driver_error::bad_argument;
      only = &r.list[i];
    }
    common(one);
    if (only != nullptr) one.data = *only;
    return queue.post(one);
  }
  if (r.entries == 1) {
    common(one);
    one.data = r.list[0];
    return queue.post(one);
  }
  if constexpr (requires { many.data; }) {
    common(many);
    many.data = {r.list, r.entries};
    return queue.post(many);
  } else {
    return driver_error::bad_argument;
  }
}

struct none {};

}  // namespace

status sq::post(const send_request& r) {
  switch (r.opcode) {
    case send_opcode::send:
      if (r.to != nullptr)
        return post_with(*this, r, send_datagram{}, send_datagram_list{}, send_datagram_inline{});
      return post_with(*this, r, send{}, send_list{}, send_inline{});
    case send_opcode::send_with_immediate:
      if (r.to != nullptr)
        return post_with(*this, r, send_datagram_with_immediate{},
                         send_datagram_with_immediate_list{},
                         send_datagram_with_immediate_inline{});
      return post_with(*this, r, send_with_immediate{}, send_with_immediate_list{},
                       send_with_immediate_inline{});
    case send_opcode::rdma_write:
      return post_with(*this, r, rdma_write{}, rdma_write_list{}, rdma_write_inline{});
    case send_opcode::rdma_write_with_immediate:
      return post_with(*this, r, rdma_write_with_immediate{}, rdma_write_with_immediate_list{},
                       rdma_write_with_immediate_inline{});
    case send_opcode::rdma_read:
      return post_with(*this, r, rdma_read{}, rdma_read_list{}, none{});
    case send_opcode::compare_and_swap:
      return post_with(*this, r, compare_and_swap{.operand = r.swap_or_add, .compare = r.compare},
                       none{}, none{});
    case send_opcode::fetch_and_add:
      return post_with(*this, r, fetch_and_add{.operand = r.swap_or_add}, none{}, none{});
    case send_opcode::nop:
      if (r.entries != 0 || r.inline_length != 0) return driver_error::bad_argument;
      return post(nop{.wr_id = r.wr_id, .flags = flags_of(r)});
  }
  return driver_error::unsupported;
}

}  // namespace freehca::queues
