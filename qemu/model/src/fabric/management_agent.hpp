// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "fabric/mad_packet.hpp"
#include "fabric/managed_port.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// What became of a MAD that an agent was given.
enum class mad_result : std::uint8_t {
  answered,   ///< the buffer holds the answer, whose status word may be bad
  consumed,   ///< taken, and nothing is answered (TrapRepress)
  discarded,  ///< dropped silently, as a MAD that is no request, or that fails a key check
};

/// The subnet management agent of one port (IBTA vol. 1, 14.2). It knows nothing of packets and
/// routes: it turns a request into its answer and changes the port. The direction bit of a
/// directed-route answer is left to the caller, as firmware leaves it to the driver (Linux 6.1
/// hw/mlx4/mad.c ib_process_mad).
class management_agent {
 public:
  /// `listener` may be null. All must outlive the agent.
  management_agent(managed_port& port, const node_identity& node, change_listener* listener)
      : port_(port), node_(node), listener_(listener) {}

  mad_result process(mad_buffer& mad, bool check_mkey);

 private:
  using smp = layouts::smp;
  /// What an answer with PortInfo shows of this request.
  struct view {
    bool hide_mkey = false;
    bool reregister = false;
  };
  static bool mkey_passes(const layouts::image<smp>& request, const managed_port& port);
  std::uint16_t get(layouts::image<smp>& m, const view& shown);
  std::uint16_t set(layouts::image<smp>& m, view& shown);
  std::uint16_t set_port_info(const layouts::image<smp>& m, view& shown);
  std::uint16_t set_guids(const layouts::image<smp>& m);
  std::uint16_t set_pkeys(const layouts::image<smp>& m);
  std::uint16_t set_vl_arbitration(const layouts::image<smp>& m);
  bool own_port(std::uint64_t attribute_modifier) const;
  /// The port that a Get of PortInfo names; null: the node has no such, or tells nothing of it.
  const managed_port* named_port(std::uint64_t attribute_modifier) const;
  layouts::image<layouts::vl_arbitration>* vl_arbitration_of(std::uint64_t attribute_modifier);
  bool port_info_valid(const layouts::image<layouts::port_info>& wanted) const;

  managed_port& port_;
  const node_identity& node_;
  change_listener* listener_;

 public:
  using saved = saving::fields<>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"listener_", "a pointer set at construction"}};
};

}  // namespace freehca::model
