// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "rally.hpp"

#include <freehca/bare/console.hpp>
#include <freehca/bare/machine.hpp>

namespace freehca::bare {

namespace {

constexpr unsigned round_trips = 50;
constexpr std::uint64_t message_limit = clock::seconds(5);
constexpr std::uint8_t receiver_not_ready = 12;  // 0.64 ms (IBTA)

}  // namespace

status rally::play() {
  FREEHCA_TRY(play_service(layouts::qp_service::rc));
  return play_service(layouts::qp_service::ud);
}

status rally::play_service(layouts::qp_service service) {
  service_ = service;
  doing_ = "making queue pairs";
  FREEHCA_TRY(open());
  doing_ = datagrams() ? "UD ping-pong" : "RC ping-pong";
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{1024}, most_bytes()})
    FREEHCA_TRY(play_size(bytes));
  doing_ = "taking queue pairs back";
  return close();
}

status rally::play_size(std::size_t bytes) {
  const std::uint64_t began = machine::now();
  for (unsigned i = 0; i < round_trips; ++i) {
    FREEHCA_TRY(hit(sides_[0], sides_[1], bytes));
    FREEHCA_TRY(hit(sides_[1], sides_[0], bytes));
  }
  const std::uint64_t took = machine::now() - began;
  line to(service_name());
  to << 2 * round_trips << " messages of " << bytes << " bytes verified, ";
  to.seconds(took / round_trips) << " for each round trip";
  return {};
}

status rally::hit(side& from, side& to, std::size_t bytes) {
  ++number_;
  FREEHCA_TRY(receive(to, bytes));
  fill(outgoing(from), bytes, number_);
  FREEHCA_TRY(send(from, qpn_of(verbs_, to.pair), datagram_key, bytes));
  FREEHCA_TRY(await(from));
  FREEHCA_TRY(await(to));
  return check(to, bytes, came_.byte_count, number_);
}

/// Waits for the next completion of a side. It must be that of the present message.
status rally::await(const side& at) {
  FREEHCA_TRY(players::await(at, message_limit));
  return came_.wr_id == number_ ? status() : complain("the wrong request completed");
}

status rally::open() {
  for (side& s : sides_) FREEHCA_TRY(open_side(s));
  for (unsigned i = 0; i < 2; ++i) FREEHCA_TRY(connect(i));
  return datagrams() ? make_way(hca_.port(port_).lid) : status();
}

status rally::connect(unsigned i) {
  const port_attributes& port = hca_.port(port_);
  connection_attributes a;
  a.qkey = datagram_key;
  a.path_mtu = port.active_mtu;
  a.min_rnr_timer = receiver_not_ready;
  a.remote_qpn = qpn_of(verbs_, sides_[1 - i].pair);
  a.receive_psn = 0x100 + i;
  a.send_psn = 0x101 - i;
  infiniband_path& path = *a.address.infiniband();
  path.port = port_;
  path.dlid = port.lid;
  return players::connect(sides_[i], a);
}

status rally::close() {
  for (side& s : sides_) FREEHCA_TRY(close_side(s));
  return close_domain();
}

}  // namespace freehca::bare
