// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "hostile_station.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <freehca/layouts/flow_rule.hpp>
#include <freehca/layouts/mcg.hpp>

#include "basis/capabilities.hpp"

namespace freehca::fuzz {

using layouts::command_status;
using layouts::image;
using layouts::opcode;
using layouts::primary_path;
using layouts::qp_service;
using layouts::qpc;
using layouts::set_port_selector;
using model::capability;

namespace {

constexpr unsigned ethernet_modifier = 1;  // of SET_PORT
constexpr unsigned own_end = 1, far_end = 2;
constexpr unsigned per_ring = 16;
constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint16_t entropy = 0xc321;

}  // namespace

std::optional<model::roce_address> far_addresses::gid_at(unsigned, unsigned index) const {
  if (index < at_v1 || index > at_v2_ipv4) return std::nullopt;
  return model::roce_address{gid_of_end(far_end, index),
                             index == at_v1 ? model::roce_version::v1 : model::roce_version::v2,
                             index == at_v2_ipv6};
}

bool far_addresses::own_gid(unsigned, const std::byte* asked, model::roce_version) const {
  return std::any_of(asked, asked + 16, [](std::byte b) { return b != std::byte{0}; });
}

hostile_station::hostile_station(const model::options& how, model::test::steering multicast)
    : hostile_guest(how, multicast, 1),
      roce_(offered(capability::roce)),
      roce_v2_(offered(capability::roce_v2)),
      spreads_(offered(capability::receive_side_scaling)),
      own_mac_(how.mac),
      far_options_(how),
      far_clock_(*host),
      far_rules_(*host, far_clock_, far_options_),
      far_codec_(far_rules_, far_, far_buffers_) {
  host->on_wire = [this](unsigned port, std::vector<std::byte>& bytes) {
    if (port == cabled_port) seen(bytes);
  };
  fill_tables();
  EXPECT_EQ(driver->command(opcode::init_port, 0, cabled_port).status, command_status::ok);
  host->advance(second);
  make_rings();
  make_roce();
  steer();
  expect_frame();
}

void hostile_station::fill_tables() {
  const auto set = [this](set_port_selector selector) {
    ASSERT_EQ(
        driver
            ->command(opcode::set_port, driver->input,
                      layouts::set_port_input_modifier(selector, cabled_port), ethernet_modifier)
            .status,
        command_status::ok);
  };
  for (const auto selector :
       {set_port_selector::general, set_port_selector::mac_table, set_port_selector::vlan_table,
        roce_v2_ ? set_port_selector::roce_addr : set_port_selector::gid_table}) {
    if (selector == set_port_selector::gid_table && !roce_) continue;
    fill_settings(selector);
    set(selector);
  }
}

image<qpc> hostile_station::frame_context(const test_qp& qp) {
  image<qpc> c = first_context(qp);
  c.set<&qpc::pm_state>(layouts::path_migration::armed)
      .set<&primary_path::sched_queue>(layouts::sched_queue_ethernet(cabled_port, 0))
      .set<&primary_path::link_type>(layouts::path_link::ethernet)
      .set<&primary_path::counter_index>(0xff);
  // No limit but the port's.
  return c.set<&qpc::mtu>(static_cast<layouts::ib_mtu>(7)).set<&qpc::msg_max>(31);
}

image<qpc> hostile_station::roce_context(const test_qp& qp, std::uint32_t remote, unsigned index,
                                         std::uint64_t dmac, const gid_bytes& dgid) {
  image<qpc> c = ready_context(qp, remote);
  c.set<&primary_path::sched_queue>(layouts::sched_queue_ethernet(cabled_port, 3))
      .set<&primary_path::rlid>(0)
      .set<&primary_path::grh>(true)
      .set<&primary_path::link_type>(layouts::path_link::ethernet)
      .set<&primary_path::mgid_index>(index)
      .set<&primary_path::hop_limit>(64)
      .set_bytes<&primary_path::rgid>(dgid.data())
      .set<&primary_path::dmac>(dmac);
  return c.set<&qpc::roce>(index == at_v1 ? layouts::roce_mode::v1 : layouts::roce_mode::v2)
      .set<&qpc::roce_entropy>(entropy);
}

image<qpc> hostile_station::context_for(const test_qp& qp) {
  if (qp.service == qp_service::mlx) return frame_context(qp);
  if (qp.number == pairs[3].number)
    return roce_context(qp, qp.number, at_v1, own_mac_, gid_of_end(own_end, at_v1));
  const unsigned index = roce_v2_ ? at_v1 + qp.number % 3 : at_v1;
  return roce_context(qp, qp.number | far_number, index, far_addresses::mac,
                      gid_of_end(far_end, index));
}

std::optional<command_status> hostile_station::to_ready(const test_qp& qp, const image<qpc>& c) {
  for (const opcode o : {opcode::rst2init_qp, opcode::init2rtr_qp, opcode::rtr2rts_qp})
    if (const auto status = modify(o, qp.number, c); status != command_status::ok) return status;
  return std::nullopt;
}

void hostile_station::make_rings() {
  for (unsigned i = 0; i < std::size(rings_); ++i) {
    rings_[i] = make_qp(first_ring + i, qp_service::mlx);
    ASSERT_FALSE(to_ready(rings_[i], frame_context(rings_[i])));
    for (unsigned n = 0; n < per_ring; ++n)
      post_receive(rings_[i], region_start + 0x40000 + n * 4096, 4096, key);
  }
  for (unsigned i = 0; i < 2; ++i) {
    pairs[i] = make_qp(first_ring + 4 + i, qp_service::mlx);
    ASSERT_FALSE(to_ready(pairs[i], frame_context(pairs[i])));
  }
  spreader_ = make_qp(spreader_number, qp_service::mlx);
  if (!spreads_) return;
  using r = layouts::rss_context;
  image<r> rss;
  std::byte hash_key[40];
  for (unsigned i = 0; i < sizeof hash_key; ++i) hash_key[i] = pattern(i, 3);
  rss.set<&r::log_size>(2).set<&r::base_qpn>(first_ring).set<&r::default_qpn>(first_ring);
  // Each kind of hash on some adapters.
  rss.set<&r::hash>(hca->how().kind == model::variant::connectx3 ? layouts::rss_hash::exclusive_or
                                                                 : layouts::rss_hash::toeplitz);
  rss.set<&r::ipv4>(true).set<&r::ipv6>(true);
  rss.set<&r::tcp_ipv4>(true).set<&r::tcp_ipv6>(true).set<&r::udp_ipv4>(true);
  rss.set<&r::base_qpn_udp>(first_ring).set_bytes<&r::key>(hash_key);
  image<qpc> c = frame_context(spreader_).set<&qpc::rss>(true);
  c.set<&qpc::log_rq_size>(0).set<&qpc::log_rq_stride>(0).set<&qpc::log_sq_size>(0);
  std::memcpy(c.data() + layouts::rss_context_offset, rss.data(), r::bytes);
  ASSERT_FALSE(to_ready(spreader_, c));
}

// A connection and datagrams to this end itself, the rest to the far end.
void hostile_station::make_roce() {
  pairs[2] = make_qp(first_ring + 6, qp_service::ud);
  pairs[3] = make_qp(first_ring + 7, qp_service::rc);
  std::uint32_t number = first_number;
  for (const auto service : {qp_service::rc, qp_service::rc, qp_service::ud, qp_service::uc}) {
    cabled_end& end = cabled[number - first_number];
    end.next_psn = end.requested = 0xfffff0;  // as ready_context() has it
    end.qp = make_qp(number++, service);
  }
  if (!roce_) return;
  for (test_qp* qp :
       {&pairs[2], &pairs[3], &cabled[0].qp, &cabled[1].qp, &cabled[2].qp, &cabled[3].qp}) {
    ASSERT_FALSE(to_ready(*qp, context_for(*qp)));
    for (unsigned n = 0; n < per_ring; ++n)
      post_receive(*qp, region_start + 0x60000 + n * 4096, 4096, key);
  }
}

// By whatever means the adapter has: A0's calculation, promiscuous groups of B0, a rule.
void hostile_station::steer() {
  fill_settings(set_port_selector::rqp_calc);
  static_cast<void>(
      driver->command(opcode::set_port, driver->input,
                      layouts::set_port_input_modifier(set_port_selector::rqp_calc, cabled_port),
                      ethernet_modifier));
  if (driver->multicast == model::test::steering::by_rules) {
    const std::uint32_t words = fill_rule();
    ASSERT_EQ(driver->command(opcode::qp_flow_steering_attach, driver->input, words).status,
              command_status::ok);
    return;
  }
  for (const auto of : {layouts::mcg_steering::unicast, layouts::mcg_steering::multicast}) {
    using h = layouts::mcg_header;
    using p = layouts::mcg_promiscuous_modifier;
    std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
    put_in_mailbox(
        image<h>{}.set<&h::protocol>(layouts::mcg_protocol::ethernet).set<&h::members_count>(1));
    put_in_mailbox(image<layouts::mcg_member>{}.set<&layouts::mcg_member::qpn>(
                       spreads_ ? spreader_number : first_ring),
                   h::bytes);
    const auto place = image<p>{}.set<&p::port>(cabled_port).set<&p::steering>(of);
    static_cast<void>(driver->command(opcode::write_mcg, driver->input,
                                      layouts::load_be<std::uint32_t>(place.data()), 1));
  }
}

// Else the inputs would say nothing of receive rings.
void hostile_station::expect_frame() {
  std::vector<std::byte> frame(60);
  layouts::store_be<std::uint64_t>(frame.data(), own_mac_ << 16);
  layouts::store_be<std::uint16_t>(frame.data() + 12, layouts::ethertype::arp);
  arrives(frame);
  image<layouts::cqe> done;
  EXPECT_TRUE(driver->next_completion(cq, done));
  driver->tell_consumer(cq);
}

// From the beginning, whatever state it is in.
void hostile_station::revive() {
  test_qp& qp = some_queue_pair();
  driver->post(opcode::to_rst_qp, 0, qp.number, 2, 0, 1, false);
  host->run();
  qp.sent = qp.received = 0;
  for (const opcode o : {opcode::rst2init_qp, opcode::init2rtr_qp, opcode::rtr2rts_qp}) {
    layouts::image<layouts::qp_mailbox> m;
    std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
    put_in_mailbox(m.set_bytes<&layouts::qp_mailbox::context>(context_for(qp).data()));
    damage(host->at(driver->input), 256, 2);
    driver->post(o, driver->input, qp.number, 0, 0, 1, false);
    host->run();
  }
}

void hostile_station::replenish() {
  const std::uint8_t kind = script.byte();
  test_qp& ring = rings_[kind % std::size(rings_)];
  for (unsigned n = 0; n < 4; ++n)
    post_receive(ring, region_start + script.byte() * 4096u,
                 kind < 0xe0 ? kind * 48u : number() & 0x7fffffff, kind < 0xf0 ? key : number());
}

// Of a VPI port; any other refuses it.
void hostile_station::change_port_type() {
  const std::uint8_t kind = script.byte();
  std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
  if (kind % 2 == 0) fill_settings(set_port_selector::general);
  damage(host->at(driver->input), 64, kind / 64);
  driver->post(opcode::set_port, driver->input, cabled_port, kind % 2 == 0, 0, kind, false);
  host->run();
  if (kind % 4 < 2) driver->post(opcode::init_port, 0, cabled_port, 0, 0, kind, false);
  host->run();
  if (kind % 8 < 4) let_pass(second / 2);
}

void hostile_station::act() {
  const std::uint8_t what = script.byte();
  if (what < 0x48) return hostile_guest::act();
  if (what < 0x78) return send_frame();
  if (what < 0xa8) return act_at_cable(script.byte());
  if (what < 0xd8) return setting();
  if (what < 0xe4) return send_roce();
  if (what < 0xe8) return change_port_type();
  if (what < 0xec) return copy_to_blueflame();
  if (what < 0xf4) return revive();
  replenish();
}

}  // namespace freehca::fuzz
