// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/mcg.hpp>

#include "basis/adapter.hpp"
#include "saving/fields.hpp"
#include "steering/ethernet_entries.hpp"
#include "steering/listening.hpp"
#include "steering/member.hpp"

namespace freehca::model {

class command_checks;

/// The multicast table: READ_MCG, WRITE_MCG, MGID_HASH, and who gets a packet to a group or, with
/// B0 steering, a frame. Entries stand in ICM; those of InfiniBand and of Ethernet share the table
/// and its chains.
class multicast_groups {
 public:
  explicit multicast_groups(adapter& a);

  /// A walk along the chain of a hash, which a guest can make long.
  struct search {
    std::array<std::byte, 16> gid;  ///< what stands for one, for Ethernet
    layouts::mcg_protocol protocol;
    std::uint32_t index;
    unsigned hops = 0;

    using saved = saving::fields<&search::gid, saving::any_value(&search::protocol), &search::index,
                                 &search::hops>;
    const char* broken_invariant() const;
  };
  search begin(const std::byte* mgid) const;
  search begin(unsigned port, const frame_headers& frame) const;
  /// As far as the slice goes; true: it has ended, and `found`, empty before, has the members of
  /// the entry, or those of the port's promiscuous entry for a frame that has none.
  bool go_on(search& s, member_list& found);

  /// With B0 steering.
  void tell(unsigned port, listening& to);
  void clear();

 private:
  using ethernet_gid = ethernet_entries::gid;
  enum class walked : std::uint8_t { on, to_the_entry, to_the_end };

  layouts::command_status read(command& c);
  layouts::command_status write(command& c);
  layouts::command_status write_promiscuous(command& c);
  layouts::command_status hash(command& c);
  std::uint32_t hash_of(const std::byte* gid) const;
  std::size_t entry_bytes() const;
  std::uint64_t address(std::uint32_t index) const;
  bool valid(std::uint32_t index) const;
  void check_index(command_checks& is, std::uint32_t index) const;
  void check_ethernet(command_checks& is, const layouts::image<layouts::mcg_header>& head) const;
  void check_ethernet_port(command_checks& is, std::uint64_t port) const;
  void read_entry(command_checks& is, const command& c, std::vector<std::byte>& to) const;
  bool load(std::uint32_t index, std::vector<std::byte>& to);
  search begin(const std::byte* gid, layouts::mcg_protocol protocol) const;
  walked step(search& s);
  bool can_be_reached(const ethernet_gid& gid, unsigned& hops_left);

  adapter& a_;
  ethernet_entries ethernet_;

 public:
  using saved = saving::fields<&multicast_groups::ethernet_>;
};

}  // namespace freehca::model
