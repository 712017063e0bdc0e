// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A bad cable between two adapters: what is reliable arrives once and in order or fails by its
// retry counters; what is not may be lost and is never wrong.
#include "cabled_fixture.hpp"
#include "link/link_fault_source.hpp"
#include "link/psn.hpp"
#include "link/wire_form.hpp"

namespace freehca::model::test {

namespace {

struct bad_cable {
  const char* name;
  link_faults how;
};
// GoogleTest finds it by this name. NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const bad_cable& c, std::ostream* to) {
  *to << c.name;
}

constexpr bad_cable cables[] = {
    {"loss of 0.1 %", {.loss = 1'000}},
    {"loss of 1 %", {.loss = 10'000}},
    {"loss of 10 %", {.loss = 100'000}},
    {"corruption of 0.1 %", {.corruption = 1'000}},
    {"corruption of 1 %", {.corruption = 10'000}},
    {"corruption of 10 %", {.corruption = 100'000}},
    {"duplication of 0.1 %", {.duplication = 1'000}},
    {"duplication of 1 %", {.duplication = 10'000}},
    {"duplication of 10 %", {.duplication = 100'000}},
    {"reordering of 0.1 %", {.reordering = 1'000}},
    {"reordering of 1 %", {.reordering = 10'000}},
    {"reordering of 10 %", {.reordering = 100'000}},
    {"all at 1 %", {10'000, 10'000, 10'000, 10'000}},
    {"all at 5 %", {50'000, 50'000, 50'000, 50'000}},
    {"all at 10 %", {100'000, 100'000, 100'000, 100'000}},
};

class bad_link : public cabled, public testing::WithParamInterface<bad_cable> {
 protected:
  static constexpr std::uint32_t slot = 8192, greatest = 7000;

  bad_link() {
    activate();
    link_faults f = GetParam().how;
    f.seed = 3;
    EXPECT_TRUE(a.hca->set_link_faults(1, f));
    f.seed = 4;
    EXPECT_TRUE(b.hca->set_link_faults(1, f));
  }
  void pair(test_qp& left, test_qp& right) {
    a.connect(left, right.number, lid_b);
    b.connect(right, left.number, lid_a);
  }
  static std::uint64_t at(std::uint64_t n) { return station::region_start + n * slot; }
  static std::uint32_t size_of(unsigned i) { return 1 + i * 1237 % greatest; }
  /// The next completion of `s` within two minutes.
  static bool wait(station& s, layouts::image<layouts::cqe>& e) {
    for (unsigned i = 0; i < 2000; ++i) {
      s.host->run();
      if (s.driver->next_completion(s.cq, e)) {
        s.driver->tell_consumer(s.cq);
        return true;
      }
      s.host->advance(60'000'000);
    }
    return false;
  }
  /// Did it end well? With seven retries none of these seeds ends a connection, at 10 % of each
  /// fault neither.
  static bool good(const layouts::image<layouts::cqe>& e) {
    const auto error = layouts::image<layouts::cqe_error>::from_bytes(e.data());
    return error.get<&layouts::cqe_error::opcode>() != cqe_opcode::error;
  }
  std::uint64_t faults(const char* kind) const {
    const std::string name = std::string("port1_fault_") + kind;
    return a.counter(name.c_str()) + b.counter(name.c_str());
  }
};

}  // namespace

TEST_P(bad_link, reliable_sends_arrive_once_and_in_order) {
  constexpr unsigned messages = 60;
  test_qp left = a.make_qp(0x100), right = b.make_qp(0x120);
  pair(left, right);
  for (unsigned i = 0; i < messages; ++i) {
    a.fill(at(i), size_of(i), i);
    a.post_send(left, a.transfer(wqe_opcode::send, size_of(i), at(i), 0));
    b.post_receive(right, at(i), slot, b.key);
  }
  a.ring(left);
  layouts::image<layouts::cqe> e;
  for (unsigned i = 0; i < messages; ++i) {
    ASSERT_TRUE(wait(a, e)) << i;
    ASSERT_TRUE(good(e)) << i;
  }
  for (unsigned i = 0; i < messages; ++i) {
    ASSERT_TRUE(b.driver->next_completion(b.cq, e)) << i;
    EXPECT_EQ(e.get<&layouts::cqe::byte_count>(), size_of(i));
    b.expect_pattern(at(i), size_of(i), i);
  }
  EXPECT_TRUE(b.no_completion()) << "one came twice";
  EXPECT_EQ(a.hca->complaints() + b.hca->complaints(), 0u);
}

TEST_P(bad_link, reads_writes_and_atomics_happen_once) {
  constexpr unsigned rounds = 20;
  test_qp left = a.make_qp(0x100), right = b.make_qp(0x120);
  pair(left, right);
  layouts::image<layouts::cqe> e;
  std::uint64_t sum = 0;
  std::memset(&b.byte_at(at(60)), 0, 8);
  for (unsigned i = 0; i < rounds; ++i) {
    a.fill(at(0), greatest, i);
    a.send(left, a.transfer(wqe_opcode::rdma_write, greatest, at(0), at(1)));
    ASSERT_TRUE(wait(a, e));
    ASSERT_TRUE(good(e)) << i;
    b.expect_pattern(at(1), greatest, i);
    a.send(left, a.transfer(wqe_opcode::rdma_read, greatest, at(2), at(1)));
    ASSERT_TRUE(wait(a, e));
    ASSERT_TRUE(good(e)) << i;
    a.expect_pattern(at(2), greatest, i);
    test_send add = a.transfer(wqe_opcode::atomic_fa, 8, at(3), at(60));
    add.swap_add = i + 1;
    a.send(left, add);
    ASSERT_TRUE(wait(a, e));
    ASSERT_TRUE(good(e)) << i;
    std::uint64_t before = 0, now = 0;
    std::memcpy(&before, &a.byte_at(at(3)), sizeof before);
    std::memcpy(&now, &b.byte_at(at(60)), sizeof now);
    EXPECT_EQ(before, sum);
    sum += i + 1;
    EXPECT_EQ(now, sum);
  }
}

TEST_P(bad_link, reads_that_are_under_way_together_are_all_answered) {
  // More than the responder's resources, so that each is asked for again beside others that are
  // new.
  constexpr unsigned messages = 60;
  test_qp left = a.make_qp(0x100), right = b.make_qp(0x120);
  pair(left, right);
  for (unsigned i = 0; i < messages; ++i) {
    b.fill(at(i), size_of(i), i);
    a.post_send(left, a.transfer(wqe_opcode::rdma_read, size_of(i), at(i), at(i)));
  }
  a.ring(left);
  layouts::image<layouts::cqe> e;
  for (unsigned i = 0; i < messages; ++i) {
    ASSERT_TRUE(wait(a, e)) << i;
    ASSERT_TRUE(good(e)) << i;
    a.expect_pattern(at(i), size_of(i), i);
  }
  EXPECT_EQ(b.events(layouts::event_type::wq_invalid_request_error), 0u);
}

TEST_P(bad_link, unreliable_messages_are_whole_or_lost) {
  constexpr unsigned messages = 60;
  for (const bool connected : {true, false}) {
    const auto service = connected ? qp_service::uc : qp_service::ud;
    const std::uint32_t number = connected ? 0x140 : 0x150;
    test_qp left = a.make_qp(number, service), right = b.make_qp(number, service);
    if (connected) {
      pair(left, right);
    } else {
      a.to_rts(left, 0);
      b.to_rts(right, 0);
    }
    const std::uint32_t headers = connected ? 0 : 40;
    const auto size = [&](unsigned i) { return connected ? size_of(i) : size_of(i) % 1025; };
    for (unsigned i = 0; i < messages; ++i) b.post_receive(right, at(i), slot, b.key);
    layouts::image<layouts::cqe> e;
    for (unsigned i = 0; i < messages; ++i) {
      a.fill(station::region_start, size(i), i);
      if (connected) a.send(left, a.transfer(wqe_opcode::send, size(i), station::region_start, 0));
      else a.send_datagram(left, size(i), right.number, lid_b);
      ASSERT_TRUE(wait(a, e));
      ASSERT_TRUE(good(e));
    }
    pass(1'000'000);
    unsigned came = 0;
    for (unsigned last = 0; b.driver->next_completion(b.cq, e); ++came) {
      const std::uint32_t bytes = static_cast<std::uint32_t>(e.get<&layouts::cqe::byte_count>());
      const auto is = [&](unsigned i) {
        if (bytes != size(i) + headers) return false;
        for (std::uint32_t n = 0; n < size(i); ++n)
          if (b.byte_at(at(came) + headers + n) != station::pattern(n, i)) return false;
        return true;
      };
      // Datagrams may come late; a connection's messages come in order. Twice may come what is a
      // single packet: IBTA vol. 1, 9.8.2, has no memory of what came before a first or only
      // packet.
      unsigned which = connected ? last : 0;
      while (which < messages && !is(which)) ++which;
      EXPECT_LT(which, messages) << "message " << came << " was never sent like that";
      last = which;
    }
    b.driver->tell_consumer(b.cq);
    EXPECT_GT(came, messages / 4);
  }
}

TEST_P(bad_link, faults_are_counted_and_seen) {
  const link_faults& f = GetParam().how;
  test_qp left = a.make_qp(0x140, qp_service::uc), right = b.make_qp(0x140, qp_service::uc);
  pair(left, right);
  for (unsigned i = 0; i < 8; ++i) {
    a.send(left, a.transfer(wqe_opcode::rdma_write, 1u << 20, at(0), at(0)));
    a.host->run();
  }
  pass(1'000'000);
  const auto expect_rate = [&](const char* kind, std::uint32_t rate) {
    // Of 8192 packets; two thirds to five quarters, and a little for small rates. What is lost is
    // not overtaken too, and one packet at a time is.
    const double wanted = 8192.0 * rate / link_faults::always;
    EXPECT_GE(static_cast<double>(faults(kind)), wanted * 0.66 - 5) << kind;
    EXPECT_LE(static_cast<double>(faults(kind)), wanted * 1.25 + 5) << kind;
  };
  expect_rate("lost", f.loss);
  expect_rate("corrupted", f.corruption);
  expect_rate("duplicated", f.duplication);
  expect_rate("reordered", f.reordering);
  const auto seen = b.counter("port1_bad_vcrc") + b.counter("port1_bad_icrc") +
                    b.counter("port1_malformed_packets");
  // A bit that changes under way by right is no damage.
  EXPECT_LE(seen, faults("corrupted") + faults("duplicated"));
  EXPECT_GE(seen, faults("corrupted") * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(rates, bad_link, testing::ValuesIn(cables));

TEST(link_fault, damage_is_by_the_seed_alone) {
  link_fault_source source;
  const auto damaged = [&](unsigned packets) {
    source.set({.corruption = link_faults::always, .seed = 5});
    std::vector<std::vector<std::byte>> all(packets, std::vector<std::byte>(100));
    for (auto& bytes : all) source.decide(bytes, true);
    return all;
  };
  const auto first =
      damaged(21);  // an odd number: whatever counts packets stands elsewhere behind it
  EXPECT_EQ(damaged(21), first);
}

TEST_F(cabled, what_is_always_lost_is_sent_again_as_often_as_the_retry_count_says) {
  activate();
  ASSERT_TRUE(a.hca->set_link_faults(1, {.loss = link_faults::always}));
  for (const unsigned retries : {0u, 1u, 3u, 7u}) {
    test_qp left = a.make_qp(0x100 + retries);
    a.to_rts(left, a.ready_context(left, 0x120)
                       .set<&layouts::primary_path::rlid>(lid_b)
                       .set<&layouts::qpc::retry_count>(retries));
    const auto lost = a.counter("port1_fault_lost");
    a.send(left,
           a.transfer(wqe_opcode::rdma_write, 8, station::region_start, station::region_start));
    pass(10'000'000'000);
    const auto e = layouts::image<layouts::cqe_error>::from_bytes(a.completion().data());
    EXPECT_EQ(e.get<&layouts::cqe_error::opcode>(), cqe_opcode::error) << retries;
    EXPECT_EQ(e.get<&layouts::cqe_error::syndrome>(), cqe_syndrome::transport_retry_exceeded);
    EXPECT_EQ(a.counter("port1_fault_lost") - lost, 1 + retries);
  }
}

TEST_F(cabled, only_packets_that_are_held_back_count_as_reordered) {
  activate();
  test_qp left = a.make_qp(0x140, qp_service::ud);
  a.to_rts(left, 0);
  EXPECT_TRUE(a.hca->set_link_faults(1, {.reordering = link_faults::always}));
  unsigned overtaken = 0;
  std::uint32_t before = 0;
  a.host->on_wire = [&](unsigned, std::vector<std::byte>& bytes) {
    packet p;
    if (from_wire(bytes, p) != arrival::good) return;
    const std::uint32_t psn = a.links().codec(1).unwrap(1, p)->psn();
    overtaken += psn == psn_before(before);
    before = psn;
  };
  for (unsigned i = 0; i < 50; ++i) a.send_datagram(left, 10, 0x140, lid_b);
  a.host->run();
  EXPECT_EQ(overtaken, 25u);
  EXPECT_EQ(a.counter("port1_fault_reordered"), 25u);
}

TEST_F(cabled, the_same_seed_gives_the_same_faults) {
  activate();
  const auto run = [&](std::uint32_t number, std::uint64_t seed) {
    EXPECT_TRUE(a.hca->set_link_faults(1, {.loss = 100'000, .seed = seed}));
    test_qp left = a.make_qp(number, qp_service::uc), right = b.make_qp(number, qp_service::uc);
    a.connect(left, number, lid_b);
    b.connect(right, number, lid_a);
    std::vector<bool> arrived;
    for (unsigned i = 0; i < 200; ++i) {
      const auto before = b.counter("port1_packets_received");
      a.send(left, a.transfer(wqe_opcode::rdma_write, 8, a.region_start, b.region_start));
      a.host->run();
      arrived.push_back(b.counter("port1_packets_received") != before);
    }
    return arrived;
  };
  const auto first = run(0x140, 7);
  EXPECT_EQ(first, run(0x141, 7));
  EXPECT_NE(first, run(0x142, 8));
}

}  // namespace freehca::model::test
