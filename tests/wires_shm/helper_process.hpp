// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace freehca::wires {

/// This program once more, in a mode of helper_modes.cpp. Its standard input and output are pipes
/// to this process. The destructor kills it if it still runs.
class helper_process {
 public:
  explicit helper_process(const std::vector<std::string>& arguments);
  ~helper_process();
  helper_process(const helper_process&) = delete;
  helper_process& operator=(const helper_process&) = delete;

  pid_t id() const { return id_; }
  /// The next line of its output; empty at the end.
  std::string line();
  /// Closes its standard input: it ends. Returns its exit status.
  int end();
  /// Sends SIGKILL and waits.
  void kill();

 private:
  int wait();

  pid_t id_ = 0;
  int to_ = -1, from_ = -1;
};

/// Runs a mode in this process; returns its exit status.
int run_helper(const std::vector<std::string>& arguments);

}  // namespace freehca::wires
