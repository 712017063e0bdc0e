// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/sq.hpp>

#include "wqe_writer.hpp"

namespace freehca::queues {

using namespace layouts;

status sq::open(const sq_resources& r) {
  const std::size_t stride = std::size_t{1} << r.shape.log_stride;
  if (r.shape.log_stride < 6 || r.shape.log_stride > 10 || r.shape.log_entries > 15 ||
      r.shape.most_posted() == 0 || r.ring.host == nullptr || r.ring.bytes < r.shape.bytes() ||
      r.slots == nullptr || r.uar.bytes < uar::page_size ||
      wqe_bytes_for(r.most_gather, r.most_inline) > stride ||
      wqe_bytes_for(r.most_gather, r.most_inline) > most_wqe_bytes)
    return driver_error::bad_argument;
  ring_ = r.ring;
  slots_ = r.slots;
  uar_ = r.uar;
  most_message_bytes_ = r.most_message_bytes;
  qpn_ = r.qpn;
  entries_ = r.shape.entries();
  spare_ = r.shape.spare();
  most_posted_ = r.shape.most_posted();
  most_inline_ = r.most_inline;
  most_gather_ = static_cast<std::uint16_t>(r.most_gather);
  log_stride_ = r.shape.log_stride;
  atomics_ = r.atomics;
  reset();
  return {};
}

void sq::reset() {
  accepts_ = false;
  head_ = tail_ = 0;
  const auto whole = static_cast<unsigned>((std::size_t{1} << log_stride_) / wqe_unit);
  const unsigned units = whole > 63 ? 63 : whole;
  image<wqe_ctrl> unused;
  unused.set<&wqe_ctrl::owner>(true).set<&wqe_ctrl::ds>(units);
  for (std::uint32_t i = 0; i < entries_; ++i) {
    dma::clear(entry_at(i), std::size_t{1} << log_stride_);
    dma::store_bytes(entry_at(i), unused.data(), wqe_ctrl::bytes);
    slots_[i] = {};
    slots_[i].units = static_cast<std::uint8_t>(units);
    stamp(i);
  }
}

void sq::stamp(std::uint32_t counter) {
  sent_request& slot = slots_[counter & (entries_ - 1)];
  std::byte* entry = entry_at(counter);
  for (std::size_t at = wqe_basic_block; at < std::size_t{slot.units} * wqe_unit;
       at += wqe_basic_block)
    dma::store_be32(entry + at, wqe_stamp);
  slot.units = 0;
}

status sq::check(const send_request& r, std::uint64_t bytes) const {
  if (!is_open() || !accepts_) return driver_error::bad_state;
  if (outstanding() >= most_posted_) return driver_error::queue_full;
  const bool is_atomic =
      r.opcode == send_opcode::compare_and_swap || r.opcode == send_opcode::fetch_and_add;
  if (is_atomic && !atomics_) return driver_error::unsupported;
  if (bytes > most_message_bytes_ || (is_atomic && bytes != 8)) return driver_error::bad_argument;
  if (r.inline_bytes != nullptr) {
    if (r.opcode == send_opcode::rdma_read || is_atomic || r.entries != 0 ||
        r.inline_length > most_inline_)
      return driver_error::bad_argument;
  } else if (r.inline_length != 0) {
    return driver_error::bad_argument;
  }
  return {};
}

status sq::post(const send_request& r) {
  // The list is looked through before anything is written; entries of no bytes are left out, so
  // that the limits count what remains.
  std::uint64_t bytes = r.inline_length;
  unsigned entries = 0;
  for (unsigned i = 0; i < r.entries; ++i) {
    if (r.list[i].length > most_data_bytes) return driver_error::bad_argument;
    if (r.list[i].length != 0) ++entries;
    bytes += r.list[i].length;
  }
  if (entries > most_gather_) return driver_error::bad_argument;
  FREEHCA_TRY(check(r, bytes));

  // The entry that the headroom grows by: its old WQE was retired before this post was allowed.
  stamp(head_ + spare_);

  wqe_writer wqe;
  sent_request& slot = slots_[head_ & (entries_ - 1)];
  slot.opcode = wqe.begin(r, (head_ & entries_) != 0);
  if (r.inline_bytes != nullptr) wqe.add_inline(r.inline_bytes, r.inline_length);
  for (unsigned i = 0; i < r.entries; ++i)
    if (r.list[i].length != 0) wqe.add(r.list[i]);
  const unsigned units = wqe.end();
  store(head_, wqe.bytes(), units);
  slot.wr_id = r.wr_id;
  slot.bytes = static_cast<std::uint32_t>(bytes);
  slot.units = static_cast<std::uint8_t>(units);
  ++head_;
  return {};
}

void sq::store(std::uint32_t counter, const std::byte* wqe, unsigned units) {
  // Later blocks first, the first word of each last: it replaces the stamp, or gives the WQE away.
  constexpr std::size_t word = sizeof(std::uint32_t);
  std::byte* entry = entry_at(counter);
  const std::size_t length = std::size_t{units} * wqe_unit;
  std::size_t at = (length - 1) / wqe_basic_block * wqe_basic_block;
  for (std::size_t end = length;; end = at, at -= wqe_basic_block) {
    dma::store_bytes(entry + at + word, wqe + at + word, end - at - word);
    barrier::dma_store_to_dma_store();
    dma::store_be32(entry + at, layouts::load_be<std::uint32_t>(wqe + at));
    if (at == 0) return;
  }
}

}  // namespace freehca::queues
