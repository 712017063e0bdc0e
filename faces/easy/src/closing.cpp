// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

void closing::start(adapter& hca, const connection& what) {
  if (!startable()) return;
  if (connection_object* const p = claim(hca, what)) start(hca, *p);
}

void closing::start(adapter& hca, connection_object& what) {
  begin_on(hca, what, &advance);
  go_on(what);
}

void closing::go_on(connection_object& what) {
  const verbs& objects = owner().objects();
  part(destroy_).start(owner().objects(), what.last_made(objects));
}

void closing::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<closing&>(s);
  connection_object* const p = self.found();
  if (p == nullptr) return self.complete({});
  if (outcome.ok()) outcome = self.stop_reason();
  if (!outcome.ok()) return self.end_work(outcome);
  self.go_on(*p);
}

}  // namespace freehca::easy
