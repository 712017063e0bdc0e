// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two hosts, each with a modelled adapter and our driver on it, on one clock. A cable joins their
// first ports, and another one their second ports if the test has those. No subnet manager runs:
// the fixture writes LIDs and port states itself. It opens Ethernet ports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include <freehca/firmware_cmds/mad.hpp>
#include <freehca/in_process/fabric.hpp>
#include <freehca/layouts/set_port_info.hpp>

#include "verbs_rig.hpp"

namespace freehca::testing {

class cabled_hosts;

/// The ports of both adapters.
struct cabled_ports {
  unsigned count = 1;  ///< with a cable
  model::link_layer link[2] = {model::link_layer::infiniband, model::link_layer::infiniband};
  bool vpi[2] = {};
  bool by_rules = false;  ///< device-managed steering
};

/// One of the two. It serves as the rig of rc_pair.hpp and verbs_rig.hpp.
class cabled_host {
 public:
  cabled_host(cabled_hosts& both, unsigned index, const verbs_events& events,
              const cabled_ports& ports);

  /// Runs both hosts.
  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 300'000'000'000);
  status await(operation& op) {
    EXPECT_TRUE(run([&] { return op.done(); })) << "no completion";
    return op.done() ? op.outcome() : status(transport_error::timeout);
  }
  std::uint64_t poll() {
    if (objects.is_open()) {
      objects.poll();
      return objects.next_deadline();
    }
    adapter.poll();
    return adapter.next_deadline();
  }
  std::uint16_t lid() const { return static_cast<std::uint16_t>(index_ + 1); }
  unsigned index() const { return index_; }
  /// After a bring-up.
  status open_objects() {
    return objects.open(adapter, every_kind(), verbs_storage_.at(), verbs_storage_.bytes(),
                        events_);
  }

 private:
  static in_process::machine_options options_for(cabled_hosts& both, unsigned index,
                                                 const cabled_ports& ports);

  cabled_hosts& both_;
  const unsigned index_;
  static freehca::budget budget_for(bool by_rules) {
    freehca::budget b = without_spares();
    if (by_rules) b.log_mcg_entry_bytes = 10;
    return b;
  }
  const freehca::budget budget_;
  const verbs_events events_;

 public:
  in_process::machine machine;

 private:
  storage device_storage_, verbs_storage_;

 public:
  device adapter;
  verbs objects;
};

class cabled_hosts {
 public:
  cabled_hosts(const verbs_events& events_of_0, const verbs_events& events_of_1,
               model::link_layer link = model::link_layer::infiniband, bool by_rules = false)
      : cabled_hosts({.link = {link}, .by_rules = by_rules}, events_of_0, events_of_1) {}
  explicit cabled_hosts(const cabled_ports& ports, const verbs_events& events_of_0 = {},
                        const verbs_events& events_of_1 = {})
      : ports_(ports), hosts_{{*this, 0, events_of_0, ports}, {*this, 1, events_of_1, ports}} {
    for (cabled_host& h : hosts_) fabric.add(h.machine);
    for (unsigned port = 1; port <= ports.count; ++port)
      fabric.lay_cable(hosts_[0].machine, port, hosts_[1].machine, port);
  }

  cabled_host& operator[](unsigned i) { return hosts_[i]; }

  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 300'000'000'000) {
    const std::uint64_t until = fabric.time() + limit_ns;
    for (;;) {
      std::uint64_t deadline = until;
      for (cabled_host& h : hosts_) deadline = std::min(deadline, h.poll());
      if (meanwhile) deadline = std::min(deadline, meanwhile());
      if (done()) return true;
      if (fabric.time() >= until) return false;
      fabric.step(deadline);
    }
  }

  void bring_up() {
    operation up[2];
    for (unsigned i = 0; i < 2; ++i) hosts_[i].adapter.bring_up(up[i]);
    ASSERT_TRUE(run([&] { return up[0].done() && up[1].done(); }));
    for (unsigned i = 0; i < 2; ++i) {
      ASSERT_TRUE(up[i].outcome().ok()) << words(up[i].outcome());
      ASSERT_TRUE(hosts_[i].open_objects().ok());
    }
    for (unsigned port = 1; port <= ports_.count; ++port) {
      if (ports_.link[port - 1] == model::link_layer::ethernet) open_ethernet_ports(port);
      else
        for (cabled_host& h : hosts_) activate(h, port);
    }
  }

  /// Waits for the other end of the cable, then makes the port active with the host's LID.
  void activate(cabled_host& h, unsigned port = 1) {
    using info = layouts::port_info;
    port_query now;
    const auto ask = [&] {
      now.restart();
      now.start(h.adapter.commands(), port);
      return h.await(now).ok();
    };
    const auto state = [&] { return now.attribute<info>().get<&info::state>(); };
    for (unsigned looks = 0; ask() && state() == layouts::port_state::down; ++looks) {
      ASSERT_LT(looks, 1000u) << "the link does not come up";
      run([] { return false; }, clock::milliseconds(1));
    }
    for (const auto to : {layouts::port_state::armed, layouts::port_state::active}) {
      ASSERT_TRUE(ask());
      auto next = now.attribute<info>();
      next.set<&info::lid>(h.lid()).set<&info::master_sm_lid>(1).set<&info::state>(to);
      next.set<&info::physical_state>(layouts::port_physical_state::no_change);
      set_port_info(h, next, port);
    }
    EXPECT_TRUE(h.run([&] { return h.adapter.port(port).active(); }, clock::seconds(10)));
  }

  /// Bring-up opens InfiniBand ports only.
  void open_ethernet_ports(unsigned port) {
    for (cabled_host& h : hosts_) {
      port_operation open;
      open.open(h.adapter, port);
      ASSERT_TRUE(h.await(open).ok());
    }
    for (cabled_host& h : hosts_)
      ASSERT_TRUE(run([&] { return h.adapter.port(port).active(); }, clock::seconds(10)));
  }

  void tear_down() {
    for (cabled_host& h : hosts_) {
      EXPECT_TRUE(h.objects.close().ok()) << "something is left at host " << h.index();
      operation down;
      h.adapter.tear_down(down);
      EXPECT_TRUE(h.await(down).ok());
      EXPECT_TRUE(h.adapter.holdings().none());
      EXPECT_EQ(h.adapter.holdings().in_doubt(), 0u);
      h.adapter.close();
      for (const std::string& c : h.machine.complaints()) ADD_FAILURE() << h.index() << ": " << c;
    }
  }

  in_process::fabric fabric;
  /// Called in each turn of run(). Returns the time of the next turn that it needs.
  std::function<std::uint64_t()> meanwhile;

 private:
  void set_port_info(cabled_host& h, const layouts::image<layouts::port_info>& to, unsigned port) {
    using layouts::smp;
    firmware_command<commands::mad_ifc<smp>> set(std::uint32_t{port}, std::uint32_t{0});
    set.input = layouts::set_port_info(to, port);
    h.adapter.commands().submit(set);
    ASSERT_TRUE(h.await(set).ok());
    ASSERT_EQ(set.output.get<&smp::status>(), layouts::mad_status::success);
  }

  const cabled_ports ports_;
  cabled_host hosts_[2];
};

inline in_process::machine_options cabled_host::options_for(cabled_hosts& both, unsigned index,
                                                            const cabled_ports& ports) {
  in_process::machine_options how;
  how.clock = &both.fabric.clock();
  how.takes_fills = false;
  for (unsigned i = 0; i < 2; ++i) {
    how.model.link[i] = ports.link[i];
    how.model.vpi[i] = ports.vpi[i];
    how.model.cable[i] = i < ports.count;
  }
  how.model.subnet_manager = false;
  how.model.node_guid += std::uint64_t{index} << 8;
  return how;
}

inline cabled_host::cabled_host(cabled_hosts& both, unsigned index, const verbs_events& events,
                                const cabled_ports& ports)
    : both_(both),
      index_(index),
      budget_(budget_for(ports.by_rules)),
      events_(events),
      machine(options_for(both, index, ports)),
      device_storage_(device::storage_bytes(budget_)),
      verbs_storage_(verbs::storage_bytes(budget_, every_kind())) {
  device_setup setup{.platform = machine.platform(),
                     .budget = budget_,
                     .storage = device_storage_.at(),
                     .storage_bytes = device_storage_.bytes(),
                     .port_wait = 0};
  if (ports.by_rules) steer_by_rules(setup);
  EXPECT_TRUE(adapter.open(setup).ok());
}

inline bool cabled_host::run(const std::function<bool()>& done, std::uint64_t limit_ns) {
  return both_.run(done, limit_ns);
}

}  // namespace freehca::testing
