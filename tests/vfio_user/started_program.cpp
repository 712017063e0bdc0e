// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "started_program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace freehca::vfio_user {
namespace {

void pause_a_moment() {
  const timespec moment{0, 2'000'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

folder::folder() {
  char name[] = "/tmp/freehca-program-XXXXXX";
  if (mkdtemp(name) == nullptr) std::abort();
  path_ = name;
}

folder::~folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

started_program::~started_program() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void started_program::start(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{path_};
  all.insert(all.end(), arguments.begin(), arguments.end());
  spawn(std::move(all), {});
}

void started_program::start_by_manager(const std::vector<std::string>& arguments,
                                       const std::vector<int>& sockets, const std::string& names) {
  const std::string environment =
      "LISTEN_PID=$$ LISTEN_FDS=" + std::to_string(sockets.size()) + " LISTEN_FDNAMES=" + names;
  std::vector<std::string> all{"/bin/sh", "-c", environment + " exec \"$@\"", "sh", path_};
  all.insert(all.end(), arguments.begin(), arguments.end());
  spawn(std::move(all), sockets);
}

void started_program::spawn(std::vector<std::string> all, const std::vector<int>& sockets) {
  constexpr int first = 3, out_of_the_way = 100;
  std::vector<char*> words;
  for (std::string& one : all) words.push_back(one.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, files_.path("stderr").c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int count = static_cast<int>(sockets.size());
  for (int i = 0; i < count; ++i)
    posix_spawn_file_actions_adddup2(&actions, sockets[static_cast<std::size_t>(i)],
                                     out_of_the_way + i);
  for (int i = 0; i < count; ++i)
    posix_spawn_file_actions_adddup2(&actions, out_of_the_way + i, first + i);
  ASSERT_EQ(0, posix_spawn(&process_, words[0], &actions, nullptr, words.data(), environ));
  posix_spawn_file_actions_destroy(&actions);
  for (int i = 0; i < 5000; ++i) {
    if (said().find("ready: ") != std::string::npos) return;
    siginfo_t about{};
    waitid(P_PID, static_cast<id_t>(process_), &about, WEXITED | WNOHANG | WNOWAIT);
    if (about.si_pid == process_) return;
    pause_a_moment();
  }
  ADD_FAILURE() << path_ << " is neither ready nor ended: " << said();
}

int started_program::stop() {
  kill(process_, SIGTERM);
  return wait();
}

int started_program::wait() {
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string started_program::said() const {
  std::ifstream file(files_.path("stderr"));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace freehca::vfio_user
