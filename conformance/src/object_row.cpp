// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "object_row.hpp"

namespace freehca::conformance {

namespace {

finding ask(bench& with, object of, const object_row& r) {
  if (r.made)
    if (const answer a = with.make(of); !a.is_ok()) return a.unprepared();
  with.describe(of);
  if (r.spoil != nullptr && !r.spoil(with))
    return finding::impossible("no value is beyond what this adapter can have");
  const status s = with.issue({.what = r.command,
                               .modifier = with.number(of, r.which),
                               .opcode_modifier = r.opcode_modifier,
                               .input = r.input,
                               .output = r.output,
                               .immediate = r.immediate,
                               .value = r.value != nullptr ? r.value(with) : 0});
  if (r.check == nullptr || !s.ok()) return s;
  return answer::holds(r.check(with));
}

}  // namespace

finding run_object_row(bench& with, object of, const object_row& r) {
  const finding f = ask(with, of, r);
  return with.conclude(f, [&] { return with.unmake(of); });
}

}  // namespace freehca::conformance
