// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <freehca/layouts/pma.hpp>

#include "basis/scheduler.hpp"
#include "fabric/managed_port.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// The sampling mechanism of one port (IBTA vol. 1, 16.1.3.2 and 16.1.3.3): after a wait it counts
/// for an interval, and then tells what it counted.
class port_sampler final : private work_receiver {
 public:
  using control = layouts::image<layouts::port_samples_control>;
  using result = layouts::image<layouts::port_samples_result>;

  /// Both must outlive the object.
  port_sampler(const managed_port& port, scheduler& in, const std::string& owner)
      : port_(port), work_(in, owner + ", sampler", *this) {}

  /// Get and Set of PortSamplesControl; a Set while a sample is under way changes nothing (Linux
  /// qib_mad.c pma_set_portsamplescontrol). The port is the one of this sampler.
  control settings() const;
  void set(const control& wanted);
  result counted() const;
  void clear();

 private:
  std::uint64_t now_of(unsigned counter) const;
  void begin();
  void end();

  enum work : std::uint8_t { begin_interval, end_interval };
  void run_item(work_item& what) override {
    if (what.kind == begin_interval) begin();
    else end();
  }

  const managed_port& port_;
  work_source work_;
  control settings_ = at_power_on();
  std::array<std::uint64_t, layouts::sampled_counters>
      values_{};  ///< at the begin, then the counts
  layouts::sample_status status_ = layouts::sample_status::done;
  scheduler::ticket next_;

  static control at_power_on();

 public:
  using saved =
      saving::fields<&port_sampler::settings_, &port_sampler::values_,
                     saving::up_to(&port_sampler::status_, layouts::sample_status::running),
                     &port_sampler::next_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "a work source"}};
};

}  // namespace freehca::model
