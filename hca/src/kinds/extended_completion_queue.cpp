// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/extended_completion_queue.hpp>

namespace freehca {

status extended_completion_queue::plan(verbs& in, const attributes& a, creation<creating>& to) {
  if (a.timestamps && !in.adapter().capabilities().raw.get<&layouts::query_dev_cap::cq_timestamp>())
    return status(driver_error::unsupported, facts.item);
  return completion_queue::plan(in, a, to);
}

status extended_completion_queue::build(verbs& in, const attributes& a, creation<creating>& to) {
  FREEHCA_TRY(completion_queue::build(in, a, to));
  using layouts::cqc;
  to.command.input.set<&cqc::timestamp>(a.timestamps).set<&cqc::oi>(a.ignore_overrun);
  return {};
}

}  // namespace freehca
