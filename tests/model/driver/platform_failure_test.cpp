// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Each call of each function of the platform fails once, in a life from open() to close() with a
// recovery between. What follows is what docs/porting-contract.md says, and a life on a platform
// that works comes after each.
#include <functional>
#include <optional>
#include <tuple>

#include "failing_platform.hpp"
#include "verbs_rig.hpp"

namespace freehca {
namespace {

using testing::failing_platform;
using testing::platform_function;
using testing::storage;
using testing::words;

struct life {
  status open, up, recovered, down;
};

/// Whether the adapter can reset itself by the platform, and whether the platform has a function
/// for bus mastering.
using way = std::tuple<bool, bool>;

class platform_failure : public ::testing::TestWithParam<way> {
 protected:
  static in_process::machine_options options() {
    in_process::machine_options how;
    how.function_level_reset = std::get<0>(GetParam());
    how.takes_fills = false;
    return how;
  }
  platform_failure() {
    if (!std::get<1>(GetParam())) platform.operations().set_bus_master = nullptr;
    setup.platform = platform.it();
    setup.budget.spare_context_blocks = 0;
    setup.port_wait = 0;
    setup.storage = bytes.at();
    setup.storage_bytes = bytes.bytes();
  }

  status await(operation& op) {
    EXPECT_TRUE(machine.run([&] { return op.done(); },
                            [&] {
                              adapter->poll();
                              return adapter->next_deadline();
                            }))
        << "the operation does not end";
    return op.done() ? op.outcome() : status(transport_error::timeout);
  }
  /// Can the adapter still write to the memory that it was lent? A reset makes it forget that
  /// memory.
  bool may_write() {
    return machine.counter("icm_pages") != 0 && machine.configuration().bus_master();
  }
  /// Does everything as far as it goes. close() always comes, on the platform as it is then.
  life live() {
    life l;
    if (!adapter) adapter.emplace();
    l.open = adapter->open(setup);
    if (!l.open.ok()) return l;
    l.up = act([&](operation& op) { adapter->bring_up(op); });
    if (adapter->up()) {
      ledger();
      l.recovered = act([&](operation& op) { adapter->recover(op); });
      if (adapter->up()) ledger();
    }
    l.down = act([&](operation& op) { adapter->tear_down(op); });
    if (l.down.ok()) expect_nothing_held();
    return l;
  }
  void end() {
    adapter->close();
    adapter.reset();
    expect_closed();
  }
  void expect_closed() {
    EXPECT_EQ(machine.dma_blocks(), 0u);
    EXPECT_FALSE(may_write()) << "memory was given back that the adapter may write to";
  }
  status act(const std::function<void(operation&)>& start) {
    operation op;
    start(op);
    return await(op);
  }
  void expect_nothing_held() {
    EXPECT_TRUE(adapter->holdings().none());
    EXPECT_EQ(adapter->holdings().in_doubt(), 0u);
    EXPECT_FALSE(may_write());
  }
  /// What a device that is up holds, as the adapter and the machine count it.
  void ledger() {
    EXPECT_EQ(machine.dma_blocks(), 1u);
    EXPECT_TRUE(machine.configuration().bus_master());
    EXPECT_EQ(adapter->holdings().in_doubt(), 0u);
    const std::uint64_t pages = adapter->holdings().pages;
    if (!pages_when_up) pages_when_up = pages;
    EXPECT_EQ(pages, *pages_when_up);
  }
  void expect_a_good_life() {
    platform.work();
    const life l = live();
    EXPECT_TRUE(l.open.ok() && l.up.ok() && l.recovered.ok() && l.down.ok())
        << words(l.open) << "; " << words(l.up) << "; " << words(l.recovered) << "; "
        << words(l.down);
    EXPECT_FALSE(machine.configuration().bus_master()) << "as before it was brought up";
    end();
  }

  in_process::machine machine{options()};
  failing_platform platform{machine};
  device_setup setup;
  storage bytes{device::storage_bytes({})};
  std::optional<device> adapter;
  std::optional<std::uint64_t> pages_when_up;
};

TEST_P(platform_failure, of_each_call_ends_as_the_contract_says) {
  expect_a_good_life();
  platform.work();
  live();
  end();
  const auto calls = [&](platform_function f) { return platform.calls(f); };
  unsigned most[testing::platform_functions];
  for (std::size_t f = 0; f < testing::platform_functions; ++f)
    most[f] = calls(static_cast<platform_function>(f));
  const auto [by_platform, has_master] = GetParam();
  EXPECT_EQ(most[0], 2u);
  EXPECT_GE(most[1], 6u) << "configuration space is read in each bring-up";
  EXPECT_EQ(most[2] > 0, !by_platform || !has_master) << "by a reset by register, or by hand";
  EXPECT_GE(most[3], 2u) << "each life resets twice at least";
  EXPECT_EQ(most[4] >= 4, has_master);
  EXPECT_EQ(most[5] > 0, !by_platform);
  EXPECT_EQ(most[6], 1u);
  EXPECT_GE(most[7], 2u);

  for (std::size_t i = 0; i < testing::platform_functions; ++i)
    for (unsigned nth = 1; nth <= most[i]; ++nth) {
      const auto f = static_cast<platform_function>(i);
      SCOPED_TRACE(::testing::Message() << f << ", call " << nth << " of " << most[i]);
      platform.fail(f, nth);
      const life l = live();
      const bool told = !l.open.ok() || !l.up.ok() || !l.recovered.ok() || !l.down.ok();
      const auto refused = [](status s) { return s.ok() || s.is(transport_error::refused); };
      EXPECT_TRUE(refused(l.open) && refused(l.up) && refused(l.recovered) && refused(l.down))
          << words(l.open) << "; " << words(l.up) << "; " << words(l.recovered) << "; "
          << words(l.down);
      switch (f) {
        case platform_function::map_bar:
        case platform_function::allocate_dma:
          EXPECT_TRUE(l.open.is(transport_error::refused)) << words(l.open);
          EXPECT_EQ(l.open.where(), 7u);
          break;
        case platform_function::reset_function:
          // As unsupported: the driver resets through the register.
          EXPECT_FALSE(told) << words(l.up) << "; " << words(l.recovered) << "; " << words(l.down);
          break;
        case platform_function::arm_interrupts:
          EXPECT_FALSE(told) << "event queues are polled instead";
          break;
        case platform_function::restore_after_reset:
          // The second is of the reset that a recovery begins with. The bring-up behind it restores
          // once more.
          if (nth == 2) EXPECT_TRUE(l.recovered.ok()) << words(l.recovered);
          else EXPECT_TRUE(told);
          break;
        case platform_function::read_configuration:
        case platform_function::write_configuration:
        case platform_function::set_bus_master:
          break;  // told, or made good by a reset: expect_nothing_held() and end() judge it
      }
      if (adapter->state() != device_state::closed) {
        // The platform works again: nothing stays held.
        platform.work();
        const status down = act([&](operation& op) { adapter->tear_down(op); });
        EXPECT_TRUE(down.ok()) << words(down);
        expect_nothing_held();
      }
      end();
      expect_a_good_life();
      if (HasFailure()) return;
    }
}

/// The platform goes on failing until close() has come and gone.
TEST_P(platform_failure, of_every_call_from_one_on_gives_no_memory_back_that_is_written_to) {
  platform.work();
  live();
  const unsigned reads = platform.calls(platform_function::read_configuration);
  end();
  for (unsigned nth = 1; nth <= reads; ++nth) {
    SCOPED_TRACE(::testing::Message() << "configuration space is not read from call " << nth);
    platform.fail_from(nth);
    const life l = live();
    EXPECT_TRUE(l.open.ok());
    if (nth == 1) {
      EXPECT_TRUE(l.up.is(transport_error::refused)) << words(l.up);
    }
    // The same object goes on: it has what configuration space held before a reset wiped it.
    adapter->close();
    expect_closed();
    // A reset through the register, which close() does not wait for.
    machine.advance(clock::seconds(1));
    expect_a_good_life();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(ways, platform_failure,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const ::testing::TestParamInfo<way>& of) {
                           return std::string(std::get<0>(of.param) ? "flr" : "register") + "_" +
                                  (std::get<1>(of.param) ? "bus_master" : "by_hand");
                         });

/// A platform that maps too little of BAR 0.
TEST(short_bar, is_a_bad_reply) {
  in_process::machine machine;
  failing_platform platform{machine};
  static freehca::platform real = machine.platform();
  platform.operations().map_bar = [](void*, unsigned bar, mmio_region* mapped) -> status {
    const status s = real.operations->map_bar(real.context, bar, mapped);
    if (bar == 0) *mapped = mapped->part(0, mapped->bytes / 2);
    return s;
  };
  storage bytes{device::storage_bytes({})};
  device adapter;
  device_setup setup;
  setup.platform = platform.it();
  setup.storage = bytes.at();
  setup.storage_bytes = bytes.bytes();
  const status s = adapter.open(setup);
  EXPECT_TRUE(s.is(transport_error::bad_reply)) << words(s);
  EXPECT_EQ(machine.dma_blocks(), 0u);
}

}  // namespace
}  // namespace freehca
