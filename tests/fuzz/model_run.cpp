// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <iterator>

#include "hostile_guest.hpp"
#include "run.hpp"

namespace freehca::fuzz {

namespace {

constexpr unsigned kinds = 3, choices = std::size(model::capability_names) + 1,
                   states = kinds * choices;
// Bytes from here on name adapters that lack nothing.
constexpr unsigned whole = 252;
constexpr unsigned thorough_each = 256;

/// An adapter of one kind, and without one capability or none. Every other one reads send queues
/// ahead.
model::options adapter_of(std::uint32_t state) {
  model::options how;
  how.kind = static_cast<model::variant>(state / choices % kinds);
  if (state % choices != 0) how.without.add(model::capability_names[state % choices - 1].what);
  how.cable[1] = true;
  how.prefetch = state % 2 != 0;
  return how;
}

/// The model against a guest that does what the input says, all of it allowed by the bus and little
/// of it by the hardware's rules. Whatever was done, a reset makes the adapter as new.
class model_run final : public target {
 public:
  explicit model_run(std::uint32_t state) : guest_(adapter_of(state)) {}
  void go(input from) override {
    // Enough for what an input of 512 bytes says, and for a bounded run.
    guest_.act(from, 200);
    guest_.expect_order_after_reset();
  }
  void check_thoroughly() override { guest_.expect_working_after_reset(); }
  std::uint64_t trace() override { return guest_.trace(); }

 private:
  hostile_guest guest_;
};

}  // namespace

start start_of(input& from) {
  const bool thorough = from.mark() % thorough_each == 0;
  const unsigned what = from.byte();
  return {what >= whole ? what % kinds * choices : what % states, thorough};
}

std::unique_ptr<target> make_target(std::uint32_t state) {
  testing::FLAGS_gtest_break_on_failure = true;  // an expectation that fails is a finding
  return std::make_unique<model_run>(state);
}

}  // namespace freehca::fuzz
