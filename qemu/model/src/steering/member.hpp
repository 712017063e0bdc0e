// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include "saving/fields.hpp"

namespace freehca::model {

/// A queue pair that gets what arrives; there may be none of that number, or it is in reset.
struct member {
  std::uint32_t qpn;
  bool block_loopback;  ///< not what it sent itself
  bool operator==(const member&) const = default;

  using saved = saving::fields<&member::qpn, &member::block_loopback>;
};
using member_list = std::vector<member>;

}  // namespace freehca::model
