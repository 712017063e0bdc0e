// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "command_line.hpp"

#include <CLI/CLI.hpp>

#include "setting_rows.hpp"

namespace freehca::device_server {

int read_command_line(int argc, char** argv, settings& to) {
  CLI::App app(
      "freehca-device: a modelled ConnectX-2, ConnectX-3 or ConnectX-3 Pro in a process of its "
      "own, for one client of the protocol vfio-user at a time");
  app.add_option("--socket", to.socket, "path of the unix socket that clients connect to")
      ->required();
  for (const setting_row& row : setting_rows())
    app.add_option_function<std::string>(
        std::string("--") + row.name,
        [&row, &to](const std::string& text) {
          if (const std::string allowed = row.take(to, text); !allowed.empty())
            throw CLI::ValidationError(std::string("--") + row.name, text + ": " + allowed);
        },
        row.what);
  app.add_flag("--trace", to.trace,
               "each command, event, doorbell and refusal as a line on stderr");
  app.footer(
      "It ends by SIGTERM or SIGINT. Exit codes: 0 ended as it was asked to; 1 the operating "
      "system "
      "refused\nsomething; 2 wrong usage.");
  try {
    app.parse(argc, argv);
    if (const std::string why = finish(to); !why.empty()) throw CLI::ValidationError(why);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : usage_error;
  }
  return -1;
}

}  // namespace freehca::device_server
