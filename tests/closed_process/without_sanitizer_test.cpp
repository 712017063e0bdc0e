// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Refusals that a build with a sanitizer does not have: a sanitizer reads all files, sends signals
// and waits for processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "in_child.hpp"

namespace freehca::closed_process::test {
namespace {

TEST(permissions_without_sanitizer, reading_of_a_folder) {
  const folder files, others;
  const std::string own = files.file("own"), other = others.file("other");
  permissions kept;
  kept.read_folders = {files.path("")};
  EXPECT_EQ(end{.code = EACCES}, run_closed(kept, [&] { return open(other.c_str(), O_RDONLY); }));
  for (const int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT})
    EXPECT_EQ(end{.code = EPERM}, run_closed(kept, [&] { return open(own.c_str(), flags, 0600); }))
        << flags;
}

struct waiting_child {
  waiting_child() {
    if (process != 0) return;
    // It must not outlive a parent that exits without the destructor. The parent may have exited
    // before the first call.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) pause();
    _exit(0);
  }
  ~waiting_child() {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  const pid_t parent = getpid();
  pid_t process = fork();
};

// The child belongs to the closed process, so it is made there.
TEST(permissions_without_sanitizer, the_end_of_a_child) {
  const end ended = run_in_child([] {
    const waiting_child own, other;
    permissions kept;
    kept.children = {own.process};
    if (close_process(mode::required, kept).failed) return 1;
    if (kill(other.process, SIGKILL) == 0 || errno != EPERM) return 2;
    if (kill(own.process, SIGSTOP) == 0 || errno != EPERM) return 3;
    if (kill(getppid(), SIGKILL) == 0 || errno != EPERM) return 4;
    if (kill(own.process, SIGKILL) != 0) return 5;
    if (waitpid(own.process, nullptr, 0) != own.process) return 6;
    // The destructor of the other child would wait for ever.
    _exit(0);
  });
  EXPECT_EQ(end{}, ended);
}

}  // namespace
}  // namespace freehca::closed_process::test
