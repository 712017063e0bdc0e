// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The far end of the cable of port 2: packets for queue pairs that live, nearly right, and what is
// no packet at all.
#include <cstring>
#include <iterator>

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/smp.hpp>

#include "basis/capabilities.hpp"
#include "hand_made_packets.hpp"
#include "hostile_guest.hpp"
#include "link/psn.hpp"
#include "link/wire_form.hpp"

namespace freehca::fuzz {

using layouts::bth_operation;
using layouts::qp_service;
using model::packet;
using model::test::test_driver;

namespace {

constexpr unsigned xrc_domain = 9;
constexpr std::uint32_t shared_queue = 72, shared_entries = 16, shared_stride = 32;
constexpr std::uint32_t mtu = 1024, first_psn = 0xfffff0;  // ready_context()
constexpr std::uint64_t training = 600'000'000;
// Kinds of actions; those below are the guest's own.
constexpr unsigned requests = 10, datagrams = 12, responses = 14, link_packets = 15, noise = 16,
                   changes = 17, link = 18;

bool is_response(bth_operation o) {
  return o >= bth_operation::rdma_read_response_first && o <= bth_operation::atomic_acknowledge;
}

layouts::bth_transport transport_of(qp_service service) {
  using layouts::bth_transport;
  return service == qp_service::rc   ? bth_transport::rc
         : service == qp_service::uc ? bth_transport::uc
         : service == qp_service::ud ? bth_transport::ud
                                     : bth_transport::xrc;
}

/// The extended headers of a packet, one behind the other.
struct headers {
  std::byte bytes[64] = {};
  std::size_t size = 0;
  template <class T>
  void add(const layouts::image<T>& header) {
    std::memcpy(bytes + size, header.data(), T::bytes);
    size += T::bytes;
  }
};

}  // namespace

void hostile_guest::lay_cable() {
  host->on_wire = [this](unsigned, std::vector<std::byte>& bytes) { seen(bytes); };
  std::uint32_t number = first_number;
  for (const auto service : {qp_service::rc, qp_service::uc, qp_service::ud, qp_service::xrc}) {
    cabled_end& end = cabled[number - first_number];
    end.next_psn = end.requested = first_psn;
    end.qp = make_qp(number, service);
    if (++number; service == qp_service::uc && !offered(model::capability::unreliable_connection))
      continue;
    if (service == qp_service::xrc) {
      if (offered(model::capability::extended_reliable_connection) &&
          offered(model::capability::shared_receive_queues))
        make_shared_queue(end.qp);
      else continue;
    }
    using layouts::primary_path, layouts::qpc;
    auto first = first_context(end.qp);
    first.set<&primary_path::sched_queue>(layouts::sched_queue_ib(cabled_port, 0));
    auto ready = ready_context(end.qp, end.qp.number | far_number);
    ready.set<&primary_path::sched_queue>(layouts::sched_queue_ib(cabled_port, 0))
        .set<&primary_path::rlid>(far_lid);
    if (service == qp_service::xrc)
      for (auto* c : {&first, &ready}) c->set<&qpc::xrcd>(xrc_domain).set<&qpc::log_rq_size>(0xf);
    ASSERT_EQ(modify(layouts::opcode::rst2init_qp, end.qp.number, first),
              layouts::command_status::ok);
    ASSERT_EQ(modify(layouts::opcode::init2rtr_qp, end.qp.number, ready),
              layouts::command_status::ok);
    ASSERT_EQ(modify(layouts::opcode::rtr2rts_qp, end.qp.number, ready),
              layouts::command_status::ok);
  }
  for (unsigned i = 0; i < shared_entries; ++i)
    for (unsigned end = 0; end < 3; ++end)
      post_receive(cabled[end].qp, region_start + 0x40000 + i * 4096, 4096, key);
  ASSERT_EQ(driver->command(layouts::opcode::init_port, 0, cabled_port).status,
            layouts::command_status::ok);
  raise_link();
  ASSERT_TRUE(links().active(cabled_port));
}

// What the queue pair would receive by itself is its record's page: a shared queue has one of its
// own.
void hostile_guest::make_shared_queue(const test_qp& qp) {
  using layouts::srqc;
  const auto where = driver->make_buffer(1);
  for (std::uint32_t i = 0; i < shared_entries; ++i) {
    layouts::image<layouts::wqe_srq_next> next;
    next.set<&layouts::wqe_srq_next::next_wqe_index>((i + 1) % shared_entries);
    const auto d = data_segment(region_start + 0x60000 + i * 4096, 4096, key);
    std::memcpy(driver->bytes_of(where, i * shared_stride), next.data(), next.size());
    std::memcpy(driver->bytes_of(where, i * shared_stride + 16), d.data(), d.size());
  }
  layouts::image<srqc> c;
  c.set<&srqc::log_srq_size>(4).set<&srqc::srqn>(shared_queue).set<&srqc::log_srq_stride>(1);
  c.set<&srqc::xrcd>(xrc_domain).set<&srqc::cqn>(cqn).set<&srqc::pd>(pd);
  c.set<&srqc::db_rec_addr>(qp.record).set<&srqc::mtt_base_addr>(where.mtt);
  ASSERT_EQ(driver->command_with(layouts::opcode::sw2hw_srq, c, shared_queue).status,
            layouts::command_status::ok);
  host->store(qp.record, layouts::image<layouts::rq_doorbell_record>{}
                             .set<&layouts::rq_doorbell_record::wqe_counter>(shared_entries));
}

void hostile_guest::seen(const std::vector<std::byte>& bytes) {
  packet p;
  if (bytes.size() == layouts::link_packet::bytes || from_wire(bytes, p) != model::arrival::good)
    return;
  seen(p);
}

void hostile_guest::seen(const packet& p) {
  auto v = far_codec().unwrap(cabled_port, p);
  if (!v) return;
  if (v->destination() <= layouts::qp1_gsi) {
    answered = true;
    return;
  }
  const std::uint32_t index = (v->destination() & ~far_number) - first_number;
  if (index >= std::size(cabled)) return;
  cabled_end& end = cabled[index];
  const bth_operation operation = layouts::operation_of(v->bth.get<&layouts::bth::opcode>());
  if (!is_response(operation)) {
    end.requested = v->psn();
    return;
  }
  const auto answer = v->take<layouts::aeth>();
  if (answer && answer->get<&layouts::aeth::type>() != layouts::aeth_type::ack)
    end.next_psn = v->psn();
}

void hostile_guest::arrives(const std::vector<std::byte>& bytes) {
  hca->link_receive(cabled_port, bytes.data(), bytes.size());
  host->run();
}

void hostile_guest::arrives(packet p) {
  // With checksums that are right, or as a bad cable makes it.
  damage(p.bytes.data(), std::min<std::size_t>(p.bytes.size(), 64), 3);
  auto bytes = to_wire(p);
  if (const std::uint8_t kind = script.byte(); kind >= 0xf0)
    bytes[kind % bytes.size()] ^= std::byte{1};
  arrives(bytes);
}

packet hostile_guest::packet_for(cabled_end& end, bth_operation operation, std::uint32_t psn,
                                 const std::byte* extended, std::size_t extended_bytes,
                                 std::size_t payload) {
  using layouts::bth;
  const std::uint8_t kind = script.byte();
  layouts::image<bth> base;
  base.set<&bth::opcode>(layouts::make_bth_opcode(transport_of(end.qp.service), operation))
      .set<&bth::ack_req>((kind & 1) == 0)
      .set<&bth::solicited>((kind & 2) != 0)
      .set<&bth::migrated>((kind & 4) == 0)
      .set<&bth::pkey>(0xffff)
      .set<&bth::dest_qp>(kind < 0xf0 ? end.qp.number : layouts::multicast_qpn)
      .set<&bth::psn>(psn);
  model::outgoing_packet out = wrapped(end, base, extended_bytes, payload, kind);
  std::memcpy(out.p.bytes.data() + out.extended, extended, extended_bytes);
  return std::move(out.p);
}

model::outgoing_packet hostile_guest::wrapped(const cabled_end&,
                                              const layouts::image<layouts::bth>& base,
                                              std::size_t extended_bytes, std::size_t payload,
                                              std::uint8_t kind) {
  using layouts::lrh;
  model::path way;
  way.port = cabled_port;
  way.dlid = kind < 0xf0 ? own_lid : std::uint16_t{0xc001};
  way.global = (kind & 0x40) != 0;
  model::outgoing_packet out = *far_codec().wrap(way, base, extended_bytes, payload);
  // The buffer is the adapter's, and has bytes of earlier packets.
  std::memset(out.payload_bytes(), 0, payload);
  auto local = layouts::image<lrh>::from_bytes(out.p.bytes.data());
  local.set<&lrh::slid>(far_lid);
  std::memcpy(out.p.bytes.data(), local.data(), lrh::bytes);
  return out;
}

void hostile_guest::request_by_cable() {
  using o = bth_operation;
  cabled_end& end = cabled[script.byte() % std::size(cabled)];
  const auto operation = static_cast<o>(script.byte() % 32);
  const bool write = operation >= o::rdma_write_first && operation <= o::rdma_write_only_imm;
  const bool full = operation == o::send_first || operation == o::send_middle ||
                    operation == o::rdma_write_first || operation == o::rdma_write_middle;
  const std::size_t payload = full ? mtu
                              : operation >= o::rdma_read_request && operation <= o::fetch_add
                                  ? 0
                                  : script.byte() * 5u % (mtu + 1);
  headers h;
  if (end.qp.service == qp_service::xrc)
    h.add(layouts::image<layouts::xrceth>{}.set<&layouts::xrceth::xrc_srq>(
        script.byte() < 0xf0 ? shared_queue : number() & 0xffffff));
  if (end.qp.service == qp_service::ud)
    h.add(layouts::image<layouts::deth>{}
              .set<&layouts::deth::qkey>(qkey)
              .set<&layouts::deth::source_qp>(end.qp.number | far_number));
  const std::uint64_t address = region_start + script.byte() * 4096u;
  const std::uint32_t rkey = script.byte() < 0xf0 ? key : number();
  std::uint32_t packets = 1;
  if (operation == o::rdma_read_request || operation == o::rdma_write_first ||
      operation == o::rdma_write_only || operation == o::rdma_write_only_imm) {
    const std::uint32_t length = operation == o::rdma_write_first ? mtu + script.byte() * 8
                                 : operation == o::rdma_read_request
                                     ? number()
                                     : static_cast<std::uint32_t>(payload);
    if (operation == o::rdma_read_request && length < region_pages * 4096)
      packets = std::max<std::uint32_t>(1, (length + mtu - 1) / mtu);
    h.add(layouts::image<layouts::reth>{}
              .set<&layouts::reth::virtual_address>(address)
              .set<&layouts::reth::rkey>(rkey)
              .set<&layouts::reth::dma_length>(length));
  } else if (operation == o::compare_swap || operation == o::fetch_add) {
    h.add(layouts::image<layouts::atomic_eth>{}
              .set<&layouts::atomic_eth::virtual_address>(address)
              .set<&layouts::atomic_eth::rkey>(rkey));
  }
  if (operation == o::send_last_imm || operation == o::send_only_imm ||
      (write && (operation == o::rdma_write_last_imm || operation == o::rdma_write_only_imm)))
    h.add(layouts::image<layouts::immdt>{});
  if (operation == o::send_last_invalidate || operation == o::send_only_invalidate)
    h.add(layouts::image<layouts::ieth>{}.set<&layouts::ieth::rkey>(rkey));
  const std::uint8_t kind = script.byte();
  const std::uint32_t psn =
      kind < 0xd0 ? end.next_psn
                  : model::psn_add(end.next_psn, static_cast<std::uint32_t>(kind % 16) + 0xfffff8u);
  if (kind < 0xd0) end.next_psn = model::psn_add(psn, packets);
  arrives(packet_for(end, operation, psn, h.bytes, h.size, payload));
}

void hostile_guest::response_by_cable() {
  using o = bth_operation;
  cabled_end& end = cabled[script.byte() % std::size(cabled)];
  const std::uint8_t kind = script.byte();
  const auto operation =
      static_cast<o>(static_cast<unsigned>(o::rdma_read_response_first) + kind % 6);
  headers h;
  if (operation != o::rdma_read_response_middle) {
    const std::uint8_t syndrome = script.byte();
    h.add(layouts::image<layouts::aeth>{}
              .set<&layouts::aeth::type>(
                  static_cast<layouts::aeth_type>(syndrome < 0x80 ? 0 : syndrome / 32 % 4))
              .set<&layouts::aeth::value>(syndrome % 32));
  }
  if (operation == o::atomic_acknowledge) h.add(layouts::image<layouts::atomic_ack_eth>{});
  const std::size_t payload = operation >= o::acknowledge ? 0
                              : (kind & 0x40) != 0        ? mtu
                                                          : script.byte() * 5u % (mtu + 1);
  const std::uint32_t back = script.byte();
  const std::uint32_t psn = model::psn_add(end.requested, back < 0x80 ? 0 : 0x1000000u - back % 16);
  arrives(packet_for(end, operation, psn, h.bytes, h.size, payload));
}

void hostile_guest::datagram_by_cable() {
  using layouts::dr_smp;
  constexpr std::uint32_t general_services_qkey = 0x80010000;
  model::mad_packet m;
  write_datagram(m.mad.data());
  auto route = layouts::image<dr_smp>::from_bytes(m.mad.data());
  const auto of = route.get<&dr_smp::mgmt_class>();
  const bool directed = of == layouts::mad_class::subnet_directed_route;
  const bool subnet = directed || of == layouts::mad_class::subnet_lid_routed;
  if (directed) {
    route.set<&dr_smp::hop_pointer>(1).set<&dr_smp::hop_count>(1);
    route.set<&dr_smp::dr_slid>(layouts::permissive_lid);
    route.set<&dr_smp::dr_dlid>(layouts::permissive_lid);
    std::memcpy(m.mad.data(), route.data(), m.mad.size());
    damage(m.mad.data(), 64, 3);
  }
  m.slid = directed ? layouts::permissive_lid : far_lid;
  m.dlid = directed ? layouts::permissive_lid : own_lid;
  m.virtual_lane = subnet ? 15 : 0;
  m.dest_qp = m.source_qp = subnet ? layouts::qp0_smi : layouts::qp1_gsi;
  m.qkey = subnet ? 0 : general_services_qkey;
  arrives(model::encode(m));
}

void hostile_guest::link_packet_by_cable() {
  using layouts::link_packet;
  const std::uint8_t kind = script.byte();
  layouts::image<link_packet> p;
  p.set<&link_packet::op>(static_cast<layouts::link_packet_op>(kind & 0xf))
      .set<&link_packet::vl>(kind >> 4)
      .set<&link_packet::fctbs>(number() & 0xfff);
  arrives(model::test::to_wire(p));
}

void hostile_guest::noise_by_cable() {
  const std::uint8_t kind = script.byte();
  std::vector<std::byte> bytes(kind < 0xf0 ? kind : script.word() % 8192);
  if (!bytes.empty()) damage(bytes.data(), std::min<std::size_t>(bytes.size(), 256), 16);
  hca->link_receive(script.byte() % 4, bytes.data(), bytes.size());
  host->run();
}

void hostile_guest::change_cable() {
  const std::uint8_t what = script.byte();
  switch (what % 4) {
    case 0:
      return hca->plug_cable(what / 4 % 4, (what & 0x80) != 0);
    case 1:
      host->wire_full[cabled_port - 1] = (what & 0x80) == 0;
      if ((what & 0x80) != 0 || (what & 0x40) != 0) hca->link_has_room(what / 4 % 4);
      return;
    case 2: {
      model::link_faults f;
      f.loss = what * 1000u;
      f.corruption = what * 2000u;
      f.duplication = f.reordering = script.byte() * model::link_faults::always / 255;
      static_cast<void>(hca->set_link_faults(what / 4 % 4, f));
      return;
    }
    default:
      return host->run();
  }
}

void hostile_guest::free_cable() {
  hca->plug_cable(cabled_port, true);
  host->wire_full[cabled_port - 1] = false;
  hca->link_has_room(cabled_port);
}

// As a far end that trains, and its subnet manager, do. Of no effect where the guest has no open
// port.
void hostile_guest::raise_link() {
  using layouts::dr_smp, layouts::port_info;
  using model::test::link_packet_of;
  free_cable();
  arrives(link_packet_of(layouts::link_packet_op::training_1));
  host->advance(training);
  arrives(link_packet_of(layouts::link_packet_op::training_2));
  for (const auto state : {layouts::port_state::armed, layouts::port_state::active}) {
    auto m = model::test::directed(layouts::mad_method::set, layouts::smp_attribute::port_info);
    layouts::image<port_info> wanted;
    wanted.set<&port_info::lid>(own_lid).set<&port_info::master_sm_lid>(far_lid);
    wanted.set<&port_info::neighbor_mtu>(layouts::ib_mtu::mtu_1024).set<&port_info::state>(state);
    layouts::set_attribute<&dr_smp::data>(m, wanted);
    arrives(to_wire(model::encode(model::test::to_qp0(m))));
  }
}

void hostile_guest::act_at_cable(unsigned kind) {
  if (kind < requests) return request_by_cable();
  if (kind < datagrams) return datagram_by_cable();
  if (kind < responses) return response_by_cable();
  if (kind < link_packets) return link_packet_by_cable();
  if (kind < noise) return noise_by_cable();
  if (kind < changes) return change_cable();
  if (kind < link) return raise_link();
  send_request(cabled[kind % std::size(cabled)].qp);
  host->run();
}

void hostile_guest::expect_working_cable(test_driver& again) {
  static_cast<void>(hca->set_link_faults(cabled_port, {}));
  EXPECT_EQ(again.command(layouts::opcode::init_port, 0, cabled_port).status,
            layouts::command_status::ok);
  raise_link();
  EXPECT_TRUE(links().active(cabled_port));
  answered = false;
  arrives(to_wire(model::encode(model::test::to_qp0(
      model::test::directed(layouts::mad_method::get, layouts::smp_attribute::node_info)))));
  EXPECT_TRUE(answered);
}

}  // namespace freehca::fuzz
