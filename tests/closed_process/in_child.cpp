// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "in_child.hpp"

#include <linux/landlock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace freehca::closed_process::test {
namespace {

int errno_of(const std::function<long()>& call) {
  errno = 0;
  return call() < 0 ? errno : 0;
}

}  // namespace

end run_in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) std::abort();
  return WIFSIGNALED(status) ? end{.signal = WTERMSIG(status)} : end{.code = WEXITSTATUS(status)};
}

end run_closed(const permissions& kept, const std::function<long()>& call,
               const kernel_functions& kernel) {
  return run_in_child([&] {
    return close_process(mode::required, kept, kernel).failed ? not_closed : errno_of(call);
  });
}

end run_open(const std::function<long()>& call) {
  return run_in_child([&] { return errno_of(call); });
}

closing close_child(mode how, const permissions& kept, const kernel_functions& kernel) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) std::abort();
  const end ended = run_in_child([&] {
    const closing result = close_process(how, kept, kernel);
    const auto bytes = static_cast<ssize_t>(result.text.size());
    if (write(ends[1], result.text.data(), result.text.size()) != bytes) std::abort();
    return (result.failed ? 1 : 0) | (result.partial ? 2 : 0);
  });
  std::array<char, 1024> text;
  const ssize_t got = read(ends[0], text.data(), text.size());
  close(ends[0]);
  close(ends[1]);
  if (got < 0 || ended.signal != 0) std::abort();
  return {.failed = (ended.code & 1) != 0,
          .partial = (ended.code & 2) != 0,
          .text = std::string(text.data(), static_cast<std::size_t>(got))};
}

long abi_of_this_kernel() {
  return this_kernel.create_ruleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

folder::folder() {
  char name[] = "/tmp/freehca-closed-XXXXXX";
  if (mkdtemp(name) == nullptr) std::abort();
  path_ = name;
}

folder::~folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string folder::file(const std::string& name) const {
  std::ofstream(path(name)).flush();
  return path(name);
}

}  // namespace freehca::closed_process::test
