// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A small world for every order of events in the life of operations of several steps: three of
// them, two command slots, and firmware that answers each command when and as the order says. One
// device serves all orders: after each of them nothing may be left of it.
//
// The driver sees answers and the time in poll() alone. So of orders that differ only in where,
// between two polls, an answer or a deadline stands among starts and cancels, one is played:
// answers, then the deadline, then the others.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/map.hpp>
#include <freehca/layouts/register_map.hpp>

#include "counts.hpp"

namespace freehca::testing {

using fate = model::command_verdict::fate;
using layouts::opcode;
using layouts::qp_state;

inline constexpr std::uint64_t patience_of_all = clock::milliseconds(20);

enum class happening : std::uint8_t { poll, start, cancel, answer, refuse, expire, reset };
struct event {
  happening what;
  unsigned n = 0;
};
inline const char* name_of(happening h) {
  constexpr const char* names[] = {"poll",   "start",  "cancel", "answer",
                                   "refuse", "expire", "reset"};
  return names[static_cast<unsigned>(h)];
}

/// Which way the search goes at each event: the last way that has a next one is taken in the next
/// order.
class choices {
 public:
  std::size_t among(std::size_t ways) {
    if (at_ == taken_.size()) taken_.push_back({0, ways});
    repeats &= taken_[at_].ways == ways;
    return repeats ? taken_[at_++].way : 0;
  }
  /// False: there are no more.
  bool next() {
    at_ = 0;
    while (!taken_.empty() && ++taken_.back().way == taken_.back().ways) taken_.pop_back();
    return !taken_.empty();
  }
  bool repeats = true;  // the same way leads to the same place

 private:
  struct choice {
    std::size_t way, ways;
  };
  std::vector<choice> taken_;
  std::size_t at_ = 0;
};

class object_world;
using starter = std::function<std::shared_ptr<object_operation>(object_world&)>;
struct scenario {
  const char* name;
  unsigned depth;
  std::uint64_t least;  // orders that there are at least
  bool alike;           // the first two operations: which is which makes no difference
  bool resets;          // at any time when the firmware has a command
  std::function<void(object_world&)> prepare;
  std::vector<starter> operations;
};

class object_world {
 public:
  object_world() : rig(how()) { on_a_new_device(); }
  ~object_world() { rig.machine.memory().release(pages); }

  // For scenarios.
  std::shared_ptr<object_operation> create_cq() {
    auto op = std::make_shared<create_completion_queue>();
    op->start(rig.objects, {.entries = 100});
    keep_.push_back([this, made = op.get()] { cqs.push_back(made->made()); });
    return op;
  }
  std::shared_ptr<object_operation> destroy_cq(std::size_t i) {
    auto op = std::make_shared<destroy_completion_queue>();
    op->start(rig.objects, cqs[i]);
    keep_.emplace_back([] {});
    return op;
  }
  std::shared_ptr<object_operation> create_mr() {
    auto op = std::make_shared<create_memory_region>();
    op->start(rig.objects, {.pd = domain,
                            .pages = page_list(pages.addresses.data(), 12, 8, 9000),
                            .virtual_address = 8});
    keep_.push_back([this, made = op.get()] { mrs.push_back(made->made()); });
    return op;
  }
  std::shared_ptr<object_operation> create_qp() {
    auto op = std::make_shared<create_queue_pair>();
    op->start(rig.objects,
              {.pd = domain, .send_cq = cqs[0], .receive_cq = cqs[0], .sends = 4, .receives = 4});
    keep_.push_back([this, made = op.get()] { qps.push_back(made->made()); });
    return op;
  }
  std::shared_ptr<object_operation> move_qp(std::size_t i, qp_state to) {
    auto op = std::make_shared<modify_queue_pair>();
    connection_attributes a;
    a.remote_qpn = qpn_of(rig.objects, qps[i]);
    a.address = infiniband_path{.dlid = rig.adapter.port(1).lid};
    op->start(rig.objects, qps[i], to, a);
    keep_.emplace_back([] {});
    return op;
  }
  std::shared_ptr<object_operation> destroy_qp(std::size_t i) {
    auto op = std::make_shared<destroy_queue_pair>();
    op->start(rig.objects, qps[i]);
    keep_.emplace_back([] {});
    return op;
  }
  void must(std::shared_ptr<object_operation> op) {
    check(rig.await(*op).ok(), "what leads up to it failed");
    keep_.back()();
    keep_.clear();
  }

  /// Plays one order, and leaves nothing of it.
  void play(const scenario& s, choices& way) {
    order.clear();
    disturbed_ = expired_ = was_reset_ = keeps_ = false;
    stirred_ = false;
    check(rig.objects.is_open(), "no device");
    end_rests();
    const result<pd_handle> made = rig.objects.create<protection_domain>();
    check(made.ok(), "no protection domain");
    domain = made.value();
    s.prepare(*this);
    actors_.clear();
    for (std::size_t i = 0; i < s.operations.size(); ++i) actors_.emplace_back();
    // Each order begins with an armed event queue.
    rig.objects.poll_all(4);
    hold_all();
    while (order.size() < s.depth && !was_reset_ && wrong.empty()) {
      const std::vector<event> possible = next(s);
      if (possible.empty()) break;
      const event e = possible[way.among(possible.size())];
      order.push_back(e);
      apply(s, e);
      look();
    }
    finish();
  }

  std::string said() const {
    std::string all = wrong + ", after: ";
    for (const event& e : order)
      all += std::string(name_of(e.what)) + " " + std::to_string(e.n) + ", ";
    return all;
  }

  std::string wrong;
  std::vector<event> order;
  std::uint64_t by_kind[7] = {}, in_doubt = 0, resets = 0;
  verbs_rig rig;
  in_process::host_memory_map::scattered_pages pages{rig.machine.memory().allocate_scattered(3)};
  pd_handle domain;
  std::vector<mr_handle> mrs;
  std::vector<cq_handle> cqs;
  std::vector<qp_handle> qps;

 private:
  struct actor {
    std::shared_ptr<object_operation> op;
    unsigned ends = 0;
    bool cancelled = false;
  };
  /// A command that the firmware has and has not answered.
  struct outstanding {
    opcode code;
    std::uint64_t mailbox;
    std::vector<std::uint64_t> lends;  // pages
  };

  static rig_options how() {
    rig_options o = exact();
    o.budget.command_slots = 2;
    return o;
  }
  void check(bool holds, const char* what) {
    if (!holds && wrong.empty()) wrong = what;
  }
  void on_a_new_device() {
    rig.adapter.commands().set_limit(patience::ordinary, patience_of_all);
    rig.run([] { return false; }, clock::milliseconds(1));
    empty_ = counts(rig);
  }
  /// Numbers that were freed rest until others were: the next order must begin like the last one.
  void end_rests() {
    number_spaces& n = rig.adapter.numbers();
    for (number_allocator* space : {&n.qps, &n.cqs, &n.mpts, &n.mtts}) {
      const auto far = [](std::uint32_t first, std::uint32_t) {
        return std::max(first, std::uint32_t{256});
      };
      std::uint32_t numbers[number_allocator::resting];
      for (std::uint32_t& number : numbers) number = space->allocate(1, 1, far).value();
      for (const std::uint32_t number : numbers) space->free(number, 1);
    }
  }
  void hold_all() {
    firmware_.clear();
    rig.machine.adapter().judge_commands(
        [this](opcode code, std::uint32_t) -> model::command_verdict {
          if (code == opcode::mad_ifc) return {};
          take_note(code);
          return {.what = fate::hold};
        });
  }
  void take_note(opcode code) {
    using l = layouts::hcr;
    layouts::image<l> words;
    for (std::size_t at = 0; at < l::bytes; at += 4)
      layouts::store_be(words.data() + at, rig.machine.mmio_read_32(0, layouts::bar0::hcr + at));
    outstanding now{code, 0, {}};
    if (code != opcode::unmap_icm) now.mailbox = words.get<&l::in_param>();
    if (code == opcode::map_icm) {
      const std::byte* const box = rig.machine.memory().find(now.mailbox, 4096);
      using entry = layouts::map_entry;
      for (unsigned i = 0; i < words.get<&l::in_modifier>(); ++i)
        now.lends.push_back(
            layouts::image<entry>::from_bytes(box + i * entry::bytes).get<&entry::pa>());
    }
    for (const outstanding& o : firmware_) {
      check(now.mailbox == 0 || now.mailbox != o.mailbox, "a mailbox that is not free was used");
      for (const std::uint64_t page : now.lends)
        check(std::find(o.lends.begin(), o.lends.end(), page) == o.lends.end(),
              "a page that the firmware may have was lent again");
    }
    firmware_.push_back(std::move(now));
  }

  std::vector<event> next(const scenario& s) const {
    std::vector<event> all;
    if (stirred_) all.push_back({happening::poll});
    for (unsigned n = 0; n < actors_.size(); ++n) {
      const actor& a = actors_[n];
      if (a.op == nullptr) {
        if (n != 1 || !s.alike || actors_[0].op != nullptr) all.push_back({happening::start, n});
      } else if (!a.op->done() && !a.cancelled) {
        all.push_back({happening::cancel, n});
      }
    }
    const happening last = order.empty() ? happening::poll : order.back().what;
    if (last == happening::start || last == happening::cancel) return all;
    if (!firmware_.empty() && !expired_) all.push_back({happening::expire});
    // Ends the order, and costs a bring-up.
    if (s.resets && !firmware_.empty() && last == happening::poll)
      all.push_back({happening::reset});
    if (last == happening::expire) return all;
    for (unsigned i = 0; i < firmware_.size(); ++i) {
      all.push_back({happening::answer, i});
      all.push_back({happening::refuse, i});
    }
    return all;
  }

  void apply(const scenario& s, event e) {
    ++by_kind[static_cast<unsigned>(e.what)];
    switch (e.what) {
      case happening::poll:
        rig.objects.poll();
        break;
      case happening::start: {
        actor& a = actors_[e.n];
        a.op = s.operations[e.n](*this);
        a.op->then([](operation&, void* n) noexcept { ++*static_cast<unsigned*>(n); }, &a.ends);
        kept_.push_back({e.n, std::move(keep_.back())});
        keep_.clear();
        break;
      }
      case happening::cancel:
        actors_[e.n].op->cancel();
        actors_[e.n].cancelled = true;
        disturbed_ = true;
        break;
      case happening::answer:
      case happening::refuse:
        answer(e);
        break;
      case happening::expire:
        rig.machine.advance(patience_of_all);
        expired_ = disturbed_ = true;
        break;
      case happening::reset:
        disturbed_ = was_reset_ = true;
        break;
    }
    // The adapter takes what was posted, and its events arrive.
    rig.machine.advance(1);
    stirred_ = e.what != happening::poll || rig.objects.next_deadline() == 0;
  }
  void answer(event e) {
    const bool refused = e.what == happening::refuse;
    const opcode code = firmware_[e.n].code;
    firmware_.erase(firmware_.begin() + e.n);
    disturbed_ |= refused;
    keeps_ |= refused && (code == opcode::unmap_icm || code == opcode::hw2sw_cq ||
                          code == opcode::hw2sw_mpt || code == opcode::to_rst_qp);
    check(rig.machine.adapter().answer_held_command(
              e.n, {refused ? fate::refuse : fate::run, layouts::command_status::internal_error}),
          "the firmware has not what it was given");
  }

  void look() {
    for (const actor& a : actors_) {
      check(a.ends <= 1, "an operation ended twice");
      if (a.op != nullptr) check(a.op->done() == (a.ends == 1), "an end was not told");
    }
    check(firmware_.size() == rig.machine.adapter().held_commands(), "a command was lost");
    for (const outstanding& o : firmware_)
      for (const std::uint64_t page : o.lends)
        check(rig.adapter.contexts().arena().is_out(page),
              "a page that the firmware may have is free");
    const device_holdings h = rig.adapter.holdings();
    in_doubt += h.slots_in_doubt;
    check(h.slots <= 2, "more slots than there are");
    if (order.back().what == happening::poll)
      check(h.slots <= firmware_.size(), "a command that was answered holds its slot");
    const bool waits = rig.adapter.next_deadline() != operation::no_deadline;
    check(firmware_.empty() || waits, "nobody would look for an answer");
  }

  /// Everything is answered, or the device is reset; then nothing may be left.
  void finish() {
    rig.machine.adapter().judge_commands({});
    if (was_reset_) return reset();
    firmware_.clear();
    rig.machine.adapter().release_held_commands();
    const auto over = [this] {
      for (const actor& a : actors_)
        if (a.op != nullptr && !a.op->done()) return false;
      return rig.adapter.commands().slots_in_use() == 0 && rig.objects.next_deadline() != 0;
    };
    check(rig.run(over, clock::seconds(1)), "it does not come to an end");
    expect_ends();
    for (const auto& [n, keep] : kept_)
      if (actors_[n].op->outcome().ok()) keep();
    kept_.clear();
    for (const qp_handle h : qps) gone<destroy_queue_pair>(h, qpn_of(rig.objects, h) != 0);
    for (const cq_handle h : cqs) gone<destroy_completion_queue>(h, rig.objects.find(h) != nullptr);
    for (const mr_handle h : mrs) gone<destroy_memory_region>(h, key_of(rig.objects, h) != 0);
    mrs.clear(), cqs.clear(), qps.clear();
    const bool clean = rig.objects.destroy(domain).ok() && counts(rig) == empty_;
    if (clean) return;
    // Only what the device would not give back may be left, and only until a reset.
    check(keeps_, "something is left");
    reset();
  }
  void reset() {
    operation down, up;
    rig.adapter.tear_down(down);
    static_cast<void>(rig.await(down));
    check(rig.adapter.state() == device_state::down, "it could not be reset");
    expect_ends();
    check(rig.adapter.holdings().none() && rig.objects.holdings().none(),
          "a reset leaves something");
    check(rig.objects.close().ok(), "objects outlive a reset");
    rig.adapter.bring_up(up);
    check(rig.await(up).ok() && rig.reopen().ok(), "it does not come up again");
    kept_.clear(), mrs.clear(), cqs.clear(), qps.clear();
    on_a_new_device();
    ++resets;
  }
  void expect_ends() {
    for (const actor& a : actors_) {
      if (a.op == nullptr) continue;
      check(a.ends == 1, "an operation did not end once");
      if (a.ends == 0) continue;
      const status s = a.op->outcome();
      check(disturbed_ || s.ok(), "it failed for no reason");
      check(!s.is(driver_error::cancelled) || a.cancelled, "cancelled, by nobody");
      check(!s.is(transport_error::timeout) || expired_, "timed out, but no time has passed");
    }
  }
  template <class Destroy, class Handle>
  void gone(Handle h, bool there) {
    if (!there) return;
    Destroy op;
    op.start(rig.objects, h);
    check(rig.await(op).ok(), "what was made cannot be destroyed");
  }

  std::vector<std::uint64_t> empty_;
  std::vector<actor> actors_;
  std::vector<outstanding> firmware_;
  std::vector<std::function<void()>> keep_;
  std::vector<std::pair<unsigned, std::function<void()>>> kept_;
  bool disturbed_ = false, expired_ = false, was_reset_ = false, stirred_ = false;
  bool keeps_ = false;  // the device refused to take something back
};

}  // namespace freehca::testing
