// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "request_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace {

finding second(scene& in) {
  const finding first = in.completion(scene::near);
  if (first.got == answer()) return first;
  return in.completion(scene::near);
}

finding state(scene& in, unsigned side) {
  const finding ended = in.completion(scene::near);
  if (ended.got == answer()) return ended;
  return in.state(side);
}

finding ask(scene& in, const request_row& r) {
  if (const answer a = in.open(); !a.is_ok()) return a.unprepared();
  // Whatever a row asks of the adapter until its request is posted leads to what it is about.
  if (const answer a = r.post(in); !a.is_ok()) return a.unprepared();
  if (r.at == look::second) {
    const status s = in.sends().post_and_ring(queues::send{.wr_id = 2, .data = in.local()});
    if (!s.ok()) return s;
  }
  const auto type = static_cast<event_type>(r.about.expected.first().value());
  switch (r.at) {
    case look::near_completion:
      return in.completion(scene::near);
    case look::far_completion:
      return in.completion(scene::far);
    case look::near_state:
      return state(in, scene::near);
    case look::far_state:
      return state(in, scene::far);
    case look::near_event:
      return in.event(scene::near, type);
    case look::far_event:
      return in.event(scene::far, type);
    case look::shared_event:
      return in.event_of_shared(type);
    case look::second:
      return second(in);
  }
  return answer();
}

}  // namespace

finding run_request_row(bench& with, const request_row& r) {
  if (r.needs != dev_cap_flag{} && !with.can().has(r.needs))
    return finding::impossible("this adapter does not have it");
  if (r.possible != nullptr && !r.possible(with))
    return finding::impossible("no value is beyond what this adapter can have");
  scene in(with, r.plan);
  const finding f = ask(in, r);
  return with.conclude(f, [&] { return in.close(); });
}

}  // namespace freehca::conformance
