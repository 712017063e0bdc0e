// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What an Ethernet port does with packets of RDMA: they leave and arrive in frames.
#include <string>
#include <utility>

#include "link/packet_receiver.hpp"
#include "link/roce_wire.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

void ethernet_port::transmit(packet p) {
  a_.account.charge_check(p.bytes.size());
  frame f = to_frame(p);
  f.priority = p.priority;
  a_.links->buffers().give(p);
  const auto s = frame_summary::of(f.bytes);
  if (s.multicast()) loop_to_members(f);
  if (!s.multicast() && mac_index(s.destination)) loop_back(std::move(f));
  else transmit(std::move(f));
}

// A switch does not send a multicast frame back: the adapter delivers to its own members. What it
// sent is counted once, where it leaves.
void ethernet_port::loop_to_members(const frame& f) {
  if (!open_ || f.bytes.size() > frame_bytes_most()) return;
  a_.account.charge(work_account::packet);
  ++looped_back_;
  work_.soon(number_, {.kind = looped_to_members, .generation = generation_, .bytes = f.bytes});
}

bool ethernet_port::taken_as_rdma_packet(const frame& f) {
  if (!is_roce_of(f.bytes, number_, *a_.links)) return false;
  packet p;
  std::string why;
  a_.account.charge_check(f.bytes.size());
  if (from_frame(f.bytes, p, why) == roce_arrival::good) {
    a_.above_ports->receive(number_, p);
    return true;
  }
  counters_.dropped();
  discarded("of RoCE that came, RDROP", frame_summary::of(f.bytes), why.c_str());
  return true;
}

void ethernet_port::receive_from_link(packet p) {
  arrived(to_frame(p).bytes);
}

bool ethernet_port::held_up(const path& way) const {
  return full(way.queue_priority) && !mac_index(way.dmac);
}

void ethernet_port::capture(const packet& p) {
  if (captures(a_.how, number_, layer())) capture(to_frame(p));
}

}  // namespace freehca::model
