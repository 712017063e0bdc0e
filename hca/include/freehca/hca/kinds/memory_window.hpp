// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/mr.hpp>
#include <freehca/queues/memory_requests.hpp>

#include <freehca/hca/kinds/protection_domain.hpp>
#include <freehca/hca/objects/creation.hpp>

namespace freehca {

struct memory_window_attributes {
  pd_handle pd{};
  queues::window_type type = queues::window_type::one;
};

/// A window gives the peer access to a part of a region, by a key of its own. A queue pair of the
/// same domain binds it (queues::bind_window). Another binding of no bytes unbinds a window of type
/// 1. queues::local_invalidate, or queues::send_with_invalidate of the peer, unbinds a window of
/// type 2. Error: driver_error::unsupported (the device has no windows of this type; windows of
/// type 2 that are not 2B).
///
/// The destruction of a window unbinds it. While windows are bound to a region, the firmware
/// refuses to destroy the region (layouts::command_status::region_bound). Bindings are between the
/// queue pairs and the device. The driver does not count them.
struct memory_window : device_object {
  using attributes = memory_window_attributes;
  using creating = commands::sw2hw_mpt;
  static constexpr kind_facts facts{.name = "memory window",
                                    .item = 0x4a,
                                    .numbers = &number_spaces::mpts,
                                    .group = context_group::mpt,
                                    .destroying = taking_back<commands::hw2sw_mpt>};

  std::uint32_t key = 0;  ///< the R_Key of the last binding

  /// Returns the key for the next binding. Only its low byte differs from the previous key. A peer
  /// that still has the previous key can then not use the window (IBTA vol. 1, 10.6.7.2.3). A key
  /// is used again after 256 bindings, or after fewer if the invalid or the reserved key was
  /// skipped. Called on the thread of the owner of the objects.
  std::uint32_t next_key();

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes&, creation<creating>& to);
  /// Records the last key, before the control owner can give the number to another object.
  void suspend();
  void strip(verbs&) { key = 0; }
};

/// Returns 0 for a stale handle.
inline std::uint32_t key_of(const verbs& in, mw_handle h) {
  const memory_window* const window = in.find(h);
  return window != nullptr ? window->key : 0;
}

using create_memory_window = create_object<memory_window>;
using destroy_memory_window = destroy_object<memory_window>;

}  // namespace freehca
