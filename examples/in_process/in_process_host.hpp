// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/blocking/host.hpp>
#include <freehca/in_process/machine.hpp>

namespace freehca::blocking {

/// A host with the modelled adapter in this very process. Driver and adapter share one virtual
/// clock, which moves only here.
class in_process_host : public host {
 public:
  explicit in_process_host(const in_process::machine_options& options = {}) : machine(options) {}
  freehca::platform platform() override { return machine.platform(); }
  void wait(std::uint64_t deadline) override {
    // A driver that wants to look again at once still takes some time to do so.
    constexpr std::uint64_t look = 200;
    machine.step(deadline == 0 ? machine.time() + look : deadline);
  }
  int descriptor() override { return -1; }

  in_process::machine machine;
};

}  // namespace freehca::blocking
