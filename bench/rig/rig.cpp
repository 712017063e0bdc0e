// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "rig.hpp"

namespace freehca::bench {

rig::rig(const in_process::machine_options& how, const freehca::budget& b,
         const verbs_budget& objects_budget)
    : budget_(b),
      objects_budget_(objects_budget),
      device_storage_(allocate(device::storage_bytes(b))),
      verbs_storage_(allocate(verbs::storage_bytes(b, objects_budget))),
      machine(how) {}

status rig::open() {
  device_setup setup;
  setup.platform = machine.platform();
  setup.budget = budget_;
  setup.storage = device_storage_.get();
  setup.storage_bytes = device::storage_bytes(budget_);
  FREEHCA_TRY(adapter.open(setup));
  operation up;
  adapter.bring_up(up);
  FREEHCA_TRY(await(up));
  return objects.open(adapter, budget_, objects_budget_, verbs_storage_.get(),
                      verbs::storage_bytes(budget_, objects_budget_));
}

status rig::close() {
  const status left = objects.close();
  operation down;
  adapter.tear_down(down);
  const status s = await(down);
  return left.ok() ? s : left;
}

status rig::drive(const std::function<bool()>& done) {
  const bool in_time = machine.run(done, [this] {
    if (objects.is_open()) {
      objects.poll();
      return objects.next_deadline();
    }
    adapter.poll();
    return adapter.next_deadline();
  });
  return in_time ? status() : transport_error::timeout;
}

status rig::await(operation& op) {
  FREEHCA_TRY(drive([&] { return op.done(); }));
  return op.outcome();
}

}  // namespace freehca::bench
