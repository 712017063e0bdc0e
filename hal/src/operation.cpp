// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/operation.hpp>

namespace freehca {

void operation::restart() {
  FREEHCA_ASSERT(state_ == phase::idle || state_ == phase::done);
  state_ = phase::idle;
  outcome_ = {};
  callback_ = nullptr;
  context_ = nullptr;
  deadline_ = no_deadline;
}

void operation::complete(status s) {
  FREEHCA_ASSERT(state_ == phase::queued || state_ == phase::in_flight);
  unlink();
  outcome_ = s;
  state_ = phase::done;
  cancel_ = nullptr;
  const callback f = callback_;
  callback_ = nullptr;
  if (f != nullptr) f(*this, context_);
}

void operation::stop(status why) {
  if (cancel_ == nullptr || (state_ != phase::queued && state_ != phase::in_flight)) return;
  if (outcome_.ok()) outcome_ = why;
  cancel_(*this, owner_);
}

}  // namespace freehca
