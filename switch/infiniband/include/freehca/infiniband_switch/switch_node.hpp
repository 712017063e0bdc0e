// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <freehca/layouts/headers.hpp>

#include <freehca/infiniband_switch/directed_route.hpp>
#include <freehca/infiniband_switch/forwarding_tables.hpp>
#include <freehca/infiniband_switch/performance_agent.hpp>
#include <freehca/infiniband_switch/port_link.hpp>
#include <freehca/infiniband_switch/subnet_agent.hpp>
#include <freehca/infiniband_switch/subnet_manager.hpp>
#include <freehca/infiniband_switch/switch_identity.hpp>
#include <freehca/infiniband_switch/switch_port.hpp>
#include <freehca/infiniband_switch/trap_sender.hpp>
#include <freehca/switch_common/forwarder.hpp>
#include <freehca/switch_common/out_queue.hpp>
#include <freehca/switch_common/surroundings.hpp>

namespace freehca::infiniband_switch {

/// An InfiniBand switch: ports for cables, and port 0, at which a subnet manager finds its agents.
/// It knows no sockets, starts no thread, and its time is its surroundings'.
class switch_node final : public switch_common::forwarder,
                          private link_listener,
                          private agent_listener {
 public:
  /// At least one port, at most most_ports.
  switch_node(const switch_identity& who, surroundings& around);
  ~switch_node() override;
  switch_node(const switch_node&) = delete;
  switch_node& operator=(const switch_node&) = delete;

  // switch_common::forwarder; what comes out of a wire is a packet from LRH to VCRC, or a link
  // packet.
  void plug(unsigned port, bool plugged) override;
  void arrived(unsigned port, std::span<const std::byte> bytes) override;
  void has_room(unsigned port) override;
  void run() override;
  std::uint64_t deadline() const override;
  void end() override;

  const switch_port& port(unsigned number) const { return ports_[number]; }
  const forwarding_tables& tables() const { return tables_; }

 private:
  using buffer = std::vector<std::byte>;
  /// What of the headers decides about a packet.
  struct header {
    std::uint16_t slid = 0, dlid = 0, pkey = 0;
    unsigned lane = 0, service_level = 0;
    std::uint32_t words = 0;  ///< as packets::packet_summary
    bool management() const { return lane == 15; }
  };
  struct cable {
    cable(switch_node& node, unsigned number);
    out_queue out;
    port_link link;
  };

  void link_changed(unsigned port, bool asked_for) override;
  void state_wanted(unsigned port, layouts::port_state state,
                    layouts::port_physical_state physical) override;
  void mkey_checked(const layouts::image<layouts::dr_smp>& request, bool passed) override;
  void trap_repressed(std::uint64_t transaction_id) override;

  /// False: the packet is dropped and counted.
  bool read_header(unsigned port, std::span<const std::byte> wire, header& to);
  void packet_arrived(unsigned port, std::span<const std::byte> wire);
  void management_arrived(unsigned port, std::span<const std::byte> wire, const header& h);
  void data_arrived(unsigned port, std::span<const std::byte> wire, const header& h);

  /// To where the forwarding tables say; port 0 is the switch itself.
  void relay(unsigned ingress, std::span<const std::byte> wire, const header& h);
  void send_out(unsigned ingress, unsigned port, std::span<const std::byte> wire, const header& h);
  /// Which lane it takes out of a port; false: none.
  bool choose_lane(unsigned ingress, unsigned port, const header& h, unsigned& lane) const;

  void directed_arrived(unsigned ingress, packets::mad_packet& m);
  void answer_smp(unsigned ingress, packets::mad_packet m, bool directed);
  void take(unsigned ingress, const route_step& where, packets::mad_packet& m);
  void for_port_0(unsigned ingress, std::span<const std::byte> wire, const header& h);
  void answer_gmp(packets::mad_packet m);
  /// A packet of the switch's own; port 0: by the forwarding table.
  void send_own(const packets::mad_packet& m, unsigned port);
  void send_trap(const packets::mad_buffer& mad);
  /// True: the request was for the subnet manager, and `mad` has become its answer.
  bool manager_answers(unsigned ingress, packets::mad_buffer& mad);
  void send_for_manager(unsigned port, const packets::mad_buffer& mad);
  bool own_lid(std::uint16_t lid) const { return lid != 0 && lid == ports_[0].lid(); }

  void count_received(unsigned port, const header& h);
  void count_sent(unsigned port, const header& h);
  void dropped(unsigned port, packets::dual_counter port_counts::*counter, const char* why);
  void tell_dropped(unsigned port, const char* why);

  const switch_identity who_;
  surroundings& around_;
  std::vector<switch_port> ports_;
  std::vector<std::unique_ptr<cable>> cables_;  ///< of port 1 and up
  forwarding_tables tables_;
  subnet_agent subnet_agent_;
  performance_agent performance_agent_;
  trap_sender traps_;
  std::optional<subnet_manager> manager_;
  std::uint64_t link_trap_at_ = never, mkey_lease_at_ = never;
};

}  // namespace freehca::infiniband_switch
