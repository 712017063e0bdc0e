// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A machine with a modelled adapter and the device object on it, not yet brought up.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/hca/device.hpp>
#include <freehca/in_process/machine.hpp>

#include "budgets.hpp"

#include "words.hpp"

namespace freehca::testing {

class device_rig {
 public:
  explicit device_rig(const in_process::machine_options& how = {}, const freehca::budget& b = {},
                      bool interrupts = true)
      : machine(how), storage_(device::storage_bytes(b) / sizeof(aligned_unit) + 1) {
    setup.platform = machine.platform();
    setup.budget = b;
    setup.storage = reinterpret_cast<std::byte*>(storage_.data());
    setup.storage_bytes = storage_.size() * sizeof(aligned_unit);
    setup.use_interrupts = interrupts;
  }

  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 300'000'000'000) {
    return machine.run(
        done,
        [this] {
          adapter.poll();
          return adapter.next_deadline();
        },
        limit_ns);
  }
  void run_for(std::uint64_t nanoseconds) {
    run([] { return false; }, nanoseconds);
  }
  status await(operation& op) {
    EXPECT_TRUE(run([&] { return op.done(); })) << "no completion, at " << name_of(adapter.step());
    return op.done() ? op.outcome() : status(transport_error::timeout);
  }
  status bring_up() {
    operation up;
    adapter.bring_up(up);
    return await(up);
  }
  status tear_down() {
    operation down;
    adapter.tear_down(down);
    return await(down);
  }
  std::string failure() const {
    return std::string(name_of(adapter.failure().step)) + ": " + words(adapter.failure().cause);
  }
  std::string complaints() const {
    std::string all;
    for (const std::string& c : machine.complaints()) all += c + "\n";
    return all;
  }

 private:
  struct alignas(16) aligned_unit {
    std::byte bytes[16];
  };

 public:
  in_process::machine machine;

 private:
  std::vector<aligned_unit> storage_;

 public:
  device adapter;
  device_setup setup;
};

}  // namespace freehca::testing
