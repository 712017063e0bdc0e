// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "hostile_guest.hpp"

#include <algorithm>
#include <cstring>

#include "works_after_reset.hpp"

namespace freehca::fuzz {

using layouts::qp_service;
using model::test::test_driver;
using model::test::test_send;

namespace {

/// What the adapter is lent, twice (once more to show that it works afterwards), and the queues.
constexpr std::size_t host_memory = 40u << 20;

}  // namespace

hostile_guest::hostile_guest(const model::options& how, model::test::steering multicast,
                             unsigned port)
    : transport_fixture(how, std::make_unique<model::test::test_host>(host_memory), multicast),
      cabled_port(port) {
  std::size_t i = 0;
  for (const std::uint64_t each :
       {std::uint64_t{key}, std::uint64_t{300}, std::uint64_t{cqn}, std::uint64_t{eqn},
        std::uint64_t{pd}, std::uint64_t{qkey}, region_start, region_start + 0x3ff000,
        std::uint64_t{0xffffffff}, std::uint64_t{0x80000000}, std::uint64_t{0xffffff},
        std::uint64_t{0x40000001}})
    known[i++] = each;
}

hostile_guest::hostile_guest(const model::options& how)
    : hostile_guest(how, model::test::steering::by_groups, 2) {
  std::uint32_t qpn = 0x100;
  for (const auto service : {qp_service::rc, qp_service::rc, qp_service::ud, qp_service::mlx})
    pairs[qpn - 0x100] = make_qp(qpn, service), ++qpn;
  to_rts(pairs[0], pairs[1].number);
  to_rts(pairs[1], pairs[0].number);
  to_rts(pairs[2], 0);
  to_rts(pairs[3], 0);
  for (unsigned i = 0; i < 16; ++i)
    for (test_qp& qp : pairs) post_receive(qp, region_start + 0x40000 + i * 4096, 4096, key);
  lay_cable();
}

std::uint32_t hostile_guest::number() {
  const std::uint8_t kind = script.byte();
  if (kind < 0x80) return kind;
  if (kind < 0xa0) return static_cast<std::uint32_t>(known[kind % 12]);
  if (kind < 0xc0) return pairs[kind % 4].number;
  if (kind < 0xe0) return 1u << (kind % 32);
  return script.word();
}

std::uint64_t hostile_guest::address() {
  const std::uint8_t kind = script.byte();
  switch (kind % 8) {
    case 0:
      return driver->input;
    case 1:
      return driver->output;
    case 2:
      return driver->lent[kind / 8 % driver->lent.size()] + script.byte() * 16u;
    case 3:
      return data.pages[kind / 8] + script.byte();
    case 4:
      return some_queue_pair().record;
    case 5:
      return model::test::test_host::base + script.word() % host_memory;
    case 6:
      return std::uint64_t{script.word()} << 32 | script.word();
    default:
      return known[kind / 8 % 12];
  }
}

void hostile_guest::damage(std::byte* bytes, std::size_t count, unsigned most) {
  for (unsigned n = script.byte() % (most + 1); n != 0; --n) {
    const std::size_t at = script.byte() % count;
    bytes[at] = static_cast<std::byte>(script.byte());
  }
}

void hostile_guest::access_registers() {
  namespace bar0 = layouts::bar0;
  constexpr std::uint32_t places[] = {
      bar0::hcr,         bar0::hcr + 4,           bar0::hcr + 8,         bar0::hcr + 12,
      bar0::hcr_status,  bar0::ownership,         bar0::flash_semaphore, bar0::flush,
      bar0::hardware_id, bar0::error_buffer_area, bar0::msix_table,      bar0::hcr - 4};
  const std::uint8_t kind = script.byte();
  const std::uint64_t at = kind < 0xc0 ? places[kind % std::size(places)]
                                       : script.word() % (2 * model::device::register_bar_bytes);
  const unsigned bytes = (kind & 0x20) == 0 ? 4 : kind % 9;
  if ((kind & 0x10) != 0) static_cast<void>(hca->read_registers(at, bytes));
  else hca->write_registers(at, std::uint64_t{number()} << (bytes > 4 ? 32 : 0) | number(), bytes);
}

void hostile_guest::access_doorbells() {
  const std::uint8_t kind = script.byte();
  const std::uint64_t page = kind % 4 == 0 ? number() % 4096 : test_driver::uar;
  constexpr std::uint32_t places[] = {layouts::uar::send_doorbell,   layouts::uar::cq_doorbell,
                                      layouts::uar::cq_doorbell + 4, layouts::uar::eq_doorbell,
                                      layouts::uar::eq_doorbell + 8, 0};
  const std::uint64_t at =
      kind % 8 == 1 ? std::uint64_t{script.word()} % (64u << 20)
                    : page * layouts::uar::page_size + places[kind / 8 % std::size(places)];
  const unsigned bytes = (kind & 0x40) == 0 ? 4 : 8;
  if (kind >= 0xf0) static_cast<void>(hca->read_uar(at, bytes));
  else hca->write_uar(at, std::uint64_t{number()} << (bytes == 8 ? 32 : 0) | number(), bytes);
}

void hostile_guest::send_request(test_qp& qp) {
  test_send s;
  const std::uint8_t kind = script.byte();
  s.opcode = static_cast<layouts::wqe_opcode>(kind % 32);
  s.address = region_start + script.byte() * 16u;
  s.bytes = kind < 0xe0 ? script.byte() * 40u : number() & 0x7fffffff;
  if (s.opcode == layouts::wqe_opcode::atomic_cs || s.opcode == layouts::wqe_opcode::atomic_fa)
    s.bytes = 8;
  s.lkey = script.byte() < 0xf0 ? key : number();
  s.remote_address = region_start + 0x100000 + script.byte() * 4096u;
  s.rkey = script.byte() < 0xf0 ? key : number();
  s.dqpn = pairs[kind % 4].number;
  s.qkey = qkey;
  s.global = (kind & 0x20) != 0;
  if (&qp == &cabled[2].qp) s.port = cabled_port, s.dlid = kind < 0x80 ? far_lid : own_lid;
  const std::size_t at = std::size_t{qp.sent % test_qp::entries} * test_qp::stride;
  post_send(qp, s);
  damage(driver->bytes_of(qp.ring, at), test_qp::stride, 6);
  if ((kind & 0x40) == 0) ring(qp);
}

// To the agents of the port itself, or of the subnet manager that it hears of.
void hostile_guest::send_datagram() {
  constexpr std::uint32_t general_services_qpn = 1, general_services_qkey = 0x80010000;
  test_qp& ud = pairs[2];
  test_send s;
  s.address = region_start;
  s.bytes = 256;
  s.lkey = key;
  s.dqpn = general_services_qpn;
  s.qkey = general_services_qkey;
  write_datagram(&byte_at(region_start));
  const std::size_t at = std::size_t{ud.sent % test_qp::entries} * test_qp::stride;
  post_send(ud, s);
  using d = layouts::wqe_datagram;
  std::byte* segment = driver->bytes_of(ud.ring, at + layouts::wqe_ctrl::bytes);
  auto address = layouts::image<d>::from_bytes(segment);
  address.set<&d::rlid>(script.byte() % 4);
  std::memcpy(segment, address.data(), address.size());
  ring(ud);
}

void hostile_guest::arm() {
  const std::uint8_t kind = script.byte();
  layouts::image<layouts::cqe> done;
  while ((kind & 1) == 0 && driver->next_completion(cq, done)) {
  }
  driver->arm_cq(cq, (kind & 2) == 0 ? layouts::cq_arm::next : layouts::cq_arm::solicited);
  if ((kind & 4) == 0) ++cq.arm_sn;
  layouts::image<layouts::eqe> event;
  while ((kind & 8) == 0 && driver->next_event(eq, event)) {
  }
  driver->ring_eq(eq, true);
}

void hostile_guest::receive_request() {
  test_qp& qp = some_queue_pair();
  const std::uint8_t kind = script.byte();
  post_receive(qp, region_start + script.byte() * 4096u,
               kind < 0xe0 ? kind * 32u : number() & 0x7fffffff, kind < 0xf0 ? key : number());
  if (kind % 8 == 0) damage(host->at(qp.record), 4, 2);
}

void hostile_guest::write_noise() {
  const std::uint8_t kind = script.byte();
  std::byte* to = nullptr;
  switch (kind % 6) {
    case 0:
      to = driver->bytes_of(some_queue_pair().ring, script.byte() * 32u);
      break;
    case 1:
      to = driver->bytes_of(cq.where, script.byte() * 16u);
      break;
    case 2:
      to = driver->bytes_of(eq.where, script.byte() * 8u % 0x7c0);
      break;
    case 3:
      to = host->at(cq.doorbell_record);
      break;
    default:
      // Contexts: in tables whose entries are 64 to 256 bytes, those of the queues in use and those
      // beside them.
      to = host->at(driver->lent[kind / 8 % driver->lent.size()] + number() % 1024 * 64);
  }
  damage(to, 64, 16);
}

void hostile_guest::change_surroundings() {
  const std::uint8_t what = script.byte();
  host->bus_master_on = what % 4 != 0;
  host->msix_on = what % 8 != 1;
  model::fault_options faults;
  faults.command_latency_ns = what % 8 == 2 ? 1000u * what : 0;
  faults.commands_side_by_side = what < 0x80;
  hca->set_faults(faults);
}

// Seldom: what follows finds an adapter that is not up.
void hostile_guest::break_down() {
  switch (script.byte()) {
    case 0:
      hca->reset();
      break;
    case 1:
      hca->fail();
      break;
    case 2:
      driver->write(layouts::bar0::reset, 1);
      break;
    default:
      break;
  }
}

// Enough for a request to be given up for lost (seven times 2^14 * 4.096 us), and for a link to
// train.
void hostile_guest::let_pass(std::uint64_t nanoseconds) {
  constexpr std::uint64_t most = 2'000'000'000;
  const std::uint64_t now = std::min(nanoseconds, most - std::min(passed, most));
  passed += now;
  host->advance(now);
}

void hostile_guest::act() {
  // From here on the cable's.
  constexpr unsigned actions = 18, cable = 13 * actions;
  const unsigned what = script.byte();
  if (what >= cable) return act_at_cable(what - cable);
  switch (what % actions) {
    case 0:
      return access_registers();
    case 1:
    case 2:
      return access_doorbells();
    case 3:
    case 4:
    case 5:
      return send_request(some_queue_pair());
    case 6:
      return receive_request();
    case 7:
    case 8:
      return write_noise();
    case 9:
      return change_surroundings();
    case 10:
      return break_down();
    case 11:
      return arm();
    case 12:
      return send_datagram();
    case 13:
      return let_pass(std::uint64_t{1} << script.byte() % 34);
    default:
      return command();
  }
}

void hostile_guest::act(input from, unsigned most) {
  script = from;
  for (unsigned n = 0; n < most && !script.empty(); ++n) {
    act();
    note_step();
  }
}

void hostile_guest::note_step() {
  for (const std::uint64_t number :
       {host->clock, host->reads, host->bytes_read, host->bytes_written,
        std::uint64_t{host->messages.size()}, std::uint64_t{host->complaints.size()},
        std::uint64_t{host->wipes}})
    steps.add(number);
  turns.add(host->timer_calls);
}

void hostile_guest::expect_order_after_reset() {
  host->advance(1'000'000);
  hca->set_faults({});
  note_step();
  test_driver again{*host, *hca};
  model::test::expect_as_new_after_reset(again);
  note_step();
}

void hostile_guest::expect_working_after_reset() {
  test_driver again{*host, *hca};
  model::test::expect_works_after_reset(again);
  expect_working_cable(again);
}

std::uint64_t hostile_guest::trace() const {
  digest all = steps;
  all.add(turns.value());
  model::counter c{};
  for (std::size_t i = 0; hca->counter_at(i, c); ++i) all.add(c.value);
  add_what_the_host_has(all);
  return all.value();
}

std::uint64_t hostile_guest::outcome() const {
  digest all = steps;
  model::counter c{};
  const auto is_account = [&c] {
    return std::string_view(c.name).starts_with("turns") ||
           std::string_view(c.name).starts_with("work_units");
  };
  for (std::size_t i = 0; hca->counter_at(i, c); ++i)
    if (!is_account()) all.add(c.value);
  add_what_the_host_has(all);
  all.add(hca->state_digest());
  return all.value();
}

void hostile_guest::add_what_the_host_has(digest& all) const {
  for (const unsigned message : host->messages) all.add(message);
  for (const std::string& complaint : host->complaints) all.add(complaint);
  all.add(host->at(model::test::test_host::base), host_memory);
}

}  // namespace freehca::fuzz
