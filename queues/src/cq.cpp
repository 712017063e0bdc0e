// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/cq.hpp>

#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/doorbell.hpp>

#include "received.hpp"

namespace freehca::queues {

using namespace layouts;

namespace {

void set_all(std::byte* to, std::size_t bytes, std::uint8_t value) {
  std::byte pattern[64];
  for (std::byte& b : pattern) b = std::byte{value};
  for (std::size_t at = 0; at < bytes; at += sizeof pattern)
    dma::store_bytes(to + at, pattern, bytes - at < sizeof pattern ? bytes - at : sizeof pattern);
}

/// The syndromes of each completion_status from local_length to remote_aborted.
constexpr cqe_syndrome syndromes[] = {cqe_syndrome::local_length,
                                      cqe_syndrome::local_qp_op,
                                      cqe_syndrome::local_protection,
                                      cqe_syndrome::wr_flush,
                                      cqe_syndrome::mw_bind,
                                      cqe_syndrome::bad_response,
                                      cqe_syndrome::local_access,
                                      cqe_syndrome::remote_invalid_request,
                                      cqe_syndrome::remote_access,
                                      cqe_syndrome::remote_op,
                                      cqe_syndrome::transport_retry_exceeded,
                                      cqe_syndrome::rnr_retry_exceeded,
                                      cqe_syndrome::remote_aborted};
static_assert(sizeof syndromes == static_cast<std::size_t>(completion_status::remote_aborted));

completion_status status_of(cqe_syndrome s) {
  auto status = static_cast<unsigned>(completion_status::local_length);
  for (const cqe_syndrome known : syndromes) {
    if (known == s) return static_cast<completion_status>(status);
    ++status;
  }
  return completion_status::unknown_syndrome;
}

/// True if the opcode of a send's completion is that of a read, an atomic or a later request type.
constexpr bool may_bring_data(cqe_opcode o) {
  return static_cast<unsigned>(o) >= static_cast<unsigned>(wqe_opcode::rdma_read);
}

/// Retires the receive that an entry of this queue pair names.
const posted_request* retire_receive(qp_rings& pair, std::uint16_t wqe_index) {
  return pair.shared == nullptr ? pair.receive.retire(wqe_index) : pair.shared->retire(wqe_index);
}

}  // namespace

status cq::open(const cq_resources& r) {
  if (r.log_entries > 22 || (r.entry_bytes != 32 && r.entry_bytes != 64) ||
      r.ring.host == nullptr || r.ring.bytes < ring_bytes(r.log_entries, r.entry_bytes) ||
      r.record.host == nullptr || r.record.bytes < cq_doorbell_record::bytes ||
      r.record.device_address % 8 != 0 || r.uar.bytes < uar::page_size ||
      r.queue_pairs == nullptr || !r.queue_pairs->is_open())
    return driver_error::bad_argument;
  *this = cq{};
  const bool large = r.entry_bytes == cqe64_bytes;
  log_stride_ = large ? 6 : 5;
  stride_ = 1u << log_stride_;
  mask_ = (1u << r.log_entries) - 1;
  ring_ = r.ring.host;
  begin_ = ring_ + (large ? cqe64_offset : 0);
  last_ = entry_at(mask_);
  go_to(0);
  record_ = r.record;
  uar_ = r.uar;
  queue_pairs_ = r.queue_pairs;
  cqn_ = r.cqn;
  // The device fills the ring too, unless SW2HW_CQ says otherwise. The driver does not rely on it.
  set_all(ring_, ring_bytes(r.log_entries, r.entry_bytes), cq_initial_byte);
  cache::clean(ring_, ring_bytes(r.log_entries, r.entry_bytes));
  dma::store_be64(record_.host, 0);
  cache::clean(record_.host, cq_doorbell_record::bytes);
  return {};
}

unsigned cq::take(work_completion* to, unsigned most) {
  const unsigned taken = walk<true>(
      most, [&to](const auto&... of) __attribute__((always_inline)) { fill(*to++, of...); },
      [&to](const std::byte* entry, std::uint64_t word, qp_rings& pair)
          __attribute__((always_inline)) {
            if (!decode_receive(*to, entry, word, pair)) return false;
            ++to;
            return true;
          });
  tell_consumer();
  return taken;
}

inline qp_rings* cq::pair_of(const std::byte* entry) const {
  barrier::dma_load_to_dma_load();
  return queue_pairs_->look().find(swap_be(qpn_of(entry)));
}

// The fast path of poll() for one completion. pending() has seen the entry. Most entries need no
// call, no loop and no registers for them. take_later() and take() handle all other entries.
unsigned cq::take_one(work_completion& to) {
  std::byte* const entry = at_;
  const std::uint64_t word = last_word_of(entry);
  const unsigned top = top_of(word ^ lap_);
  if ((top & ~top_of(sent | high_opcode)) != 0 || (cache::is_maintained && passed_over_ != 0))
      [[unlikely]]
    return take(&to, 1);
  qp_rings* const pair = pair_of(entry);
  if (pair == nullptr) [[unlikely]]
    return take(&to, 1);
  if (top == 0)
    return pair->shared == nullptr ? take_receive(to, entry, word, *pair, pair->receive)
                                   : take_receive(to, entry, word, *pair, *pair->shared);
  if (top == top_of(sent)) [[likely]] {
    if (const posted_request* const request = pair->send.retire_next(index_of(word)))
      return took_send(to, *request, *pair, entry, word);
  }
  return take_later(to, *pair, entry, word);
}

/// Takes the completion of a send that is not the oldest, since those before it asked for none, or
/// of a read, an atomic or memory management.
unsigned cq::take_later(work_completion& to, qp_rings& pair, std::byte* entry, std::uint64_t word) {
  const cqe_opcode opcode = opcode_of(word);
  if ((word & sent) == 0 || opcode == cqe_opcode::error || opcode == cqe_opcode::resize)
    return take(&to, 1);
  const posted_request* const request = pair.send.retire(index_of(word));
  if (request == nullptr) return take(&to, 1);
  fill(to, *request, pair, entry, word);
  if (brings_data(to.opcode) && !may_bring_data(opcode)) {
    to.byte_count = 0;
    to.status = completion_status::implausible;
  } else if (to.opcode == work_opcode::rdma_read) {
    take_length(to.byte_count, to.status, entry);
  }
  return took_one(entry);
}

inline unsigned cq::took_send(work_completion& to, const posted_request& request,
                              const qp_rings& pair, std::byte* entry, std::uint64_t word) {
  fill(to, request, pair, entry, word);
  if (brings_data(to.opcode)) [[unlikely]] {
    to.byte_count = 0;
    to.status = completion_status::implausible;
  }
  return took_one(entry);
}

template <class Ring>
unsigned cq::take_receive(work_completion& to, std::byte* entry, std::uint64_t word,
                          const qp_rings& pair, Ring& ring) {
  return decode_receive_of(ring, to, entry, word, pair) ? took_one(entry) : take(&to, 1);
}

const posted_request* cq::head_of_receive(const std::byte* entry, std::uint64_t word,
                                          qp_rings& pair, posted_request& changed) {
  work_completion whole;
  if (!decode_receive(whole, entry, word, pair)) return nullptr;
  __builtin_memcpy(static_cast<void*>(&changed), &whole, sizeof changed);
  return &changed;
}

inline void cq::take_length(std::uint32_t& bytes, completion_status& status,
                            const std::byte* entry) {
  const std::uint32_t room = bytes;
  bytes = dma::load_be32(entry + rows{}.byte_count.offset);
  if (bytes <= room) [[likely]]
    return;
  bytes = 0;
  status = completion_status::implausible;
}

const posted_request* cq::head_of_other(const std::byte* entry, std::uint64_t word, qp_rings& pair,
                                        posted_request& changed) {
  const cqe_opcode opcode = opcode_of(word);
  if (opcode == cqe_opcode::resize) return nullptr;
  const bool is_send = (word & sent) != 0;
  const posted_request* const request =
      is_send ? pair.send.retire(index_of(word)) : retire_receive(pair, index_of(word));
  if (request == nullptr) return nullptr;
  changed = *request;
  if (opcode == cqe_opcode::error) {
    const std::uint64_t last = swap_be(word);
    const auto syndrome = static_cast<cqe_syndrome>(from_word<&cqe_error::syndrome>(last));
    changed.bytes = 0;
    changed.status = status_of(syndrome);
    const std::uint8_t raw[2] = {
        static_cast<std::uint8_t>(syndrome),
        static_cast<std::uint8_t>(from_word<&cqe_error::vendor_syndrome>(last))};
    __builtin_memcpy(&changed.link, raw, sizeof raw);
    if (pair.failed != nullptr && syndrome != cqe_syndrome::wr_flush) pair.failed(pair, is_send);
  } else if (!is_send || (brings_data(request->opcode) && !may_bring_data(opcode))) {
    make_implausible(changed);
  } else if (request->opcode == work_opcode::rdma_read) {
    take_length(changed.bytes, changed.status, entry);
  }
  return &changed;
}

void cq::arm(bool solicited_only) {
  if (!is_open()) return;
  if (requested_ != cq_arm::next) requested_ = solicited_only ? cq_arm::solicited : cq_arm::next;
  const std::uint32_t counter = consumer_counter();
  dma::store_be32(record_.host + 4, cq_arm_word(arm_number_, requested_, counter));
  cache::clean(record_.host, cq_doorbell_record::bytes);
  // The record must be up to date before the device sees the doorbell (Linux 6.1 mlx4_cq_arm).
  barrier::dma_store_to_mmio_store();
  mmio::write_64(uar_, uar::cq_doorbell,
                 std::uint64_t{cq_arm_word(arm_number_, requested_, cqn_)} << 32 | counter);
}

template <class Names, class Retire>
[[gnu::always_inline]] inline void cq::forget_those(Names&& names, Retire&& retire) {
  if (!is_open()) return;
  const std::uint32_t consumer = this->consumer();
  std::uint32_t producer = consumer;
  for (; producer - consumer <= mask_; ++producer) {
    cache::invalidate(entry_at(producer), cqe::bytes);
    if (!is_mine(last_word_of(entry_at(producer)), lap_of(producer))) break;
  }
  barrier::dma_load_to_dma_load();

  // From the newest entry to the oldest. An entry that stays moves up over those that go, and gets
  // the owner bit of its new place (Linux 6.1 hw/mlx4/cq.c __mlx4_ib_cq_clean).
  const std::uint32_t passed_before = passed_over_;
  std::uint32_t gone = 0;
  for (std::uint32_t i = producer; i-- != consumer;) {
    const std::uint32_t place = (i & mask_) + 1;
    image<cqe> e;
    dma::load_bytes(e.data(), entry_at(i), cqe::bytes);
    const bool was_passed = cache::is_maintained && place == passed_before;
    if (was_passed || names(e)) {
      if (!was_passed) retire(e);
      if (cache::is_maintained && shares_its_line(i) && i + 1 == producer) {
        passed_over_ = place;
        continue;
      }
      if (was_passed && passed_over_ == place) passed_over_ = 0;
      ++gone;
    } else if (gone != 0) {
      e.set<&cqe::owner>(lap_of(i + gone) != 0);
      dma::store_bytes(entry_at(i + gone), e.data(), cqe::bytes);
      cache::clean(entry_at(i + gone), cqe::bytes);
    }
  }
  if (gone == 0) return;
  go_to(consumer + gone);
  barrier::dma_store_to_dma_store();
  tell_consumer();
}

void cq::forget(const qp_rings& pair) {
  forget_those([&pair](const image<cqe>& e) { return e.get<&cqe::qpn>() == pair.qpn; },
               [&pair](const image<cqe>& e) {
                 if (pair.shared != nullptr && !e.get<&cqe::is_send>())
                   pair.shared->retire(static_cast<std::uint16_t>(e.get<&cqe::wqe_index>()));
               });
}

void cq::forget_named(std::uint32_t srqn) {
  forget_those(
      [srqn](const image<cqe>& e) {
        return !e.get<&cqe::is_send>() && (e.get<&cqe::qpn>() & xrc_target_qpn_bit) != 0 &&
               e.get<&cqe::remote_qpn>() == srqn;
      },
      [](const image<cqe>&) {});
}

}  // namespace freehca::queues
