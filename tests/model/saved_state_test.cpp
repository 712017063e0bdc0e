// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An adapter whose state is saved, and another one in its place that takes it. All tests of the
// model are run so, too, with FREEHCA_RELOAD_ONE_OF (reloading.cpp).
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "basis/places.hpp"
#include "saving/stream.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {
namespace {

using layouts::opcode;

class saved_state : public transport_fixture {
 protected:
  /// Another adapter in the place of this one, in the same host.
  void replace(const options& how) {
    next_ = how;  // `how` may be the device's own
    std::destroy_at(hca.get());
    std::construct_at(hca.get(), *host, next_);
    host->attach(*hca);
  }
  /// The state goes on in another adapter. The clock of its host says `clock`.
  void move_to_host_at(std::uint64_t clock) {
    const std::vector<std::byte> state = hca->save();
    const std::uint64_t digest = hca->state_digest();
    replace(hca->how());
    host->clock = clock;
    std::string why;
    ASSERT_TRUE(hca->load(state, why)) << why;
    EXPECT_EQ(digest, hca->state_digest());
  }
  std::string refusal(const std::vector<std::byte>& state) {
    std::string why;
    EXPECT_FALSE(hca->load(state, why));
    return why;
  }
  std::uint64_t card_clock() {
    const std::uint64_t high = driver->read(places::clock);
    return high << 32 | driver->read(places::clock + 4);
  }
  /// A write of 300,000 bytes of which a part has been moved.
  void begin_large_write(test_qp& a, test_qp& b) {
    to_rts(a, b.number);
    to_rts(b, a.number);
    fill(region_start, 300'000, 7);
    post_send(a, transfer(wqe_opcode::rdma_write, 300'000, region_start, region_start + 0x100000));
    ring(a);
    host->run(3);
    ASSERT_EQ(driver->counter_named("send_requests_held"), 1u);
  }
  void expect_large_write_done(test_qp& a) {
    host->advance(second);
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
    expect_pattern(region_start + 0x100000, 300'000, 7);
    EXPECT_EQ(host->complaints, std::vector<std::string>());
  }

 private:
  options next_;
};

TEST_F(saved_state, a_message_under_way_arrives_from_another_adapter) {
  test_qp a = make_qp(0x100), b = make_qp(0x101);
  begin_large_write(a, b);
  move_to_host_at(host->clock);
  expect_large_write_done(a);
}

// The other host was started a moment ago, or long before this one.
TEST_F(saved_state, times_are_those_of_the_adapter) {
  for (const std::uint64_t clock : {std::uint64_t{5}, std::uint64_t{1} << 60}) {
    test_qp a = make_qp(clock == 5 ? 0x100 : 0x102), b = make_qp(a.number + 1);
    to_rts(a, b.number);
    to_rts(b, a.number);
    test_send s = transfer(wqe_opcode::send, 100, region_start, 0);
    post_send(a, s);
    ring(a);
    host->run();
    const std::uint64_t before = card_clock();
    // The receiver has nothing: the sender waits and asks again.
    move_to_host_at(clock);
    const std::uint64_t after = card_clock();
    EXPECT_GE(after, before);
    EXPECT_LT(after - before, 1'000'000u);
    host->advance(1'000'000);
    EXPECT_GT(card_clock(), after);
    post_receive(b, region_start + 0x1000, 100, key);
    host->advance(second);
    EXPECT_EQ(driver->counter_named("send_requests_held"), 0u);
    expect_done(b, false, static_cast<unsigned>(cqe_opcode::recv_send));
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  }
}

TEST_F(saved_state, the_level_of_the_interrupt_pin_is_set_again) {
  host->msix_on = false;
  test_driver::queue by_pin;
  constexpr auto type = event_type::local_catastrophic_error;
  ASSERT_EQ(driver->make_eq(by_pin, eqn + 1, 0).status, command_status::ok);
  ASSERT_EQ(
      driver->command(opcode::map_eq, std::uint64_t{1} << static_cast<unsigned>(type), eqn + 1)
          .status,
      command_status::ok);
  ASSERT_TRUE(hca->raise_event({.type = type}));
  ASSERT_TRUE(host->intx_asserted);
  const std::vector<std::byte> state = hca->save();
  replace(hca->how());
  host->intx_asserted = false;
  std::string why;
  ASSERT_TRUE(hca->load(state, why)) << why;
  EXPECT_TRUE(host->intx_asserted);
}

TEST_F(saved_state, a_saved_adapter_goes_on_as_if_nothing_was) {
  test_qp a = make_qp(0x100), b = make_qp(0x101);
  begin_large_write(a, b);
  EXPECT_EQ(hca->save(), hca->save());
  expect_large_write_done(a);
}

TEST_F(saved_state, neither_save_nor_load_reads_or_writes_memory) {
  test_qp a = make_qp(0x100), b = make_qp(0x101);
  begin_large_write(a, b);
  const std::uint64_t reads = host->reads, written = host->bytes_written;
  host->refuse(test_host::base, std::size_t{192} << 20);
  const std::vector<std::byte> state = hca->save();
  replace(hca->how());
  std::string why;
  ASSERT_TRUE(hca->load(state, why)) << why;
  EXPECT_EQ(reads, host->reads);
  EXPECT_EQ(written, host->bytes_written);
}

TEST_F(saved_state, options_that_differ_are_refused_with_both_values) {
  const std::vector<std::byte> state = hca->save();
  options how = hca->how();
  how.node_guid = 0x1111;
  replace(how);
  EXPECT_EQ("options: guid is 0x2c90300f0ca00 in the state, and guid is 0x1111 in this adapter",
            refusal(state));
  how = hca->how();
  how.node_guid = options{}.node_guid;
  how.kind = variant::connectx3;
  replace(how);
  EXPECT_EQ("options: variant is 0x0 in the state, and variant is 0x1 in this adapter",
            refusal(state));
}

// Nothing of a refused stream is kept, wherever it is wrong.
TEST_F(saved_state, a_refused_state_leaves_the_adapter_as_it_was) {
  test_qp a = make_qp(0x100), b = make_qp(0x101);
  begin_large_write(a, b);
  const std::vector<std::byte> state = hca->save();
  const std::uint64_t digest = hca->state_digest();
  EXPECT_EQ("it is no state of an adapter: it does not begin with its mark", refusal({}));
  std::vector<std::byte> damaged = state;
  damaged[state.size() / 2] ^= std::byte{1};
  EXPECT_NE(std::string::npos, refusal(damaged).find("is damaged")) << refusal(damaged);
  damaged = state;
  damaged.resize(damaged.size() - 100);
  EXPECT_NE(std::string::npos, refusal(damaged).find("is cut")) << refusal(damaged);
  const saving::parsed_stream whole = saving::parse_stream(state);
  ASSERT_GT(whole.sections.size(), 15u);
  for (std::size_t wrong = 0; wrong < whole.sections.size(); ++wrong) {
    saving::stream_writer longer, unknown, missing;
    for (std::size_t i = 0; i < whole.sections.size(); ++i) {
      const saving::section& s = whole.sections[i];
      std::vector<std::byte> bytes(s.bytes.begin(), s.bytes.end());
      if (i == wrong) bytes.push_back(std::byte{0});
      longer.add({s.name, bytes});
      unknown.add({i == wrong ? "other" : s.name, s.bytes});
      if (i != wrong) missing.add(s);
    }
    const std::string name(whole.sections[wrong].name);
    EXPECT_EQ(name + ": 1 bytes are left", refusal(std::move(longer).finish()));
    EXPECT_EQ("section other is not known, or not in its place",
              refusal(std::move(unknown).finish()));
    EXPECT_NE(std::string::npos, refusal(std::move(missing).finish()).find("section ")) << name;
  }
  EXPECT_EQ(digest, hca->state_digest());
  expect_large_write_done(a);
}

TEST_F(saved_state, what_cannot_be_saved_is_named) {
  EXPECT_EQ("", hca->obstacle_to_saving());
  hca->judge_commands([](opcode, std::uint32_t) { return command_verdict{}; });
  EXPECT_EQ("commands have a judge", hca->obstacle_to_saving());
  EXPECT_EQ("commands have a judge", refusal({}));
  hca->judge_commands({});
  hca->judge_events([](event_type) { return event_fate::deliver; });
  EXPECT_EQ("events have a judge", hca->obstacle_to_saving());
  hca->judge_events({});
  hca->judge_requests([](wqe_opcode) { return true; });
  EXPECT_EQ("work requests have a judge", hca->obstacle_to_saving());
  hca->judge_requests({});
  options how = hca->how();
  how.record = true;
  replace(how);
  EXPECT_EQ("a recording is being written", hca->obstacle_to_saving());
}

// 16,384 connected queue pairs, with a request of each under way, take at most 64 MiB.
TEST_F(saved_state, a_connected_queue_pair_takes_few_bytes) {
  constexpr std::size_t pairs = 100, most = (std::size_t{64} << 20) / 16'384;
  const std::size_t without = hca->save().size();
  for (std::uint32_t i = 0; i < pairs; ++i) {
    test_qp qp = make_qp(0x100 + i);
    to_rts(qp, qp.number);
    post_send(qp, transfer(wqe_opcode::send, 100, region_start, 0));
    ring(qp);
    host->run();
  }
  EXPECT_EQ(driver->counter_named("send_requests_held"), pairs);
  const std::size_t each = (hca->save().size() - without) / pairs;
  EXPECT_GT(each, layouts::qpc::bytes);
  EXPECT_LE(each, most);
  RecordProperty("bytes", std::to_string(each));
}

// FREEHCA_WRITE_STREAM=FILE makes the file of a new version. A file that is in the tree is never
// made again.
TEST_F(saved_state, streams_of_every_version_are_loaded) {
  test_qp a = make_qp(0x100), b = make_qp(0x101);
  begin_large_write(a, b);
  if (const char* file = std::getenv("FREEHCA_WRITE_STREAM")) {
    const std::vector<std::byte> state = hca->save();
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(state.data()),
               static_cast<std::streamsize>(state.size()));
  }
  for (const char* version : {"1"}) {
    std::ifstream file(std::string(FREEHCA_STREAMS "/version_") + version, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    replace(hca->how());
    std::string why;
    // The host's memory is as the saved adapter had it: the same calls have led there.
    ASSERT_TRUE(hca->load({bytes, text.size()}, why)) << version << ": " << why;
    EXPECT_EQ(2u, driver->counter_named("queue_pairs"));
    expect_large_write_done(a);
  }
}

}  // namespace
}  // namespace freehca::model::test
