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
  random_use() : channel_test(6) { channel_.set_limit(patience::ordinary, second / 2); }

  /// What the firmware still has: posted, and neither answered nor reset.
  struct outstanding {
    std::uint32_t id;
    std::uint16_t token;
    std::uint64_t in_param, out_param;
    bool by_event;
  };

  bool chance(unsigned percent) { return random_() % 100 < percent; }
  tracked& command_of(const outstanding& o) { return *commands_[o.id]; }

  void submit() {
    auto& c = commands_.emplace_back(
        std::make_unique<tracked>(static_cast<std::uint32_t>(commands_.size())));
    c->request.lane = static_cast<lane>(random_() % lanes);
    c->request.barrier = chance(4);
    if (chance(50)) c->request.key = {object_kind::qp, random_() % 4};
    if (chance(30)) {
      c->request.input = command_request::form::mailbox;
      c->request.encode = [](command&, std::byte* box) noexcept { dma::store_be32(box, 1); };
    }
    if (chance(30)) {
      c->request.output = command_request::form::mailbox;
      c->request.decode = [](command&, const std::byte*) noexcept {};
    }
    if (chance(10)) c->set_deadline(device_.now + random_() % second);
    channel_.submit(*c);
  }

  /// Looks at everything that poll() posted.
  void take_note() {
    for (; seen_ < device_.posted.size(); ++seen_) {
      const posted_command& p = device_.posted[seen_];
      const outstanding now{static_cast<std::uint32_t>(p.get<&hcr::in_modifier>()), token_of(seen_),
                            p.get<&hcr::in_param>(), p.get<&hcr::out_param>(), p.get<&hcr::e>()};
      const tracked& c = command_of(now);
      for (const outstanding& other : with_firmware_) {
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
      with_firmware_.push_back(now);
      ASSERT_LE(with_firmware_.size(), slots_);
    }
  }

  void answer_one() {
    if (with_firmware_.empty()) return;
    const std::size_t i = random_() % with_firmware_.size();
    const outstanding o = with_firmware_[i];
    const auto status = static_cast<std::uint8_t>(chance(80) ? 0 : 1 + random_() % 0x50);
    if (o.by_event) {
      channel_.on_completion(o.token, status, 0);
      if (chance(10)) channel_.on_completion(o.token, status, 0);
    } else {
      device_.answer(status);
    }
    with_firmware_.erase(with_firmware_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void reset() {
    channel_.device_was_reset();
    with_firmware_.clear();
    std::fill_n(device_.command_register().base, layouts::hcr::bytes, std::byte{0});
  }

  std::mt19937 random_{GetParam()};
  std::vector<std::unique_ptr<tracked>> commands_;
  std::vector<outstanding> with_firmware_;
  std::size_t seen_ = 0;
};

TEST_P(random_use, every_command_ends_once_and_nothing_in_doubt_is_reused) {
  std::uint64_t most_in_doubt = 0;
  for (int step = 0; step < 6000; ++step) {
    const auto what = static_cast<unsigned>(random_() % 100);
    if (what < 30) submit();
    else if (what < 60) answer_one();
    else if (what < 63 && !commands_.empty())
      commands_[commands_.size() - 1 - random_() % std::min<std::size_t>(commands_.size(), 12)]
          ->cancel();
    else if (what < 67) channel_.use_events(1 + static_cast<unsigned>(random_() % 8));
    else if (what < 68) channel_.use_polling();
    else if (what < 69) channel_.on_completion(static_cast<std::uint16_t>(random_() | 7), 0, 0);
    else if (what == 69 && chance(20)) channel_.fail_all(transport_error::gone);
    else if (what == 70 && (chance(30) || !channel_.failure().ok())) reset();
    else if (what < 75 && !channel_.failure().ok()) reset();
    else if (what < 80) pass(random_() % (chance(2) ? 20 * second : second / 50));
    else channel_.poll();
    take_note();
    if (HasFatalFailure()) return;
    std::uint64_t in_doubt = 0;
    for (const auto& c : commands_) in_doubt += c->what.in_doubt() ? 3u : 0u;
    ASSERT_EQ(channel_.in_doubt(lease_kind::page), in_doubt) << "step " << step;
    most_in_doubt = std::max(most_in_doubt, in_doubt);
  }
  reset();
  for (const auto& c : commands_) {
    EXPECT_EQ(c->completed, 1u) << c->id;
    EXPECT_EQ(c->settled, c->was_in_doubt ? 1u : 0u) << c->id;
    EXPECT_FALSE(c->settled_too_early) << c->id;
  }
  EXPECT_GT(most_in_doubt, 0u);
  const channel_statistics& s = channel_.statistics();
  EXPECT_GT(s.timed_out, 0u);
  EXPECT_GT(s.late, 0u);
  EXPECT_EQ(s.submitted, commands_.size());
  EXPECT_EQ(device_.traces.size(), commands_.size());
  EXPECT_EQ(s.posted, device_.posted.size());
}

INSTANTIATE_TEST_SUITE_P(seeds, random_use, ::testing::Range(1u, 21u));

}  // namespace
}  // namespace freehca::testing
