// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/cache.hpp>
#include <freehca/queues/srq.hpp>

#include <freehca/queues/wqe_stores.hpp>

namespace freehca::queues {

using namespace layouts;

status srq::open(const srq_resources& r) {
  if (r.shape.log_stride < 5 || r.shape.log_stride > 11 || r.shape.log_entries < 1 ||
      r.shape.log_entries > 15 || r.ring.host == nullptr || r.ring.bytes < r.shape.bytes() ||
      r.slots == nullptr || r.record.host == nullptr ||
      r.record.bytes < rq_doorbell_record::bytes || r.record.device_address % 4 != 0 ||
      r.most_scatter > r.shape.most_scatter())
    return driver_error::bad_argument;
  *this = srq{};
  ring_ = r.ring.host;
  record_ = r.record.host;
  slots_ = r.slots;
  mask_ = r.shape.entries() - 1;
  most_scatter_ = static_cast<std::uint16_t>(r.most_scatter);
  log_stride_ = r.shape.log_stride;
  dma::clear(ring_, r.shape.bytes());
  store_ends(ring_, r.shape.entries(), log_stride_, wqe_srq_next::bytes);
  ends_stand_ = true;
  slots_[0] = {};
  for (std::uint32_t i = 1; i <= mask_; ++i) {
    slots_[i] = {};
    append(i);
  }
  cache::clean(ring_, r.shape.bytes());
  dma::store_be32(record_, 0);
  cache::clean(record_, rq_doorbell_record::bytes);
  return {};
}

status srq::post_any(const receive_request& r) {
  if (!accepts_) return driver_error::bad_state;
  if (first_free_ == end_of_free_) return driver_error::queue_full;
  std::uint32_t bytes = 0;
  FREEHCA_TRY(check_receive(r, most_scatter_, bytes));
  std::byte* const wqe = entry_at(first_free_);
  store_receive(wqe + wqe_srq_next::bytes, wqe + (std::size_t{1} << log_stride_), r);
  cache::clean(wqe, std::size_t{1} << log_stride_);
  if (r.entries > 1) {
    ends_stand_ = false;
    choose_way();
  }
  take(first_free_, r.wr_id, bytes);
  return {};
}

const posted_request* srq::retire_oldest() {
  if (outstanding() == 0) return nullptr;
  // The entry that completed last is end_of_free_. If receives have completed in order, the oldest
  // outstanding receive is in the entry behind it.
  for (std::uint32_t i = end_of_free_;;) {
    i = (i + 1) & mask_;
    if (const posted_request* const found = retire(static_cast<std::uint16_t>(i))) return found;
  }
}

}  // namespace freehca::queues
