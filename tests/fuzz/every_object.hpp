// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include <freehca/hca/adapter_monitor.hpp>
#include <freehca/hca/every_kind.hpp>
#include <freehca/in_process/machine.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "input.hpp"

namespace freehca::fuzz {

/// Objects of every kind on a device whose port 1 is an InfiniBand port and whose port 2 is an
/// Ethernet port with a cable that leads back to it. The input chooses operations from a table:
/// those on objects, on ports and on the device, work requests, and events of the adapter. Traps
/// when a request completes that is not outstanding, and when memory changes that is in no region.
class every_object {
 public:
  /// The machine and the driver on it.
  struct surroundings {
    in_process::machine& machine;
    device& adapter;
    verbs& objects;
    /// Waits until the operation is done, or, if `drops` is true, for two polls.
    std::function<status(operation&, bool drops)> await;
    std::function<void(std::uint64_t nanoseconds)> rest;
  };
  explicit every_object(surroundings of);
  ~every_object();
  every_object(const every_object&) = delete;
  every_object& operator=(const every_object&) = delete;

  /// Makes all objects and connects the queue pairs. The verbs are open, and the adapter is honest.
  void make(pd_handle domain);
  /// Performs the next operation of the input.
  void perform(input& from);
  /// Takes a completion of these objects.
  void take(const queues::work_completion& w);
  static bool owns(std::uint64_t wr_id) { return wr_id >= first_id; }
  void check_memory() const;
  bool holds(std::uint64_t device_address) const {
    return device_address - block_.device_address < block_.bytes;
  }
  /// The callbacks that read what an event reported.
  static monitor_sinks sinks();

 private:
  static constexpr std::uint64_t first_id = 0x10000, page = 4096;
  static constexpr std::size_t requests = 512, pages = 8;
  /// The address of the region's first byte, and that of the fast region.
  static constexpr std::uint64_t base = 0x7000'0000, fast_base = 0x7100'0000;
  static constexpr unsigned ethernet = 2;  // the port
  // The queue pairs come first, in the order in which they are connected.
  enum thing : unsigned {
    rc,
    uc,
    ud,
    roce,
    roce_ud,
    initiator,
    target,
    raw,
    first_work,
    last_work,
    spread,
    pairs,
    region = pairs,
    fast_region,
    window,
    window_2,
    plain_cq,
    counting_cq,
    resizable_cq,
    ring,
    extended_cq,
    xrc_cq,
    shared,
    xrc_domain_,
    xrc_shared,
    work_range,
    special,
    smi,
    gsi,
    groups,
    counter,
    to_itself,
    to_group,
    to_itself_by_roce,
    things
  };
  struct arguments {
    std::uint8_t a = 0, b = 0;
  };
  struct entry {
    const char* name;
    void (every_object::*perform)(arguments);
  };
  static const entry table[];

  // Operations of the table. What the arguments choose stands in the functions.
  void make_one(arguments);
  void remove(arguments);
  void modify(arguments);
  void change(arguments);
  void query(arguments);
  void send(arguments);
  void receive(arguments);
  void wait(arguments);
  void change_region(arguments);
  void replace_region(arguments);
  void resize(arguments);
  void moderate(arguments);
  void arm(arguments);
  void join(arguments);
  void leave(arguments);
  void make_rule(arguments);
  void remove_rule(arguments);
  void be_promiscuous(arguments);
  void open_port(arguments);
  void set_addresses(arguments);
  void set_port(arguments);
  void read_statistics(arguments);
  void read_module(arguments);
  void sense(arguments);
  void set_type(arguments);
  void read_counters(arguments);
  void read_clock(arguments);
  void read_table(arguments);
  void send_datagram(arguments);
  void raise(arguments);
  void read_context(arguments);
  void use_cable(arguments);

  template <class Op, class... Values>
  status outcome_of(Op& op, Values&&... values) {
    op.start(std::forward<Values>(values)...);
    return of_.await(op, drops_);
  }
  template <class Op, class... Values>
  bool run(Op& op, Values&&... values) {
    return outcome_of(op, std::forward<Values>(values)...).ok();
  }
  template <class Family, class... Values>
  void command(Values... values);
  template <class K>
  status create(handle<K>& to, const typename K::attributes& how);
  template <class K>
  status destroy(handle<K> which);
  status make(thing which, bool varied);
  status make_pair(thing which, bool varied);
  status make_queue(thing which, bool varied);
  status make_address(thing which);
  status destroy(thing which);
  void make_or_find(thing which);
  status move(unsigned which, layouts::qp_state to, std::uint8_t how = 0);
  connection_attributes connection(unsigned which) const;
  address_attributes path(unsigned which) const;
  cq_handle completions_of(unsigned which) const;
  queue_pair* find_pair(unsigned which) const { return of_.objects.find(pairs_[which]); }
  std::uint32_t number(unsigned which) const { return qpn_of(of_.objects, pairs_[which]); }
  page_list memory() const {
    return {{block_.host + page, block_.device_address + page, pages * page}, 12};
  }
  queues::data_entry piece(std::uint64_t from, std::uint32_t length) const {
    return {base + from, length, key_of(of_.objects, region_)};
  }
  /// The identifier of the next request. None is left: 0.
  std::uint64_t next_id();
  /// The request with the last identifier was refused, or posted.
  status posted(status s);
  void poll();
  template <class Queue>
  void poll_queue(Queue* queue);

  surroundings of_;
  bool drops_ = false;
  dma_region block_, list_;
  std::bitset<requests> outstanding_;
  std::size_t posted_ = 0;

  pd_handle domain_;
  mr_handle region_;
  handle<fast_memory_region> fast_;
  std::array<mw_handle, 2> windows_;
  cq_handle plain_;
  handle<counting_completion_queue> counting_;
  handle<resizable_completion_queue> resizable_;
  handle<completion_ring> ring_;
  extended_cq_handle extended_;
  xrc_cq_handle of_xrc_;
  srq_handle shared_;
  xrcd_handle xrcd_;
  xrc_srq_handle shared_of_xrc_;
  std::array<qp_handle, pairs> pairs_;
  handle<receive_queue_range> range_;
  std::array<handle<receive_work_queue>, 2> work_;
  special_qps_handle special_;
  std::array<management_qp_handle, 2> management_;
  multicast_table_handle groups_;
  membership_handle member_;
  handle<packet_counter> counter_;
  std::array<flow_rule_handle, 4> rules_;
  std::array<ah_handle, 3> addresses_;
  // Lists that operations read until they are done.
  std::uint64_t mac_ = 0;
  std::array<port_gid, 3> gids_;
};

}  // namespace freehca::fuzz
