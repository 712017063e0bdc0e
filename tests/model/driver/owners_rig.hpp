// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A machine with a modelled adapter, the control owner, and owners of event contexts, all on one
// thread: who is polled when is the test's to say.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <freehca/hca/objects/verbs.hpp>

#include "device_rig.hpp"
#include "verbs_rig.hpp"

namespace freehca::testing {

inline constexpr memory_access all_access{
    .local_write = true, .remote_read = true, .remote_write = true};

inline freehca::budget with_contexts(unsigned count) {
  freehca::budget b = without_spares();
  b.completion_event_queues = count;
  return b;
}

inline verbs_budget few_of_each() {
  verbs_budget b = every_kind();
  for (verbs_budget::entry& e : b.kinds)
    if (e.what != nullptr && e.count > 16) e.count = 16;
  b.requests = 1024;
  return b;
}

class owners_rig : public device_rig {
 public:
  /// One owner, and what it was told.
  struct owner {
    owner(owners_rig& of, unsigned which)
        : rig(of),
          machine(of.machine),
          adapter(of.adapter),
          context(which),
          storage_(verbs::event_owner_storage_bytes(few_of_each())) {}
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;

    status open(const event_owner_setup& more = {}) {
      event_owner_setup how = more;
      how.completion_context = context;
      how.name = name.c_str();
      verbs_events events;
      events.context = this;
      events.completion = [](void* self, cq_handle, void*) noexcept { ++of(self).completions; };
      events.qp = [](void* self, qp_handle queue, void*, layouts::event_type type) noexcept {
        of(self).qp_events.push_back({queue, type});
      };
      events.device_failed = [](void* self, status) noexcept { ++of(self).failures; };
      events.up_again = [](void* self, status s) noexcept {
        ++of(self).up_again;
        of(self).last_up = s;
      };
      events.request_ended = [](void* self, qp_handle, void*, const queues::work_completion& w,
                                status) noexcept { of(self).ended.push_back(w.wr_id); };
      return objects.open(adapter, few_of_each(), how, storage_.at(), storage_.bytes(), events);
    }
    bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 300'000'000'000) {
      return rig.run(done, limit_ns);
    }
    status await(operation& op) { return rig.await(op); }
    static owner& of(void* self) { return *static_cast<owner*>(self); }

    owners_rig& rig;
    in_process::machine& machine;
    device& adapter;
    const unsigned context;
    verbs objects;
    bool polls = true;  // as long as it does not, it is a thread that is stuck
    const std::string name = "owner " + std::to_string(context);

    struct qp_event {
      qp_handle queue;
      layouts::event_type type;
    };
    unsigned completions = 0, failures = 0, up_again = 0;
    status last_up;
    std::vector<qp_event> qp_events;
    std::vector<std::uint64_t> ended;

   private:
    storage storage_;
  };

  explicit owners_rig(unsigned count, const in_process::machine_options& how = {})
      : device_rig(how, with_contexts(count)) {
    setup.entry.entered = [](void*) noexcept { return true; };
    EXPECT_TRUE(adapter.open(setup).ok());
    EXPECT_TRUE(bring_up().ok()) << failure();
    for (unsigned i = 0; i < count; ++i) owners.emplace_back(*this, i);
  }
  ~owners_rig() {
    for (owner& o : owners) EXPECT_TRUE(o.objects.close().ok()) << o.name << " has something left";
    EXPECT_TRUE(tear_down().ok()) << failure();
    EXPECT_TRUE(adapter.holdings().none());
    EXPECT_EQ(complaints(), "");
  }

  void open_all() {
    for (owner& o : owners) ASSERT_TRUE(o.open().ok());
  }
  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 300'000'000'000) {
    return machine.run(
        done,
        [this] {
          adapter.poll();
          for (owner& o : owners)
            if (o.polls) o.objects.poll();
          // What one has asked another for is due at once.
          std::uint64_t next = adapter.next_deadline();
          for (owner& o : owners)
            if (o.polls) next = clock::earlier(next, o.objects.next_deadline());
          return next;
        },
        limit_ns);
  }
  status await(operation& op) {
    EXPECT_TRUE(run([&] { return op.done(); })) << "no completion";
    return op.done() ? op.outcome() : status(transport_error::timeout);
  }
  status bring_up() {
    operation up;
    adapter.bring_up(up);
    return await(up);
  }
  status tear_down() {
    operation down;
    adapter.tear_down(down);
    return await(down);
  }
  status recover() {
    operation again;
    adapter.recover(again);
    return await(again);
  }

  std::deque<owner> owners;
};

}  // namespace freehca::testing
