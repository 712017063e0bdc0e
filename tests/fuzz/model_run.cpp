// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <iterator>
#include <memory>

#include "digest.hpp"
#include "hostile_station.hpp"
#include "run.hpp"

namespace freehca::fuzz {

namespace {

constexpr unsigned kinds = 3, choices = std::size(model::capability_names) + 1,
                   states = kinds * choices;
// Bytes from here on name adapters that lack nothing; those before them, adapters with an Ethernet
// port.
constexpr unsigned whole = 252, stations = 16, first_station = whole - stations;
static_assert(states <= first_station);
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

/// Port 1 is Ethernet. The first differ in how frames are steered and what the ports are, the
/// others in kind, or in one capability.
std::unique_ptr<hostile_guest> make_station(unsigned which) {
  using model::capability;
  using model::link_layer;
  using model::variant;
  model::options how;
  auto multicast = model::test::steering::by_groups;
  how.link[0] = link_layer::ethernet;
  how.cable[0] = true;
  for (const auto c : {capability::wake_on_lan, capability::congestion_notification})
    how.with.add(c);
  constexpr capability lacking[] = {capability::roce_v2,
                                    capability::roce,
                                    capability::receive_side_scaling,
                                    capability::vxlan,
                                    capability::traffic_classes,
                                    capability::interface_counters,
                                    capability::unicast_loopback};
  switch (which) {
    case 0:
      break;
    case 1:
      how.without.add(capability::b0_steering);
      break;
    case 2:
      multicast = model::test::steering::by_rules;
      break;
    case 3:
      how.vpi[0] = true;
      multicast = model::test::steering::by_rules;
      break;
    case 4:
      how.link[1] = link_layer::ethernet;
      break;
    case 5:
      how.prefetch = true;
      break;
    case 6:
      how.kind = variant::connectx3;
      how.vpi[0] = true;
      break;
    case 7:
      how.kind = variant::connectx2;
      break;
    case 8:
      how.kind = variant::connectx2;
      how.vpi[0] = how.vpi[1] = true;
      break;
    default:
      how.without.add(lacking[(which - 9) % std::size(lacking)]);
      how.link[1] = which % 2 == 0 ? link_layer::ethernet : link_layer::infiniband;
  }
  return std::make_unique<hostile_station>(how, multicast);
}

std::unique_ptr<hostile_guest> make_guest(std::uint32_t state) {
  if (state >= states) return make_station(state - states);
  return std::make_unique<hostile_guest>(adapter_of(state));
}

/// The model against a guest that does what the input says, all of it allowed by the bus and little
/// of it by the hardware's rules. Whatever was done, a reset makes the adapter as new.
class model_run final : public target {
 public:
  explicit model_run(std::uint32_t state) : guest_(make_guest(state)) {}
  void go(input from) override {
    // Enough for what an input of 512 bytes says, and for a bounded run.
    guest_->act(from, 200);
    guest_->expect_order_after_reset();
  }
  void check_thoroughly() override { guest_->expect_working_after_reset(); }
  std::uint64_t trace() override { return guest_->trace(); }

 private:
  const std::unique_ptr<hostile_guest> guest_;
};

}  // namespace

start start_of(input& from) {
  const bool thorough = from.mark() % thorough_each == 0;
  const unsigned what = from.byte();
  if (what >= first_station && what < whole) return {states + what - first_station, thorough};
  return {what >= whole ? what % kinds * choices : what % states, thorough};
}

void print_reach() {}

std::uint64_t outcome(const std::uint8_t* data, std::size_t bytes) {
  input from(data, bytes);
  const auto guest = make_guest(start_of(from).state);
  guest->act(from, 200);
  const std::uint64_t before_reset = guest->outcome();
  guest->expect_order_after_reset();
  digest both;
  both.add(before_reset);
  both.add(guest->outcome());
  return both.value();
}

std::unique_ptr<target> make_target(std::uint32_t state) {
  testing::FLAGS_gtest_break_on_failure = true;  // an expectation that fails is a finding
  return std::make_unique<model_run>(state);
}

}  // namespace freehca::fuzz
