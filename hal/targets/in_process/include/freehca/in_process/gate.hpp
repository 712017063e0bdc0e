// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

namespace freehca::in_process {

/// Allows several threads to use the machines of this process, one thread at a time. Called before
/// the threads start. It cannot be undone. A thread sanitizer then ignores the adapters, and the
/// order that the lock of gate gives to the threads. A bus gives no such order to the drivers on
/// it. The lock must therefore not hide a missing synchronization in a driver.
void let_threads_in();

/// While a gate exists, only its thread uses the machines of this process. A thread may have
/// several gates at a time. Without let_threads_in(), a gate has no effect.
class gate {
 public:
  gate();
  ~gate();
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

 private:
  bool closed_;
};

}  // namespace freehca::in_process
