// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Sends a hundred Ethernet frames to itself through a network interface: the adapter gives them
// back, and they leave by the cable too.
// Usage: frames 0000:03:00.0
#include <cstdio>
#include <cstring>

#include <freehca/blocking/session.hpp>
#include <freehca/hca/ethernet/port_type.hpp>
#include <freehca/hca/every_kind.hpp>
#include <freehca/network/interface.hpp>

using namespace freehca;

namespace {

constexpr network::interface_setup rings{.receives = 16, .sends = 16};
constexpr std::size_t frame_bytes = 1000, slot_bytes = 1024;
constexpr unsigned frames = 100;
constexpr std::uint64_t most_time = clock::seconds(30);

/// A VPI port can become an Ethernet port.
status make_ethernet(blocking::session& session) {
  device& adapter = session.adapter().hardware();
  if (adapter.port(1).link_layer == layouts::port_type::ethernet) return {};
  set_port_type change;
  change.start(adapter, 1, layouts::port_type::ethernet);
  return session.wait(change);
}

/// A frame from this adapter to itself, of an EtherType for experiments (IEEE 802).
void write_frame(std::byte* to, std::uint64_t mac, unsigned number) {
  for (unsigned i = 0; i < 12; ++i) to[i] = static_cast<std::byte>(mac >> 8 * (5 - i % 6) & 0xff);
  to[12] = std::byte{0x88};
  to[13] = std::byte{0xb5};
  std::memset(to + 14, static_cast<int>(number), frame_bytes - 14);
}

/// Returns the number of frames that have come back.
result<unsigned> exchange(blocking::session& session, network::interface& nic, std::byte* slots) {
  const platform& host = session.adapter().hardware().platform();
  const std::uint64_t end = clock::after(host.now(), most_time);
  unsigned sent = 0, received = 0, wrong = 0;
  while (received < frames) {
    if (!nic.working()) return status(driver_error::bad_state);
    if (host.now() >= end) return status(transport_error::timeout);
    std::uint64_t cookies[16];
    while (nic.reap(0, cookies, 16) != 0) continue;
    for (; sent < frames && sent - received < rings.receives && nic.outstanding(0) < rings.sends;
         ++sent) {
      std::byte* const frame = slots + sent % rings.sends * slot_bytes;
      write_frame(frame, nic.mac(), sent);
      const queues::data_entry piece = nic.entry(frame, frame_bytes);
      FREEHCA_TRY(nic.send(0, {.pieces = {&piece, 1}, .options = {.loopback_mac = nic.mac()}}));
    }
    network::received_buffer got[16];
    const unsigned n = nic.receive(0, got, 16);
    for (unsigned i = 0; i < n; ++i, ++received)
      wrong += got[i].length != frame_bytes || got[i].at[14] != static_cast<std::byte>(received);
    FREEHCA_TRY(nic.release(0, got, n));
    if (n != 0) continue;
    nic.arm();  // the next completion ends the sleep
    session.turn();
    if (session.host().interrupted()) return status(driver_error::cancelled);
  }
  return wrong == 0 ? result<unsigned>(received) : result<unsigned>(transport_error::bad_reply);
}

status run(blocking::session& session, unsigned& received) {
  easy::adapter& hca = session.adapter();
  FREEHCA_TRY(session.wait(hca.bring_up()));
  FREEHCA_TRY(make_ethernet(session));
  const std::size_t buffers = network::interface::receive_bytes(rings);
  FREEHCA_GET(const dma_region memory,
              hca.hardware().arena().allocate(buffers + rings.sends * slot_bytes));
  network::interface_setup setup = rings;
  setup.memory = memory.host;
  setup.pages = page_list(memory, 12);
  network::interface nic;
  network::interface_operation change;
  change.up(nic, hca.objects(), setup);
  FREEHCA_TRY(session.wait(change));
  const auto exchanged = exchange(session, nic, memory.host + buffers);
  if (exchanged.ok()) received = exchanged.value();
  change.restart();
  change.down(nic);
  FREEHCA_TRY(session.finish(change));
  hca.hardware().arena().free(memory);
  FREEHCA_TRY(session.wait(hca.tear_down()));
  return exchanged.ok() ? status() : exchanged.error();
}

}  // namespace

int main(int argc, char** argv) {
  blocking::session session(
      argc > 1 ? argv[1] : "",
      {.budget = {}, .objects = network::interface::with_objects(every_kind(), rings)});
  if (!session.trouble().empty()) return std::fprintf(stderr, "%s\n", session.trouble().c_str()), 1;
  unsigned received = 0;
  const status outcome = run(session, received);
  std::printf("%u frames: %s\n", received, session.words(outcome).c_str());
  return outcome.ok() ? 0 : 1;
}
