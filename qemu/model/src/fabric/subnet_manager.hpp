// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>

#include <freehca/model/options.hpp>

#include "basis/scheduler.hpp"
#include "fabric/mad_packet.hpp"
#include "fabric/managed_port.hpp"
#include "fabric/management_agent.hpp"
#include "fabric/performance_agent.hpp"
#include "fabric/subnet_administrator.hpp"
#include "fabric/subnet_topology.hpp"
#include "link/link_peer.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// The built-in subnet manager: a node with a GUID and a LID at the far end of one port's link. It
/// manages the port by subnet management packets alone, as a manager on a real fabric does, and
/// answers queries to subnet administration. It sweeps when the link comes up and when a trap tells
/// of a change; it does not poll.
class subnet_manager final : public link_peer, private work_receiver {
 public:
  /// `to_port` takes a packet for the port, which hears it later: receive() itself sends answers.
  subnet_manager(const options& how, scheduler& schedule, unsigned port,
                 std::function<void(packet)> to_port);

  void receive(const packet& p) override;
  void link_changed(bool up) override;

 private:
  static constexpr std::uint8_t management_lane = 15;

  enum class step : std::uint8_t {
    description,
    node,
    port,
    guids,
    pkeys,
    configure,
    configure_pkeys,
    arm,
    activate,
    done
  };

  void sweep();
  void run(step s);
  void finished(const layouts::image<layouts::dr_smp>& answer);
  layouts::image<layouts::port_info> wanted_port_info(layouts::port_state state) const;
  bool configuration_differs() const;

  void request(layouts::mad_method method, layouts::smp_attribute attribute, std::uint32_t modifier,
               const std::byte* data);
  void send_request();
  void timed_out();

  void receive_smp(const mad_packet& m);
  void receive_gmp(const mad_packet& m);
  void answer_smp(const mad_packet& m);
  void answer_sm_info(mad_buffer& mad) const;
  void repress(const mad_packet& trap);
  void send(const mad_packet& m);

  enum work : std::uint8_t { no_answer, begin_sweep };
  void run_item(work_item& what) override;

  scheduler& schedule_;
  work_source work_;
  std::function<void(packet)> to_port_;
  const std::uint16_t manager_lid_, managed_lid_;
  node_identity node_;
  managed_port own_port_;
  management_agent own_agent_;
  performance_agent own_counters_;
  subnet_topology topology_;
  subnet_administrator administrator_;

  bool up_ = false;
  bool reregister_ = false;  ///< the next configuration asks the port's clients to register anew
  bool sweep_again_ = false;
  step step_ = step::done;
  layouts::image<layouts::dr_smp> outstanding_;
  bool waiting_ = false;
  unsigned tries_ = 0;
  scheduler::ticket timer_;
  std::uint64_t next_transaction_ = 1;

 public:
  using saved = saving::fields<
      &subnet_manager::own_port_, &subnet_manager::own_counters_, &subnet_manager::topology_,
      &subnet_manager::administrator_, &subnet_manager::up_, &subnet_manager::reregister_,
      &subnet_manager::sweep_again_, saving::up_to(&subnet_manager::step_, step::done),
      &subnet_manager::outstanding_, &subnet_manager::waiting_, &subnet_manager::tries_,
      &subnet_manager::timer_, &subnet_manager::next_transaction_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"work_", "a work source"},
      {"to_port_", "a function set at construction"},
      {"node_", "constants set at construction"},
      {"own_agent_", "references and a pointer set at construction"}};
};

}  // namespace freehca::model
