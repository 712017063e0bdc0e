// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/cache.hpp>
#include <freehca/queues/rq.hpp>

#include <freehca/queues/wqe_stores.hpp>

namespace freehca::queues {

using namespace layouts;

status rq::open(const rq_resources& r) {
  if (r.shape.log_stride < 4 || r.shape.log_stride > 11 || r.shape.log_entries > 15 ||
      r.ring.host == nullptr || r.ring.bytes < r.shape.bytes() || r.slots == nullptr ||
      r.record.host == nullptr || r.record.bytes < rq_doorbell_record::bytes ||
      r.record.device_address % 4 != 0 || r.most_scatter > r.shape.most_scatter())
    return driver_error::bad_argument;
  ring_ = r.ring.host;
  record_ = r.record.host;
  slots_ = r.slots;
  mask_ = r.shape.entries() - 1;
  most_scatter_ = static_cast<std::uint16_t>(r.most_scatter);
  log_stride_ = r.shape.log_stride;
  dma::clear(ring_, r.shape.bytes());
  store_ends(ring_, r.shape.entries(), log_stride_, 0);
  cache::clean(ring_, r.shape.bytes());
  ends_stand_ = true;
  reset();
  return {};
}

void rq::reset() {
  accept(false);
  head_ = tail_ = 0;
  dma::store_be32(record_, 0);
  cache::clean(record_, rq_doorbell_record::bytes);
}

status rq::post_any(const receive_request& r) {
  if (!accepts_) return driver_error::bad_state;
  if (outstanding() > mask_) return driver_error::queue_full;
  std::uint32_t bytes = 0;
  FREEHCA_TRY(check_receive(r, most_scatter_, bytes));
  const std::uint32_t index = head_ & mask_;
  std::byte* const wqe = ring_ + (std::size_t{index} << log_stride_);
  store_receive(wqe, wqe + (std::size_t{1} << log_stride_), r);
  cache::clean(wqe, std::size_t{1} << log_stride_);
  if (r.entries > 1) {
    ends_stand_ = false;
    choose_way();
  }
  slots_[index].begin(r.wr_id, work_opcode::receive, bytes);
  ++head_;
  return {};
}

}  // namespace freehca::queues
