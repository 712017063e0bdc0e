// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// One planned run over a bad cable. The run creates the objects of both hosts, posts the planned
// requests, and hands the completions to the oracle. It compares its own list of objects with the
// driver's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <freehca/work_requests/send_request.hpp>

#include "cabled_hosts.hpp"
#include "lossy_oracle.hpp"
#include "lossy_plan.hpp"
#include "lossy_side.hpp"

namespace freehca::testing {

class lossy_run : lossy_memory {
 public:
  explicit lossy_run(const lossy_plan& plan)
      : plan_(plan),
        hosts_(events_of(watchers_[0]), events_of(watchers_[1]),
               plan.ethernet ? model::link_layer::ethernet : model::link_layer::infiniband,
               plan.ethernet) {
    for (unsigned h = 0; h < 2; ++h) watchers_[h] = {this, h};
  }

  lossy_outcome run() {
    hosts_.bring_up();
    if (::testing::Test::HasFatalFailure()) return oracle_.outcome;
    if (plan_.ethernet) set_addresses();
    create();
    for (unsigned h = 0; h < 2; ++h)
      EXPECT_TRUE(hosts_[h].machine.adapter().set_link_faults(1, plan_.faults));
    // Enough for the longest wait: eight timeouts of 8 ms for each packet that is lost.
    EXPECT_TRUE(hosts_.run([this] { return pump(); }, clock::seconds(60)))
        << "requests that never end: " << unfinished();
    end_by_link_down();
    finish();
    oracle_.judge_memory();
    destroy();
    oracle_.accounts[0].expect_all_ended();
    oracle_.accounts[1].expect_all_ended();
    hosts_.tear_down();
    return oracle_.outcome;
  }

 private:
  using completion = queues::work_completion;
  static constexpr std::uint32_t qkey = 0x1234567;
  struct watcher {
    lossy_run* run = nullptr;
    unsigned host = 0;
  };

  static verbs_events events_of(watcher& to) {
    verbs_events e;
    e.context = &to;
    e.request_ended = [](void* self, qp_handle pair, void*, const completion& w, status) noexcept {
      const watcher& at = *static_cast<watcher*>(self);
      at.run->oracle_.request_ended(at.host, pair, w);
    };
    return e;
  }

  const planned_connection& planned(std::size_t c) const { return plan_.connections[c]; }
  std::size_t connections() const { return plan_.connections.size(); }
  lossy_side& of(std::size_t c, unsigned h) { return oracle_.sides[c][h]; }
  bool stopped(unsigned h) const { return oracle_.stopped(h); }

  template <class Operation, class... Arguments>
  auto made(unsigned h, const Arguments&... arguments) {
    Operation op;
    op.start(hosts_[h].objects, arguments...);
    const status s = hosts_[h].await(op);
    EXPECT_TRUE(s.ok()) << words(s);
    return op.made();
  }
  template <class Operation, class... Arguments>
  void must(unsigned h, const Arguments&... arguments) {
    Operation op;
    op.start(hosts_[h].objects, arguments...);
    const status s = hosts_[h].await(op);
    EXPECT_TRUE(s.ok()) << words(s);
  }

  std::vector<std::uint64_t> held(unsigned h) {
    const device_holdings d = hosts_[h].adapter.holdings();
    const verbs_holdings v = hosts_[h].objects.holdings();
    return {d.pages,      d.mappings, d.slots,    d.numbers,      d.doorbells,
            d.in_doubt(), v.objects,  v.in_doubt, v.request_bytes};
  }
  /// Compares the objects that the driver holds with those that this class has created, by kind.
  void expect_ledger(unsigned h) {
    std::uint32_t pairs = 0, queues = 0, shared = 0, regions = 0, handles = 0, extended = 0,
                  extended_pairs = 0, windows = 0, frames = 0;
    for (std::size_t c = 0; c < connections(); ++c) {
      const lossy_side& s = of(c, h);
      const bool has_frames = planned(c).form == lossy_form::frames;
      if (s.extended) {
        ++extended;
        extended_pairs += bool{s.pair};
        extended_pairs += bool{s.target};
      } else {
        (has_frames ? frames : pairs) += bool{s.pair};
      }
      windows += bool{s.window};
      queues += bool{s.completions};
      shared += bool{s.shared};
      handles += bool{s.peer};
      regions += s.buffer != nullptr && s.buffer->region;
    }
    const verbs& objects = hosts_[h].objects;
    EXPECT_EQ(objects.held<queue_pair>(), pairs);
    EXPECT_EQ(objects.held<completion_queue>(), queues);
    EXPECT_EQ(objects.held<shared_receive_queue>(), shared);
    EXPECT_EQ(objects.held<raw_ethernet_queue_pair>(), frames);
    EXPECT_EQ(objects.held<flow_rule>(), frames);
    EXPECT_EQ(objects.held<xrc_queue_pair>(), extended_pairs);
    EXPECT_EQ(objects.held<xrc_receive_queue>(), extended);
    EXPECT_EQ(objects.held<xrc_completion_queue>(), extended);
    EXPECT_EQ(objects.held<xrc_domain>(), extended);
    EXPECT_EQ(objects.held<memory_window>(), windows);
    EXPECT_EQ(objects.held<memory_region>(), regions);
    EXPECT_EQ(objects.held<address_handle>(), handles);
    EXPECT_EQ(objects.held<protection_domain>(), domains_[h] ? 1u : 0u);
    EXPECT_EQ(objects.holdings().in_doubt, 0u);
  }

  void create() {
    for (unsigned h = 0; h < 2; ++h) {
      before_[h] = held(h);
      domains_[h] = hosts_[h].objects.create<protection_domain>().value();
    }
    oracle_.sides.resize(connections());
    for (std::size_t c = 0; c < connections(); ++c) {
      for (unsigned h = 0; h < 2; ++h) create_side(c, h);
      using layouts::qp_state;
      for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts})
        for (unsigned h = 0; h < 2; ++h) {
          must<modify_queue_pair>(h, of(c, h).pair, to, attributes(c, h, false));
          if (of(c, h).target)
            must<modify_queue_pair>(h, of(c, h).target, to, attributes(c, h, true));
        }
      for (unsigned h = 0; h < 2; ++h) {
        if (of(c, h).window) bind(c, h);
        if (planned(c).form == lossy_form::frames) take_frames(c, h);
      }
    }
    for (unsigned h = 0; h < 2; ++h) expect_ledger(h);
  }
  void create_side(std::size_t c, unsigned h) {
    lossy_side& s = of(c, h);
    const planned_connection& p = planned(c);
    s.completions = made<create_completion_queue>(h, completion_queue_attributes{.entries = 127});
    create_pair(p, s, h);
    // A window gives the peer the rights that the region does not.
    const bool direct = p.form != lossy_form::windows;
    s.buffer = std::make_unique<registered_buffer_of<cabled_host>>(
        hosts_[h], domains_[h], counter_at + 8, 8,
        memory_access{.local_write = true,
                      .remote_read = direct,
                      .remote_write = direct,
                      .remote_atomic = direct,
                      .bind_windows = !direct});
    s.key = s.buffer->key;
    *reinterpret_cast<std::uint64_t*>(s.buffer->at(counter_at)) = 0;
    if (p.service == layouts::qp_service::ud) {
      const auto to =
          hosts_[h].objects.create<address_handle>({.pd = domains_[h], .address = path(p, h)});
      EXPECT_TRUE(to.ok());
      s.peer = to.value();
    }
    for (unsigned i = 0; i < lossy_plan::messages_each; ++i)
      for (std::size_t b = 0; b < slot_bytes; ++b) {
        *s.buffer->at(at(source, i) + b) = oracle_.content(c, h, i, b);
        *s.buffer->at(at(readable, i) + b) = oracle_.content(c, h, i + slots, b);
      }
    for (unsigned i = 0; i < slots; ++i) s.free_slots.insert(i);
    // Few enough that a sender gets an RNR NAK now and then.
    s.depth = 2 + static_cast<unsigned>((plan_.seed + c + h) % 7);
  }
  void create_pair(const planned_connection& p, lossy_side& s, unsigned h) {
    const bool shared = p.form == lossy_form::shared;
    if (shared)
      s.shared = made<create_shared_receive_queue>(
          h, shared_receive_queue_attributes{.pd = domains_[h], .receives = slots});
    switch (p.form) {
      case lossy_form::extended:
        return create_extended(s, h);
      case lossy_form::frames:
        s.pair = made<create_raw_ethernet_queue_pair>(
            h, raw_ethernet_attributes{{.pd = domains_[h],
                                        .send_cq = s.completions,
                                        .receive_cq = s.completions,
                                        .sends = 8,
                                        .receives = slots}});
        return;
      case lossy_form::windows:
        s.window = made<create_memory_window>(
            h, memory_window_attributes{
                   .pd = domains_[h],
                   .type = p.second_type ? queues::window_type::two : queues::window_type::one});
        break;
      default:
        break;
    }
    s.pair = made<create_queue_pair>(h, queue_pair_attributes{.pd = domains_[h],
                                                              .send_cq = s.completions,
                                                              .receive_cq = s.completions,
                                                              .service = p.service,
                                                              .sends = 8,
                                                              .receives = shared ? 0u : slots,
                                                              .shared = s.shared});
  }
  void create_extended(lossy_side& s, unsigned h) {
    s.domain = hosts_[h].objects.create<xrc_domain>().value();
    s.extended_completions =
        made<create_xrc_completion_queue>(h, completion_queue_attributes{.entries = 127});
    s.extended =
        made<create_xrc_receive_queue>(h, xrc_receive_queue_attributes{.pd = domains_[h],
                                                                       .domain = s.domain,
                                                                       .cq = s.extended_completions,
                                                                       .receives = slots});
    s.extended_number = srqn_of(hosts_[h].objects, s.extended);
    s.pair = made<create_xrc_queue_pair>(
        h, xrc_queue_pair_attributes{.pd = domains_[h], .cq = s.completions, .sends = 8});
    s.target = made<create_xrc_queue_pair>(
        h, xrc_queue_pair_attributes{.domain = s.domain, .pd = domains_[h], .cq = s.completions});
  }
  /// Binds the window to the whole buffer, while the cable is good.
  void bind(std::size_t c, unsigned h) {
    lossy_side& s = of(c, h);
    using rights = queues::window_rights;
    const queues::window_binding all{
        .key = hosts_[h].objects.find(s.window)->next_key(),
        .region = s.buffer->key,
        .address = s.buffer->address(0),
        .length = counter_at + 8,
        .rights = rights::remote_read | rights::remote_write | rights::remote_atomic,
        .type = planned(c).second_type ? queues::window_type::two : queues::window_type::one};
    queues::sq& to = hosts_[h].objects.find(s.pair)->rings.send;
    EXPECT_TRUE(to.post_and_ring(queues::bind_window{.memory = all}).ok());
    completion w;
    queues::cq& from = hosts_[h].objects.find(s.completions)->rings;
    EXPECT_TRUE(hosts_.run([&] { return from.poll(&w, 1) == 1; }, clock::seconds(1)));
    EXPECT_TRUE(w.ok()) << queues::name_of(w.status);
    s.key = all.key;
  }
  void take_frames(std::size_t c, unsigned h) {
    lossy_side& s = of(c, h);
    flow_rule_attributes rule{.pair = s.pair, .header_count = 1};
    rule.headers[0] = ethernet_flow{.destination = lossy_addresses::frame_mac_of(h),
                                    .destination_mask = most_mac};
    s.rule = made<create_flow_rule>(h, rule);
  }
  void set_addresses() {
    for (unsigned h = 0; h < 2; ++h) {
      const std::uint64_t mac = lossy_addresses::mac_of(h);
      const std::uint16_t vlan = lossy_addresses::vlan;
      port_gid gids[lossy_plan::gids];
      for (unsigned i = 0; i < lossy_plan::gids; ++i) gids[i] = lossy_addresses::gid_at(h, i);
      set_port_addresses set;
      set.start(hosts_[h].adapter, 1, {&mac, 1, &vlan, 1, gids, lossy_plan::gids});
      const status s = hosts_[h].await(set);
      EXPECT_TRUE(s.ok()) << words(s);
    }
  }
  // g++ 12 warns of the padding of a path that it copies inline.
  [[gnu::noinline]] address_attributes path(const planned_connection& p, unsigned h) {
    if (!plan_.ethernet) return infiniband_path{.dlid = hosts_[1 - h].lid()};
    roce_path to;
    to.dmac = lossy_addresses::mac_of(1 - h);
    if (p.on_vlan) to.vlan = lossy_addresses::vlan;
    to.priority = 3;
    to.sgid_index = p.gid_index;
    to.dgid = lossy_addresses::gid_at(1 - h, p.gid_index).address;
    return to;
  }
  connection_attributes attributes(std::size_t c, unsigned h, bool of_target) {
    const planned_connection& p = planned(c);
    connection_attributes a;
    if (p.form == lossy_form::frames) {
      a.address = raw_ethernet_path{};
      return a;
    }
    a.remote_read = a.remote_write = a.remote_atomic = true;
    a.qkey = qkey;
    a.path_mtu = plan_.mtu;
    a.min_rnr_timer = p.min_rnr_timer;
    const lossy_side& far = of(c, 1 - h);
    // An initiator is connected to the target of the other host.
    const bool to_target = far.target && !of_target;
    a.remote_qpn = qpn_of(hosts_[1 - h].objects, to_target ? qp_handle(far.target) : far.pair);
    a.receive_psn = to_target ? 0 : p.first_psn[1 - h];
    a.send_psn = of_target ? 0 : p.first_psn[h];
    a.reads_as_responder = a.reads_as_requester = p.reads;
    a.address = path(p, h);
    a.retry_count = p.retry_count;
    a.rnr_retry = p.rnr_retry;
    a.ack_timeout = p.ack_timeout;
    return a;
  }

  // --- Traffic

  /// Takes completions and posts requests. Returns true if every request has ended.
  bool pump() {
    bool all = true;
    for (std::size_t c = 0; c < connections(); ++c)
      for (unsigned h = 0; h < 2; ++h) {
        take_completions(c, h);
        post_receives(c, h);
        post_sends(c, h);
        const lossy_side& s = of(c, h);
        all &= s.sends.empty() &&
               (stopped(h) || s.failed || s.posted == planned(c).messages[h].size());
      }
    if (!struck_ && oracle_.outcome.messages >= plan_.strike_after) do_strike();
    return all && (!stopped(1) || recovery_.done());
  }

  void do_strike() {
    struck_ = true;
    switch (plan_.what) {
      case strike::none:
      case strike::no_receives:  // post_receives() stops
        break;
      case strike::dead_cable:
        for (unsigned h = 0; h < 2; ++h)
          hosts_[h].machine.adapter().set_link_faults(1, {.loss = model::link_faults::always});
        break;
      case strike::cable_pulled:
        for (unsigned h = 0; h < 2; ++h) hosts_[h].machine.adapter().plug_cable(1, false);
        break;
      case strike::reset:
        oracle_.begin_recovery();
        hosts_[1].adapter.recover(recovery_);
        break;
    }
  }

  void post_receives(std::size_t c, unsigned h) {
    lossy_side& s = of(c, h);
    // A queue pair in ERROR flushes each new request at once.
    if (stopped(h) || s.flushed || (struck_ && plan_.what == strike::no_receives && h == 1)) return;
    while (s.receives.size() < s.depth && !s.free_slots.empty()) {
      const unsigned slot = *s.free_slots.begin();
      const queues::data_entry into = s.buffer->entry(at(received, slot), slot_bytes);
      const queues::receive_request r{
          .wr_id = oracle_.accounts[h].posted + 1, .list = &into, .entries = 1};
      verbs& objects = hosts_[h].objects;
      const status posted = s.extended ? objects.find(s.extended)->rings.post_and_ring(r)
                            : s.shared ? objects.find(s.shared)->rings.post_and_ring(r)
                                       : objects.find(s.pair)->rings.receive.post_and_ring(r);
      if (!posted.ok()) return;  // the queue pair is in ERROR
      s.receives.emplace(oracle_.accounts[h].post(), slot);
      s.free_slots.erase(slot);
    }
  }

  void post_sends(std::size_t c, unsigned h) {
    if (stopped(h)) return;
    lossy_side& s = of(c, h);
    const auto& messages = planned(c).messages[h];
    while (!s.failed && s.posted < messages.size() && s.sends.size() < 8) {
      if (!post(c, h, s.posted).ok()) return;
      s.sends.push_back({oracle_.accounts[h].post(), s.posted++});
      ++oracle_.outcome.messages;
    }
  }
  status post(std::size_t c, unsigned h, unsigned i) {
    const planned_message& m = planned(c).messages[h][i];
    lossy_side& s = of(c, h);
    lossy_side& far = of(c, 1 - h);
    queues::data_entry data = s.buffer->entry(at(source, i), m.bytes);
    work_requests::send_request r{
        .wr_id = oracle_.accounts[h].posted + 1, .list = &data, .entries = 1};
    r.signaled = m.signaled;
    r.immediate = i;
    r.rkey = far.key;
    r.remote_srqn = far.extended_number;
    r.remote_address = far.buffer->address(at(written, i));
    switch (m.kind) {
      case message_kind::send:
        r.opcode = planned(c).form == lossy_form::frames ? work_requests::send_opcode::send_frame
                                                         : work_requests::send_opcode::send;
        break;
      case message_kind::send_immediate:
        r.opcode = work_requests::send_opcode::send_with_immediate;
        break;
      case message_kind::write:
        r.opcode = work_requests::send_opcode::rdma_write;
        break;
      case message_kind::write_immediate:
        r.opcode = work_requests::send_opcode::rdma_write_with_immediate;
        break;
      case message_kind::read:
        r.opcode = work_requests::send_opcode::rdma_read;
        r.remote_address = far.buffer->address(at(readable, i));
        data = s.buffer->entry(at(answer, i), m.bytes);
        break;
      case message_kind::add:
        r.opcode = work_requests::send_opcode::fetch_and_add;
        r.remote_address = far.buffer->address(counter_at);
        r.swap_or_add = 1;
        data = s.buffer->entry(at(answer, i), 8);
        break;
    }
    if (s.peer) {
      r.to = &hosts_[h].objects.find(s.peer)->address;
      r.remote_qpn = qpn_of(hosts_[1 - h].objects, far.pair);
      r.qkey = qkey;
      if (r.remote_qpn == 0) r.remote_qpn = far_number_[c];
      far_number_[c] = r.remote_qpn;
    }
    return work_requests::post_and_ring(hosts_[h].objects.find(s.pair)->rings.send, r);
  }

  void take_completions(std::size_t c, unsigned h) {
    if (stopped(h)) return;
    lossy_side& s = of(c, h);
    completion all[8];
    for (unsigned n = 8; n == 8;) {
      n = hosts_[h].objects.find(s.completions)->rings.poll(all, 8);
      for (unsigned k = 0; k < n; ++k) oracle_.take(c, h, all[k], false);
    }
    for (unsigned n = 8; n == 8 && s.extended;) {
      n = hosts_[h].objects.find(s.extended_completions)->take(all, 8);
      for (unsigned k = 0; k < n; ++k) oracle_.take(c, h, all[k], false);
    }
  }

  // --- The end

  void end_by_link_down() {
    if (plan_.what != strike::cable_pulled || !struck_) return;
    EXPECT_TRUE(hosts_.run(
        [this] {
          return !hosts_[0].adapter.port(1).active() && !hosts_[1].adapter.port(1).active();
        },
        clock::seconds(5)))
        << "the driver does not know that the link is down";
    oracle_.outcome.link_down = oracle_.outcome.retries;
  }

  /// Moves the queue pairs to ERROR, so that every receive ends too.
  void finish() {
    oracle_.begin_flush();
    for (std::size_t c = 0; c < connections(); ++c)
      for (unsigned h = 0; h < 2; ++h)
        if (!stopped(h)) {
          must<modify_queue_pair>(h, of(c, h).pair, layouts::qp_state::error);
          if (of(c, h).target)
            must<modify_queue_pair>(h, of(c, h).target, layouts::qp_state::error);
        }
    const auto flushed = [this] {
      bool all = true;
      for (std::size_t c = 0; c < connections(); ++c)
        for (unsigned h = 0; h < 2; ++h) {
          take_completions(c, h);
          // A shared queue keeps receives that no queue pair took.
          all &= of(c, h).sends.empty() && (of(c, h).keeps_receives() || of(c, h).receives.empty());
        }
      return all;
    };
    EXPECT_TRUE(hosts_.run(flushed, clock::seconds(10))) << "requests were not flushed";
    // Let the packets in flight arrive.
    hosts_.run([] { return false; }, clock::milliseconds(1));
    for (unsigned h = 0; h < 2; ++h)
      if (!stopped(h)) expect_ledger(h);
  }

  void destroy() {
    for (unsigned h = 0; h < 2; ++h) {
      for (std::size_t c = 0; c < connections(); ++c) {
        lossy_side& s = of(c, h);
        if (stopped(h)) {
          s.buffer->region = {};
          s.buffer.reset();
          continue;
        }
        if (s.window) must<destroy_memory_window>(h, std::exchange(s.window, {}));
        if (s.rule) must<destroy_flow_rule>(h, std::exchange(s.rule, {}));
        must<destroy_queue_pair>(h, std::exchange(s.pair, {}));
        if (s.target) destroy_extended(s, h);
        if (s.shared) must<destroy_shared_receive_queue>(h, std::exchange(s.shared, {}));
        for (const auto& [wr_id, slot] : s.receives) oracle_.accounts[h].lose(wr_id);
        must<destroy_completion_queue>(h, std::exchange(s.completions, {}));
        if (s.peer) {
          EXPECT_TRUE(hosts_[h].objects.destroy(std::exchange(s.peer, {})).ok());
        }
        s.buffer.reset();
      }
      if (stopped(h)) {
        EXPECT_TRUE(recovery_.outcome().ok()) << words(recovery_.outcome());
        EXPECT_TRUE(hosts_[h].objects.holdings().none());
      } else {
        EXPECT_TRUE(hosts_[h].objects.destroy(domains_[h]).ok());
      }
      EXPECT_EQ(held(h), before_[h]) << "host " << h;
    }
  }

  void destroy_extended(lossy_side& s, unsigned h) {
    must<destroy_xrc_queue_pair>(h, std::exchange(s.target, {}));
    must<destroy_xrc_receive_queue>(h, std::exchange(s.extended, {}));
    must<destroy_xrc_completion_queue>(h, std::exchange(s.extended_completions, {}));
    EXPECT_TRUE(hosts_[h].objects.destroy(std::exchange(s.domain, {})).ok());
  }

  std::string unfinished() {
    std::string all;
    for (std::size_t c = 0; c < connections(); ++c)
      for (unsigned h = 0; h < 2; ++h)
        all += " " + std::to_string(of(c, h).sends.size()) + "/" + std::to_string(of(c, h).posted);
    return all;
  }

  const lossy_plan plan_;
  watcher watchers_[2];
  cabled_hosts hosts_;
  lossy_oracle oracle_{plan_};
  pd_handle domains_[2];
  std::vector<std::uint64_t> before_[2];
  std::map<std::size_t, std::uint32_t> far_number_;  // of a queue pair that a reset has destroyed
  operation recovery_;
  bool struck_ = false;
};

}  // namespace freehca::testing
