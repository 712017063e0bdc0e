// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include <freehca/layouts/mcg.hpp>

#include "saving/fields.hpp"
#include "steering/member.hpp"

namespace freehca::model {

/// What the multicast table in context memory does not tell of Ethernet: the members of promiscuous
/// entries, which stand at no place of it, and which of its entries are Ethernet's.
class ethernet_entries {
 public:
  using gid = layouts::image<layouts::mcg_ethernet_gid>;
  static constexpr std::size_t bytes_each = 96;  ///< that a remembered entry takes
  /// Entries that are remembered. No source: chosen.
  static constexpr std::size_t most = 4096;

  /// An entry of the table was written.
  void wrote(std::uint32_t index, const layouts::image<layouts::mcg_header>& head);
  /// By their places. A driver that takes an entry out of a chain does not write it, so that it may
  /// be reached no more.
  const std::map<std::uint32_t, gid>& written() const { return written_; }
  bool overflowed() const { return overflowed_; }  ///< some were not remembered

  /// Ports count from 1. At most as many members as an entry holds.
  member_list& promiscuous(unsigned port, layouts::mcg_steering steering) {
    return promiscuous_[port - 1][static_cast<std::size_t>(steering)];
  }
  void clear();

 private:
  std::map<std::uint32_t, gid> written_;
  bool overflowed_ = false;
  std::array<std::array<member_list, 2>, 2> promiscuous_;

 public:
  using saved = saving::fields<&ethernet_entries::written_, &ethernet_entries::overflowed_,
                               &ethernet_entries::promiscuous_>;
  const char* broken_invariant() const;
};

}  // namespace freehca::model
