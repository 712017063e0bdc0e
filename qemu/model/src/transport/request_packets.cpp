// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The requester: request packets.
#include <algorithm>

#include "ports/ports.hpp"
#include "transport/packet_sender.hpp"
#include "transport/requester.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// The context's ack_req_freq may ask for fewer; the window must never fill without a request.
constexpr unsigned log_ack_period_max = 5;

/// The operation of packet `n` of the message.
bth_operation request_operation(const send_request& r, std::uint32_t n) {
  const packet_operations& of = r.row->packets;
  const std::uint32_t last = r.psns - 1;
  if (last == 0) return of.only;
  if (n == 0) return of.first;
  return n == last ? of.last : of.middle;
}

bth_transport transport_for(qp_service service, const send_request& r) {
  if (r.row->masked)
    return service == qp_service::xrc ? bth_transport::xrc_masked : bth_transport::rc_masked;
  return service == qp_service::uc    ? bth_transport::uc
         : service == qp_service::xrc ? bth_transport::xrc
                                      : bth_transport::rc;
}

image<reth> remote_range(std::uint64_t address, std::uint32_t rkey, std::uint64_t bytes) {
  image<reth> h;
  h.set<&reth::virtual_address>(address).set<&reth::rkey>(rkey).set<&reth::dma_length>(bytes);
  return h;
}

image<atomic_eth> atomic_header(const send_request& r) {
  image<atomic_eth> h;
  h.set<&atomic_eth::virtual_address>(r.remote_address).set<&atomic_eth::rkey>(r.rkey);
  return h.set<&atomic_eth::swap_add>(r.swap_add).set<&atomic_eth::compare>(r.compare);
}

image<masked_atomic_eth> masked_atomic_header(const send_request& r) {
  using m = masked_atomic_eth;
  image<m> h;
  h.set<&m::virtual_address>(r.remote_address).set<&m::rkey>(r.rkey);
  h.set<&m::swap>(r.swap_add).set<&m::compare>(r.compare);
  return h.set<&m::swap_mask>(r.swap_mask).set<&m::compare_mask>(r.compare_mask);
}

std::size_t atomic_header_bytes(const send_request& r) {
  return r.row->operands == wqe_operands::masked_atomic ? masked_atomic_eth::bytes
                                                        : atomic_eth::bytes;
}

}  // namespace

std::optional<failure> requester::send_packet(queue_pair& qp, send_request& r) {
  const bool last = r.next_packet + 1 == r.packets();
  const bool first = r.next_packet == 0;
  const bool carries = !r.expects_response();
  const std::uint64_t offset = std::uint64_t{r.next_packet} * qp.mtu;
  const std::size_t payload =
      carries ? static_cast<std::size_t>(std::min<std::uint64_t>(qp.mtu, r.data.size() - offset))
              : 0;
  const bool writes = r.effect() == send_effect::write;
  const bool immediate = last && r.row->immediate;
  const bool invalidate = last && r.row->invalidates;
  const bool range = r.is_read() || (first && writes);
  const std::size_t extended = (qp.service == qp_service::xrc ? xrceth::bytes : 0) +
                               (range ? reth::bytes : 0) +
                               (r.is_atomic() ? atomic_header_bytes(r) : 0) +
                               (immediate ? immdt::bytes : 0) + (invalidate ? ieth::bytes : 0);

  const std::uint32_t psn = qp.sq.window.psn_of_current();
  const std::uint32_t skip = r.is_read() ? r.responses * qp.mtu : 0;  // a retry asks for the rest
  const unsigned log_period =
      std::min(static_cast<unsigned>(qp.context.get<&qpc::ack_req_freq>()), log_ack_period_max);
  image<bth> base;
  base.set<&bth::opcode>(
          make_bth_opcode(transport_for(qp.service, r), request_operation(r, r.next_packet)))
      .set<&bth::solicited>(r.solicited && last && (immediate || !writes))
      .set<&bth::migrated>(qp.migration() == path_migration::migrated)
      .set<&bth::pkey>(a_.links->pkey(
          qp.way.port, static_cast<unsigned>(qp.context.get<&primary_path::pkey_index>())))
      .set<&bth::dest_qp>(qp.context.get<&qpc::remote_qpn>())
      .set<&bth::ack_req>(qp.reliable() && (last || (psn & ((1u << log_period) - 1)) == 0))
      .set<&bth::psn>(psn);

  auto out = sender_.lay_out(qp.way, base, extended, payload);
  if (!out) return failures::local_qp_operation;
  std::size_t at = 0;
  if (qp.service == qp_service::xrc)
    at = out->put(at, image<xrceth>{}.set<&xrceth::xrc_srq>(r.remote_srqn));
  if (range) at = out->put(at, remote_range(r.remote_address + skip, r.rkey, r.data.size() - skip));
  if (r.row->operands == wqe_operands::masked_atomic) at = out->put(at, masked_atomic_header(r));
  else if (r.is_atomic()) at = out->put(at, atomic_header(r));
  if (immediate) out->put(at, image<immdt>{}.set<&immdt::immediate>(r.immediate));
  if (invalidate) out->put(at, image<ieth>{}.set<&ieth::rkey>(r.immediate));
  if (payload != 0 && r.data.gather(*a_.regions, qp.owner, offset, out->payload_bytes(), payload) !=
                          access_result::ok)
    return failures::local_protection;

  sender_.transmit(qp.way, std::move(*out));
  return std::nullopt;
}

}  // namespace freehca::model
