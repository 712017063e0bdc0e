// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace programs {

/// One end of a connection between two processes.
class line {
 public:
  explicit line(int descriptor) : descriptor_(descriptor) {}

  template <class Value>
  void send(const Value& value) {
    put(&value, sizeof value);
  }
  template <class Value>
  Value receive() {
    Value value;
    get(&value, sizeof value);
    return value;
  }
  /// Waits until the other process has called it too.
  void meet() {
    send('.');
    receive<char>();
  }
  int descriptor() const { return descriptor_; }

 private:
  void put(const void* from, std::size_t bytes);
  void get(void* to, std::size_t bytes);

  int descriptor_;
};

/// Runs `child` in a forked process and `parent` in this one. The child's failures become failures
/// of this process.
void run_pair(const std::function<void(line&)>& parent, const std::function<void(line&)>& child);

/// Forks. Returns the child's process number. The child runs the function and ends.
pid_t fork_child(const std::function<void()>& child);
/// Waits for the child. Returns its exit status. If a signal ended it: 1000 and its number.
int end_of_child(pid_t child);

}  // namespace programs
