// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/cache.hpp>
#include <freehca/queues/sq.hpp>

namespace freehca::queues {

using namespace layouts;

status sq::open(const sq_resources& r) {
  const std::size_t stride = std::size_t{1} << r.shape.log_stride;
  const std::size_t longest =
      wqe_bytes_for(r.most_gather, r.most_inline,
                    has_datagrams(r.opcodes) ? datagram_header_bytes : rdma_header_bytes,
                    least_wqe_bytes(r.opcodes));
  if (r.shape.log_stride < 6 || r.shape.log_stride > 10 || r.shape.log_entries > 15 ||
      r.shape.most_posted() == 0 || r.ring.host == nullptr || r.ring.bytes < r.shape.bytes() ||
      r.slots == nullptr || r.uar.bytes < uar::page_size || longest > stride ||
      longest > most_wqe_bytes)
    return driver_error::bad_argument;
  ring_ = r.ring.host;
  slots_ = r.slots;
  uar_ = r.uar;
  most_message_bytes_ = r.most_message_bytes;
  most_bytes_ =
      static_cast<std::uint32_t>(r.most_gather == 0                       ? 0
                                 : r.most_message_bytes < most_data_bytes ? r.most_message_bytes
                                                                          : most_data_bytes);
  doorbell_ = swap_be(send_doorbell_word(r.qpn));
  mask_ = r.shape.entries() - 1;
  stride_ = stride;
  log_stride_ = r.shape.log_stride;
  spare_ = r.shape.spare();
  most_posted_ = r.shape.most_posted();
  most_inline_ = static_cast<std::uint16_t>(r.most_inline);
  most_gather_ = static_cast<std::uint8_t>(r.most_gather);
  opcodes_ = r.opcodes;
  reset();
  return {};
}

void sq::reset() {
  bell_ = refused;
  head_ = tail_ = 0;
  next_ = {ring_, ring_, 0, slots_};
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
  cache::clean(ring_, (std::size_t{mask_} + 1) * stride_);
}

const posted_request* sq::retire_up_to(std::uint16_t wqe_index) {
  const auto distance = static_cast<std::uint16_t>(wqe_index - static_cast<std::uint16_t>(tail_));
  if (distance >= outstanding()) return nullptr;
  tail_ += distance + 1u;
  return slots_ + (wqe_index & mask_);
}

status sq::prepare() {
  if (!is_open() || (bell_ & refused) != 0) return driver_error::bad_state;
  const std::uint32_t room = most_posted_ - outstanding();
  if (room == 0) return driver_error::queue_full;
  const std::uint32_t index = head_ & mask_;
  std::uint32_t run = mask_ + 1 - index;
  if (run > room) run = room;
  const bool has_stamps = stride_ != wqe_basic_block;
  if (has_stamps && run > most_stamped) run = most_stamped;
  std::byte* const at = ring_ + index * stride_;
  const bool odd_lap = (head_ & (mask_ + 1)) != 0;
  next_ = {at, at + run * stride_, odd_lap ? bit_in_memory<&wqe_ctrl::owner> : 0, slots_ + index};
  // Stamps the entries that join the headroom. Their WQEs are retired, and the device does not read
  // them before the WQEs of this run. An entry of one block has no stamp but its owner bit.
  if (!has_stamps) return {};
  for (std::uint32_t n = head_ + spare_; n != head_ + spare_ + run; ++n) {
    std::byte* const entry = ring_ + (n & mask_) * stride_;
    for (std::size_t block = wqe_basic_block; block < stride_; block += wqe_basic_block)
      dma::store_be32(entry + block, wqe_stamp);
    cache::clean(entry, stride_);
  }
  return {};
}

}  // namespace freehca::queues
