// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A queue pair whose peer is the test: it makes each packet by hand and reads the answers from the
// port.
#pragma once

#include <optional>
#include <type_traits>

#include <freehca/layouts/headers.hpp>

#include "link/psn.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

using op = layouts::bth_operation;

/// A packet in pieces.
struct crafted {
  layouts::image<layouts::lrh> link;
  std::optional<layouts::image<layouts::grh>> route;
  layouts::image<layouts::bth> base;
  std::vector<std::byte> rest;  ///< extended headers and payload
  unsigned pad = 0;
  int words_more = 0;  ///< than there are, says the LRH

  template <class T>
  crafted& add(const layouts::image<T>& h) {
    rest.insert(rest.end(), h.data(), h.data() + T::bytes);
    return *this;
  }
  crafted& payload(std::size_t bytes) {
    rest.insert(rest.end(), bytes, std::byte{0x5a});
    return *this;
  }
  template <auto Field, class V>
  crafted& in_base(V value) {
    if constexpr (std::is_integral_v<V>) base.set<Field>(static_cast<std::uint64_t>(value));
    else base.set<Field>(value);
    return *this;
  }
  packet build() const {
    packet p;
    const auto append = [&p](const auto& h) {
      p.bytes.insert(p.bytes.end(), h.data(), h.data() + h.size());
    };
    auto l = link;
    const std::size_t bytes = layouts::lrh::bytes + (route ? layouts::grh::bytes : 0) +
                              layouts::bth::bytes + rest.size() + layouts::icrc_bytes;
    l.set<&layouts::lrh::packet_length>(
        static_cast<unsigned>(static_cast<int>(bytes / 4) + words_more));
    append(l);
    if (route) append(*route);
    append(
        layouts::image<layouts::bth>::from_bytes(base.data()).set<&layouts::bth::pad_count>(pad));
    p.bytes.insert(p.bytes.end(), rest.begin(), rest.end());
    return p;
  }
};

struct answer {
  op operation;
  layouts::image<layouts::aeth> header;
  std::uint32_t psn;
};

class peer_fixture : public transport_fixture {
 public:
  static constexpr std::uint64_t to = region_start + 0x20000;
  static constexpr std::uint32_t number = 0x160, peer = 0x222, first_psn = 0xfffff0;
  static constexpr std::uint16_t far_lid = 0x55;
  static constexpr std::uint32_t srqn = 71, xrcd = 9;
  static constexpr unsigned receives = 4;  ///< posted

  explicit peer_fixture(layouts::qp_service service)
      : transport_fixture(capturing(), std::make_unique<test_host>(64u << 20)),
        b(make_qp(number, service)) {
    host->on_packet = [this](unsigned, const std::vector<std::byte>& bytes) { look(bytes); };
    if (b.service == layouts::qp_service::xrc) {
      shared = make_srq_buffer(srqn);
      EXPECT_EQ(
          driver
              ->command_with(
                  layouts::opcode::sw2hw_srq,
                  srq_context(shared).set<&layouts::srqc::xrcd>(xrcd).set<&layouts::srqc::cqn>(cqn),
                  srqn)
              .status,
          layouts::command_status::ok);
      post_shared(shared, to, 4096);
    }
    connect();
    if (b.service != layouts::qp_service::xrc)
      for (unsigned i = 0; i < receives; ++i) post_receive(b, to, 2000, key);
    events(layouts::event_type::none);
  }

  void connect() {
    auto first = first_context(b);
    first.set<&layouts::qpc::xrcd>(xrcd);
    auto ready = ready_context(b, peer);
    ready.set<&layouts::primary_path::rlid>(far_lid).set<&layouts::primary_path::grh>(global);
    ready.set_bytes<&layouts::primary_path::rgid>(far_gid);
    EXPECT_EQ(modify(layouts::opcode::rst2init_qp, number, first), layouts::command_status::ok);
    EXPECT_EQ(modify(layouts::opcode::init2rtr_qp, number, ready), layouts::command_status::ok);
    EXPECT_EQ(modify(layouts::opcode::rtr2rts_qp, number, ready), layouts::command_status::ok);
  }
  /// From now on the path has a route header, and so have the packets.
  void go_global() {
    EXPECT_EQ(driver->command(layouts::opcode::to_rst_qp, 0, number, 2).status,
              layouts::command_status::ok);
    global = true;
    connect();
  }

  /// Headers as the peer sends them.
  crafted of(op operation) {
    crafted c;
    c.link
        .set<&layouts::lrh::lnh>(global ? layouts::link_next_header::iba_global
                                        : layouts::link_next_header::iba_local)
        .set<&layouts::lrh::dlid>(links().base_lid(1))
        .set<&layouts::lrh::slid>(far_lid);
    if (global) {
      std::byte own[16];
      links().gid(1, 0, own);
      c.route = layouts::image<layouts::grh>{}
                    .set<&layouts::grh::ip_version>(layouts::grh_ip_version)
                    .set<&layouts::grh::next_header>(layouts::grh_next_header_bth)
                    .set<&layouts::grh::hop_limit>(1)
                    .set_bytes<&layouts::grh::sgid>(far_gid)
                    .set_bytes<&layouts::grh::dgid>(own);
    }
    const auto transport = b.service == layouts::qp_service::xrc  ? layouts::bth_transport::xrc
                           : b.service == layouts::qp_service::uc ? layouts::bth_transport::uc
                           : b.service == layouts::qp_service::ud ? layouts::bth_transport::ud
                                                                  : layouts::bth_transport::rc;
    c.base.set<&layouts::bth::opcode>(layouts::make_bth_opcode(transport, operation))
        .set<&layouts::bth::migrated>(true)
        .set<&layouts::bth::pkey>(0xffff)
        .set<&layouts::bth::dest_qp>(number)
        .set<&layouts::bth::ack_req>(true)
        .set<&layouts::bth::psn>(psn);
    if (b.service == layouts::qp_service::xrc)
      c.add(layouts::image<layouts::xrceth>{}.set<&layouts::xrceth::xrc_srq>(srqn));
    if (b.service == layouts::qp_service::ud)
      c.add(layouts::image<layouts::deth>{}
                .set<&layouts::deth::qkey>(qkey)
                .set<&layouts::deth::source_qp>(peer));
    return c;
  }
  layouts::image<layouts::reth> range(std::uint32_t bytes) const {
    return layouts::image<layouts::reth>{}
        .set<&layouts::reth::virtual_address>(to)
        .set<&layouts::reth::rkey>(key)
        .set<&layouts::reth::dma_length>(bytes);
  }
  layouts::image<layouts::atomic_eth> operands() const {
    return layouts::image<layouts::atomic_eth>{}
        .set<&layouts::atomic_eth::virtual_address>(to)
        .set<&layouts::atomic_eth::rkey>(key);
  }
  crafted write(std::uint32_t bytes) {
    return of(op::rdma_write_only).add(range(bytes)).payload(bytes);
  }
  crafted send(std::uint32_t bytes) { return of(op::send_only).payload(bytes); }

  /// Delivers what must be taken before the packet at hand.
  void before(const crafted& c) {
    deliver(c);
    psn = psn_add(psn, 1);
    answers.clear();
    while (!no_completion()) driver->tell_consumer(cq);
    driver->tell_consumer(cq);
  }
  void deliver(const crafted& c) {
    links().receive_from_link(1, c.build());
    host->run();
  }
  std::uint64_t lost() const { return driver->counter_named("transport_packets_dropped"); }
  std::uint64_t seen() const { return driver->counter_named("port1_packets_received"); }

  bool global = false;
  std::vector<answer> answers;
  std::uint32_t psn = first_psn;
  test_qp b;
  test_srq shared;

 private:
  static options capturing() {
    options how = test_options();
    how.capture[0] = true;
    return how;
  }
  void look(const std::vector<std::byte>& bytes) {
    constexpr std::size_t trailer = layouts::icrc_bytes + 2;
    packet p;
    p.bytes.assign(bytes.begin(), bytes.end() - trailer);
    auto v = links().codec(1).unwrap(1, p);
    if (!v || v->destination() != peer) return;
    const op operation = layouts::operation_of(v->bth.get<&layouts::bth::opcode>());
    const auto header = v->take<layouts::aeth>();
    if (header) answers.push_back({operation, *header, v->psn()});
  }
  std::byte far_gid[16] = {std::byte{0xfe}, std::byte{0x80}, std::byte{}, std::byte{}, std::byte{},
                           std::byte{},     std::byte{},     std::byte{}, std::byte{7}};
};

}  // namespace freehca::model::test
