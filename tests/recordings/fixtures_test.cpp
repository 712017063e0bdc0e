// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What holds for each recording in the tree: it is whole, the layout tables lose nothing of it, and
// the model of today answers as the recorded one did.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include <freehca/model/device.hpp>
#include <freehca/recording/compare.hpp>
#include <freehca/recording/replay.hpp>

#include "fixture.hpp"

namespace freehca {
namespace {

using namespace testing;
using recording::closeness;
using recording::placed;
using recording::record;
using recording::record_kind;

struct expectation {
  const char* name;
  model::variant kind;
  std::size_t commands;                 ///< at least
  std::vector<const char*> structures;  ///< which occur
};

void PrintTo(const expectation& e, std::ostream* to) {
  *to << e.name;
}

class recorded : public ::testing::TestWithParam<expectation> {
 protected:
  const fixture& of = fixture::named(GetParam().name);
};

TEST_P(recorded, is_whole_and_its_commands_have_their_answers) {
  ASSERT_EQ(of.whole().problem, "");
  EXPECT_EQ(of.whole().how.kind, GetParam().kind);
  std::size_t accepted = 0, answered = 0;
  for (const record& r : of.whole().records) {
    accepted += r.kind == record_kind::command;
    answered += r.kind == record_kind::answer;
  }
  EXPECT_GT(accepted, GetParam().commands);
  EXPECT_EQ(accepted, answered);
}

// A bit that the tables do not know would be lost here.
TEST_P(recorded, every_structure_decodes_and_encodes_to_the_same_bytes) {
  std::map<std::string, std::size_t> seen;
  std::map<std::string, std::string> lost;
  for (const found& f : of.all()) {
    for (const placed& p : f.parts) {
      ASSERT_LE(p.offset + p.what.bytes, f.bytes.size()) << p.what.name;
      const std::byte* from = f.bytes.data() + p.offset;
      std::vector<std::byte> again(p.what.bytes);
      recording::encode(recording::decode(p.what, from), again.data());
      ++seen[p.what.name];
      const auto different = std::mismatch(again.begin(), again.end(), from).first;
      if (different != again.end())
        lost[std::string(p.what.name) + (f.command != nullptr ? " of " + f.command->name : "")] =
            "byte " + std::to_string(different - again.begin()) + ", line " +
            std::to_string(f.where->line);
    }
  }
  for (const auto& [name, where] : lost) ADD_FAILURE() << name << ": " << where;
  for (const char* name : GetParam().structures)
    EXPECT_GT(seen[name], 0u) << name << " does not occur";
}

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& l : all) text += l + "\n";
  return text;
}

// A model that leads the driver another way, or that reads what the recorded one did not read,
// differs here: then the fixture is made again (make.sh), after a look at what differs and why.
TEST_P(recorded, the_model_answers_as_it_did) {
  const recording::replay_result result = recording::replay(of.whole());
  EXPECT_EQ(lines(result.remarks), "");
  for (const closeness how : {closeness::answers, closeness::exact}) {
    const recording::differences found = compare(of.whole(), result.again, how);
    EXPECT_EQ(found.count, 0u) << lines(found.text);
    EXPECT_GT(found.compared, GetParam().commands);
  }
}

// The adapter's state is saved and loaded into new parts at drawn calls.
TEST_P(recorded, ends_alike_with_reloads_of_the_state) {
  using model::device;
  const recording::replay_digests wanted = recording::digests_of_replay(of.whole());
  const device::reload_counts before = device::reloads();
  std::random_device drawn;
  for (const std::uint32_t one_of : {2000u, 100u, 20u}) {
    const std::uint64_t seed = drawn();
    device::reload_at_one_of(one_of, seed);
    const recording::replay_digests found = recording::digests_of_replay(of.whole());
    device::reload_at_one_of(0, 0);
    EXPECT_EQ(found, wanted) << "a reload at one of " << one_of << " calls, drawn by " << seed;
  }
  EXPECT_GT(device::reloads().done, before.done + 100);
  EXPECT_EQ(device::reloads().refused, before.refused);
}

// An adapter with shorter turns cuts MAP_FA, which overwrites megabytes, between other calls.
TEST_P(recorded, shorter_turns_than_the_recorded_ones_are_noticed) {
  EXPECT_EQ(of.whole().how.turn_units, model::options::default_turn_units);
  recording::recording with_others = of.whole();
  with_others.how.turn_units = 256;
  const recording::replay_result result = recording::replay(with_others);
  EXPECT_GT(compare(with_others, result.again, closeness::answers).count, 0u);
}

const expectation all[] = {
    {"linux",
     model::variant::connectx3_pro,
     1000,
     {"query_fw", "query_dev_cap", "init_hca", "map_entry", "eqc", "cqc", "mpt", "qpc", "mad",
      "eqe_command", "eqe_completion", "cqe", "wqe_ctrl", "wqe_data", "wqe_remote_address",
      "wqe_datagram", "rq_doorbell_record"}},
    {"ipxe_bookworm",
     model::variant::connectx2,
     150,
     {"query_fw", "query_dev_cap", "init_hca", "map_entry", "eqc", "cqc", "mpt", "mtt", "qpc",
      "mad", "mcg_header", "mcg_member", "eqe_port_change", "cqe", "wqe_ctrl", "wqe_ctrl_mlx",
      "wqe_data", "wqe_datagram", "rq_doorbell_record"}},
    {"ipxe_trixie",
     model::variant::connectx3_pro,
     150,
     {"query_fw", "query_dev_cap", "init_hca", "map_entry", "eqc", "cqc", "mpt", "mtt", "qpc",
      "mad", "mcg_header", "mcg_member", "eqe_port_change", "cqe", "wqe_ctrl", "wqe_ctrl_mlx",
      "wqe_data", "wqe_datagram", "rq_doorbell_record"}},
};
INSTANTIATE_TEST_SUITE_P(fixtures, recorded, ::testing::ValuesIn(all),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace freehca
