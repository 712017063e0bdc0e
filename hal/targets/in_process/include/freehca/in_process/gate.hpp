// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

namespace freehca::in_process {

/// From here on several threads use the machines of this process; one at a time is at an adapter.
/// Before they begin; it cannot be taken back. A thread sanitizer sees neither the adapter nor that
/// threads wait for each other here: a bus orders nothing for the drivers on it, so this must not
/// hide what a driver left unordered.
void let_threads_in();

/// Whoever holds one is at the adapter, as everything in the machine is. May be held twice.
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
