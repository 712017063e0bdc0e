// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/rq.hpp>

#include "wqe_writer.hpp"

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
  if (!is_open() || !accepts_) return driver_error::bad_state;
  if (outstanding() >= entries_) return driver_error::queue_full;
  std::uint64_t bytes = 0;
  unsigned entries = 0;
  for (unsigned i = 0; i < r.entries; ++i) {
    if (r.list[i].length > most_data_bytes) return driver_error::bad_argument;
    if (r.list[i].length != 0) ++entries;
    bytes += r.list[i].length;
  }
  if (entries > most_scatter_) return driver_error::bad_argument;

  std::byte* to = entry_at(head_);
  image<wqe_data> segment;
  for (unsigned i = 0; i < r.entries; ++i) {
    if (r.list[i].length == 0) continue;
    segment.set<&wqe_data::byte_count>(r.list[i].length);
    segment.set<&wqe_data::lkey>(r.list[i].lkey);
    segment.set<&wqe_data::address>(r.list[i].address);
    dma::store_bytes(to, segment.data(), wqe_data::bytes);
    to += wqe_data::bytes;
  }
  if (entries < 1u << (log_stride_ - 4)) {
    image<wqe_data> end;
    end.set<&wqe_data::lkey>(invalid_lkey);
    dma::store_bytes(to, end.data(), wqe_data::bytes);
  }
  slots_[head_ & (entries_ - 1)] = {r.wr_id, bytes};
  ++head_;
  return {};
}

}  // namespace freehca::queues
