// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <objects.hpp>  // of the face

#include <freehca/in_program/adapter.hpp>

#include "../check.hpp"
#include "program.hpp"

namespace freehca::fuzz {

void opened_device::leave_out_rules_for_programs() {
  ibverbs::engine& here = ibverbs::engine_of(contexts[0]);
  const ibverbs::engine::guard held(here.lock);
  // A driver cannot keep a program from deregistering memory that a request names, nor from more
  // requests than its CQ has room for.
  in_program::adapter::present()->model().set_rules_off(
      model::rule_set::named("region-in-use,cq-has-room").value());
}

void opened_device::check_at_rest() {
  ibverbs::engine& here = ibverbs::engine_of(contexts[0]);
  const ibverbs::engine::guard held(here.lock);
  const verbs_holdings left = here.objects().holdings();
  check(left.none(), "something is left when everything was destroyed");
  check(in_program::adapter::present()->model().complaints() == 0,
        "the model complains about the driver");
}

}  // namespace freehca::fuzz
