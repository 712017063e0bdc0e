// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "surviving_child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "check.hpp"

namespace freehca::fuzz {

void start_surviving_child(const std::function<bool()>& begin,
                           const std::function<void()>& at_end) {
  int begun[2], ends[2];
  check(pipe2(begun, O_CLOEXEC) == 0 && pipe2(ends, O_CLOEXEC) == 0, "no pipe");
  const pid_t child = fork();
  check(child >= 0, "no process");
  char c = 0;
  if (child == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
    c = begin() ? 1 : 0;
    if (write(begun[1], &c, 1) != 1) _exit(1);
    // The kernel closes the parent's end of this pipe when the parent ends.
    close(ends[1]);
    while (read(ends[0], &c, 1) > 0) {
    }
    at_end();
    _exit(0);
  }
  check(read(begun[0], &c, 1) == 1 && c == 1, "the child could not begin");
  for (const int number : {begun[0], begun[1], ends[0]}) close(number);
}

}  // namespace freehca::fuzz
