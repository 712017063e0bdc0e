// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include <freehca/model/options.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

/// Of which kind each port's link is: ports tell it, for the rooms below and above them.
class port_layers {
 public:
  explicit port_layers(const options& how) : ports_(how.ports) {
    for (unsigned i = 0; i < now_.size(); ++i) now_[i] = how.link[i];
  }

  /// Of a number that is no port's: false.
  bool ethernet(std::uint64_t port) const {
    return port >= 1 && port <= ports_ && now_[port - 1] == link_layer::ethernet;
  }
  void set(unsigned port, link_layer to) {
    if (now_[port - 1] != to) ++changes_[port - 1];
    now_[port - 1] = to;
  }
  /// How often each port's link has become one of the other kind.
  using change_counts = std::array<std::uint32_t, 2>;
  const change_counts& changes() const { return changes_; }

 private:
  unsigned ports_;
  std::array<link_layer, 2> now_{};
  change_counts changes_{};

 public:
  using saved = saving::fields<&port_layers::now_, &port_layers::changes_>;
  static constexpr saving::unsaved_member unsaved[] = {{"ports_", "set at construction"}};
};

}  // namespace freehca::model
