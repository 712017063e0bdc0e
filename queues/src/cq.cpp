// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/cq.hpp>

#include <freehca/layouts/cqc.hpp>

#include "cqe_decoder.hpp"

namespace freehca::queues {

using namespace layouts;

namespace {

void fill(std::byte* to, std::size_t bytes, std::uint8_t value) {
  std::byte pattern[64];
  for (std::byte& b : pattern) b = std::byte{value};
  for (std::size_t at = 0; at < bytes; at += sizeof pattern)
    dma::store_bytes(to + at, pattern, bytes - at < sizeof pattern ? bytes - at : sizeof pattern);
}

}  // namespace

status cq::open(const cq_resources& r) {
  if (r.log_entries > 22 || (r.entry_bytes != 32 && r.entry_bytes != 64) ||
      r.ring.host == nullptr || r.ring.bytes < ring_bytes(r.log_entries, r.entry_bytes) ||
      r.record.host == nullptr || r.record.bytes < cq_doorbell_record::bytes ||
      r.record.device_address % 8 != 0 || r.uar.bytes < uar::page_size || r.queue_pairs == nullptr)
    return driver_error::bad_argument;
  ring_ = r.ring;
  record_ = r.record;
  uar_ = r.uar;
  queue_pairs_ = r.queue_pairs;
  cqn_ = r.cqn;
  entries_ = 1u << r.log_entries;
  entry_bytes_ = r.entry_bytes;
  offset_ = entry_bytes_ == cqe64_bytes ? static_cast<std::uint32_t>(cqe64_offset) : 0;
  consumer_ = 0;
  arm_number_ = 1;
  dropped_ = 0;
  // The device does this too unless SW2HW_CQ says otherwise; a ring that is right from the start
  // needs no trust in that.
  fill(ring_.host, ring_bytes(r.log_entries, entry_bytes_), cq_initial_byte);
  dma::store_be64(record_.host, 0);
  return {};
}

unsigned cq::poll(work_completion* to, unsigned most) {
  if (!is_open()) return 0;
  unsigned taken = 0;
  const std::uint32_t before = consumer_;
  while (taken < most) {
    const std::byte* at = entry_at(consumer_);
    if (!is_mine(at, consumer_)) break;
    barrier::dma_load_to_dma_load();
    entry e;
    dma::load_bytes(e.data(), at, cqe::bytes);
    ++consumer_;
    if (decode(e, to[taken])) ++taken;
    else ++dropped_;
  }
  if (consumer_ != before) tell_consumer();
  return taken;
}

bool cq::decode(const entry& e, work_completion& to) {
  qp_rings* const pair = queue_pairs_->find(static_cast<std::uint32_t>(e.get<&cqe::qpn>()));
  return pair != nullptr && decode_cqe(e, *pair, to);
}

void cq::tell_consumer() {
  image<cq_doorbell_record> record;
  record.set<&cq_doorbell_record::update_ci>(consumer_counter());
  barrier::dma_load_to_store();
  dma::store_be32(record_.host, layouts::load_be<std::uint32_t>(record.data()));
}

void cq::arm(bool solicited_only) {
  const cq_arm what = solicited_only ? cq_arm::solicited : cq_arm::next;
  const std::uint32_t counter = consumer_counter();
  dma::store_be32(record_.host + 4, cq_arm_word(arm_number_, what, counter));
  // The record is up to date before the device looks at the doorbell (Linux 6.1 mlx4_cq_arm).
  barrier::dma_store_to_mmio_store();
  mmio::write_64(uar_, uar::cq_doorbell,
                 std::uint64_t{cq_arm_word(arm_number_, what, cqn_)} << 32 | counter);
}

void cq::forget(std::uint32_t qpn) {
  if (!is_open()) return;
  std::uint32_t producer = consumer_;
  while (producer - consumer_ < entries_ && is_mine(entry_at(producer), producer)) ++producer;
  barrier::dma_load_to_dma_load();

  // From the newest to the oldest: what stays moves up over what goes, and keeps the owner bit of
  // its new place (Linux 6.1 hw/mlx4/cq.c __mlx4_ib_cq_clean).
  std::uint32_t gone = 0;
  for (std::uint32_t i = producer; i-- != consumer_;) {
    entry e;
    dma::load_bytes(e.data(), entry_at(i), cqe::bytes);
    if (e.get<&cqe::qpn>() == qpn) {
      ++gone;
    } else if (gone != 0) {
      std::byte* const to = entry_at(i + gone);
      e.set<&cqe::owner>(load_owner_word(to).get<&cqe::owner>());
      dma::store_bytes(to, e.data(), cqe::bytes);
    }
  }
  if (gone == 0) return;
  consumer_ += gone;
  barrier::dma_store_to_dma_store();
  tell_consumer();
}

}  // namespace freehca::queues
