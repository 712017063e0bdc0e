// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two hosts, each with a modelled adapter, our driver and a network interface on it. A cable joins
// their Ethernet ports.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/hca/every_kind.hpp>
#include <freehca/in_process/fabric.hpp>
#include <freehca/network/interface.hpp>

#include "verbs_rig.hpp"

namespace freehca::testing {

using frame = std::vector<std::byte>;

/// How the device finds the queue pair of a frame.
enum class steering { rules, promiscuous_entries, computed };

inline constexpr network::interface_setup most_rings_of_tests{
    .receive_rings = 4, .transmit_rings = 2, .receives = 128, .sends = 64};

class network_hosts;

class network_host {
 public:
  static constexpr std::size_t memory_bytes = std::size_t{8} << 20, sends_at = memory_bytes / 2;

  network_host(network_hosts& both, unsigned index, steering how);

  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 60'000'000'000);
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
  /// What the driver holds. Context memory goes back behind the operations.
  std::vector<std::uint64_t> counts() {
    run([] { return false; }, clock::milliseconds(1));
    const device_holdings d = adapter.holdings();
    const verbs_holdings v = objects.holdings();
    return {d.pages,      d.mappings, d.slots,         d.numbers,  d.doorbells,
            d.in_doubt(), v.objects,  v.request_bytes, v.in_doubt, adapter.port_open(1)};
  }
  network::interface_setup with_memory(network::interface_setup s) {
    s.memory = memory.at();
    s.memory_bytes = memory_bytes;
    return s;
  }
  status up(const network::interface_setup& s = {}) {
    network::interface_operation op;
    op.up(nic, objects, with_memory(s));
    return await(op);
  }
  status down() {
    network::interface_operation op;
    op.down(nic);
    return await(op);
  }
  status filter(const network::interface_filter& f) {
    network::interface_operation op;
    op.filter(nic, f);
    return await(op);
  }

  /// Places a frame in the memory behind the receive buffers.
  queues::data_entry put(const frame& f, std::size_t at = 0) {
    std::memcpy(memory.at() + sends_at + at, f.data(), f.size());
    return nic.entry(memory.at() + sends_at + at, f.size());
  }
  /// Sends a frame, and waits until its memory is free.
  status send(const frame& f, const queues::frame_options& options = {}, unsigned ring = 0) {
    const queues::data_entry piece = put(f);
    const status s = nic.send(ring, {.cookie = 9, .pieces = {&piece, 1}, .options = options});
    if (s.ok()) {
      EXPECT_EQ(reap(ring), 9u);
    }
    return s;
  }
  std::uint64_t reap(unsigned ring = 0) {
    std::uint64_t cookie = 0;
    EXPECT_TRUE(run([&] { return nic.reap(ring, &cookie, 1) == 1; })) << "the frame was not sent";
    return cookie;
  }

  struct arrival {
    unsigned ring = 0;
    network::received_buffer how;
    frame bytes;
  };
  /// What has arrived. The buffers are given back.
  std::vector<arrival> take() {
    std::vector<arrival> all;
    network::received_buffer got[24];
    for (unsigned ring = 0; ring < nic.setup().receive_rings; ++ring)
      while (const unsigned n = nic.receive(ring, got, 24)) {
        for (unsigned i = 0; i < n; ++i)
          all.push_back({ring, got[i], frame(got[i].at, got[i].at + got[i].length)});
        EXPECT_TRUE(nic.release(ring, got, n).ok());
      }
    return all;
  }
  /// Waits for `count` frames, and then for others that should not come.
  std::vector<arrival> take(std::size_t count) {
    std::vector<arrival> all;
    const auto more = [&] {
      for (arrival& a : take()) all.push_back(std::move(a));
      return all.size() >= count;
    };
    EXPECT_TRUE(run(more)) << all.size() << " of " << count << " frames";
    run([&] { return more() && all.size() > count; }, clock::milliseconds(1));
    EXPECT_EQ(all.size(), count);
    all.resize(count);
    return all;
  }

 private:
  static in_process::machine_options options_for(network_hosts& both, unsigned index, steering how);
  static verbs_events events_for(network_host& self) {
    verbs_events e;
    e.context = &self;
    e.completion = [](void* context, cq_handle, void*) noexcept {
      ++static_cast<network_host*>(context)->completion_events;
    };
    return e;
  }

  network_hosts& both_;
  const freehca::budget budget_;

 public:
  in_process::machine machine;
  storage memory{memory_bytes};
  unsigned completion_events = 0;

 private:
  static constexpr verbs_budget kinds_ =
      network::interface::with_objects(every_kind(), most_rings_of_tests);
  storage device_storage_, verbs_storage_;

 public:
  device adapter;
  verbs objects;
  network::interface nic;

  status open_objects() {
    return objects.open(adapter, kinds_, verbs_storage_.at(), verbs_storage_.bytes(),
                        events_for(*this));
  }
};

class network_hosts {
 public:
  explicit network_hosts(steering how = steering::rules)
      : hosts_{{*this, 0, how}, {*this, 1, how}} {
    for (network_host& h : hosts_) fabric.add(h.machine);
    fabric.lay_cable(hosts_[0].machine, 1, hosts_[1].machine, 1);
    for (network_host& h : hosts_) {
      operation up;
      h.adapter.bring_up(up);
      const status s = h.await(up);
      EXPECT_TRUE(s.ok()) << words(s);
      EXPECT_TRUE(h.open_objects().ok());
    }
    for (unsigned i = 0; i < 2; ++i) before_[i] = hosts_[i].counts();
  }
  ~network_hosts() {
    for (unsigned i = 0; i < 2; ++i) {
      network_host& h = hosts_[i];
      if (h.nic.state() != network::interface_state::down) {
        const status s = h.down();
        EXPECT_TRUE(s.ok()) << words(s);
      }
      EXPECT_EQ(h.counts(), before_[i]);
      EXPECT_EQ(h.machine.counter("flow_rules"), 0u);
      EXPECT_TRUE(h.objects.close().ok());
      operation down;
      h.adapter.tear_down(down);
      EXPECT_TRUE(h.await(down).ok());
      EXPECT_TRUE(h.adapter.holdings().none());
      h.adapter.close();
      for (const std::string& c : h.machine.complaints()) ADD_FAILURE() << i << ": " << c;
    }
  }

  network_host& operator[](unsigned i) { return hosts_[i]; }
  /// Both interfaces.
  void up(const network::interface_setup& s = {}) {
    for (network_host& h : hosts_) {
      const status outcome = h.up(s);
      ASSERT_TRUE(outcome.ok()) << words(outcome);
    }
    ASSERT_TRUE(run([&] { return hosts_[0].nic.link_up() && hosts_[1].nic.link_up(); }));
  }
  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 60'000'000'000) {
    const std::uint64_t until = fabric.time() + limit_ns;
    for (;;) {
      std::uint64_t deadline = until;
      for (network_host& h : hosts_) deadline = std::min(deadline, h.poll());
      if (done()) return true;
      if (fabric.time() >= until) return false;
      fabric.step(deadline);
    }
  }

  in_process::fabric fabric;

 private:
  network_host hosts_[2];
  std::vector<std::uint64_t> before_[2];
};

inline in_process::machine_options network_host::options_for(network_hosts& both, unsigned index,
                                                             steering how) {
  in_process::machine_options o;
  o.clock = &both.fabric.clock();
  o.takes_fills = false;
  o.model.link[0] = model::link_layer::ethernet;
  o.model.cable[0] = true;
  o.model.node_guid += std::uint64_t{index} << 8;
  if (how == steering::computed) o.model.without.add(model::capability::b0_steering);
  return o;
}

inline network_host::network_host(network_hosts& both, unsigned index, steering how)
    : both_(both),
      budget_([how] {
        freehca::budget b = without_spares();
        if (how == steering::rules) b.log_mcg_entry_bytes = 10;
        return b;
      }()),
      machine(options_for(both, index, how)),
      device_storage_(device::storage_bytes(budget_)),
      verbs_storage_(verbs::storage_bytes(budget_, kinds_)) {
  device_setup setup{.platform = machine.platform(),
                     .budget = budget_,
                     .storage = device_storage_.at(),
                     .storage_bytes = device_storage_.bytes(),
                     .port_wait = 0};
  if (how == steering::rules) steer_by_rules(setup);
  EXPECT_TRUE(adapter.open(setup).ok());
}

inline bool network_host::run(const std::function<bool()>& done, std::uint64_t limit_ns) {
  return both_.run(done, limit_ns);
}

}  // namespace freehca::testing
