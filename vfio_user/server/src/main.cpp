// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca-device: docs/device-server.md.
#include <utility>

#include "ask.hpp"
#include "command_line.hpp"
#include "notify.hpp"
#include "report.hpp"
#include "server.hpp"

int main(int argc, char** argv) {
  using namespace freehca::device_server;
  passed_sockets passed;
  if (const std::string why = take_passed_sockets(passed); !why.empty()) {
    report(why);
    return 1;
  }
  command_line asked;
  if (const int code = read_command_line(argc, argv, passed.device.open(), asked); code >= 0)
    return code;
  if (asked.how.socket.empty() && !passed.device.open())
    return ask_server(asked.how.control, asked.question);
  server all(asked.how);
  if (const std::string why = all.begin(std::move(passed)); !why.empty()) {
    report(why);
    return 1;
  }
  all.run();
  return 0;
}
