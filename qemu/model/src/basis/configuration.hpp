// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/model/capability.hpp>
#include <freehca/model/options.hpp>

#include "basis/adapter_limits.hpp"
#include "basis/capabilities.hpp"
#include "basis/hca_profile.hpp"

namespace freehca::model {

/// The configuration of an adapter: the options that it was made with, the limits of its variant,
/// and the profile that its driver has set. Parts read it. Only the firmware and VIRT_PORT_MAP
/// change the profile.
class configuration {
 public:
  configuration(const model::options& options, const hca_profile& profile)
      : options_(options), limits_(limits_of(options.kind)), profile_(profile) {}

  const model::options& options() const { return options_; }
  const adapter_limits& limits() const { return limits_; }
  const hca_profile& profile() const { return profile_; }
  bool offers(capability c) const { return model::offers(options_, c); }
  /// The number of UAR pages in BAR 2. BlueFlame pages have its other half.
  std::uint64_t uar_pages() const {
    return options_.uar_bar_bytes / 2 >> profile_.log_uar_page_bytes;
  }

 private:
  const model::options& options_;
  const adapter_limits& limits_;
  const hca_profile& profile_;
};

}  // namespace freehca::model
