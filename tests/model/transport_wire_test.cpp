// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Reliable connections over a wire that loses, doubles and reorders packets: everything arrives all
// the same, once and in order, or the connection ends with an error.
#include <random>

#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/smp.hpp>

#include "link/psn.hpp"
#include "link/transport_packet.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::bth_operation;
using layouts::opcode;

namespace {

/// A LID that is not the port's: packets to it leave on the wire, and the wire brings them back.
constexpr std::uint16_t far_lid = 0x55;

class bad_wire final : public link_peer {
 public:
  ports* links = nullptr;
  std::uint16_t local_lid = 0;
  std::mt19937 random{1};
  unsigned lose_per_mille = 0, double_per_mille = 0, swap_per_mille = 0;
  unsigned passed = 0, lost = 0;
  std::function<bool(const transport_packet&)> lose;  ///< true: this one is lost
  std::vector<bth_operation> seen;

  void link_changed(bool) override {}
  void receive(const packet& p) override {
    const auto v = links->codec(1).unwrap(1, p);
    if (!v) return;
    seen.push_back(layouts::operation_of(v->bth.get<&layouts::bth::opcode>()));
    if (chance(lose_per_mille) || (lose && lose(*v))) {
      ++lost;
      return;
    }
    if (held_.bytes.empty() && chance(swap_per_mille)) {
      held_ = p;
      return;
    }
    pass(p);
    if (chance(double_per_mille)) pass(p);
    if (!held_.bytes.empty()) pass(std::exchange(held_, {}));
  }

 private:
  bool chance(unsigned per_mille) { return random() % 1000 < per_mille; }
  void pass(packet p) {
    auto lrh = layouts::image<layouts::lrh>::from_bytes(p.bytes.data());
    // Who stands at the far end is the port itself.
    lrh.set<&layouts::lrh::dlid>(local_lid).set<&layouts::lrh::slid>(far_lid);
    std::memcpy(p.bytes.data(), lrh.data(), layouts::lrh::bytes);
    ++passed;
    links->receive_from_link(1, std::move(p));
  }
  packet held_;
};

class wire : public transport_fixture {
 protected:
  static constexpr std::uint64_t from = region_start, to = region_start + 0x200000;

  wire() {
    cable.links = &links();
    cable.local_lid = links().base_lid(1);
    hca->inside().links->connect(1, &cable);
    host->advance(1'000'000'000);
    set_state(layouts::port_state::armed);
    set_state(layouts::port_state::active);
    EXPECT_TRUE(links().active(1));
    a = make_qp(0x160);
    b = make_qp(0x161);
    to_rts(a, remote_context(a, b.number));
    to_rts(b, remote_context(b, a.number));
  }
  ~wire() override { hca->inside().links->connect(1, nullptr); }

  layouts::image<layouts::qpc> remote_context(const test_qp& qp, std::uint32_t remote) {
    auto c = ready_context(qp, remote);
    c.set<&layouts::primary_path::rlid>(far_lid);
    return c;
  }
  void set_state(layouts::port_state state) {
    layouts::image<layouts::smp> m;
    m.set<&layouts::smp::base_version>(1).set<&layouts::smp::class_version>(1);
    m.set<&layouts::smp::mgmt_class>(layouts::mad_class::subnet_lid_routed);
    m.set<&layouts::smp::attribute_id>(static_cast<unsigned>(layouts::smp_attribute::port_info));
    m.set<&layouts::smp::attribute_modifier>(1).set<&layouts::smp::method>(
        layouts::mad_method::get);
    m = exchange(m);
    auto info = layouts::attribute<&layouts::smp::data, layouts::port_info>(m);
    info.set<&layouts::port_info::state>(state);
    info.set<&layouts::port_info::physical_state>(layouts::port_physical_state::no_change);
    m.set<&layouts::smp::method>(layouts::mad_method::set).set<&layouts::smp::status>(0);
    layouts::set_attribute<&layouts::smp::data>(m, info);
    exchange(m);
  }
  layouts::image<layouts::smp> exchange(const layouts::image<layouts::smp>& m) {
    std::memset(host->at(driver->input), 0, 4096);
    host->store(driver->input, m);
    EXPECT_EQ(driver->command(opcode::mad_ifc, driver->input, 1, 3, driver->output).status,
              command_status::ok);
    return host->load<layouts::smp>(driver->output);
  }
  test_send request(wqe_opcode what, std::uint32_t bytes) {
    return transfer(what, bytes, from, to);
  }
  layouts::image<layouts::cqe> completion_in(std::uint64_t nanoseconds) {
    layouts::image<layouts::cqe> e;
    for (std::uint64_t waited = 0; waited < nanoseconds; waited += 10'000'000) {
      if (driver->next_completion(cq, e)) {
        driver->tell_consumer(cq);
        return e;
      }
      host->advance(10'000'000);
    }
    ADD_FAILURE() << "no completion";
    return e;
  }
  bad_wire cable;
  test_qp a, b;
};

}  // namespace

TEST_F(wire, what_is_lost_doubled_or_swapped_arrives_once_and_in_order) {
  cable.lose_per_mille = 20;
  cable.double_per_mille = 20;
  cable.swap_per_mille = 20;
  for (unsigned round = 0; round < 30; ++round) {
    const std::uint32_t bytes = 1 + round * 1777;
    fill(from, bytes, round);
    fill(to, bytes, round + 100);
    post_receive(b, to, bytes, key);
    send(a, request(wqe_opcode::send, bytes));
    const auto first = completion_in(10 * second);
    const auto other = completion_in(10 * second);
    EXPECT_NE(first.get<&layouts::cqe::is_send>(), other.get<&layouts::cqe::is_send>());
    expect_pattern(to, bytes, round);

    fill(to, bytes, round + 50);
    send(a, request(wqe_opcode::rdma_read, bytes));
    EXPECT_EQ(completion_in(10 * second).get<&layouts::cqe::opcode>(),
              static_cast<unsigned>(wqe_opcode::rdma_read));
    expect_pattern(from, bytes, round + 50);
  }
  EXPECT_GT(cable.lost, 0u);
  EXPECT_GT(driver->counter_named("transport_retries"), 0u);
  EXPECT_EQ(state_of(a), qp_state::rts);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(wire, an_atomic_whose_answer_is_lost_is_executed_once) {
  bool first = true;
  cable.lose = [&](const transport_packet& v) {
    const bool answer = layouts::operation_of(v.bth.get<&layouts::bth::opcode>()) ==
                        bth_operation::atomic_acknowledge;
    return answer && std::exchange(first, !answer && first);
  };
  std::uint64_t word = 40;
  std::memcpy(&byte_at(to), &word, sizeof word);
  auto s = request(wqe_opcode::atomic_fa, 8);
  s.swap_add = 2;
  send(a, s);
  completion_in(10 * second);
  EXPECT_EQ(cable.lost, 1u);
  std::memcpy(&word, &byte_at(to), sizeof word);
  EXPECT_EQ(word, 42u);
  std::memcpy(&word, &byte_at(from), sizeof word);
  EXPECT_EQ(word, 40u);
  EXPECT_EQ(driver->counter_named("transport_duplicates"), 1u);
}

TEST_F(wire, a_gap_is_told_at_once_and_once) {
  bool first = true;
  cable.lose = [&](const transport_packet& v) {
    return layouts::operation_of(v.bth.get<&layouts::bth::opcode>()) ==
               bth_operation::rdma_write_middle &&
           std::exchange(first, false);
  };
  fill(from, 9000, 5);
  const std::uint64_t before = host->clock;
  send(a, request(wqe_opcode::rdma_write, 9000));
  host->run();
  layouts::image<layouts::cqe> e;
  EXPECT_TRUE(driver->next_completion(cq, e)) << "the NAK brings it again, not the timer";
  EXPECT_EQ(host->clock, before);
  expect_pattern(to, 9000, 5);
  EXPECT_EQ(driver->counter_named("transport_retries"), 1u);
}

TEST_F(wire, an_unplugged_wire_ends_in_retries_exceeded) {
  cable.lose_per_mille = 1000;
  send(a, request(wqe_opcode::rdma_write, 100));
  const auto e = layouts::image<layouts::cqe_error>::from_bytes(completion_in(100 * second).data());
  EXPECT_EQ(e.get<&layouts::cqe_error::syndrome>(), cqe_syndrome::transport_retry_exceeded);
}

TEST_F(wire, unreliable_connections_lose_whole_messages_and_go_on) {
  test_qp c = make_qp(0x170, qp_service::uc), d = make_qp(0x171, qp_service::uc);
  to_rts(c, remote_context(c, d.number));
  to_rts(d, remote_context(d, c.number));
  bool first = true;
  cable.lose = [&](const transport_packet& v) {
    return layouts::operation_of(v.bth.get<&layouts::bth::opcode>()) ==
               bth_operation::send_middle &&
           std::exchange(first, false);
  };
  for (unsigned i = 0; i < 2; ++i) post_receive(d, to, 5000, key);
  send(c, request(wqe_opcode::send, 5000));
  expect_done(c, true, static_cast<unsigned>(wqe_opcode::send));
  EXPECT_TRUE(no_completion()) << "the message with a hole never completes";
  fill(from, 4000, 9);
  send(c, request(wqe_opcode::send, 4000));
  expect_done(c, true, static_cast<unsigned>(wqe_opcode::send));
  const auto e = completion();
  EXPECT_EQ(e.get<&layouts::cqe::opcode>(), static_cast<unsigned>(cqe_opcode::recv_send));
  EXPECT_EQ(e.get<&layouts::cqe::byte_count>(), 4000u);
  expect_pattern(to, 4000, 9);
}

TEST_F(wire, every_operation_of_unreliable_connections_arrives) {
  test_qp c = make_qp(0x170, qp_service::uc), d = make_qp(0x171, qp_service::uc);
  to_rts(c, remote_context(c, d.number));
  to_rts(d, remote_context(d, c.number));
  using o = wqe_opcode;
  for (const std::uint32_t bytes : {8u, 3000u})
    for (const o what : {o::send, o::send_imm, o::rdma_write, o::rdma_write_imm}) {
      SCOPED_TRACE(testing::Message() << name_of(what) << ", " << bytes << " bytes");
      fill(from, bytes, 9);
      std::memset(&byte_at(to), 0, bytes);
      const bool receives = what != o::rdma_write;
      if (receives) post_receive(d, to, bytes, key);
      test_send s = request(what, bytes);
      s.immediate = 0x5a5a;
      send(c, s);
      expect_done(c, true, static_cast<unsigned>(what));
      if (receives) {
        const auto e = completion();
        EXPECT_EQ(e.get<&layouts::cqe::qpn>(), d.number);
        if (what != o::send) {
          EXPECT_EQ(e.get<&layouts::cqe::immediate>(), 0x5a5au);
        }
      }
      expect_pattern(to, bytes, 9);
    }
}

TEST_F(wire, a_fenced_send_waits_for_the_read_before_it) {
  fill(to, 6000, 33);
  fill(from, 6000, 1);
  post_receive(b, to + 0x10000, 6000, key);
  post_send(a, request(wqe_opcode::rdma_read, 6000));
  auto s = request(wqe_opcode::send, 6000);
  s.fence = true;
  post_send(a, s);
  ring(a);
  host->run();
  expect_pattern(to + 0x10000, 6000, 33);
}

namespace {

/// Two connections on the wire: `a` and `b` get noise, `c` and `d` are bystanders. All that a peer
/// or the own requests may write stands in `open_bytes` from `to` on.
class noisy_wire : public wire {
 protected:
  static constexpr std::uint32_t open_bytes = 0x10000;
  static constexpr std::size_t private_pages = 16;

  noisy_wire() : c(make_qp(0x170)), d(make_qp(0x171)), beyond(host->allocate(private_pages)) {
    to_rts(c, d.number);
    to_rts(d, c.number);
    std::memset(host->at(beyond), 0x3c, private_pages * 4096);
    fill(region_start, region_pages * 4096, 11);
    before = all();
    // What leaves is lost: all that comes is noise.
    cable.lose_per_mille = 1000;
    drain();
  }

  std::vector<std::byte> all() {
    std::vector<std::byte> copy;
    for (std::size_t page = 0; page < region_pages; ++page) {
      const std::byte* at = driver->bytes_of(data, page * 4096);
      copy.insert(copy.end(), at, at + 4096);
    }
    return copy;
  }
  void expect_untouched() {
    const std::vector<std::byte> now = all();
    std::size_t changed = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const bool open = i >= to - region_start && i < to - region_start + open_bytes;
      changed += !open && now[i] != before[i];
    }
    EXPECT_EQ(changed, 0u) << "bytes of the region that nobody named";
    for (std::size_t i = 0; i < private_pages * 4096; ++i)
      changed += *host->at(beyond + i) != std::byte{0x3c};
    EXPECT_EQ(changed, 0u) << "bytes that the adapter was never told of";
  }
  std::uint32_t number() { return static_cast<std::uint32_t>(random()); }
  bool one_in(unsigned n) { return number() % n == 0; }
  /// Requests of `a` for which noise may be the answer, and receives that it may fill.
  void expose() {
    for (unsigned i = 0; i < 4; ++i)
      for (test_qp* qp : {&a, &b}) post_receive(*qp, to + i * 0x1000, 2000, key);
    for (const wqe_opcode what : {wqe_opcode::rdma_write, wqe_opcode::rdma_read,
                                  wqe_opcode::atomic_fa, wqe_opcode::rdma_read}) {
      const std::uint32_t bytes = what == wqe_opcode::atomic_fa ? 8 : 3000;
      post_send(a, transfer(what, bytes, to + 0x8000, to));
    }
    ring(a);
    host->run();
  }
  /// A key that opens the region, or not; an address that may be written.
  void put_range(packet& p, std::size_t at) {
    layouts::image<layouts::reth> range;
    const std::size_t rest = p.bytes.size() - at - layouts::reth::bytes;
    range.set<&layouts::reth::virtual_address>(to + number() % (open_bytes - 0x1000))
        .set<&layouts::reth::rkey>(one_in(8) ? number() : key)
        .set<&layouts::reth::dma_length>(one_in(2) ? rest : number() % 0x1000);
    std::memcpy(p.bytes.data() + at, range.data(), range.size());
  }
  packet noise() {
    packet p;
    p.bytes.resize(number() % 120);
    for (std::byte& each : p.bytes) each = static_cast<std::byte>(number() & 0xff);
    constexpr std::size_t headers = layouts::lrh::bytes + layouts::bth::bytes;
    if (p.bytes.size() < headers || one_in(32)) return p;
    p.bytes.resize(p.bytes.size() / 4 * 4);
    layouts::image<layouts::lrh> lrh;
    lrh.set<&layouts::lrh::lnh>(one_in(16) ? layouts::link_next_header::iba_global
                                           : layouts::link_next_header::iba_local)
        .set<&layouts::lrh::packet_length>((p.bytes.size() + layouts::icrc_bytes) / 4)
        .set<&layouts::lrh::dlid>(cable.local_lid)
        .set<&layouts::lrh::slid>(one_in(16) ? number() & 0xffff : far_lid);
    std::memcpy(p.bytes.data(), lrh.data(), lrh.size());
    auto bth = layouts::image<layouts::bth>::from_bytes(p.bytes.data() + lrh.size());
    bth.set<&layouts::bth::pkey>(0xffff)
        .set<&layouts::bth::version>(0)
        .set<&layouts::bth::pad_count>(0)
        .set<&layouts::bth::migrated>(true)
        .set<&layouts::bth::dest_qp>(one_in(8)   ? number() & 0xffffff
                                     : one_in(2) ? a.number
                                                 : b.number)
        .set<&layouts::bth::psn>((0xffffee + number() % 16) & psn_mask)
        .set<&layouts::bth::opcode>(static_cast<layouts::bth_opcode>(
            one_in(4) ? static_cast<std::uint32_t>(bth_operation::acknowledge) : number() % 32));
    std::memcpy(p.bytes.data() + lrh.size(), bth.data(), bth.size());
    if (p.bytes.size() >= headers + layouts::aeth::bytes && one_in(2)) {
      layouts::image<layouts::aeth> answer;
      answer.set<&layouts::aeth::type>(static_cast<layouts::aeth_type>(number() % 4))
          .set<&layouts::aeth::value>(number() % 4);
      std::memcpy(p.bytes.data() + headers, answer.data(), layouts::aeth::bytes);
    } else if (p.bytes.size() >= headers + layouts::reth::bytes && one_in(2)) {
      put_range(p, headers);
    }
    return p;
  }
  void drain() {
    layouts::image<layouts::cqe> e;
    while (driver->next_completion(cq, e)) driver->tell_consumer(cq);
    events(event_type::none);
  }
  void reconnect() {
    for (test_qp* qp : {&a, &b}) {
      ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, qp->number, 2).status, command_status::ok);
      *qp = make_qp(qp->number);
    }
    drain();
    to_rts(a, remote_context(a, b.number));
    to_rts(b, remote_context(b, a.number));
  }
  std::mt19937 random{7};
  test_qp c, d;
  std::uint64_t beyond;
  std::vector<std::byte> before;
};

}  // namespace

TEST_F(noisy_wire, random_packets_change_nothing_but_what_they_may) {
  constexpr unsigned rounds = 100, packets = 200;
  const char* const ways[] = {"transport_duplicates",      "transport_out_of_sequence",
                              "transport_packets_dropped", "transport_retries",
                              "transport_rnr_waits",       "transport_sequence_naks",
                              "transport_unsent_answered"};
  unsigned erred = 0;
  const std::uint64_t received = driver->counter_named("transport_packets_received");
  for (unsigned round = 0; round < rounds; ++round) {
    expose();
    for (unsigned i = 0; i < packets; ++i) {
      links().receive_from_link(1, noise());
      if (i % 16 == 0) host->advance(1000);
    }
    host->advance(second / 100);
    for (const test_qp* qp : {&a, &b}) {
      const qp_state now = state_of(*qp);
      EXPECT_TRUE(now == qp_state::rts || now == qp_state::error) << static_cast<unsigned>(now);
      erred += now == qp_state::error;
    }
    reconnect();
    EXPECT_EQ(driver->counter_named("send_requests_held"), 0u);
    if (HasFailure()) return;
  }
  expect_untouched();
  EXPECT_GT(erred, rounds / 2) << "noise that ends nothing reaches nothing";
  EXPECT_LE(driver->counter_named("transport_packets_received"), received + rounds * packets);
  for (const char* way : ways) EXPECT_GT(driver->counter_named(way), 0u) << way;
  EXPECT_TRUE(host->complaints.empty()) << "noise is not the driver's fault";
  // Who was not spoken to goes on, and so do these, once they are connected anew.
  cable.lose_per_mille = 0;
  for (test_qp* qp : {&c, &a}) {
    fill(from, 3000, 5);
    fill(to, 3000, 6);
    send(*qp, request(wqe_opcode::rdma_write, 3000));
    expect_done(*qp, true, static_cast<unsigned>(wqe_opcode::rdma_write));
    expect_pattern(to, 3000, 5);
  }
  for (const test_qp* qp : {&a, &b, &c, &d}) EXPECT_EQ(state_of(*qp), qp_state::rts);
}

}  // namespace freehca::model::test
