// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Saved states whose contents were changed, with checksums that are right. A load refuses such a
// stream, or gives a strange adapter. Whatever follows, the adapter neither crashes nor hangs. A
// reset makes it as new.
//
// FREEHCA_MUTANTS=N: so many streams for each machine. FREEHCA_MUTANT_SEED: the seed of the first
// one. The next one has the next seed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <freehca/layouts/flow_rule.hpp>
#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/sa.hpp>

#include "blind_guest.hpp"
#include "frame_fixture.hpp"
#include "mutated_state.hpp"
#include "vpi_fixture.hpp"
#include "works_after_reset.hpp"

namespace freehca::model::test {

namespace {

constexpr std::size_t machine_memory = 48u << 20;

/// A machine between two calls.
struct saved_machine {
  options how;
  std::uint64_t clock = 0;
  std::vector<std::byte> state, memory;
};

/// The states that one test saves, and what a guest knows of all of them.
struct saved_machines {
  std::vector<saved_machine> all;
  std::vector<std::uint32_t> numbers;
  std::vector<blind_guest::arrival> packets;

  void save(test_host& host, device& hca) {
    const std::uint64_t used = host.allocate() - test_host::base;
    ASSERT_LT(used, machine_memory);
    all.push_back({hca.how(),
                   host.clock,
                   hca.save(),
                   {host.at(test_host::base), host.at(test_host::base) + used}});
  }
  /// Saves now, and after each of some turns of the adapter.
  void save_turns(test_host& host, device& hca, unsigned turns) {
    for (save(host, hca); turns != 0; --turns) {
      hca.on_timer();
      save(host, hca);
    }
  }
  void keep(unsigned port, const std::vector<std::byte>& bytes) {
    constexpr std::size_t most = 200;
    if (packets.size() < most) packets.push_back({port, bytes});
  }
};

std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::stoull(text, nullptr, 0) : otherwise;
}

// With sanitizers each takes ten times as long.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t usual_mutants = 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr std::uint64_t usual_mutants = 20;
#else
constexpr std::uint64_t usual_mutants = 40;
#endif
#else
constexpr std::uint64_t usual_mutants = 40;
#endif

/// Lets the clock run on, past at most so many deadlines: a strange adapter may have any number.
class bounded_clock {
 public:
  explicit bounded_clock(test_host& host) : host_(host) {}
  void advance(std::uint64_t nanoseconds) {
    constexpr unsigned steps = 20;
    for (unsigned step = 1; step <= steps; ++step) {
      host_.run(1);
      host_.clock += nanoseconds / steps;
    }
    host_.run(steps);
  }

 private:
  test_host& host_;
};

/// One mutant in a device of its own: `taken` counts those that are not refused.
void try_mutant(const saved_machine& machine, const saved_machines& of, std::uint64_t seed,
                zeroed_memory& memory, unsigned& taken) {
  constexpr unsigned longest_s = 60;
  constexpr std::byte nothing{};
  state_mutator mutants(machine.state, seed);
  const std::vector<std::byte> stream = mutants.next();
  SCOPED_TRACE(testing::Message() << "FREEHCA_MUTANT_SEED=" << seed << ":" << mutants.changed());
  // A loop without end ends the program.
  alarm(longest_s);
  test_host host(std::move(memory));
  std::memcpy(host.at(test_host::base), machine.memory.data(), machine.memory.size());
  // allocate() gives zeros again.
  ASSERT_TRUE(host.dma_write(test_host::base + machine_memory - 1, &nothing, 1));
  host.clock = machine.clock;
  {
    device hca(host, machine.how);
    host.attach(hca);
    std::string why;
    if (hca.load(stream, why)) {
      ++taken;
      blind_guest guest(
          hca, [&mutants] { return mutants.random(); },
          [clock = bounded_clock(host)](std::uint64_t ns) mutable { clock.advance(ns); });
      guest.memory = test_host::base;
      guest.memory_bytes = machine.memory.size();
      guest.numbers = of.numbers;
      guest.packets = of.packets;
      guest.uar = test_driver::uar;
      guest.act(12);
    } else {
      EXPECT_NE(why, "");
    }
    hca.reset();
    // The stream has these.
    hca.set_faults({});
    hca.set_strict(true);
    hca.set_rules_off({});
    expect_works_after_reset(host, hca);
  }
  alarm(0);
  memory = host.take_memory();
}

void try_mutants(const saved_machines& of) {
  const std::uint64_t first = number_in_environment("FREEHCA_MUTANT_SEED", 1);
  const std::uint64_t count = number_in_environment("FREEHCA_MUTANTS", usual_mutants);
  std::printf("FREEHCA_MUTANT_SEED=%llu FREEHCA_MUTANTS=%llu\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(count));
  zeroed_memory memory(machine_memory);
  unsigned taken = 0;
  for (std::uint64_t n = 0; n < count && !testing::Test::HasFailure(); ++n) {
    const std::uint64_t seed = first + n;
    if (n % 1000 == 999) {
      const auto done = static_cast<unsigned long long>(n);
      std::printf("%llu mutants, %u taken\n", done + 1, taken);
      std::fflush(stdout);
    }
    try_mutant(of.all[seed % of.all.size()], of, seed, memory, taken);
  }
  std::printf("%u of %llu mutants were taken\n", taken, static_cast<unsigned long long>(count));
}

options short_turns(options how) {
  how.turn_units = options::least_turn_units;
  return how;
}

// ---- Queue pairs of every service, with requests under way

class lively_pairs : public transport_fixture {
 public:
  static constexpr std::uint32_t first = 0x100, srqn = 70, xrc_srqn = 71, xrcd = 9;
  static constexpr std::uint16_t own_lid = 4, far_lid = 9;
  enum service : unsigned { rc, rc_shared, uc, xrc, ud, services };

  explicit lively_pairs(const options& how)
      : transport_fixture(how, std::make_unique<test_host>(machine_memory)) {
    shared = make_srq(srqn);
    extended = make_srq_buffer(xrc_srqn);
    EXPECT_EQ(
        driver
            ->command_with(
                layouts::opcode::sw2hw_srq,
                srq_context(extended).set<&layouts::srqc::xrcd>(xrcd).set<&layouts::srqc::cqn>(cqn),
                xrc_srqn)
            .status,
        command_status::ok);
    for (unsigned i = 0; i < 2 * services; ++i) pairs[i] = make_qp(first + i, service_of(i / 2));
  }
  void TestBody() override {}

  static qp_service service_of(unsigned which) {
    return which == uc    ? qp_service::uc
           : which == xrc ? qp_service::xrc
           : which == ud  ? qp_service::ud
                          : qp_service::rc;
  }
  /// To each other, or to those of an adapter with that LID.
  void connect(std::uint16_t lid) {
    for (unsigned i = 0; i < 2 * services; ++i) {
      test_qp& qp = pairs[i];
      auto begin = first_context(qp);
      auto ready = ready_context(qp, first + (i ^ 1)).set<&layouts::primary_path::rlid>(lid);
      for (auto* c : {&begin, &ready}) {
        if (i / 2 == xrc) c->set<&layouts::qpc::xrcd>(xrcd).set<&layouts::qpc::log_rq_size>(0xf);
        if (i / 2 == rc_shared)
          c->set<&layouts::qpc::srq>(1)
              .set<&layouts::qpc::srqn>(srqn)
              .set<&layouts::qpc::log_rq_size>(0xf)
              .set<&layouts::qpc::log_rq_stride>(4);
      }
      ASSERT_EQ(modify(layouts::opcode::rst2init_qp, qp.number, begin), command_status::ok) << i;
      ASSERT_EQ(modify(layouts::opcode::init2rtr_qp, qp.number, ready), command_status::ok) << i;
      ASSERT_EQ(modify(layouts::opcode::rtr2rts_qp, qp.number, ready), command_status::ok) << i;
    }
  }
  /// Requests of every kind, with fewer receives than sends.
  void post(std::uint16_t lid) {
    using o = wqe_opcode;
    for (unsigned n = 0; n < 8; ++n) {
      post_shared(shared, region_start + 0x80000, 4096);
      post_shared(extended, region_start + 0x84000, 4096);
    }
    for (unsigned i = 0; i < 2 * services; ++i) {
      test_qp& qp = pairs[i];
      if (i / 2 != rc_shared && i / 2 != xrc)
        for (unsigned n = 0; n < 3; ++n) post_receive(qp, region_start + 0x88000, 4096, key);
      for (const o what : {o::send, o::rdma_write, o::rdma_read, o::atomic_fa, o::masked_atomic_cs,
                           o::rdma_write_imm, o::send_imm, o::send, o::rdma_read}) {
        const bool sends = what == o::send || what == o::send_imm;
        const bool writes = what == o::rdma_write || what == o::rdma_write_imm;
        if ((i / 2 == ud && !sends) || (i / 2 == uc && !sends && !writes)) continue;
        const bool atomic = what == o::atomic_fa || what == o::masked_atomic_cs;
        test_send s = transfer(what,
                               atomic  ? 8
                               : sends ? 1000
                                       : 20'000,
                               region_start, region_start + 0x100000);
        s.fence = what == o::rdma_write;
        s.dqpn = first + (i ^ 1);
        s.dlid = lid;
        s.qkey = qkey;
        s.global = i % 2 == 0;
        const std::size_t at = std::size_t{qp.sent % test_qp::entries} * test_qp::stride;
        post_send(qp, s);
        if (i / 2 == xrc)
          put(qp, at,
              layouts::image<layouts::wqe_ctrl>::from_bytes(driver->bytes_of(qp.ring, at))
                  .set<&layouts::wqe_ctrl::remote_srqn>(xrc_srqn));
      }
      ring(qp);
    }
  }
  /// A management datagram to the agents of subnet administration.
  void ask(std::uint16_t lid, layouts::mad_method method, layouts::sa_attribute what,
           std::uint64_t components, const std::byte* record, std::size_t record_bytes) {
    using layouts::sa_mad;
    layouts::image<sa_mad> m;
    m.set<&sa_mad::base_version>(1)
        .set<&sa_mad::mgmt_class>(layouts::mad_class::subnet_admin)
        .set<&sa_mad::class_version>(layouts::sa_class_version)
        .set<&sa_mad::method>(method)
        .set<&sa_mad::tid>(next_transaction++)
        .set<&sa_mad::attribute_id>(static_cast<unsigned>(what))
        .set<&sa_mad::component_mask>(components);
    const std::uint64_t at = region_start + 0x90000 + (next_transaction % 64) * 256;
    fill(at, 256, 0);
    for (std::size_t i = 0; i < sa_mad::bytes; ++i) byte_at(at + i) = m.data()[i];
    if (record != nullptr)
      for (std::size_t i = 0; i < record_bytes; ++i)
        byte_at(at + sa_mad::bytes - 200 + i) = record[i];
    test_send s = transfer(wqe_opcode::send, 256, at, 0);
    s.dqpn = layouts::qp1_gsi;
    s.qkey = layouts::gsi_qkey;
    s.dlid = lid;
    send(pairs[2 * ud], s);
  }
  void ask(std::uint16_t lid) {
    using layouts::mad_method, layouts::sa_attribute;
    post_receive(pairs[2 * ud], region_start + 0x98000, 4096, key);
    for (const sa_attribute what :
         {sa_attribute::node_record, sa_attribute::port_info_record, sa_attribute::path_record})
      ask(lid, mad_method::get_table, what, 0, nullptr, 0);
    using layouts::mcmember_record;
    layouts::image<mcmember_record> joins;
    std::byte mgid[16] = {std::byte{0xff}, std::byte{0x12}, std::byte{0x40}, std::byte{0x1b}};
    mgid[15] = std::byte{1};
    joins.set_bytes<&mcmember_record::mgid>(mgid);
    ask(lid, mad_method::set, sa_attribute::mcmember_record, 1, joins.data(), joins.size());
    ask(lid, mad_method::set, sa_attribute::service_record, 1, joins.data(), joins.size());
    ask(lid, mad_method::set, sa_attribute::inform_info, 1, joins.data(), joins.size());
  }
  void activate(std::uint16_t lid) {
    using layouts::port_info, layouts::port_state;
    for (const port_state state : {port_state::armed, port_state::active})
      set_info(info()
                   .set<&port_info::lid>(lid)
                   .set<&port_info::master_sm_lid>(1)
                   .set<&port_info::state>(state)
                   .set<&port_info::physical_state>(layouts::port_physical_state::no_change));
    ASSERT_TRUE(links().active(1));
  }
  /// A command that takes slices: a large event queue, whose entries are filled.
  void begin_command() {
    test_driver::queue q;
    q.number = eqn + 2;
    q.log_entries = 13;
    q.where = make_large_buffer(64);
    std::memset(host->at(driver->input), 0, 4096);
    host->store(driver->input, driver->eq_context(q, 2));
    driver->post(layouts::opcode::sw2hw_eq, driver->input, q.number, 0, 0, 0x1234, true);
  }
  void arm() {
    driver->arm_cq(cq, layouts::cq_arm::next);
    driver->ring_eq(eq, true);
  }
  static std::vector<std::uint32_t> numbers() { return {first, first + 8, eqn, cqn, srqn, 300, 0}; }

  using transport_fixture::activate_port, transport_fixture::driver, transport_fixture::hca;
  using transport_fixture::host, transport_fixture::info, transport_fixture::links;
  using transport_fixture::set_info;

  test_srq shared, extended;
  test_qp pairs[2 * services];
  std::uint64_t next_transaction = 77;
};

// ---- Frames of an Ethernet port, with rules of flow steering

class lively_frames : public frame_fixture {
 public:
  static constexpr std::uint32_t first = 0x180, spreader_number = 0x190;

  explicit lively_frames(const options& how) : frame_fixture(how, steering::by_rules) {
    for (unsigned i = 0; i < 4; ++i) {
      rings[i] = make_frame_qp(first + i);
      for (unsigned n = 0; n < 8; ++n)
        post_receive(rings[i], region_start + 0x40000 + n * 0x1000, 0x1000, key);
    }
    make_spreader();
    using layouts::flow_rule_type;
    attach(flow_rule_type::all_default, first);
    attach(flow_rule_type::multicast_default, first + 1);
    attach(flow_rule_type::regular, spreader_number);
    attach(flow_rule_type::regular, first + 2);
  }
  void TestBody() override {}

  void make_spreader() {
    using layouts::rss_context, layouts::qpc;
    const test_qp qp = make_qp(spreader_number, qp_service::mlx);
    layouts::image<rss_context> rss;
    rss.set<&rss_context::log_size>(2)
        .set<&rss_context::base_qpn>(first)
        .set<&rss_context::default_qpn>(first)
        .set<&rss_context::hash>(layouts::rss_hash::toeplitz)
        .set<&rss_context::ipv4>(true)
        .set<&rss_context::udp_ipv4>(true)
        .set<&rss_context::base_qpn_udp>(first);
    auto c = frame_context(qp)
                 .set<&qpc::log_rq_size>(0)
                 .set<&qpc::log_rq_stride>(0)
                 .set<&qpc::log_sq_size>(0)
                 .set<&qpc::rss>(true);
    std::memcpy(c.data() + layouts::rss_context_offset, rss.data(), rss_context::bytes);
    to_ready(qp.number, c);
  }
  void attach(layouts::flow_rule_type type, std::uint32_t qpn) {
    using layouts::flow_header_ethernet, layouts::flow_rule_control;
    using k = flow_rule_control;
    using e = flow_header_ethernet;
    std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
    host->store(driver->input, layouts::image<k>{}
                                   .set<&k::priority>(0x5000)
                                   .set<&k::type>(type)
                                   .set<&k::allow_loopback>(true)
                                   .set<&k::port>(1)
                                   .set<&k::qpn>(qpn));
    std::uint32_t bytes = k::bytes;
    if (type == layouts::flow_rule_type::regular) {
      host->store(driver->input + bytes, layouts::image<e>{}
                                             .set<&e::words>(e::bytes / 4)
                                             .set<&e::id>(layouts::flow_header_id::ethernet)
                                             .set<&e::dmac>(mac)
                                             .set<&e::dmac_mask>(0xffff'ffff'ffff));
      bytes += e::bytes;
    }
    EXPECT_EQ(
        driver->command(layouts::opcode::qp_flow_steering_attach, driver->input, bytes / 4).status,
        command_status::ok);
  }
  /// Several frames of every kind from the far end, and one large send.
  void post(saved_machines& to) {
    frame_bytes udp = plain(mac, peer_mac, 200, 0x0800);
    const frame_bytes ip = from_hex(
        "450000ba 00010000 40110000 0a000901 0a000902 1234 12b5 00a6 0000 08000000 00123400");
    std::copy(ip.begin(), ip.end(), udp.begin() + 14);
    const frame_bytes several[] = {plain(mac, peer_mac, 1500), plain(0xffff'ffff'ffff, peer_mac),
                                   plain(0x0100'5e00'0001, peer_mac, 300), udp};
    for (unsigned round = 0; round < 4; ++round)
      for (const frame_bytes& f : several) {
        to.keep(1, f);
        hca->link_receive(1, f.data(), f.size());
      }
    write(region_start, plain(peer_mac, mac, 9000, 0x0800));
    frame_send s;
    s.at = region_start + 64;
    s.bytes = 20'000;
    s.mss = 1000;
    s.header = udp;
    s.header.resize(42);
    for (unsigned n = 0; n < 3; ++n) post_without_turns(rings[n], s);
  }
  void post_without_turns(test_qp& qp, const frame_send& s) {
    host->wire_full[0] = true;
    post_frame(qp, s);
    host->wire_full[0] = false;
  }

  static options options_of_port() { return ethernet_options(); }

  using transport_fixture::hca, transport_fixture::host;
  test_qp rings[4];
};

}  // namespace

TEST(saved_state_hostile, queue_pairs_of_one_adapter) {
  lively_pairs one(short_turns(test_options()));
  saved_machines saved;
  saved.numbers = lively_pairs::numbers();
  const std::uint16_t lid = one.links().base_lid(1);
  one.connect(lid);
  one.arm();
  one.ask(lid);
  saved.save_turns(*one.host, *one.hca, 12);
  one.host->run();
  one.post(lid);
  one.begin_command();
  saved.save_turns(*one.host, *one.hca, 40);
  one.host->advance(100'000);
  one.post(lid);
  saved.save_turns(*one.host, *one.hca, 20);
  try_mutants(saved);
}

TEST(saved_state_hostile, two_adapters_on_a_cable) {
  options how = short_turns(test_options());
  how.cable[0] = true;
  options of_far_end = how;
  of_far_end.node_guid += 0x100;
  lively_pairs near(how), far(of_far_end);
  near.host->lay_cable(1, *far.host, 1);
  saved_machines saved;
  saved.numbers = lively_pairs::numbers();
  far.host->on_wire = [&saved](unsigned port, std::vector<std::byte>& bytes) {
    saved.keep(port, bytes);
  };
  for (lively_pairs* each : {&near, &far})
    ASSERT_EQ(each->driver->command(layouts::opcode::init_port, 0, 1).status, command_status::ok);
  saved.save_turns(*near.host, *near.hca, 2);
  near.host->advance(second);
  for (const auto& [each, lid] :
       {std::pair{&near, lively_pairs::own_lid}, std::pair{&far, lively_pairs::far_lid}})
    each->activate(lid);
  near.connect(lively_pairs::far_lid);
  far.connect(lively_pairs::own_lid);
  saved.packets.clear();
  near.post(lively_pairs::far_lid);
  far.post(lively_pairs::own_lid);
  saved.save_turns(*near.host, *near.hca, 10);
  for (unsigned n = 0; n < 20; ++n) {
    near.host->run(8);
    saved.save_turns(*near.host, *near.hca, 1);
  }
  near.host->advance(200'000);
  far.ask(lively_pairs::own_lid);
  saved.save_turns(*near.host, *near.hca, 10);
  near.host->part();
  try_mutants(saved);
}

TEST(saved_state_hostile, frames_and_rules) {
  lively_frames one(short_turns(lively_frames::options_of_port()));
  saved_machines saved;
  saved.numbers = {lively_frames::first, lively_frames::spreader_number, 35, 200, 300};
  one.post(saved);
  saved.save_turns(*one.host, *one.hca, 40);
  one.host->advance(100'000);
  one.post(saved);
  saved.save_turns(*one.host, *one.hca, 40);
  try_mutants(saved);
}

TEST(saved_state_hostile, a_port_that_changes_its_type) {
  options how = short_turns(with_cabled_vpi(0));
  how.strict = false;
  station one(how);
  const vpi_driver port{one};
  saved_machines saved;
  saved.numbers = {0x100, 35, 200, 300};
  for (std::uint32_t n = 0; n < 40; ++n) {
    const test_qp qp = one.make_qp(0x100 + n, n % 2 == 0 ? qp_service::ud : qp_service::rc);
    one.modify(layouts::opcode::rst2init_qp, qp.number, one.first_context(qp));
    one.modify(layouts::opcode::init2rtr_qp, qp.number, one.ready_context(qp, qp.number));
  }
  one.driver->command(layouts::opcode::init_port, 0, 1);
  saved.save_turns(*one.host, *one.hca, 2);
  const auto change = [&](auto&& to) {
    to();
    saved.save_turns(*one.host, *one.hca, 6);
    one.driver->command(layouts::opcode::init_port, 0, 1);
    one.host->advance(second);
    saved.save_turns(*one.host, *one.hca, 2);
  };
  change([&] { port.to_ethernet(); });
  std::vector<std::byte> frame(300, std::byte{2});
  saved.keep(1, frame);
  one.hca->link_receive(1, frame.data(), frame.size());
  change([&] { port.to_infiniband(); });
  try_mutants(saved);
}

}  // namespace freehca::model::test
