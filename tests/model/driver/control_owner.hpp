// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>

#include "owners_rig.hpp"

namespace freehca::testing {

/// The control owner's own objects, beside those of the owners.
struct control {
  explicit control(owners_rig& of)
      : rig(of),
        machine(of.machine),
        adapter(of.adapter),
        room(verbs::storage_bytes(of.setup.budget, few_of_each())) {
    verbs_events events;
    events.context = this;
    events.completion = [](void* self, cq_handle, void*) noexcept {
      ++static_cast<control*>(self)->completions;
    };
    events.qp = [](void* self, qp_handle, void*, layouts::event_type) noexcept {
      ++static_cast<control*>(self)->qp_events;
    };
    EXPECT_TRUE(objects.open(adapter, few_of_each(), room.at(), room.bytes(), events).ok());
  }
  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 300'000'000'000) {
    return rig.run(
        [&] {
          objects.poll();
          return done();
        },
        limit_ns);
  }
  status await(operation& op) {
    EXPECT_TRUE(run([&] { return op.done(); })) << "no completion";
    return op.done() ? op.outcome() : status(transport_error::timeout);
  }

  owners_rig& rig;
  in_process::machine& machine;
  device& adapter;
  // Before the objects, which live in it and end first.
  storage room;
  verbs objects;
  unsigned completions = 0, qp_events = 0;
};

}  // namespace freehca::testing
