// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/eqe.hpp>

namespace freehca::model {

/// An event that a test has the adapter raise (device::raise_event).
struct raised_event {
  layouts::event_type type = layouts::event_type::none;
  /// The subtype of the entry. Of operation_required, whose entry has none: the type of the
  /// operation that GET_OP_REQ then reports.
  std::uint8_t subtype = 0;
  /// The port that the entry names. Events of the whole adapter have none.
  std::uint8_t port = 1;
};

/// The type of operation that Linux knows: QPs join a multicast group or leave it (Linux 6.1 fw.c
/// mlx4_opreq_action).
inline constexpr std::uint8_t operation_of_multicast = 0x26;

}  // namespace freehca::model
