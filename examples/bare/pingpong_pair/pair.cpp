// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Source of the other side's behaviour: rdma-core libibverbs/examples/rc_pingpong.c and
// ud_pingpong.c.
#include "pair.hpp"

#include <freehca/bare/console.hpp>
#include <freehca/bare/machine.hpp>

namespace freehca::bare {

namespace {

// Values of pp_connect_ctx, pp_init_ctx and usage in both programs.
constexpr std::uint32_t datagram_key = 0x1111'1111;
constexpr auto connection_mtu = layouts::ib_mtu::mtu_1024;
constexpr std::uint8_t receiver_not_ready = 12;
constexpr std::byte full_of{0x7b};
constexpr std::size_t smallest_page = 4096;

constexpr std::uint64_t message_limit = clock::seconds(5);
// Time for a person to type the address in at the other side.
constexpr std::uint64_t first_message_limit = clock::seconds(60);
constexpr std::uint32_t psns = 0x100'0000;

}  // namespace

status pair::open(layouts::qp_service service) {
  service_ = service;
  doing_ = "making a queue pair";
  FREEHCA_TRY(open_side(side_));
  open_ = true;
  number_ = arrived_ = departed_ = 0;
  psn_ = static_cast<std::uint32_t>(machine::now() % psns);
  return {};
}

pair_address pair::address() const {
  return {hca_.port(port_).lid, qpn_of(verbs_, side_.pair), psn_};
}

status pair::meet(const pair_order& o) {
  doing_ = "connecting the queue pair";
  answered_ = o.client;
  connection_attributes a;
  a.qkey = datagram_key;
  a.path_mtu = connection_mtu;
  a.min_rnr_timer = receiver_not_ready;
  a.remote_qpn = o.to.qpn;
  a.receive_psn = o.to.psn;
  a.send_psn = psn_;
  a.address = infiniband_path{.port = port_, .dlid = o.to.lid};
  FREEHCA_TRY(connect(side_, a));
  if (datagrams()) FREEHCA_TRY(make_way(o.to.lid));
  return receive(side_, o.size);
}

status pair::play(const pair_order& o) {
  doing_ = datagrams() ? "UD ping-pong" : "RC ping-pong";
  const std::uint64_t began = machine::now();
  FREEHCA_TRY(o.client ? play_client(o) : play_server(o));
  line to(service_name());
  to << o.count << " messages of " << o.size << " bytes each way verified, ";
  to.seconds((machine::now() - began) / o.count) << " for each round trip";
  return {};
}

status pair::play_client(const pair_order& o) {
  for (std::uint32_t i = 1; i <= o.count; ++i) {
    FREEHCA_TRY(hit(o, i));
    FREEHCA_TRY(until_arrived(i));
    FREEHCA_TRY(check(side_, o.size, bytes_, i));
    if (i != o.count) FREEHCA_TRY(receive(side_, o.size));
    FREEHCA_TRY(until_departed(i));
  }
  return {};
}

/// An image fills each message with its own pattern. The programs of rdma-core have one buffer for
/// both directions, so each of their messages is a copy of the last message of this side.
status pair::play_server(const pair_order& o) {
  std::uint32_t behind = 0;
  for (std::uint32_t i = 1; i <= o.count; ++i) {
    FREEHCA_TRY(until_arrived(i));
    if (i == 1 && is_first_of_ibv(o.size)) behind = 1;
    else FREEHCA_TRY(check(side_, o.size, bytes_, i - behind));
    if (i != o.count) FREEHCA_TRY(receive(side_, o.size));
    FREEHCA_TRY(hit(o, i));
    FREEHCA_TRY(until_departed(i));
  }
  return {};
}

/// Whether the arrived message is the first one of a program of rdma-core. Its buffer is filled
/// with `full_of`; with the option -c the first byte of each page is zero.
bool pair::is_first_of_ibv(std::size_t bytes) const {
  if (bytes_ != header_bytes() + bytes) return false;
  const std::byte* const at = incoming(side_);
  for (std::size_t i = 0; i < bytes; ++i)
    if (at[i] != full_of && (i % smallest_page != 0 || at[i] != std::byte{0})) return false;
  return true;
}

status pair::hit(const pair_order& o, std::uint32_t number) {
  number_ = number;
  fill(outgoing(side_), o.size, number);
  return send(side_, o.to.qpn, datagram_key, o.size);
}

/// Waits for one completion. Sends and receives share the completion queue, and a message may
/// arrive before the acknowledgement of the message that it answers.
status pair::next() {
  FREEHCA_TRY(await(side_, answered_ ? message_limit : first_message_limit));
  if (came_.opcode != queues::work_opcode::receive) {
    ++departed_;
    return {};
  }
  answered_ = true;
  ++arrived_;
  bytes_ = came_.byte_count;
  return {};
}

status pair::until_arrived(std::uint32_t count) {
  while (arrived_ < count) FREEHCA_TRY(next());
  return {};
}

status pair::until_departed(std::uint32_t count) {
  while (departed_ < count) FREEHCA_TRY(next());
  return {};
}

status pair::close() {
  doing_ = "taking the queue pair back";
  if (!open_) return {};
  FREEHCA_TRY(close_side(side_));
  FREEHCA_TRY(close_domain());
  open_ = false;
  return {};
}

}  // namespace freehca::bare
