// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "processes.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "checks.hpp"

namespace programs {

void line::put(const void* from, std::size_t bytes) {
  const ssize_t done = ::send(descriptor_, from, bytes, MSG_NOSIGNAL);
  require(done == static_cast<ssize_t>(bytes), "a message to the other process");
}

void line::get(void* to, std::size_t bytes) {
  ssize_t done;
  do done = recv(descriptor_, to, bytes, MSG_WAITALL);
  while (done < 0 && errno == EINTR);
  require(done == static_cast<ssize_t>(bytes), "a message from the other process");
}

pid_t fork_child(const std::function<void()>& child) {
  const pid_t number = fork();
  require(number >= 0, "fork");
  if (number != 0) return number;
  child();
  end_child();
}

int end_of_child(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) require(errno == EINTR, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void run_pair(const std::function<void(line&)>& parent, const std::function<void(line&)>& child) {
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  const pid_t number = fork_child([&] {
    close(ends[0]);
    line to_parent(ends[1]);
    child(to_parent);
  });
  close(ends[1]);
  line to_child(ends[0]);
  parent(to_child);
  expect_equal(end_of_child(number), 0, "the end of the child process");
  close(ends[0]);
}

}  // namespace programs
