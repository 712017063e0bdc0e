// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/mcg.hpp>

#include "basis/adapter.hpp"

namespace freehca::model {

class command_checks;

/// Multicast groups: READ_MCG, WRITE_MCG, MGID_HASH, and who gets a packet. Entries stand in ICM.
class multicast_groups {
 public:
  explicit multicast_groups(adapter& a);

  struct member {
    std::uint32_t qpn;
    bool block_loopback;
  };
  using member_list = std::vector<member>;
  /// A walk along the chain of a group's hash, which a guest can make long.
  struct search {
    std::array<std::byte, 16> mgid;
    std::uint32_t index;
    unsigned hops = 0;
  };
  search begin_search(const std::byte* mgid) const;
  /// As far as the slice goes; true: it has ended, and the queue pairs attached to the group are in
  /// `found`.
  bool search_on(search& s, member_list& found);

 private:
  layouts::command_status read(command& c);
  layouts::command_status write(command& c);
  layouts::command_status hash(command& c);
  std::uint32_t hash_of(const std::byte* mgid) const;
  std::size_t entry_bytes() const;
  std::uint64_t address(std::uint32_t index) const;
  bool valid(std::uint32_t index) const;
  void check_index(command_checks& is, std::uint32_t index) const;
  bool load(std::uint32_t index, std::vector<std::byte>& to);
  void take_members(std::uint32_t index, std::size_t count, member_list& to);
  adapter& a_;
};

}  // namespace freehca::model
