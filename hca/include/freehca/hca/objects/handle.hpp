// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <type_traits>

namespace freehca {

/// Names an object of one kind, or of a kind that is made from it: a handle of a completion queue
/// that counts is one of a completion queue too. A handle whose object is gone is recognised
/// (driver_error::stale_handle), also when its place was used again, and so is one of another
/// owner, of the same device or of another one in the program. The default handle names nothing.
template <class Kind>
struct handle {
  std::uint32_t index = 0;  ///< which of the kinds in use, and which object of that
  std::uint32_t generation = 0;
  explicit constexpr operator bool() const { return generation != 0; }
  template <class Base>
  requires(!std::is_same_v<Base, Kind> && std::is_base_of_v<Base, Kind>) constexpr
  operator handle<Base>() const {
    return {index, generation};
  }
  friend constexpr bool operator==(const handle&, const handle&) = default;
};

using pd_handle = handle<struct protection_domain>;
using mr_handle = handle<struct memory_region>;
using cq_handle = handle<struct completion_queue>;
using srq_handle = handle<struct shared_receive_queue>;
using qp_handle = handle<struct queue_pair>;
static_assert(sizeof(qp_handle) == 8 && std::is_trivially_copyable_v<qp_handle>);

}  // namespace freehca
