// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Random use against a random firmware, from a seed: what must hold whatever happens.
#include <map>
#include <memory>
#include <random>

#include "channel_fixture.hpp"

namespace freehca::testing {
namespace {

/// One command with its lease, and how often it was completed and settled.
struct tracked : command {
  explicit tracked(std::uint32_t number) : id(number) {
    request.opcode = layouts::opcode::nop;
    request.input_modifier = number;
    put_at_risk(what);
    then(
        [](operation&, void* p) noexcept {
          auto& self = *static_cast<tracked*>(p);
          ++self.completed;
          self.was_in_doubt = self.what.in_doubt();
        },
        this);
  }
  std::uint32_t id;
  unsigned completed = 0;
  unsigned settled = 0;
  bool was_in_doubt = false;
  bool settled_too_early = false;
  lease what{lease_kind::page, 3,
             [](lease&, const settlement&, void* p) noexcept {
               auto& self = *static_cast<tracked*>(p);
               ++self.settled;
               self.settled_too_early |= self.completed == 0;
             },
             this};
};

class random_use : public channel_test, public ::testing::WithParamInterface<unsigned> {
 protected:
  random_use() : channel_test(6) { commands.set_limit(patience::ordinary, second / 2); }

  /// What the firmware still has: posted, and neither answered nor reset.
  struct outstanding {
    std::uint32_t id;
    std::uint16_t token;
    std::uint64_t in_param, out_param;
    bool by_event;
  };

  bool chance(unsigned percent) { return random() % 100 < percent; }
  tracked& command_of(const outstanding& o) { return *issued[o.id]; }

  void submit() {
    auto& c =
        issued.emplace_back(std::make_unique<tracked>(static_cast<std::uint32_t>(issued.size())));
    c->request.lane = static_cast<lane>(random() % lanes);
    c->request.barrier = chance(4);
    if (chance(50)) c->request.key = {object_kind::qp, random() % 4};
    if (chance(30)) {
      c->request.input = command_request::form::mailbox;
      static constexpr std::byte one[4] = {{}, {}, {}, std::byte{1}};
      c->request.input_data = one;
      c->request.input_bytes = sizeof one;
    }
    if (chance(30)) {
      c->request.output = command_request::form::mailbox;
      static std::byte unused;
      c->request.output_data = &unused;
    }
    if (chance(10)) c->set_deadline(device.now + random() % second);
    client_of[(issued.size() - 1) % 4].submit(*c);
  }

  /// Looks at everything that poll() posted.
  void take_note() {
    for (; noted < device.posted.size(); ++noted) {
      const posted_command& p = device.posted[noted];
      const outstanding now{static_cast<std::uint32_t>(p.get<&hcr::in_modifier>()), token_of(noted),
                            p.get<&hcr::in_param>(), p.get<&hcr::out_param>(), p.get<&hcr::e>()};
      const tracked& c = command_of(now);
      for (const outstanding& other : with_firmware) {
        const tracked& o = command_of(other);
        ASSERT_TRUE(c.request.key.kind == object_kind::none || c.request.key != o.request.key)
            << "keys overlap";
        ASSERT_TRUE(now.in_param == 0 || now.in_param != other.in_param)
            << "a mailbox in use was used again";
        ASSERT_TRUE(now.out_param == 0 || now.out_param != other.out_param)
            << "a mailbox in use was used again";
        ASSERT_NE(now.token, other.token);
        if (!o.done()) {
          ASSERT_FALSE(c.request.barrier || o.request.barrier) << "a barrier was overlapped";
        }
      }
      if (c.request.key.kind != object_kind::none) {
        std::uint32_t& last = last_on[c.request.key.number];
        ASSERT_LE(last, c.id) << "commands on one object changed their order";
        last = c.id;
      }
      with_firmware.push_back(now);
      ASSERT_LE(with_firmware.size(), slot_count);
    }
  }

  void answer_one() {
    if (with_firmware.empty()) return;
    const std::size_t i = random() % with_firmware.size();
    const outstanding o = with_firmware[i];
    const auto status = static_cast<std::uint8_t>(chance(80) ? 0 : 1 + random() % 0x50);
    if (o.by_event) {
      commands.on_completion(o.token, status, 0);
      if (chance(10)) commands.on_completion(o.token, status, 0);
    } else {
      device.answer(status);
    }
    with_firmware.erase(with_firmware.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void reset() {
    commands.device_was_reset();
    with_firmware.clear();
    std::fill_n(device.command_register().base, layouts::hcr::bytes, std::byte{0});
  }

  std::mt19937 random{GetParam()};
  std::vector<std::unique_ptr<tracked>> issued;
  std::vector<outstanding> with_firmware;
  command_client client_of[4] = {command_client(commands), command_client(commands),
                                 command_client(commands), command_client(commands)};
  std::map<std::uint64_t, std::uint32_t> last_on;
  std::size_t noted = 0;
};

TEST_P(random_use, every_command_ends_once_and_nothing_in_doubt_is_reused) {
  std::uint64_t most_in_doubt = 0;
  for (int step = 0; step < 6000; ++step) {
    const auto what = static_cast<unsigned>(random() % 100);
    if (what < 30) submit();
    else if (what < 60) answer_one();
    else if (what < 63 && !issued.empty())
      issued[issued.size() - 1 - random() % std::min<std::size_t>(issued.size(), 12)]->cancel();
    else if (what == 63 && chance(10)) client_of[random() % 4].cancel_all();
    else if (what < 67) commands.use_events(1 + static_cast<unsigned>(random() % 8));
    else if (what < 68) commands.use_polling();
    else if (what < 69) commands.on_completion(static_cast<std::uint16_t>(random() | 7), 0, 0);
    else if (what == 69 && chance(20)) commands.fail_all(transport_error::gone);
    else if (what == 70 && (chance(30) || !commands.failure().ok())) reset();
    else if (what < 75 && !commands.failure().ok()) reset();
    else if (what < 80) pass(random() % (chance(2) ? 20 * second : second / 50));
    else commands.poll();
    take_note();
    if (HasFatalFailure()) return;
    std::uint64_t in_doubt = 0;
    for (const auto& c : issued) in_doubt += c->what.in_doubt() ? 3u : 0u;
    ASSERT_EQ(commands.in_doubt(lease_kind::page), in_doubt) << "step " << step;
    most_in_doubt = std::max(most_in_doubt, in_doubt);
  }
  reset();
  for (const auto& c : issued) {
    EXPECT_EQ(c->completed, 1u) << c->id;
    EXPECT_EQ(c->settled, c->was_in_doubt ? 1u : 0u) << c->id;
    EXPECT_FALSE(c->settled_too_early) << c->id;
  }
  EXPECT_GT(most_in_doubt, 0u);
  const channel_statistics& s = commands.statistics();
  EXPECT_GT(s.timed_out, 0u);
  EXPECT_GT(s.late, 0u);
  EXPECT_EQ(s.submitted, issued.size());
  EXPECT_EQ(device.traces.size(), issued.size());
  EXPECT_EQ(s.posted, device.posted.size());
}

INSTANTIATE_TEST_SUITE_P(seeds, random_use, ::testing::Range(1u, 21u));

}  // namespace
}  // namespace freehca::testing
