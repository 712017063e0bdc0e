// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <span>

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/smp.hpp>
#include <freehca/packets/mad_packet.hpp>

#include <freehca/infiniband_switch/forwarding_tables.hpp>
#include <freehca/infiniband_switch/switch_identity.hpp>
#include <freehca/infiniband_switch/switch_port.hpp>

namespace freehca::infiniband_switch {

/// What the agent tells the switch, after it has changed what it keeps.
class agent_listener {
 public:
  /// A Set(PortInfo) asks for states that the port, no. 1 and up, can go to.
  virtual void state_wanted(unsigned port, layouts::port_state state,
                            layouts::port_physical_state physical) = 0;
  /// A request failed the M_Key check (IBTA vol. 1, 14.2.4), or one passed it.
  virtual void mkey_checked(const layouts::image<layouts::dr_smp>& request, bool passed) = 0;
  /// The subnet manager has received trap `transaction_id`.
  virtual void trap_repressed(std::uint64_t transaction_id) = 0;

 protected:
  ~agent_listener() = default;
};

/// The subnet management agent of a switch (IBTA vol. 1, 14.2). It knows nothing of packets and
/// routes.
class subnet_agent {
 public:
  /// `ports` are port 0 and those for cables. All must outlive the agent.
  subnet_agent(const switch_identity& who, std::span<switch_port> ports, forwarding_tables& tables,
               agent_listener& listener)
      : who_(who), ports_(ports), tables_(tables), listener_(listener) {}

  /// A request that came in by port `ingress`. True: `mad` has become the answer, but for the
  /// direction of a directed route. False: it is dropped, or there is nothing to answer.
  bool process(packets::mad_buffer& mad, unsigned ingress);

 private:
  using smp = layouts::smp;

  bool mkey_passes(const layouts::image<smp>& m) const;
  std::uint16_t get(layouts::image<smp>& m, unsigned ingress, bool hide_mkey);
  std::uint16_t set(const layouts::image<smp>& m);
  std::uint16_t set_switch_info(const layouts::image<smp>& m);
  std::uint16_t set_port_info(const layouts::image<smp>& m);
  void set_management_port(const layouts::image<layouts::port_info>& wanted);
  std::uint16_t set_link_port(unsigned number, const layouts::image<layouts::port_info>& wanted);
  std::uint16_t set_pkeys(const layouts::image<smp>& m);
  /// What an attribute modifier names; null: there is no such.
  switch_port* port_of_info(std::uint64_t modifier);
  switch_port* port_of_pkeys(std::uint64_t modifier);
  layouts::image<layouts::sl_to_vl_table>* sl_to_vl_of(std::uint64_t modifier);
  layouts::image<layouts::vl_arbitration>* vl_arbitration_of(std::uint64_t modifier);

  const switch_identity& who_;
  std::span<switch_port> ports_;
  forwarding_tables& tables_;
  agent_listener& listener_;
};

}  // namespace freehca::infiniband_switch
