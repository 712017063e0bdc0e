// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// One planned run over a bad cable, and the oracle that watches it. The oracle knows the plan, the
// bytes in memory and the completions; it looks into neither driver nor adapter.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <freehca/work_requests/send_request.hpp>

#include "cabled_hosts.hpp"
#include "lossy_plan.hpp"
#include "request_account.hpp"

namespace freehca::testing {

/// How a run ended, as completions and events said.
struct lossy_outcome {
  bool rnr = false, retries = false, link_down = false, reset = false;
  std::uint64_t messages = 0, ended_well = 0;
};

class lossy_run {
 public:
  explicit lossy_run(const lossy_plan& plan)
      : plan_(plan), hosts_(events_of(watchers_[0]), events_of(watchers_[1])) {
    for (unsigned h = 0; h < 2; ++h) watchers_[h] = {this, h};
  }

  lossy_outcome run() {
    hosts_.bring_up();
    if (::testing::Test::HasFatalFailure()) return outcome_;
    create();
    for (unsigned h = 0; h < 2; ++h)
      EXPECT_TRUE(hosts_[h].machine.adapter().set_link_faults(1, plan_.faults));
    // Enough for the longest wait: eight timeouts of 8 ms for each packet that is lost.
    EXPECT_TRUE(hosts_.run([this] { return pump(); }, clock::seconds(60)))
        << "requests that never end: " << unfinished();
    end_by_link_down();
    finish();
    judge_memory();
    destroy();
    accounts_[0].expect_all_ended();
    accounts_[1].expect_all_ended();
    hosts_.tear_down();
    return outcome_;
  }

 private:
  using completion = queues::work_completion;
  static constexpr unsigned slots = 16;
  static constexpr std::size_t grh_bytes = 40, slot_bytes = 6144;
  static constexpr std::byte fill{0xa5};
  static_assert(lossy_plan::messages_each <= slots &&
                lossy_plan::most_bytes + grh_bytes <= slot_bytes);
  // The areas of each buffer, and behind them the word that atomics add to.
  enum area : std::uint8_t { source, answer, readable, written, received, areas };
  static constexpr std::size_t counter_at = areas * slots * slot_bytes;
  static constexpr std::uint32_t qkey = 0x1234567;

  struct posted_send {
    std::uint64_t wr_id;
    unsigned message;
  };
  /// What one host has of one connection.
  struct side {
    cq_handle completions;
    qp_handle pair;
    srq_handle shared;
    ah_handle peer;
    std::unique_ptr<registered_buffer_of<cabled_host>> buffer;
    // As the sender.
    std::deque<posted_send> sends;
    unsigned posted = 0;
    bool failed = false;
    queues::completion_status first_error = queues::completion_status::ok;
    std::set<unsigned> ended_well;
    std::optional<std::uint64_t> last_sum;
    // As the receiver.
    std::map<std::uint64_t, unsigned> receives;  // slot by wr_id
    std::set<unsigned> free_slots;
    unsigned depth = 0;
    bool flushed = false;           // a receive: the queue pair is in ERROR
    std::vector<unsigned> arrived;  // messages, in the order of their completions
  };
  struct watcher {
    lossy_run* run = nullptr;
    unsigned host = 0;
  };

  static verbs_events events_of(watcher& to) {
    verbs_events e;
    e.context = &to;
    e.request_ended = [](void* self, qp_handle pair, void*, const completion& w, status) noexcept {
      const watcher& at = *static_cast<watcher*>(self);
      at.run->request_ended(at.host, pair, w);
    };
    return e;
  }

  static std::size_t at(area where, unsigned slot) {
    return (static_cast<std::size_t>(where) * slots + slot) * slot_bytes;
  }
  std::byte content(std::size_t connection, unsigned from, unsigned message, std::size_t i) const {
    return static_cast<std::byte>(plan_.seed * 13 + connection * 57 + from * 101 + message * 31 +
                                  i * 7 + (i >> 8));
  }
  const planned_connection& planned(std::size_t c) const { return plan_.connections[c]; }
  std::size_t connections() const { return plan_.connections.size(); }
  side& of(std::size_t c, unsigned h) { return sides_[c][h]; }
  bool reliable(std::size_t c) const { return planned(c).service == layouts::qp_service::rc; }

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
  /// What the host should hold, by kind, as this class has created it.
  void expect_ledger(unsigned h) {
    std::uint32_t pairs = 0, queues = 0, shared = 0, regions = 0, handles = 0;
    for (std::size_t c = 0; c < connections(); ++c) {
      const side& s = of(c, h);
      pairs += bool{s.pair};
      queues += bool{s.completions};
      shared += bool{s.shared};
      handles += bool{s.peer};
      regions += s.buffer != nullptr && s.buffer->region;
    }
    const verbs& objects = hosts_[h].objects;
    EXPECT_EQ(objects.held<queue_pair>(), pairs);
    EXPECT_EQ(objects.held<completion_queue>(), queues);
    EXPECT_EQ(objects.held<shared_receive_queue>(), shared);
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
    sides_.resize(connections());
    for (std::size_t c = 0; c < connections(); ++c) {
      for (unsigned h = 0; h < 2; ++h) create_side(c, h);
      using layouts::qp_state;
      for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts})
        for (unsigned h = 0; h < 2; ++h)
          must<modify_queue_pair>(h, of(c, h).pair, to, attributes(c, h));
    }
    for (unsigned h = 0; h < 2; ++h) expect_ledger(h);
  }
  void create_side(std::size_t c, unsigned h) {
    side& s = of(c, h);
    const planned_connection& p = planned(c);
    s.completions = made<create_completion_queue>(h, completion_queue_attributes{.entries = 127});
    if (p.shared_receives)
      s.shared = made<create_shared_receive_queue>(
          h, shared_receive_queue_attributes{.pd = domains_[h], .receives = slots});
    s.pair =
        made<create_queue_pair>(h, queue_pair_attributes{.pd = domains_[h],
                                                         .send_cq = s.completions,
                                                         .receive_cq = s.completions,
                                                         .service = p.service,
                                                         .sends = 8,
                                                         .receives = p.shared_receives ? 0u : slots,
                                                         .shared = s.shared});
    s.buffer = std::make_unique<registered_buffer_of<cabled_host>>(
        hosts_[h], domains_[h], counter_at + 8, 8,
        memory_access{
            .local_write = true, .remote_read = true, .remote_write = true, .remote_atomic = true});
    *reinterpret_cast<std::uint64_t*>(s.buffer->at(counter_at)) = 0;
    if (p.service == layouts::qp_service::ud) {
      const auto to = hosts_[h].objects.create<address_handle>(
          {.pd = domains_[h], .address = {.dlid = hosts_[1 - h].lid()}});
      EXPECT_TRUE(to.ok());
      s.peer = to.value();
    }
    for (unsigned i = 0; i < lossy_plan::messages_each; ++i)
      for (std::size_t b = 0; b < slot_bytes; ++b) {
        *s.buffer->at(at(source, i) + b) = content(c, h, i, b);
        *s.buffer->at(at(readable, i) + b) = content(c, h, i + slots, b);
      }
    for (unsigned i = 0; i < slots; ++i) s.free_slots.insert(i);
    // Few enough that a sender meets RNR now and then.
    s.depth = 2 + static_cast<unsigned>((plan_.seed + c + h) % 7);
  }
  connection_attributes attributes(std::size_t c, unsigned h) {
    const planned_connection& p = planned(c);
    connection_attributes a;
    a.remote_read = a.remote_write = a.remote_atomic = true;
    a.qkey = qkey;
    a.path_mtu = plan_.mtu;
    a.min_rnr_timer = p.min_rnr_timer;
    a.remote_qpn = qpn_of(hosts_[1 - h].objects, of(c, 1 - h).pair);
    a.receive_psn = p.first_psn[1 - h];
    a.send_psn = p.first_psn[h];
    a.reads_as_responder = a.reads_as_requester = p.reads;
    a.address.dlid = hosts_[1 - h].lid();
    a.retry_count = p.retry_count;
    a.rnr_retry = p.rnr_retry;
    a.ack_timeout = p.ack_timeout;
    return a;
  }

  // --- Traffic

  /// Takes completions, posts requests. True: every request has ended.
  bool pump() {
    bool all = true;
    for (std::size_t c = 0; c < connections(); ++c)
      for (unsigned h = 0; h < 2; ++h) {
        take_completions(c, h);
        post_receives(c, h);
        post_sends(c, h);
        const side& s = of(c, h);
        all &= s.sends.empty() &&
               (stopped(h) || s.failed || s.posted == planned(c).messages[h].size());
      }
    if (!struck_ && outcome_.messages >= plan_.strike_after) do_strike();
    return all && (!recovering_ || recovery_.done());
  }
  bool stopped(unsigned h) const { return recovering_ && h == 1; }

  void do_strike() {
    struck_ = true;
    switch (plan_.what) {
      case strike::none:
      case strike::no_receives:  // post_receives() knows
        break;
      case strike::dead_cable:
        for (unsigned h = 0; h < 2; ++h)
          hosts_[h].machine.adapter().set_link_faults(1, {.loss = model::link_faults::always});
        break;
      case strike::cable_pulled:
        for (unsigned h = 0; h < 2; ++h) hosts_[h].machine.adapter().plug_cable(1, false);
        break;
      case strike::reset:
        recovering_ = true;
        hosts_[1].adapter.recover(recovery_);
        break;
    }
  }

  void post_receives(std::size_t c, unsigned h) {
    side& s = of(c, h);
    // What is posted to a queue pair in ERROR is flushed at once.
    if (stopped(h) || s.flushed || (struck_ && plan_.what == strike::no_receives && h == 1)) return;
    while (s.receives.size() < s.depth && !s.free_slots.empty()) {
      const unsigned slot = *s.free_slots.begin();
      const queues::data_entry into = s.buffer->entry(at(received, slot), slot_bytes);
      const queues::receive_request r{
          .wr_id = accounts_[h].posted + 1, .list = &into, .entries = 1};
      verbs& objects = hosts_[h].objects;
      const status posted = s.shared ? objects.find(s.shared)->rings.post_and_ring(r)
                                     : objects.find(s.pair)->rings.receive.post_and_ring(r);
      if (!posted.ok()) return;  // the queue pair is in ERROR
      s.receives.emplace(accounts_[h].post(), slot);
      s.free_slots.erase(slot);
    }
  }

  void post_sends(std::size_t c, unsigned h) {
    if (stopped(h)) return;
    side& s = of(c, h);
    const auto& messages = planned(c).messages[h];
    while (!s.failed && s.posted < messages.size() && s.sends.size() < 8) {
      if (!post(c, h, s.posted).ok()) return;
      s.sends.push_back({accounts_[h].post(), s.posted++});
      ++outcome_.messages;
    }
  }
  status post(std::size_t c, unsigned h, unsigned i) {
    const planned_message& m = planned(c).messages[h][i];
    side& s = of(c, h);
    side& far = of(c, 1 - h);
    queues::data_entry data = s.buffer->entry(at(source, i), m.bytes);
    work_requests::send_request r{.wr_id = accounts_[h].posted + 1, .list = &data, .entries = 1};
    r.signaled = m.signaled;
    r.immediate = i;
    r.rkey = far.buffer->key;
    r.remote_address = far.buffer->address(at(written, i));
    switch (m.kind) {
      case message_kind::send:
        r.opcode = work_requests::send_opcode::send;
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
    side& s = of(c, h);
    completion all[8];
    for (unsigned n = 8; n == 8;) {
      n = hosts_[h].objects.find(s.completions)->rings.poll(all, 8);
      for (unsigned k = 0; k < n; ++k) take(c, h, all[k], false);
    }
  }

  void take(std::size_t c, unsigned h, const completion& w, bool at_reset) {
    side& s = of(c, h);
    if (s.receives.count(w.wr_id) != 0) return take_receive(c, h, w, at_reset);
    while (!s.sends.empty() && s.sends.front().wr_id != w.wr_id) {
      const posted_send earlier = s.sends.front();
      EXPECT_FALSE(planned(c).messages[h][earlier.message].signaled)
          << "a signaled request was passed over";
      accounts_[h].imply(earlier.wr_id);
      s.sends.pop_front();
      ended_well(c, h, earlier.message);
    }
    ASSERT_FALSE(s.sends.empty()) << "a completion of request " << w.wr_id << ", which is not out";
    const unsigned message = s.sends.front().message;
    s.sends.pop_front();
    if (at_reset) accounts_[h].hand_over(w.wr_id);
    else accounts_[h].complete(w.wr_id);
    if (w.ok()) return ended_well(c, h, message);
    if (!s.failed) s.first_error = w.status;
    s.failed = true;
    using queues::completion_status;
    if (w.status == completion_status::rnr_retry_exceeded) outcome_.rnr = true;
    else if (w.status == completion_status::transport_retry_exceeded) outcome_.retries = true;
    else
      EXPECT_EQ(w.status, completion_status::flushed)
          << "connection " << c << ", host " << h << ": " << queues::name_of(w.status);
    EXPECT_TRUE(reliable(c) || finishing_) << "a send without acknowledgement failed";
  }

  /// Request `i` of host h has ended well: what it promises is true.
  void ended_well(std::size_t c, unsigned h, unsigned i) {
    side& s = of(c, h);
    EXPECT_FALSE(s.failed) << "a request behind a failed one ended well";
    EXPECT_TRUE(s.ended_well.insert(i).second);
    ++outcome_.ended_well;
    if (!reliable(c)) return;
    const planned_message& m = planned(c).messages[h][i];
    side& far = of(c, 1 - h);
    switch (m.kind) {
      case message_kind::write:
      case message_kind::write_immediate:
        expect_bytes(far, at(written, i), m.bytes, c, h, i);
        break;
      case message_kind::read:
        expect_bytes(s, at(answer, i), m.bytes, c, 1 - h, i + slots);
        break;
      case message_kind::add: {
        std::uint64_t sum = 0;
        std::memcpy(&sum, s.buffer->at(at(answer, i)), sizeof sum);
        if (s.last_sum) {
          EXPECT_GT(sum, *s.last_sum) << "an atomic was executed out of order";
        }
        EXPECT_LT(sum, adds_posted(c, h)) << "an atomic was executed twice";
        s.last_sum = sum;
        break;
      }
      case message_kind::send:
      case message_kind::send_immediate:
        break;  // the receiver's completion, at the end
    }
  }

  void take_receive(std::size_t c, unsigned h, const completion& w, bool at_reset) {
    side& s = of(c, h);
    const unsigned slot = s.receives.at(w.wr_id);
    s.receives.erase(w.wr_id);
    if (at_reset) accounts_[h].hand_over(w.wr_id);
    else accounts_[h].complete(w.wr_id);
    if (!w.ok()) {
      EXPECT_EQ(w.status, queues::completion_status::flushed) << queues::name_of(w.status);
      s.flushed = true;
      s.free_slots.insert(slot);
      return;
    }
    const auto& messages = planned(c).messages[1 - h];
    unsigned i = 0;
    if (reliable(c)) {
      // The next of those that take a receive: each once, none left out.
      for (i = s.arrived.empty() ? 0 : s.arrived.back() + 1;
           i < messages.size() && !takes_receive(messages[i].kind); ++i)
        continue;
    } else {
      ASSERT_TRUE(w.has_immediate());
      i = w.immediate();
      expect_allowed(c, s, i);
    }
    ASSERT_LT(i, messages.size()) << "more messages than were sent";
    const planned_message& m = messages[i];
    s.arrived.push_back(i);
    const bool has_immediate =
        m.kind == message_kind::send_immediate || m.kind == message_kind::write_immediate;
    EXPECT_EQ(w.has_immediate(), has_immediate) << "message " << i;
    if (has_immediate) {
      EXPECT_EQ(w.immediate(), i);
    }
    const std::size_t head = s.peer ? grh_bytes : 0;
    EXPECT_EQ(w.byte_count, m.bytes + head) << "message " << i;
    const bool was_written = m.kind == message_kind::write_immediate;
    EXPECT_EQ(w.opcode == queues::work_opcode::receive_rdma_with_immediate, was_written);
    expect_bytes(s, was_written ? at(written, i) : at(received, slot) + head, m.bytes, c, 1 - h, i);
    s.free_slots.insert(slot);
  }
  /// A message of a service without acknowledgements: which faults of the cable explain that it is
  /// not the next one?
  void expect_allowed(std::size_t c, const side& s, unsigned i) {
    const bool twice = std::count(s.arrived.begin(), s.arrived.end(), i) != 0;
    if (plan_.faults.duplication == 0) {
      EXPECT_FALSE(twice) << "connection " << c << ": message " << i << " arrived twice";
    }
    if (plan_.faults.duplication == 0 && plan_.faults.reordering == 0 && !s.arrived.empty()) {
      EXPECT_GT(i, s.arrived.back()) << "connection " << c << ": messages in another order";
    }
  }

  void expect_bytes(side& where, std::size_t from, std::size_t bytes, std::size_t c,
                    unsigned sender, unsigned message) {
    for (std::size_t b = 0; b < bytes; ++b)
      if (*where.buffer->at(from + b) != content(c, sender, message, b)) {
        ADD_FAILURE() << "connection " << c << ", message " << message << " of host " << sender
                      << ": byte " << b << " of " << bytes << " is not what was sent";
        return;
      }
  }

  /// verbs_events::request_ended
  void request_ended(unsigned h, qp_handle pair, const completion& w) {
    EXPECT_TRUE(h == 1 && recovering_) << "nobody reset this host";
    outcome_.reset = true;
    for (std::size_t c = 0; c < connections(); ++c) {
      side& s = of(c, h);
      const bool here = s.pair == pair && pair;
      if (w.status != queues::completion_status::device_reset) {
        if (here) return take(c, h, w, true);
        continue;
      }
      // Of a shared queue no queue pair is named.
      if (s.receives.count(w.wr_id) != 0) {
        accounts_[h].lose(w.wr_id);
        s.receives.erase(w.wr_id);
        return;
      }
      if (here) {
        ASSERT_FALSE(s.sends.empty());
        EXPECT_EQ(s.sends.front().wr_id, w.wr_id) << "not in the order of posting";
        accounts_[h].lose(w.wr_id);
        s.sends.pop_front();
        s.failed = true;
        return;
      }
    }
    ADD_FAILURE() << "request " << w.wr_id << " is not out";
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
    outcome_.link_down = outcome_.retries;
  }

  /// Moves what is left to ERROR, so that every receive ends too.
  void finish() {
    finishing_ = true;
    for (std::size_t c = 0; c < connections(); ++c)
      for (unsigned h = 0; h < 2; ++h)
        if (!stopped(h)) must<modify_queue_pair>(h, of(c, h).pair, layouts::qp_state::error);
    const auto flushed = [this] {
      bool all = true;
      for (std::size_t c = 0; c < connections(); ++c)
        for (unsigned h = 0; h < 2; ++h) {
          take_completions(c, h);
          // A shared queue keeps what no queue pair took.
          all &= of(c, h).sends.empty() && (of(c, h).shared || of(c, h).receives.empty());
        }
      return all;
    };
    EXPECT_TRUE(hosts_.run(flushed, clock::seconds(10))) << "requests were not flushed";
    // What a packet still in flight could do, it has done.
    hosts_.run([] { return false; }, clock::milliseconds(1));
    for (unsigned h = 0; h < 2; ++h)
      if (!stopped(h)) expect_ledger(h);
  }

  void judge_memory() {
    for (std::size_t c = 0; c < connections(); ++c)
      for (unsigned h = 0; h < 2; ++h) {
        side& s = of(c, h);
        side& far = of(c, 1 - h);
        const auto& messages = planned(c).messages[h];
        for (unsigned i = 0; i < messages.size(); ++i) {
          expect_bytes(s, at(source, i), slot_bytes, c, h, i);
          expect_bytes(s, at(readable, i), slot_bytes, c, h, i + slots);
          judge_written(c, h, i);
        }
        // A send that ended well has arrived.
        if (reliable(c) && !stopped(1 - h))
          for (const unsigned i : s.ended_well)
            if (takes_receive(messages[i].kind)) {
              EXPECT_TRUE(std::count(far.arrived.begin(), far.arrived.end(), i) == 1)
                  << "connection " << c << ": message " << i << " ended well and did not arrive";
            }
        std::uint64_t sum = 0;
        std::memcpy(&sum, far.buffer->at(counter_at), sizeof sum);
        unsigned least = 0;
        for (const unsigned i : s.ended_well) least += messages[i].kind == message_kind::add;
        EXPECT_GE(sum, least);
        EXPECT_LE(sum, adds_posted(c, h));
      }
  }
  /// A byte of the area that messages are written to is as before, or as the message has it.
  void judge_written(std::size_t c, unsigned h, unsigned i) {
    const planned_message& m = planned(c).messages[h][i];
    const bool writes = i < of(c, h).posted &&
                        (m.kind == message_kind::write || m.kind == message_kind::write_immediate);
    for (std::size_t b = 0; b < slot_bytes; ++b) {
      const std::byte is = *of(c, 1 - h).buffer->at(at(written, i) + b);
      if (is == fill || (writes && b < m.bytes && is == content(c, h, i, b))) continue;
      ADD_FAILURE() << "connection " << c << ": byte " << b << " of area " << i
                    << " was never sent there";
      return;
    }
  }
  unsigned adds_posted(std::size_t c, unsigned h) {
    unsigned n = 0;
    for (unsigned i = 0; i < of(c, h).posted; ++i)
      n += planned(c).messages[h][i].kind == message_kind::add;
    return n;
  }

  void destroy() {
    for (unsigned h = 0; h < 2; ++h) {
      for (std::size_t c = 0; c < connections(); ++c) {
        side& s = of(c, h);
        if (stopped(h)) {
          s.buffer->region = {};
          s.buffer.reset();
          continue;
        }
        must<destroy_queue_pair>(h, std::exchange(s.pair, {}));
        if (s.shared) must<destroy_shared_receive_queue>(h, std::exchange(s.shared, {}));
        for (const auto& [wr_id, slot] : s.receives) accounts_[h].lose(wr_id);
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
  request_account accounts_[2];
  pd_handle domains_[2];
  std::vector<std::uint64_t> before_[2];
  std::vector<std::array<side, 2>> sides_;
  std::map<std::size_t, std::uint32_t> far_number_;  // of a queue pair that a reset took away
  operation recovery_;
  bool struck_ = false, recovering_ = false, finishing_ = false;
  lossy_outcome outcome_;
};

}  // namespace freehca::testing
