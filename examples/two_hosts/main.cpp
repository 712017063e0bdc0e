// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Datagrams between two hosts, through port 1 of an adapter in each. On each host
//   two_hosts 0000:03:00.0
// prints a line with its address and reads the other host's line from its standard input. Copy the
// lines by hand, or use a pipe:
//   mkfifo back; two_hosts 0000:03:00.0 <back | ssh there two_hosts 0000:03:00.0 >back
// The result is written to standard error. On Ethernet each port has its link-local address. If an
// InfiniBand port has no subnet manager, the second argument is the LID of the port. With two
// adapters and two LIDs as arguments, one process is both hosts.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <freehca/blocking/session.hpp>

#include "peer_line.hpp"
#include "take_lid.hpp"

using namespace freehca;

namespace {

constexpr unsigned count = 16;
constexpr std::size_t grh = queues::grh_bytes, bytes = 256, slot = 512;

struct side {
  side(const char* pci_address, const char* taken)
      : session(pci_address), lid(static_cast<std::uint16_t>(std::atoi(taken))) {}

  blocking::session session;
  easy::adapter& hca = session.adapter();
  std::uint16_t lid;  // that the port shall have; 0: the subnet manager assigns it
  easy::memory memory{};
  easy::connection ud{};
};

/// Creates the queue pair and posts its receives. After this the other side may send.
status open(side& s) {
  const port_attributes& port = s.hca.hardware().port(1);
  if (port.link_layer == layouts::port_type::ethernet) {
    FREEHCA_TRY(s.session.wait(s.hca.open_ethernet()));
    while (s.hca.up() && !port.active()) s.session.turn();
  } else if (s.lid != 0) {
    FREEHCA_TRY(take_lid(s.session, s.lid));
  }
  FREEHCA_GET(s.memory, s.session.wait(s.hca.allocate(2 * count * slot)));
  FREEHCA_GET(s.ud, s.session.wait(s.hca.open_ud()));
  for (unsigned i = 0; i < count; ++i) {
    const queues::data_entry room = s.memory.part(i * slot, grh + bytes);
    FREEHCA_TRY(s.ud.post(queues::receive_request{.wr_id = i, .list = &room, .entries = 1}));
  }
  return {};
}

/// The byte that fills datagram `number` of the port `of`. It differs from datagram to datagram and
/// from port to port.
int filling(const easy::peer& of, std::uint64_t number) {
  return static_cast<int>((of.lid + of.mac) * count + number) & 0xff;
}

status send(side& s, const easy::peer& to) {
  FREEHCA_GET(const queues::address address, s.hca.address_of(s.ud, to));
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t at = (count + i) * slot;
    std::memset(s.memory.host + at, filling(s.ud.self, i), bytes);
    FREEHCA_TRY(
        s.ud.post(queues::send_datagram{.wr_id = i,
                                        .to = {.at = &address, .qpn = to.qpn, .qkey = to.qkey},
                                        .data = s.memory.part(at, bytes)}));
  }
  return {};
}

/// Waits until all datagrams of this side were sent and all of the other side have arrived.
status receive(side& s, const easy::peer& from) {
  for (unsigned n = 0; n < 2 * count; ++n) {
    auto next = s.hca.next(s.ud);
    next.set_deadline(s.hca.hardware().platform().now() +
                      clock::seconds(60));  // a datagram may be dropped
    FREEHCA_GET(const auto w, s.session.wait(next));
    if (!w.ok()) return transport_error::bad_reply;
    if (!w.is_receive()) continue;
    std::byte expected[bytes];
    std::memset(expected, filling(from, w.wr_id), bytes);
    if (w.source_qpn() != from.qpn || w.byte_count != grh + bytes ||
        std::memcmp(s.memory.host + w.wr_id * slot + grh, expected, bytes) != 0)
      return transport_error::bad_reply;
  }
  return s.session.wait(s.hca.tear_down());
}

status one(side& here) {
  FREEHCA_TRY(here.session.wait(here.hca.bring_up()));
  FREEHCA_TRY(open(here));
  FREEHCA_TRY(print_line(here.ud.self));
  easy::peer there;
  FREEHCA_TRY(scan_line(there));
  FREEHCA_TRY(send(here, there));
  return receive(here, there);
}

status both(side& here, side& there) {
  for (side* s : {&here, &there}) FREEHCA_TRY(s->session.wait(s->hca.bring_up()));
  for (side* s : {&here, &there}) FREEHCA_TRY(open(*s));
  FREEHCA_TRY(send(here, there.ud.self));
  FREEHCA_TRY(send(there, here.ud.self));
  FREEHCA_TRY(receive(here, there.ud.self));
  return receive(there, here.ud.self);
}

}  // namespace

int main(int argc, char** argv) {
  side here(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "0");
  std::optional<side> there;
  if (argc > 4) there.emplace(argv[3], argv[4]);
  for (side* s : {&here, there ? &*there : &here})
    if (const std::string& why = s->session.trouble(); !why.empty())
      return std::fprintf(stderr, "%s\n", why.c_str()), 1;
  const status outcome = there ? both(here, *there) : one(here);
  std::fprintf(stderr, "%u datagrams each way: %s\n", count, blocking::words(outcome).c_str());
  return outcome.ok() ? 0 : 1;
}
