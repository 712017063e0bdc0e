// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/blocking/host.hpp>
#include <freehca/in_process/machine.hpp>

namespace freehca::blocking {

/// A host with the modelled adapter in the same process. Driver and adapter share one virtual
/// clock, which advances only in wait().
class in_process_host : public host {
 public:
  explicit in_process_host(const in_process::machine_options& options = {}) : machine(options) {}
  freehca::platform platform() override { return machine.platform(); }
  void wait(std::uint64_t deadline) override {
    // Deadline 0 means that the driver polls again at once. The next poll still takes some time.
    constexpr std::uint64_t look = 200;
    machine.step(deadline == 0 ? machine.time() + look : deadline);
  }
  int descriptor() override { return -1; }

  in_process::machine machine;
};

}  // namespace freehca::blocking
