// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <type_traits>

namespace freehca {

/// The bits of a handle of any kind, in one register.
enum class handle_bits : std::uint64_t {};

/// Names an object of kind `Kind`, or of a kind that derives from `Kind`. A handle of a counting
/// completion queue, for example, is also a handle of a completion queue. If the object is gone,
/// the handle is stale (driver_error::stale_handle), even if another object uses the same place. A
/// handle of another owner is stale too, whether that owner uses the same device or another device
/// in the program. The default handle names no object.
template <class Kind>
struct handle {
  /// The slab's number (from bit slab::place_bits on) and the place in the slab.
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  explicit constexpr operator bool() const { return generation != 0; }
  constexpr handle_bits bits() const {
    return static_cast<handle_bits>(std::uint64_t{generation} << 32 | index);
  }
  template <class Base>
  requires(!std::is_same_v<Base, Kind> && std::is_base_of_v<Base, Kind>) constexpr
  operator handle<Base>() const {
    return {index, generation};
  }
  friend constexpr bool operator==(const handle&, const handle&) = default;
};

using pd_handle = handle<struct protection_domain>;
using mr_handle = handle<struct memory_region>;
using mw_handle = handle<struct memory_window>;
using cq_handle = handle<struct completion_queue>;
using srq_handle = handle<struct shared_receive_queue>;
using qp_handle = handle<struct queue_pair>;
static_assert(sizeof(qp_handle) == 8 && std::is_trivially_copyable_v<qp_handle>);

}  // namespace freehca
