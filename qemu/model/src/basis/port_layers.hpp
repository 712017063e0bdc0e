// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>

#include <freehca/model/options.hpp>

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
  void set(unsigned port, link_layer to) { now_[port - 1] = to; }

 private:
  unsigned ports_;
  std::array<link_layer, 2> now_{};
};

}  // namespace freehca::model
