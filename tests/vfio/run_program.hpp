// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace freehca::testing {

/// What a program said and how it ended; -1: by a signal, or it could not be started.
struct answer {
  int code = -1;
  std::string text;
};

/// Runs a command of the shell to its end and takes its standard output.
inline answer run_program(const std::string& command) {
  answer a;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return a;
  std::array<char, 512> piece;
  while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) a.text += piece.data();
  const int status = pclose(pipe);
  a.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return a;
}

}  // namespace freehca::testing
