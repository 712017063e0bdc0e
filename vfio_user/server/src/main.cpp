// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca-device: docs/device-server.md.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "ask.hpp"
#include "command_line.hpp"
#include "hand_over.hpp"
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

// A name without a slash was found in PATH. The file's own path is used then.
freehca::device_server::started_as started_by(int argc, char** argv) {
  freehca::device_server::started_as as{argc > 0 ? argv[0] : "", {}};
  if (as.program.find('/') == std::string::npos) {
    std::array<char, 4096> path;
    const ssize_t bytes = readlink("/proc/self/exe", path.data(), path.size());
    as.program.assign(path.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  }
  if (argc > 1) as.arguments.assign(argv + 1, argv + argc);
  return as;
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
  if (!asked.upgraded.empty()) return upgrade_server(asked.upgraded);
  if (asked.keeper_socket >= 0) return take_over(asked.how, asked.keeper_socket);
  if (asked.how.socket.empty() && !passed.device.open())
    return ask_server(asked.how.control, asked.question);
  return asked.how.restarts
             ? serve_with_restarts(asked.how, std::move(passed), started_by(argc, argv))
             : serve(asked.how, std::move(passed));
}
