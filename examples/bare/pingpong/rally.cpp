// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "rally.hpp"

#include <freehca/bare/console.hpp>
#include <freehca/layouts/ib_types.hpp>

#include "bring_up.hpp"

namespace freehca::bare {

namespace {

constexpr std::size_t grh_bytes = 40;
constexpr unsigned round_trips = 50;
constexpr std::uint64_t message_limit = clock::seconds(5);
constexpr std::byte beyond{0xe5};

/// A pattern that no other message has, and no other place in it.
std::byte pattern(std::uint64_t number, std::size_t i) {
  return static_cast<std::byte>(i * 7 + (i >> 8) + number);
}

void fill(std::byte* at, std::size_t bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = pattern(number, i);
}

bool holds(const std::byte* at, std::size_t bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (at[i] != pattern(number, i)) return false;
  return true;
}

}  // namespace

status rally::play() {
  const auto mtu = static_cast<std::size_t>(layouts::mtu_bytes(hca_.port(port_).active_mtu));
  FREEHCA_TRY(play_service(layouts::qp_service::rc, side_bytes / 2 - 1));
  return play_service(layouts::qp_service::ud, mtu);
}

status rally::play_service(layouts::qp_service service, std::size_t largest) {
  service_ = service;
  doing_ = "making queue pairs";
  FREEHCA_TRY(open());
  doing_ = datagrams() ? "UD ping-pong" : "RC ping-pong";
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{1024}, largest})
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
  line to(datagrams() ? "UD" : "RC");
  to << 2 * round_trips << " messages of " << bytes << " bytes verified, ";
  to.seconds(took / round_trips) << " for each round trip";
  return {};
}

status rally::hit(side& from, side& to, std::size_t bytes) {
  ++number_;
  // A datagram's first 40 bytes are for a header that others may have.
  const std::size_t ahead = datagrams() ? grh_bytes : 0;
  const std::size_t room = ahead + bytes;
  std::byte* const arrives = to.memory.host + side_bytes / 2;
  for (std::size_t i = 0; i <= room; ++i) arrives[i] = beyond;
  fill(from.memory.host, bytes, number_);
  const queues::data_entry into{side_bytes / 2, static_cast<std::uint32_t>(room), to.key};
  FREEHCA_TRY(verbs_.find(to.pair)->rings.receive.post_and_ring(
      queues::receive_request{number_, &into, 1}));
  FREEHCA_TRY(post(from, to, bytes));
  FREEHCA_TRY(await(from));
  FREEHCA_TRY(await(to));
  if (came_.byte_count != room) return complain("another length arrived");
  if (!holds(arrives + ahead, bytes, number_)) return complain("other bytes arrived");
  if (arrives[room] != beyond) return complain("a byte behind the message was written");
  return {};
}

status rally::post(side& from, const side& to, std::size_t bytes) {
  queues::sq& queue = verbs_.find(from.pair)->rings.send;
  const queues::data_entry what{0, static_cast<std::uint32_t>(bytes), from.key};
  if (!datagrams()) return queue.post_and_ring(queues::send{.wr_id = number_, .data = what});
  return queue.post_and_ring(queues::send_datagram{
      .wr_id = number_,
      .to = {&verbs_.find(way_)->address, qpn_of(verbs_, to.pair), datagram_key},
      .data = what});
}

/// The next completion of a side, which is of the message under way.
status rally::await(const side& at) {
  const std::uint64_t limit = clock::after(machine::now(), message_limit);
  while (verbs_.find(at.completions)->rings.poll(&came_, 1) == 0) {
    verbs_.poll();
    if (!hca_.up()) return transport_error::gone;
    if (machine::now() >= limit) return transport_error::timeout;
    machine::pause();
  }
  if (!came_.ok()) return complain(queues::name_of(came_.status));
  return came_.wr_id == number_ ? status() : complain("the wrong request completed");
}

status rally::complain(const char* what) {
  wrong_ = what;
  return transport_error::bad_reply;
}

}  // namespace freehca::bare
