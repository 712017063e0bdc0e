// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca-device: docs/device-server.md.
#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "ask.hpp"
#include "command_line.hpp"
#include "notify.hpp"
#include "report.hpp"
#include "restarts.hpp"

namespace {

// Opens missing standard descriptors. Otherwise a socket could get the number of stderr, and
// messages would be sent to a guest.
bool have_standard_descriptors() {
  int last = 0;
  while (last >= 0 && last <= STDERR_FILENO) last = open("/dev/null", O_RDWR);
  if (last > STDERR_FILENO) close(last);
  return last >= 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace freehca::device_server;
  if (!have_standard_descriptors()) return 1;
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
  return asked.how.restarts ? serve_with_restarts(asked.how, std::move(passed))
                            : serve(asked.how, std::move(passed));
}
