// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/datagrams.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "link/link_codec.hpp"
#include "link/pkeys.hpp"
#include "link/psn.hpp"
#include "ports/ports.hpp"
#include "queues/explanations.hpp"
#include "queues/receive_queues.hpp"
#include "transport/drop_log.hpp"
#include "transport/packet_sender.hpp"
#include "transport/transport_counters.hpp"
#include "transport/work_completions.hpp"
#include "transport/work_errors.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// The first 40 bytes of a datagram's receive buffer belong to the GRH, present or not (captures).
constexpr std::size_t grh_area = grh::bytes;

/// `own`: the context's path, which has what the address vector leaves out.
path path_of(const image<wqe_datagram>& d, const path& own, bool force_loopback) {
  path way;
  way.port = static_cast<unsigned>(d.get<&wqe_datagram::port>());
  way.sl = static_cast<unsigned>(d.get<&wqe_datagram::sl>());
  // Three bits on Ethernet (Linux hw/mlx4/ah.c create_iboe_ah).
  way.queue_priority = way.sl >> 1;
  way.path_bits = static_cast<std::uint8_t>(d.get<&wqe_datagram::my_lid_smac_idx>());
  way.dlid = static_cast<std::uint16_t>(d.get<&wqe_datagram::rlid>());
  way.force_loopback = force_loopback || d.get<&wqe_datagram::force_loopback>();
  way.global = d.get<&wqe_datagram::grh>();
  way.sgid_index = static_cast<unsigned>(d.get<&wqe_datagram::mgid_index>());
  way.hop_limit = static_cast<std::uint8_t>(d.get<&wqe_datagram::hop_limit>());
  way.traffic_class = static_cast<std::uint8_t>(d.get<&wqe_datagram::tclass>());
  way.flow_label = static_cast<std::uint32_t>(d.get<&wqe_datagram::flow_label>());
  std::copy_n(d.bytes_of<&wqe_datagram::dgid>(), way.dgid.size(), way.dgid.begin());
  way.dmac = d.get<&wqe_datagram::dmac>();
  // libmlx4 leaves the tag undefined where there is none (no source: chosen, that the bit decides).
  if (d.get<&wqe_datagram::vlan_present>())
    way.vlan_tag = static_cast<std::uint16_t>(d.get<&wqe_datagram::vlan>());
  way.counter = own.counter;
  way.smac_index = own.smac_index;
  way.udp_source_port = own.udp_source_port;
  way.fixed_port = own.fixed_port;
  return way;
}

}  // namespace

bool datagrams::is_ethernet(unsigned port) const {
  return a_.layers.ethernet(port);
}

path datagrams::way_of(const queue_pair& qp, const send_request& r) const {
  path way = qp.way;
  if (qp.service == qp_service::ud) way = path_of(r.datagram, qp.way, r.force_loopback);
  if (qp.service == qp_service::mlx) {
    way.force_loopback = r.mlx.get<&wqe_ctrl_mlx::force_loopback>();
    const auto control = image<wqe_ctrl_ethernet>::from_bytes(r.mlx.data());
    way.dmac = control.get<&wqe_ctrl_ethernet::dmac_47_32>() << 32 |
               control.get<&wqe_ctrl_ethernet::dmac_31_0>();
  }
  // libmlx4 sets it in address vectors of groups, whose members elsewhere want the packet too.
  if (is_ethernet(way.port) && (way.dmac >> 40 & 1) != 0) way.force_loopback = false;
  return way;
}

std::optional<failure> datagrams::send(queue_pair& qp, const send_request& r) {
  return qp.service == qp_service::mlx ? send_prepared(qp, r) : send_addressed(qp, r);
}

std::optional<failure> datagrams::send_addressed(queue_pair& qp, const send_request& r) {
  const path way = way_of(qp, r);
  rule_book& rules = a_.rules;
  if (way.port < 1 || way.port > a_.how.ports) {
    rules.because("port %u in the address vector; wanted: 1 to %u", way.port, a_.how.ports);
    return failures::local_qp_operation;
  }
  // The address handle belongs to a protection domain (IBTA vol. 1, 11.4.1.1).
  const auto domain = static_cast<std::uint32_t>(r.datagram.get<&wqe_datagram::pd>());
  if (domain != qp.owner.pd &&
      rules.refuses(rule::address_domain,
                    "protection domain %u in the address vector, %u of the "
                    "queue pair",
                    domain, qp.owner.pd))
    return failures::local_qp_operation;
  std::vector<std::byte> segment;
  if (r.large != nullptr)
    if (const auto wrong = offloads_.make_segment(qp, r, segment)) return wrong;
  const std::uint64_t bytes = r.large != nullptr ? segment.size() : r.data.size();
  // What an Ethernet port's frames do not hold goes no further than the port.
  const unsigned most =
      is_ethernet(way.port) ? qp.mtu : std::min(qp.mtu, a_.links->mtu_bytes(way.port));
  if (bytes > most) {
    rules.because("%llu bytes; wanted: at most the MTU, %u", static_cast<unsigned long long>(bytes),
                  most);
    return failures::local_length;
  }

  const bool immediate = r.row->immediate;
  const auto wanted = static_cast<std::uint32_t>(r.datagram.get<&wqe_datagram::qkey>());
  const auto qkey = (wanted & qkey_from_context) != 0
                        ? static_cast<std::uint32_t>(qp.context.get<&qpc::qkey>())
                        : wanted;
  const auto pkey_index = static_cast<unsigned>(qp.context.get<&primary_path::pkey_index>());
  image<bth> base;
  base.set<&bth::opcode>(immediate ? bth_opcode::ud_send_only_imm : bth_opcode::ud_send_only)
      .set<&bth::solicited>(r.solicited)
      .set<&bth::migrated>(true)
      .set<&bth::pkey>(a_.links->pkey(way.port, pkey_index))
      .set<&bth::dest_qp>(r.datagram.get<&wqe_datagram::dqpn>())
      .set<&bth::psn>(psn_add(r.first_psn, r.next_packet));
  const auto payload = static_cast<std::size_t>(bytes);
  auto out = sender_.lay_out(way, base, deth::bytes + (immediate ? immdt::bytes : 0), payload);
  if (!out) return failures::local_qp_operation;
  // A special queue pair is known to the fabric by its well-known number.
  const std::uint32_t source = qp.special != 0 ? qp.special - 1 : qp.number();
  const std::size_t at =
      out->put(0, image<deth>{}.set<&deth::qkey>(qkey).set<&deth::source_qp>(source));
  if (immediate) out->put(at, image<immdt>{}.set<&immdt::immediate>(r.immediate));
  if (r.large != nullptr) std::copy(segment.begin(), segment.end(), out->payload_bytes());
  else if (payload != 0 && r.data.gather(*a_.regions, qp.owner, 0, out->payload_bytes(), payload) !=
                               access_result::ok)
    return failures::local_protection;
  offloads_.put_checksums(r, {out->payload_bytes(), payload});
  sender_.transmit(way, std::move(*out));
  return std::nullopt;
}

std::optional<failure> datagrams::is_no_packet(const queue_pair& qp, const send_request& r,
                                               const packet& p) {
  const std::string why = a_.links->codec(qp.way.port).why_not(p);
  if (a_.rules.refuses(rule::mlx_headers, "QP 0x%06x send %u: %s", qp.number(), unsigned{r.index},
                       why.c_str()))
    return failures::local_length;
  // Who receives it can make nothing of it: it is lost here, where the driver can read why.
  ++counters_.packets_dropped;
  if (a_.rules.explains_drop())
    a_.rules.explain(
        remark_kind::packet_dropped,
        "port " + std::to_string(way_of(qp, r).port) + ": a packet to be sent was dropped",
        {"", why});
  return std::nullopt;
}

std::optional<failure> datagrams::send_prepared(queue_pair& qp, const send_request& r) {
  const path way = way_of(qp, r);
  const link_codec& codec = a_.links->codec(way.port);
  const std::size_t most = codec.prepared_bytes_max();
  if (r.data.size() > most) {
    a_.rules.because("packet of %llu bytes; wanted: at most %zu, headers and the largest MTU",
                     static_cast<unsigned long long>(r.data.size()), most);
    return failures::local_length;
  }
  const auto bytes = static_cast<std::size_t>(r.data.size());
  outgoing_packet out;
  out.p.bytes.resize(bytes);
  if (r.data.gather(*a_.regions, qp.owner, 0, out.p.bytes.data(), bytes) != access_result::ok)
    return failures::local_protection;
  switch (codec.finish({.port = way.port,
                        .qpn = qp.number(),
                        .index = r.index,
                        .management = qp.special == 1,
                        .control = r.mlx},
                       out)) {
    case prepared_verdict::refused:
      return failures::local_qp_operation;
    case prepared_verdict::no_packet:
      return is_no_packet(qp, r, out.p);
    case prepared_verdict::wrong_icrc:
      // With the bit the word leaves as it is, and whoever receives it throws the packet away (IBTA
      // 7.8.1).
      if (a_.rules.refuses(rule::mlx_icrc, "QP 0x%06x send %u: icrc, and its last word is another",
                           qp.number(), unsigned{r.index}))
        return failures::local_qp_operation;
      if (a_.rules.is_off(rule::mlx_icrc)) break;
      drops_.drop(*codec.unwrap(way.port, out.p),
                  "the invariant CRC that the driver gave it is wrong");
      return std::nullopt;
    case prepared_verdict::good:
      break;
  }
  sender_.transmit(way, std::move(out));
  return std::nullopt;
}

std::optional<unsigned> datagrams::admit(const queue_pair& qp, unsigned port,
                                         std::uint16_t pkey) const {
  if (qp.special == 1) return 0;  // subnet management is outside of partitions
  const ports& links = *a_.links;
  if (qp.special == 2) {
    for (unsigned i = 0; i < links.pkey_entries(port); ++i)
      if (pkeys_match(pkey, links.pkey(port, i))) return i;
    return std::nullopt;
  }
  const auto index = static_cast<unsigned>(qp.context.get<&primary_path::pkey_index>());
  if (pkeys_match(pkey, links.pkey(port, index))) return index;
  return std::nullopt;
}

void datagrams::receive(queue_pair& qp, transport_packet v) {
  const unsigned port = v.ingress.port;
  const auto opcode = v.bth.get<&bth::opcode>();
  const bool immediate = opcode == bth_opcode::ud_send_only_imm;
  const auto extended = v.take<deth>();
  const auto data = immediate ? v.take<immdt>() : image<immdt>{};
  // What is longer than the port's MTU goes no further than the port (Linux qib_iba7322.c:
  // MaxPktLen), whatever there is to receive it.
  if (opcode != bth_opcode::ud_send_only && !immediate) {
    drops_.drop(v, "opcode 0x%02x; wanted: a UD send", static_cast<unsigned>(opcode));
    return;
  }
  if (!extended || !data) {
    drops_.drop(v, "it ends before the end of its %s", extended ? "ImmDt" : "DETH");
    return;
  }
  if (!is_ethernet(port) && v.rest_bytes > a_.links->mtu_bytes(port)) {
    drops_.drop(v, "%zu bytes of payload; wanted: at most the port's MTU, %u", v.rest_bytes,
                a_.links->mtu_bytes(port));
    return;
  }
  const auto pkey_index = admit(qp, port, static_cast<std::uint16_t>(v.bth.get<&bth::pkey>()));
  if (!pkey_index) {
    drops_.drop(
        v, "P_Key 0x%04x; wanted: %s", static_cast<unsigned>(v.bth.get<&bth::pkey>()),
        qp.special == 2 ? "one of the port's table" : "the one of the context's pkey_index");
    a_.links->count_pkey_violation(port);
    return;
  }
  const auto source = static_cast<std::uint32_t>(extended->get<&deth::source_qp>());
  const auto qkey = static_cast<std::uint32_t>(extended->get<&deth::qkey>());
  if (qp.special != 1 && qkey != qp.context.get<&qpc::qkey>()) {
    drops_.drop(v, "Q_Key 0x%08x, sent by QP 0x%06x; wanted: 0x%08x of the context", qkey, source,
                static_cast<unsigned>(qp.context.get<&qpc::qkey>()));
    a_.links->count_qkey_violation(port, qkey, source);
    return;
  }
  receive_report report;
  report.opcode = immediate ? cqe_opcode::recv_send_imm : cqe_opcode::recv_send;
  report.immediate = *pkey_index;
  if (immediate) report.immediate = static_cast<std::uint32_t>(data->get<&immdt::immediate>());
  report.byte_count = static_cast<std::uint32_t>(grh_area + v.rest_bytes);
  report.remote_qpn = source;
  report.solicited = v.bth.get<&bth::solicited>();
  // On Ethernet the source MAC stands where these rows else do.
  if (qp.service == qp_service::ud && !is_ethernet(port))
    report.checks = offloads_.checks_of({v.rest, v.rest_bytes});
  place(qp, v, report);
}

void datagrams::place(queue_pair& qp, const transport_packet& v, const receive_report& report) {
  receive_request r;
  switch (receives_.take(qp, r)) {
    case take_result::empty:
      ++counters_.datagrams_dropped;
      if (a_.rules.explains_drop())
        a_.rules.explain(remark_kind::packet_dropped, words_for(v) + ": dropped",
                         {"", "no receive was posted"});
      return;
    case take_result::fault:
      errors_.enter_error(qp, std::nullopt);
      return;
    case take_result::taken:
      break;
  }
  if (grh_area + v.rest_bytes > r.data.size()) {
    a_.rules.because(
        "a datagram of %zu bytes and %zu for its GRH; wanted: at most the %llu bytes "
        "of the receive",
        v.rest_bytes, grh_area, static_cast<unsigned long long>(r.data.size()));
    errors_.receive_failed(qp, r, failures::local_length);
    return;
  }
  access_result done = access_result::ok;
  if (v.ingress.global()) {
    std::array<std::byte, grh_area> area;
    v.ingress.put_network_header(area.data());
    done = r.data.scatter(*a_.regions, r.owner, 0, area.data(), area.size());
  }
  if (done == access_result::ok && v.rest_bytes != 0)
    done = r.data.scatter(*a_.regions, r.owner, grh_area, v.rest, v.rest_bytes);
  if (done != access_result::ok) {
    errors_.receive_failed(qp, r, failures::local_protection);
    return;
  }
  completions_.received(qp, r, report, v.ingress);
}

}  // namespace freehca::model
