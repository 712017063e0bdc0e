// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "helper_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace freehca::wires {

helper_process::helper_process(const std::vector<std::string>& arguments) {
  int in[2];
  int out[2];
  EXPECT_EQ(0, pipe2(in, O_CLOEXEC));
  EXPECT_EQ(0, pipe2(out, O_CLOEXEC));
  std::vector<const char*> words{"helper", "--helper"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  id_ = fork();
  if (id_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    execv("/proc/self/exe", const_cast<char**>(words.data()));
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

helper_process::~helper_process() {
  if (id_ > 0) kill();
  close(from_);
}

std::string helper_process::line() {
  std::string text;
  for (char c; read(from_, &c, 1) == 1 && c != '\n';) text += c;
  return text;
}

int helper_process::wait() {
  int status = 0;
  EXPECT_EQ(id_, waitpid(id_, &status, 0));
  id_ = 0;
  if (to_ >= 0) close(std::exchange(to_, -1));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int helper_process::end() {
  close(std::exchange(to_, -1));
  return wait();
}

void helper_process::kill() {
  ::kill(id_, SIGKILL);
  wait();
}

}  // namespace freehca::wires
