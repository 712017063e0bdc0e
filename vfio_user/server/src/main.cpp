// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca-device: docs/device-server.md.
#include <fmt/format.h>

#include "command_line.hpp"
#include "report.hpp"
#include "server.hpp"
#include "settings.hpp"

int main(int argc, char** argv) {
  using namespace freehca::device_server;
  settings how;
  if (const int code = read_command_line(argc, argv, how); code >= 0) return code;
  server all(how);
  if (const std::string why = all.begin(); !why.empty()) {
    report(why);
    return 1;
  }
  all.run();
  return 0;
}
