// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca {

/// Names an object of one type. A handle whose object is gone is recognised
/// (driver_error::stale_handle), also when its place was used again. The default handle names
/// nothing.
template <class Tag>
struct handle {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  explicit constexpr operator bool() const { return generation != 0; }
  friend constexpr bool operator==(const handle&, const handle&) = default;
};

using pd_handle = handle<struct protection_domain_tag>;
using mr_handle = handle<struct memory_region_tag>;
using cq_handle = handle<struct completion_queue_tag>;
using qp_handle = handle<struct queue_pair_tag>;
static_assert(sizeof(qp_handle) == 8);

}  // namespace freehca
