// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca-switch: docs/switch.md.
#include "report.hpp"
#include "settings.hpp"
#include "switch_loop.hpp"

int main(int argc, char** argv) {
  using namespace freehca::switch_program;
  settings how;
  if (const int code = read_command_line(argc, argv, how); code >= 0) return code;
  switch_loop all(how);
  if (const std::string why = all.begin(); !why.empty()) {
    report(why);
    return 1;
  }
  all.run();
  return 0;
}
