// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// While a command of bring-up is in doubt, somebody takes all that the device has left: nothing
// that the command named may be among it, and the late answer, with all that it writes, must land
// in nothing of it.
#include <memory>
#include <set>

#include <freehca/firmware_cmds/firmware.hpp>
#include <freehca/hca/device_plan.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/map.hpp>
#include <freehca/layouts/mtt.hpp>
#include <freehca/layouts/register_map.hpp>

#include "either_reset.hpp"
#include "hoard.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;
using testing::hoard;

class bring_up_in_doubt : public testing::either_reset {
 protected:
  using query = firmware_command<commands::query_fw>;

  void SetUp() override {
    either_reset::SetUp();
    const device_plan plan(rig.setup.budget);
    const std::uint64_t block = rig.adapter.arena().block().device_address;
    mailboxes_begin = block + plan.mailboxes;
    mailboxes_end = block + plan.doorbells;
  }
  bool is_mailbox(std::uint64_t address) const {
    return address >= mailboxes_begin && address < mailboxes_end;
  }
  layouts::image<layouts::hcr> command_register() {
    layouts::image<layouts::hcr> words;
    for (std::size_t at = 0; at < layouts::hcr::bytes; at += 4)
      layouts::store_be(words.data() + at, rig.machine.mmio_read_32(0, layouts::bar0::hcr + at));
    return words;
  }
  /// Bring-up up to its n-th command, which is not answered; false: there are fewer.
  bool leave_in_doubt(unsigned n) {
    struck = {};
    rig.machine.adapter().judge_commands(
        [this, n, seen = 0u](opcode code, std::uint32_t) mutable -> model::command_verdict {
          if (++seen != n) return {};
          struck = code;
          return {.what = fate::hold};
        });
    const status s = rig.bring_up();
    if (s.ok()) {
      rig.machine.adapter().judge_commands({});
      return false;
    }
    EXPECT_TRUE(s.is(transport_error::timeout)) << place(n) << ": " << testing::words(s);
    EXPECT_EQ(rig.adapter.state(), device_state::in_doubt) << place(n);
    // What the fillers below send is held as well.
    rig.machine.adapter().judge_commands(
        [](opcode, std::uint32_t) -> model::command_verdict { return {.what = fate::hold}; });
    named = command_register();
    return true;
  }
  /// Nothing that the command in the register names is in the hoard.
  void expect_disjoint(const hoard& rest, const std::string& where) {
    using l = layouts::hcr;
    const std::uint64_t input = named.get<&l::in_param>();
    EXPECT_FALSE(rest.has_page(input)) << where;
    EXPECT_FALSE(rest.has_page(named.get<&l::out_param>())) << where;
    const std::byte* box = is_mailbox(input) ? rig.machine.memory().find(input, 4096) : nullptr;
    if (struck == opcode::map_fa || struck == opcode::map_icm_aux || struck == opcode::map_icm) {
      ASSERT_NE(box, nullptr) << where;
      std::uint64_t pages = 0;
      for (unsigned i = 0; i < named.get<&l::in_modifier>(); ++i) {
        using entry = layouts::map_entry;
        const auto e = layouts::image<entry>::from_bytes(box + i * entry::bytes);
        for (std::uint64_t p = 0; p < std::uint64_t{1} << e.get<&entry::log2size>(); ++p, ++pages)
          EXPECT_FALSE(rest.has_page(e.get<&entry::pa>() + p * dma_arena::page)) << where;
      }
      EXPECT_GE(rig.adapter.holdings().pages_in_doubt, pages) << where;
      EXPECT_GT(pages, 0u) << where;
    }
    if (struck == opcode::sw2hw_eq) {
      ASSERT_NE(box, nullptr) << where;
      EXPECT_FALSE(rest.has_eq(static_cast<std::uint32_t>(named.get<&l::in_modifier>()))) << where;
      const auto context = layouts::image<layouts::eqc>::from_bytes(box);
      const auto first = static_cast<std::uint32_t>(context.get<&layouts::eqc::mtt_base_addr>() /
                                                    layouts::mtt::bytes);
      EXPECT_FALSE(rest.has_translation(first)) << where;
      EXPECT_EQ(first % (1u << number_spaces::log_mtt_unit), 0u) << where;
      const dma_region entry = rig.adapter.contexts().memory(context_table::mtt, first);
      const auto translation = layouts::image<layouts::mtt>::from_bytes(entry.host);
      EXPECT_TRUE(translation.get<&layouts::mtt::present>()) << where;
      EXPECT_FALSE(rest.has_page(translation.get<&layouts::mtt::ptag>())) << where;
      EXPECT_EQ(rig.adapter.holdings().numbers_in_doubt, 1u) << where;
      EXPECT_GT(rig.adapter.holdings().buffers_in_doubt, 0u) << where;
    }
    const unsigned boxes =
        (is_mailbox(input) ? 1u : 0u) + (is_mailbox(named.get<&l::out_param>()) ? 1u : 0u);
    EXPECT_EQ(rig.adapter.holdings().mailboxes_in_doubt, boxes) << where;
    EXPECT_EQ(rig.adapter.holdings().slots_in_doubt, 1u) << where;
  }
  /// Commands for all slots and mailboxes that are left.
  void fill_slots() {
    for (unsigned i = 0; i < rig.setup.budget.command_slots; ++i)
      rig.adapter.commands().submit(*fillers.emplace_back(std::make_unique<query>()));
    rig.adapter.poll();
    rig.machine.advance(clock::microseconds(10));  // the adapter takes them
  }
  std::string place(unsigned n) const {
    return "command " + std::to_string(n) + " " + layouts::name_of(struck);
  }

  opcode struck{};
  layouts::image<layouts::hcr> named;
  std::uint64_t mailboxes_begin = 0, mailboxes_end = 0;
  std::vector<std::unique_ptr<query>> fillers;
};

TEST_P(bring_up_in_doubt, what_it_named_is_reused_by_nobody_and_late_writes_land_in_it_alone) {
  unsigned pages_tried = 0, most_beside = 0;
  std::uint64_t late_writes = 0;
  for (unsigned n = 1; leave_in_doubt(n); ++n) {
    hoard rest(rig.adapter);
    EXPECT_GT(rest.pages(), 0u) << place(n);
    pages_tried += static_cast<unsigned>(rest.pages());
    expect_disjoint(rest, place(n));
    fillers.clear();
    fill_slots();
    const auto held = static_cast<unsigned>(rig.machine.adapter().held_commands());
    most_beside = std::max(most_beside, held - 1);

    // Each held query writes one mailbox, and each its own.
    std::set<std::uint64_t> boxes;
    unsigned box_writes = 0;
    rig.machine.on_adapter_write = [&](std::uint64_t address, std::size_t bytes) {
      ++late_writes;
      EXPECT_FALSE(rest.has_page(address) || rest.has_page(address + bytes - 1)) << place(n);
      if (!is_mailbox(address)) return;
      ++box_writes;
      boxes.insert(address / 4096);
    };
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
    EXPECT_EQ(boxes.size(), box_writes) << place(n) << ": a mailbox was written twice";
    EXPECT_GE(boxes.size(), held - 1) << place(n);
    EXPECT_TRUE(rig.run(
        [&] {
          for (const auto& f : fillers)
            if (!f->done()) return false;
          return true;
        },
        clock::seconds(1)))
        << place(n);
    rig.machine.on_adapter_write = {};
    EXPECT_TRUE(rest.untouched()) << place(n);
    rest.give_back();
    EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::down; })) << place(n);
    EXPECT_TRUE(rig.adapter.holdings().none()) << place(n);
    EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u) << place(n);
    if (HasFailure()) return;
  }
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_GT(pages_tried, 0u);
  EXPECT_GT(late_writes, 0u);
  EXPECT_GT(most_beside, 8u) << "by events the slots that are left are used";
}

TEST_P(bring_up_in_doubt, a_host_that_sleeps_until_the_deadline_sees_the_late_answer) {
  for (unsigned n = 1; leave_in_doubt(n); ++n) {
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
    // Only what next_deadline() says makes this host look again.
    unsigned looks = 0;
    while (rig.adapter.state() != device_state::down && ++looks < 1000) {
      const std::uint64_t until = rig.adapter.next_deadline();
      ASSERT_NE(until, operation::no_deadline) << place(n);
      if (until > rig.machine.time()) rig.machine.advance(until - rig.machine.time());
      else rig.machine.advance(clock::microseconds(1));
      rig.adapter.poll();
    }
    EXPECT_EQ(rig.adapter.state(), device_state::down) << place(n);
    if (HasFailure()) return;
  }
  EXPECT_TRUE(rig.tear_down().ok());
}

INSTANTIATE_TEST_SUITE_P(resets, bring_up_in_doubt, ::testing::Bool(), testing::kind_of_reset);

}  // namespace
}  // namespace freehca
