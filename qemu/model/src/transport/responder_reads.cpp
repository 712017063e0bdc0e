// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The responder: RDMA reads and atomics.
#include <algorithm>
#include <array>

#include "basis/host_order.hpp"
#include "queues/explanations.hpp"
#include "transport/answers.hpp"
#include "transport/responder.hpp"

namespace freehca::model {

using namespace layouts;

using message = receive_side::message;

namespace {

/// An atomic's operands. A plain one is a masked one: compare and swap of all bits, fetch and add
/// of one field.
struct atomic_operands {
  bool swaps;
  std::uint64_t address;
  std::uint32_t rkey;
  std::uint64_t swap_add, compare, swap_mask, compare_mask, boundaries;

  /// Nothing: the packet is too short.
  static std::optional<atomic_operands> take(request_packet& p) {
    const bth_transport transport = transport_of(p.view.bth.get<&bth::opcode>());
    const bool masked =
        transport == bth_transport::rc_masked || transport == bth_transport::xrc_masked;
    const bool swaps = p.operation == bth_operation::compare_swap;
    if (masked && swaps) {
      using m = masked_atomic_eth;
      const auto h = p.view.take<m>();
      if (!h) return std::nullopt;
      return atomic_operands{true,
                             h->get<&m::virtual_address>(),
                             static_cast<std::uint32_t>(h->get<&m::rkey>()),
                             h->get<&m::swap>(),
                             h->get<&m::compare>(),
                             h->get<&m::swap_mask>(),
                             h->get<&m::compare_mask>(),
                             0};
    }
    using e = atomic_eth;
    const auto h = p.view.take<e>();
    if (!h) return std::nullopt;
    constexpr std::uint64_t all = ~std::uint64_t{0};
    return atomic_operands{swaps,
                           h->get<&e::virtual_address>(),
                           static_cast<std::uint32_t>(h->get<&e::rkey>()),
                           h->get<&e::swap_add>(),
                           h->get<&e::compare>(),
                           all,
                           all,
                           masked ? h->get<&e::compare>() : 0};
  }

  /// What becomes of the word (MLNX_OFED manual, "Enhanced Atomic Operations").
  std::uint64_t result(std::uint64_t word) const {
    if (swaps)
      return ((word ^ compare) & compare_mask) != 0 ? word
                                                    : (word & ~swap_mask) | (swap_add & swap_mask);
    // No carry leaves a bit that ends a field: those are added apart from the others.
    const std::uint64_t below = (word & ~boundaries) + (swap_add & ~boundaries);
    return below ^ ((word ^ swap_add) & boundaries);
  }
};

}  // namespace

bool responder::exhausted(const queue_pair& qp, bool repeated) {
  const auto waiting =
      std::count_if(qp.rq.responses.begin(), qp.rq.responses.end(), [&](const response& r) {
        return r.what != response::kind::acknowledge && r.repeated == repeated;
      });
  const std::size_t most =
      repeated ? responses_max : std::size_t{1} << qp.context.get<&qpc::rra_max>();
  return static_cast<std::size_t>(waiting) >= most;
}

void responder::remember(queue_pair& qp, const responder_resource& executed) {
  auto& kept = qp.rq.executed;
  kept.push_back(executed);
  if (kept.size() > (std::size_t{1} << qp.context.get<&qpc::rra_max>())) kept.pop_front();
}

const responder_resource* responder::known(const queue_pair& qp, const request_packet& p) {
  // A resource begins at its PSN; of another operation than the one that was executed there nothing
  // is known (Linux qib_rc.c qib_rc_rcv_error; rxe_resp.c duplicate_request).
  const auto& kept = qp.rq.executed;
  const auto found =
      std::find_if(kept.rbegin(), kept.rend(), [&](const responder_resource& executed) {
        return psn_distance(p.view.psn(), executed.psn) >= 0;
      });
  if (found == kept.rend() || found->operation != p.operation) return nullptr;
  const bool whole = p.operation != bth_operation::rdma_read_request;
  return whole && found->psn != p.view.psn() ? nullptr : &*found;
}

bool responder::asks_for_the_same(const queue_pair& qp, const request_packet& p,
                                  const response& r) {
  // From its place of the original, by the same key, as far as the end or in whole packets: what
  // was answered by a PSN is what is answered by it again (IBTA vol. 1, 9.4.4: any part may be read
  // again; rxe_resp.c duplicate_request; Linux qib_rc.c qib_rc_rcv_error takes the end alone).
  const responder_resource* const first = known(qp, p);
  if (first == nullptr) return false;
  const std::uint64_t skipped =
      static_cast<std::uint64_t>(psn_distance(p.view.psn(), first->psn)) * qp.mtu;
  const bool from_its_place = (skipped == 0 || skipped < first->bytes) &&
                              r.address == first->address + skipped && r.rkey == first->rkey;
  const std::uint64_t end = skipped + r.left;
  const bool in_packets = r.left != 0 && r.left % qp.mtu == 0;
  return from_its_place && (end == first->bytes || (end < first->bytes && in_packets));
}

void responder::read(queue_pair& qp, request_packet& p, bool repeated) {
  receive_side& rq = qp.rq;
  const std::uint32_t psn = p.view.psn();
  const auto range = p.view.take<reth>();
  if (!range || (!repeated && rq.in_progress != message::none) || !qp.reliable()) {
    a_.rules.because("a read %s", !range           ? "that ends before the end of its RETH"
                                  : !qp.reliable() ? "over an unreliable connection"
                                                   : "while a message is in progress");
    if (repeated) return;
    if (range) refuse_operation(qp, p);
    else refuse_size(qp, p);
    return;
  }
  if (exhausted(qp, repeated)) {
    a_.rules.because("more reads and atomics at once than rra_max allows, %u",
                     1u << qp.context.get<&qpc::rra_max>());
    if (!repeated) refuse_size(qp, p);
    return;
  }
  response r;
  r.what = response::kind::read;
  r.repeated = repeated;
  r.psn = psn;
  r.owner = rq.remote;
  r.address = range->get<&reth::virtual_address>();
  r.rkey = static_cast<std::uint32_t>(range->get<&reth::rkey>());
  r.left = static_cast<std::uint32_t>(range->get<&reth::dma_length>());
  if (repeated && !asks_for_the_same(qp, p, r)) return;
  a_.rules.take_reason();
  // What is asked again was allowed once; the requester may have its answer and the region be gone
  // (as in Linux qib_rc.c, qib_rc_rcv_error).
  if (qp.context.get<&qpc::rre>() == 0 || r.left > qp.message_bytes_max) {
    a_.rules.because(
        "RETH length of %u bytes; the queue pair allows %s; wanted: remote read (rre 1), and at "
        "most %llu bytes",
        r.left, words_for_access(qp), static_cast<unsigned long long>(qp.message_bytes_max));
    if (repeated) return;
    if (r.left > qp.message_bytes_max) refuse_size(qp, p);
    else refuse_operation(qp, p);
    return;
  }
  if (r.left != 0 && a_.regions->check(r.rkey, rq.remote, access::remote_read, r.address, r.left,
                                       qp.mtu) != access_result::ok) {
    if (!repeated) refuse(qp, p, nak_code::remote_access_error, event_type::wq_access_violation);
    return;
  }
  if (!repeated) {
    const std::uint32_t packets = r.left == 0 ? 1 : (r.left - 1) / qp.mtu + 1;
    rq.expected_psn = psn_add(psn, packets);
    rq.msn = psn_add(rq.msn, 1);
    remember(qp, {p.operation, psn, r.address, r.rkey, r.left});
  }
  r.msn = rq.msn;
  replies_.add(qp, r);
}

void responder::atomic(queue_pair& qp, request_packet& p) {
  receive_side& rq = qp.rq;
  const std::uint32_t psn = p.view.psn();
  const auto operands = atomic_operands::take(p);
  if (!operands || operands->address % 8 != 0 || rq.in_progress != message::none ||
      !qp.reliable() || exhausted(qp, false)) {
    if (!operands) a_.rules.because("an atomic that ends before the end of its AtomicETH");
    else if (operands->address % 8 != 0)
      a_.rules.because("an atomic at 0x%llx; wanted: a multiple of 8 (IBTA 9.4.5)",
                       static_cast<unsigned long long>(operands->address));
    else
      a_.rules.because(
          "an atomic while a message is in progress, over an unreliable connection, "
          "or more at once than rra_max allows, %u",
          1u << qp.context.get<&qpc::rra_max>());
    if (operands && operands->address % 8 == 0 && rq.in_progress != message::none)
      refuse_operation(qp, p);
    else refuse_size(qp, p);
    return;
  }
  if (qp.context.get<&qpc::rae>() == 0) {
    a_.rules.because("an atomic, rae 0 in the context; wanted: rae 1");
    refuse_operation(qp, p);
    return;
  }
  operand_bytes bytes;
  if (a_.regions->read(operands->rkey, rq.remote, access::remote_atomic, operands->address,
                       bytes.data(), bytes.size()) != access_result::ok) {
    refuse(qp, p, nak_code::remote_access_error, event_type::wq_access_violation);
    return;
  }
  const bool big_endian = a_.profile.big_endian_host;
  const std::uint64_t original = from_host_order(bytes, big_endian);
  bytes = to_host_order(operands->result(original), big_endian);
  if (a_.regions->write(operands->rkey, rq.remote, access::remote_atomic, operands->address,
                        bytes.data(), bytes.size()) != access_result::ok) {
    refuse(qp, p, nak_code::remote_access_error, event_type::wq_access_violation);
    return;
  }
  rq.expected_psn = psn_add(psn, 1);
  rq.msn = psn_add(rq.msn, 1);
  remember(qp, {p.operation, psn, 0, 0, 0, original});
  response r;
  r.what = response::kind::atomic;
  r.psn = psn;
  r.msn = rq.msn;
  r.original = original;
  replies_.add(qp, r);
}

}  // namespace freehca::model
