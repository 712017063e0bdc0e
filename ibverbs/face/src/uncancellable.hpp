// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <pthread.h>

namespace freehca::ibverbs {

/// While it lives, pthread_cancel() does not end the calling thread. The face holds locks then, or
/// objects with destructors, which a cancellation would have to unwind.
class uncancellable {
 public:
  uncancellable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~uncancellable() { pthread_setcancelstate(before_, nullptr); }
  uncancellable(const uncancellable&) = delete;
  uncancellable& operator=(const uncancellable&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace freehca::ibverbs
