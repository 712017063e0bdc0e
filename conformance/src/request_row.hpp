// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "groups.hpp"
#include "scene.hpp"

namespace freehca::conformance {

/// Where one looks when something was posted.
enum class look : std::uint8_t {
  near_completion,
  far_completion,
  near_state,  ///< when its request has ended
  far_state,   ///< when the near side's request has ended
  near_event,  ///< the one that is expected
  far_event,
  shared_event,
  second,  ///< another request was posted behind: how that ended
};

/// Posts what a row is about. A status other than ok, or an answer other than `taken`, came instead
/// of what had to come first.
class posting {
 public:
  constexpr posting() = default;
  constexpr posting(status (*f)(scene& in)) : plain_(f) {}
  constexpr posting(answer (*f)(scene& in)) : answering_(f) {}
  answer operator()(scene& in) const { return plain_ != nullptr ? plain_(in) : answering_(in); }

 private:
  status (*plain_)(scene& in) = nullptr;
  answer (*answering_)(scene& in) = nullptr;
};

/// What is done in a scene of two queue pairs.
struct request_row {
  row about;
  posting post;
  look at = look::near_completion;
  scene_plan plan{};
  layouts::dev_cap_flag needs{};  ///< of the adapter; 0: nothing
  /// Null, or whether this adapter has such a case.
  bool (*possible)(const bench& with) = nullptr;
};

finding run_request_row(bench& with, const request_row& r);

}  // namespace freehca::conformance
