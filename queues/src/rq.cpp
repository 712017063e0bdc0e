// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
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
  ring_ = r.ring;
  record_ = r.record;
  slots_ = r.slots;
  entries_ = r.shape.entries();
  most_scatter_ = static_cast<std::uint16_t>(r.most_scatter);
  log_stride_ = r.shape.log_stride;
  dma::clear(ring_.host, r.shape.bytes());
  reset();
  return {};
}

void rq::reset() {
  accepts_ = false;
  head_ = tail_ = 0;
  dma::store_be32(record_.host, 0);
}

status rq::post(const receive_request& r) {
  if (!accepts_) return driver_error::bad_state;
  if (outstanding() >= entries_) return driver_error::queue_full;
  std::uint32_t bytes = 0;
  FREEHCA_TRY(check_receive(r, most_scatter_, bytes));
  std::byte* const wqe = entry_at(head_);
  store_receive(wqe, wqe + (std::size_t{1} << log_stride_), r);
  slots_[head_ & (entries_ - 1)] = {r.wr_id, work_opcode::receive, completion_status::ok, 0, bytes};
  ++head_;
  return {};
}

}  // namespace freehca::queues
