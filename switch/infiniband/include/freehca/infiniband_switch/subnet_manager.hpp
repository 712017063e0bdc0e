// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/smp.hpp>
#include <freehca/packets/mad_packet.hpp>

#include <freehca/infiniband_switch/forwarding_tables.hpp>
#include <freehca/infiniband_switch/port_link.hpp>
#include <freehca/infiniband_switch/subnet_agent.hpp>
#include <freehca/infiniband_switch/switch_port.hpp>

namespace freehca::infiniband_switch {

/// A subnet manager on port 0, for a subnet of this switch and the channel adapters on its ports.
/// The switch has LID 1, the adapter on port n has LID n + 1. It gives each adapter its LID, the
/// default partition and the states up to Active, and writes the switch's own tables. A switch on
/// a port is left alone. There is no subnet administrator.
class subnet_manager {
 public:
  static constexpr std::uint16_t own_lid = 1;
  static std::uint16_t lid_of(unsigned port) { return static_cast<std::uint16_t>(own_lid + port); }

  /// `states` moves the switch's own ports; `send` puts a request on its way out of a port. All
  /// outlive the manager.
  subnet_manager(std::span<switch_port> ports, forwarding_tables& tables, agent_listener& states,
                 std::function<void(unsigned port, const packets::mad_buffer&)> send);

  void link_changed(unsigned port, std::uint64_t now);
  /// An answer whose directed route has ended at port 0. It came in by `port`.
  void answered(unsigned port, const layouts::image<layouts::dr_smp>& answer, std::uint64_t now);
  /// A trap of the adapter on a port: looks at the adapter again.
  void trapped(unsigned port, std::uint64_t now);
  /// The answer to Get(SMInfo).
  layouts::image<layouts::sm_info> info(std::uint64_t guid) const;

  void run(std::uint64_t now);
  std::uint64_t deadline() const;

 private:
  enum class step : std::uint8_t {
    none,
    node,       ///< what is on the port?
    port,       ///< how does its port stand?
    configure,  ///< LIDs, MTU, lanes
    pkeys,      ///< which P_Keys has it?
    set_pkeys,  ///< the default partition
    arm,
    activate,
    done,
  };
  struct neighbour {
    step at = step::none;
    bool known = false;  ///< configured since the link came up
    bool again = false;  ///< a trap came on the way
    unsigned tries = 0;
    std::uint64_t due = never;  ///< the request is repeated, or the adapter is looked at again
    layouts::image<layouts::dr_smp> outstanding;
    layouts::image<layouts::port_info> info;
    layouts::image<layouts::pkey_table> pkeys;
  };

  void go(unsigned port, step to, std::uint64_t now);
  void ask(unsigned port, layouts::mad_method method, layouts::smp_attribute what,
           std::uint32_t modifier, const std::byte* data, std::uint64_t now);
  void send_again(unsigned port, std::uint64_t now);
  void configure_own_port(unsigned port);
  void forward(std::uint16_t lid, unsigned port);
  layouts::image<layouts::port_info> wanted_info(unsigned port, layouts::port_state state) const;

  std::span<switch_port> ports_;
  forwarding_tables& tables_;
  agent_listener& states_;
  std::function<void(unsigned, const packets::mad_buffer&)> send_;
  std::vector<neighbour> neighbours_;  ///< by port
  std::uint64_t next_transaction_ = 1;
};

}  // namespace freehca::infiniband_switch
