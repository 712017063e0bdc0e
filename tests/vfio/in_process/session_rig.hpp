// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include <freehca/loopback_traffic/report.hpp>

#include <freehca/blocking/session.hpp>
#include <freehca/hca/every_kind.hpp>

#include <in_process_host.hpp>

namespace freehca::loopback_traffic {

using blocking::in_process_host;
using blocking::words;

/// A user who interrupts at the n-th time that the program sleeps.
class impatient_host final : public in_process_host {
 public:
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  explicit impatient_host(bool function_level_reset = true)
      : in_process_host(options_for(function_level_reset)) {}

  void wait(std::uint64_t deadline) override {
    ++sleeps;
    in_process_host::wait(deadline);
  }
  bool interrupted() const override { return sleeps >= patience; }

  std::uint64_t sleeps = 0, patience = never;
  bool patience_for_one_kind =
      false;  ///< interrupts when all messages of one kind and size have arrived

 private:
  static in_process::machine_options options_for(bool function_level_reset) {
    in_process::machine_options how;
    how.function_level_reset = function_level_reset;
    return how;
  }
};

/// What hcactl ping does, without its words.
struct round {
  status bring_up;
  traffic_result traffic;
  status tear_down;
  std::uint64_t sleeps_of_bring_up = 0, sleeps = 0;
  std::uint64_t resets = 0;
  bool all_well() const { return bring_up.ok() && traffic.ok() && tear_down.ok(); }
};

/// Nothing is left afterwards, however it went. `midway` is called between bring-up and traffic.
template <class Midway>
round run_round(impatient_host& host, Midway&& midway) {
  round r;
  host.sleeps = 0;
  {
    traffic_memory memory;
    blocking::session s(host, {.budget = {}, .objects = every_kind()});
    EXPECT_TRUE(s.open().ok());
    r.bring_up = s.wait(s.adapter().bring_up());
    r.sleeps_of_bring_up = host.sleeps;
    if (r.bring_up.ok()) {
      midway();
      r.traffic = run_traffic(s, memory, {.port = 1, .messages = 1}, [&host](const tally&) {
        if (host.patience_for_one_kind) host.patience = 0;
      });
    }
    r.tear_down = s.tear_down();
    r.sleeps = host.sleeps;
    r.resets = s.adapter().hardware().info().resets;
    EXPECT_EQ(s.adapter().hardware().state(), device_state::down);
    EXPECT_TRUE(r.tear_down.ok()) << words(r.tear_down);
    EXPECT_TRUE(s.adapter().hardware().holdings().none());
    EXPECT_TRUE(s.adapter().objects().holdings().none());
    EXPECT_FALSE(host.machine.configuration().bus_master());
  }
  EXPECT_EQ(host.machine.dma_blocks(), 0u);
  EXPECT_EQ(host.machine.counter("complaints"), 0u)
      << (host.machine.complaints().empty() ? std::string() : host.machine.complaints().front());
  return r;
}
inline round run_round(impatient_host& host) {
  return run_round(host, [] {});
}

}  // namespace freehca::loopback_traffic
