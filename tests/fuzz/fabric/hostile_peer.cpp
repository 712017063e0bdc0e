// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Ports of a fabric, and a peer that writes over their shared file between their operations and
// during them. Each operation returns, stays within its memory and gives out packets of an allowed
// length alone. When the peer is gone, the ports reach each other again. If the peer has written
// over addresses, they have to leave and to join first.
//
// Left out are a peer that truncates the file (SIGBUS, see fabric_port), and one that holds
// create_lock (each call that joins or leaves then takes ten seconds).
#include "../check.hpp"
#include "../try_input.hpp"
#include "disturbance.hpp"
#include "honest_ports.hpp"
#include "hostile_file.hpp"
#include "ring_word.hpp"

namespace freehca::fuzz {

using namespace wires::shm;

namespace {

constexpr unsigned most_steps = 200, rounds_of_race = 24;

using reach = hostile_file::reach;

// One honest port takes or sends, again and again, while a word that it reads changes back and
// forth. Before each round the ring to the port is made new with a record at its beginning.
void race(input& from, honest_ports& ports, hostile_file& file) {
  const unsigned how = from.byte(), which = how / 8 % honest_ports::most;
  if (!ports.present(which)) return;
  const unsigned own = ports.port(which).slot(), other = hostile_file::slot_of(from);
  control_part& control = file.control();
  ring_control& ring = control.rings[own][other];
  const auto begin = [&](unsigned count) {
    const ring_word lives =
        ring_word::of(control.slot[other].life.load(), control.slot[own].life.load());
    ring.head = lives.value | std::uint64_t{count % 256} << 24 | 600;
    control.slot[own].talkers |= std::uint64_t{1} << other;
  };
  const auto at = [](auto& word) { return reinterpret_cast<std::uint64_t*>(&word); };
  std::uint64_t* const words[] = {reinterpret_cast<std::uint64_t*>(file.ring(own, other)),
                                  at(ring.head), at(control.rings[other][own].tail),
                                  at(control.slot[own].talkers)};
  const unsigned raced = how % 4;
  begin(0);
  const std::uint64_t a = raced == 0 ? 8 + from.byte() * 16u : *words[raced];
  disturbance::get().begin(words[raced], a, hostile_word(from, a));
  for (unsigned i = 1; i <= rounds_of_race; ++i) {
    if (raced != 1) begin(i);
    if (raced == 2) {
      std::byte packet[64] = {};
      const std::uint32_t lid = control.slot[other].lid;
      packet[2] = static_cast<std::byte>(lid >> 8);
      packet[3] = static_cast<std::byte>(lid);
      ports.port(which).send(packet, sizeof packet);
    }
    if (!ports.receive(which).empty()) ports.release(which);
  }
  disturbance::get().end();
}

void check_that_ports_reach_each_other(honest_ports& ports) {
  for (unsigned a = 0; a < honest_ports::most; ++a) ports.drain(a);
  for (unsigned a = 0; a < honest_ports::most; ++a)
    for (unsigned b = 0; b < honest_ports::most; ++b)
      check(a == b || ports.reaches(a, b), "a port does not reach another one");
}

}  // namespace

void try_input(input from) {
  hostile_file& file = hostile_file::get();
  constexpr unsigned everything = 1, races = 2, ethernet = 0x40;
  const unsigned kind = from.byte();
  const auto link =
      (kind & ethernet) != 0 ? wires::link_layer::ethernet : wires::link_layer::infiniband;
  file.renew(link);
  honest_ports ports(file.name(), link);
  ports.join_all();
  const reach where = (kind & everything) != 0 ? reach::all : reach::healed;
  for (unsigned step = 0; step < most_steps && !from.empty(); ++step) {
    const unsigned what = from.byte();
    if (what < 0x70) file.write(from, where);
    else if (what >= 0xf0 && (kind & races) != 0) race(from, ports, file);
    else ports.operate(from);
  }
  if (where == reach::all) ports.leave_all();
  ports.join_all();
  check_that_ports_reach_each_other(ports);
}

}  // namespace freehca::fuzz
