// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "rig.hpp"

#include "budgets.hpp"

namespace freehca::bench {

namespace {

in_process::machine_options roomy(in_process::machine_options how) {
  how.dma_limit = std::size_t{1} << 30;
  return how;
}

}  // namespace

rig::rig(const in_process::machine_options& how, unsigned queue_pairs)
    : budget_(budget_for(queue_pairs)),
      objects_budget_(objects_for(queue_pairs)),
      device_storage_(allocate(device::storage_bytes(budget_))),
      verbs_storage_(allocate(verbs::storage_bytes(budget_, objects_budget_))),
      machine(roomy(how)) {}

status rig::open(const verbs_events& events) {
  device_setup setup;
  setup.platform = machine.platform();
  setup.budget = budget_;
  setup.storage = device_storage_.get();
  setup.storage_bytes = device::storage_bytes(budget_);
  FREEHCA_TRY(adapter.open(setup));
  operation up;
  adapter.bring_up(up);
  FREEHCA_TRY(await(up));
  FREEHCA_TRY(objects.open(adapter, objects_budget_, verbs_storage_.get(),
                           verbs::storage_bytes(budget_, objects_budget_), events));
  const auto made = objects.create<protection_domain>();
  if (!made.ok()) return made.error();
  domain = made.value();
  create_completion_queue c;
  c.start(objects, {.entries = 64});
  FREEHCA_TRY(await(c));
  completions = c.made();
  return {};
}

status rig::close() {
  status first;
  const auto note = [&first](status s) {
    if (first.ok()) first = s;
  };
  if (completions) {
    destroy_completion_queue d;
    d.start(objects, completions);
    note(await(d));
  }
  if (domain) note(objects.destroy(domain));
  note(objects.close());
  operation down;
  adapter.tear_down(down);
  note(await(down));
  return first;
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
