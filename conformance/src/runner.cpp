// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/conformance/runner.hpp>

#include "bench.hpp"

namespace freehca::conformance {

verbs_events heard_events::events() {
  verbs_events e;
  e.context = this;
  e.qp = [](void* self, qp_handle h, void*, layouts::event_type type) noexcept {
    static_cast<heard_events*>(self)->add({h.index, h.generation, false, type});
  };
  e.srq = [](void* self, srq_handle h, void*, layouts::event_type type) noexcept {
    static_cast<heard_events*>(self)->add({h.index, h.generation, true, type});
  };
  return e;
}

bool heard_events::has(const entry& e) const {
  for (unsigned i = 0; i < count_; ++i) {
    const entry& has = entries_[i];
    if (has.index == e.index && has.generation == e.generation && has.shared == e.shared &&
        has.type == e.type)
      return true;
  }
  return false;
}

bool heard_events::heard(qp_handle h, layouts::event_type type) const {
  return has({h.index, h.generation, false, type});
}
bool heard_events::heard(srq_handle h, layouts::event_type type) const {
  return has({h.index, h.generation, true, type});
}

void left_memory::give_back(list& all, dma_arena& to) {
  for (unsigned i = 0; i < all.count; ++i) to.free(all.regions[i]);
  all.count = 0;
}

void left_memory::give_back(device& of) {
  give_back(buffers_, of.arena());
  give_back(records_, of.doorbells());
}

namespace {

/// Counts and tells. False: the adapter cannot be asked on.
bool judge(const row_group& group, const row& asked, const finding& found, summary& sum,
           listener tell, void* context) {
  row_report report{group, asked, verdict::as_expected, found.got, found.not_applicable};
  if (found.not_applicable != nullptr) {
    report.how = verdict::not_applicable;
    ++sum.not_applicable;
  } else if (asked.expected.met_by(found.got)) {
    ++sum.as_expected;
  } else {
    report.how = verdict::differs;
    ++sum.differ;
  }
  if (tell != nullptr) tell(context, report);
  if (!found.got.is_trouble()) return true;
  sum.ended = found.got.trouble();
  return false;
}

bool run_groups(bench& with, summary& sum, listener tell, void* context) {
  const surroundings& where = with.where();
  for (const row_group* const group : all_rows()) {
    for (unsigned i = 0; i < group->count; ++i) {
      if (where.interrupted != nullptr && where.interrupted(where.context)) {
        sum.ended = driver_error::cancelled;
        return false;
      }
      where.events.forget();
      if (!judge(*group, group->at(i), group->run(with, i), sum, tell, context)) return false;
      if (!with.ended().ok()) {
        sum.ended = with.ended();
        sum.left_behind = true;
        return false;
      }
      if (!with.adapter().up()) {
        sum.ended = transport_error::gone;
        return false;
      }
    }
  }
  return true;
}

}  // namespace

summary run_all(const surroundings& where, listener tell, void* context) {
  summary sum;
  bench with(where);
  sum.ended = with.open();
  if (sum.ended.ok()) static_cast<void>(run_groups(with, sum, tell, context));
  const status closed = with.close();
  if (sum.ended.ok()) sum.ended = closed;
  sum.left = with.left();
  return sum;
}

text_writer& operator<<(text_writer& to, const row_report& r) {
  to << r.group.name << "/" << r.row.name << ": ";
  switch (r.how) {
    case verdict::as_expected:
      return to << "as expected (" << r.got << ")";
    case verdict::differs:
      return to << "DIFFERS (expected: " << r.row.expected << "; got: " << r.got << ")";
    case verdict::not_applicable:
      return to << "not applicable (" << r.not_applicable << ")";
  }
  return to;
}

}  // namespace freehca::conformance
