// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The session's thread is the control owner's: another owner that asks for something wakes it.
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/blocking/session.hpp>
#include <freehca/hca/every_kind.hpp>
#include <freehca/hca/objects/verbs.hpp>

#include <in_process_host.hpp>

namespace freehca::loopback_traffic {
namespace {

using blocking::in_process_host;

class counting_host final : public in_process_host {
 public:
  void wait(std::uint64_t deadline) override {
    last = deadline;
    in_process_host::wait(deadline);
  }
  void wake() noexcept override { ++wakes; }
  std::uint64_t last = 0;
  unsigned wakes = 0;
};

struct owner_of_session {
  owner_of_session() : session(host, {.budget = {}, .objects = every_kind()}) {
    EXPECT_TRUE(session.open().ok());
    EXPECT_TRUE(session.wait(session.adapter().bring_up()).ok());
    const verbs_budget kinds = verbs_budget{}.with<completion_queue>(4);
    storage.resize(verbs::event_owner_storage_bytes(kinds));
    const status opened =
        objects.open(session.adapter().hardware(), kinds, {}, storage.data(), storage.size());
    EXPECT_TRUE(opened.ok()) << blocking::words(opened);
    // Until the session has slept for once.
    host.last = 0;
    for (unsigned i = 0; i < 1000 && host.last == 0; ++i) session.turn();
    host.wakes = 0;
  }
  ~owner_of_session() {
    EXPECT_TRUE(objects.close().ok());
    EXPECT_TRUE(session.tear_down().ok());
  }
  void finish(operation& op) {
    for (unsigned i = 0; i < 100'000 && !op.done(); ++i) {
      objects.poll();
      session.turn();
    }
    EXPECT_TRUE(op.outcome().ok()) << blocking::words(op.outcome());
  }
  void make_and_take_back() {
    create_completion_queue cq;
    cq.start(objects, {.entries = 4});
    finish(cq);
    destroy_completion_queue gone;
    gone.start(objects, cq.made());
    finish(gone);
  }

  counting_host host;
  blocking::session session;
  std::vector<std::byte> storage;
  verbs objects;
};

TEST(owner_wake, a_request_wakes_the_session_once_for_each_sleep) {
  owner_of_session o;
  create_completion_queue a, b;
  a.start(o.objects, {.entries = 4});
  EXPECT_EQ(o.host.wakes, 1u);
  b.start(o.objects, {.entries = 4});
  EXPECT_EQ(o.host.wakes, 1u);
  o.finish(a);
  o.finish(b);
  for (const cq_handle made : {a.made(), b.made()}) {
    destroy_completion_queue gone;
    gone.start(o.objects, made);
    o.finish(gone);
  }
}

TEST(owner_wake, a_program_with_a_loop_of_its_own_is_woken_too) {
  owner_of_session o;
  while (o.session.look() != 0) {
  }
  o.host.wakes = 0;
  create_completion_queue a;
  a.start(o.objects, {.entries = 4});
  EXPECT_EQ(o.host.wakes, 1u);
  o.finish(a);
  destroy_completion_queue gone;
  gone.start(o.objects, a.made());
  o.finish(gone);
}

TEST(owner_wake, a_host_of_one_thread_waits_for_no_vector) {
  owner_of_session o;
  std::string why;
  EXPECT_EQ(o.host.wait_for(1, why), nullptr);
  EXPECT_FALSE(why.empty());
  o.make_and_take_back();
}

}  // namespace
}  // namespace freehca::loopback_traffic
