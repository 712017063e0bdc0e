// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/context_tables.hpp>

namespace freehca {

class device;

/// Lends the device the context memory of many objects in advance, in pieces as large as the arena
/// has them: from then on objects within the reservation come and go without MAP_ICM and UNMAP_ICM,
/// until it is released. For machines whose work after the start must not depend on memory or on
/// such commands.
///
/// An operation on context memory like any other: cancel, deadline, exact unwind. Outcomes as of a
/// context_request; besides, driver_error::bad_state (reserve(): the device is not up, or something
/// is held already; release(): nothing is held), ::unsupported (context_group::eq, whose memory is
/// there from bring-up on, and ::mcg, of which no numbers are given out).
class context_reservation : public context_request {
 public:
  /// Memory for `objects` more of the group beside those that exist, in all its tables, for
  /// whatever numbers they get: numbers that rest after their object's end are counted in. Fewer
  /// where the table ends.
  ///
  /// For context_group::mtt this is no promise. There the objects are translation entries, of which
  /// each region or ring takes a multiple of 8 in a row, and what is lent is the memory of so many
  /// entries, lowest numbers first. A run that rests, or a gap that is too short, sends the next
  /// region to higher numbers: what of it lies outside the reservation gets its memory by MAP_ICM,
  /// as without one.
  void reserve(device& adapter, context_group group, std::uint32_t objects);
  /// Of a done one, after restart(): gives up what reserve() got. Memory that objects use stays
  /// until their end. After a reset or a teardown there is nothing to give up: the outcome is ok,
  /// and reserve() does not need it.
  void release(device& adapter);

  /// The numbers whose memory it holds.
  std::uint32_t first() const { return from_; }
  std::uint32_t count() const { return count_; }

 private:
  std::uint32_t from_ = 0, count_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace freehca
