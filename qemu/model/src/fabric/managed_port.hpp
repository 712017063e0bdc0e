// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/smp.hpp>
#include <freehca/packets/port_info_rules.hpp>

#include "fabric/traffic_counters.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

struct managed_port;

/// What a node says of itself, the same through each of its ports.
struct node_identity {
  std::uint64_t node_guid = 0, system_image_guid = 0;
  std::uint16_t device_id = 0;
  std::uint32_t revision = 0;
  std::uint32_t vendor_id = 0x0002c9;
  unsigned ports = 1;
  std::array<std::byte, 64> description{};
  std::array<const managed_port*, 2>
      all_ports{};  ///< what each can tell of the others; null: nothing

  /// Text of at most 64 bytes; the rest is zero.
  void describe(const char* text);

  using saved = saving::fields<&node_identity::node_guid, &node_identity::system_image_guid,
                               &node_identity::description>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"device_id", "a constant set at construction"},
      {"revision", "a constant set at construction"},
      {"vendor_id", "a constant set at construction"},
      {"ports", "a constant set at construction"},
      {"all_ports", "pointers set at construction"}};
};

/// Everything that management can see or set of one port, of the adapter or of another node.
/// PortInfo is kept as the attribute that it is.
struct managed_port {
  static constexpr unsigned pkeys_at_most = 128, guids_at_most = 128, vl_arbitration_entries = 8;

  layouts::image<layouts::port_info> info;
  std::uint64_t guid = 0;
  unsigned pkey_entries = pkeys_at_most;             ///< a multiple of 32, or 1
  std::array<std::uint16_t, pkeys_at_most> pkeys{};  ///< 0: no entry
  std::array<std::uint64_t, guids_at_most> guids{};  ///< entry 0 is `guid`, and read-only
  layouts::image<layouts::sl_to_vl_table> sl_to_vl;
  layouts::image<layouts::vl_arbitration> vl_arbitration_low, vl_arbitration_high;
  bool vendor_port_info = false;  ///< the node knows attribute 0xff90
  layouts::image<layouts::mlnx_ext_port_info> extended_info;
  traffic_counters traffic;

  /// The port as it stands at power-on: link down, no LID, the default P_Key.
  static managed_port at_power_on(unsigned number, std::uint64_t guid,
                                  std::uint32_t capability_mask);

  std::uint16_t lid() const {
    return static_cast<std::uint16_t>(info.get<&layouts::port_info::lid>());
  }
  layouts::port_state state() const { return info.get<&layouts::port_info::state>(); }
  layouts::port_physical_state physical_state() const {
    return info.get<&layouts::port_info::physical_state>();
  }
  /// Lanes for data in operation, from lane 0 on.
  unsigned data_lanes() const {
    return packets::data_lanes(info.get<&layouts::port_info::operational_vls>());
  }
  unsigned guid_entries() const {
    return static_cast<unsigned>(info.get<&layouts::port_info::guid_cap>());
  }

  using saved =
      saving::fields<&managed_port::info, &managed_port::guid, &managed_port::pkey_entries,
                     &managed_port::pkeys, &managed_port::guids, &managed_port::sl_to_vl,
                     &managed_port::vl_arbitration_low, &managed_port::vl_arbitration_high,
                     &managed_port::vendor_port_info, &managed_port::extended_info,
                     &managed_port::traffic>;
  const char* broken_invariant() const;
};

/// NodeInfo as it is seen through `port`.
layouts::image<layouts::node_info> node_info_of(const node_identity& node,
                                                const managed_port& port);

/// Told by a management agent of what a Set has changed, after the change.
class change_listener {
 public:
  /// `before` is PortInfo as it was. The states are not changed yet: see state_wanted.
  virtual void port_info_set(const layouts::image<layouts::port_info>& before,
                             bool client_reregister) = 0;
  /// Entries of a block of 32 P_Keys; bit n of `mask` for entry n.
  virtual void pkeys_set(unsigned block, std::uint32_t mask) = 0;
  /// Entries of a block of 8 GUIDs; bit n of `mask` for entry n.
  virtual void guids_set(unsigned block, std::uint32_t mask) = 0;
  virtual void sl_to_vl_set() = 0;
  /// A Set(PortInfo) has asked for states that the port can go to; no_change where it has not.
  virtual void state_wanted(layouts::port_state state, layouts::port_physical_state physical) = 0;
  /// A request failed the M_Key check (IBTA vol. 1, 14.2.4), or one passed it.
  virtual void mkey_checked(const layouts::image<layouts::dr_smp>& request, bool passed) = 0;
  /// The subnet manager has received trap `transaction_id`.
  virtual void trap_repressed(std::uint64_t transaction_id) = 0;

 protected:
  ~change_listener() = default;
};

}  // namespace freehca::model
