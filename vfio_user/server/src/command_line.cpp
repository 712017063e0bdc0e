// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "command_line.hpp"

#include <CLI/CLI.hpp>

#include "setting_rows.hpp"

namespace freehca::device_server {

namespace {

// Returns "", or a message about options that exclude each other.
std::string check_sockets(bool socket, bool control, bool question, bool handed_over) {
  if (question && !control) return "--ask needs --control";
  if (question && socket) return "--ask asks a server that is there: it goes without --socket";
  if (question) return "";
  if (handed_over && socket)
    return "--socket: the clients' socket was handed over already (LISTEN_FDS)";
  return socket || handed_over ? "" : "--socket is required";
}

std::string take_save_on(const std::vector<std::string>& words, settings& to) {
  if (words.empty()) return "";
  if (words[0] != "TERM") return "--save-on " + words[0] + ": the signal is TERM";
  if (words[1].empty()) return "--save-on TERM: a file is wanted";
  to.save = words[1];
  return "";
}

}  // namespace

int read_command_line(int argc, char** argv, bool handed_over, command_line& to) {
  CLI::App app(
      "freehca-device: a modelled ConnectX-2, ConnectX-3 or ConnectX-3 Pro in a process of its "
      "own, for one client of the protocol vfio-user at a time");
  app.set_version_flag("--version", "freehca-device " FREEHCA_VERSION);
  const CLI::Option* socket =
      app.add_option("--socket", to.how.socket, "path of the unix socket that clients connect to");
  const CLI::Option* control = app.add_option(
      "--control", to.how.control,
      "path of a unix socket for questions about the adapter, and for faults: JSON, a line each");
  const CLI::Option* question =
      app.add_option("--ask", to.question,
                     "with --control and nothing else: sends that request to the server there, and "
                     "prints the answer");
  std::vector<std::string> save_on;
  app.add_option("--save-on", save_on,
                 "TERM FILE: at SIGTERM the state of the adapter is written to FILE")
      ->expected(2);
  app.add_option("--load", to.how.load,
                 "file of --save-on: the adapter begins in that state; the other options are the "
                 "same");
  const CLI::Option* upgraded =
      app.add_option("--upgrade", to.upgraded,
                     "control socket of a server with --restarts on, and nothing else: the server "
                     "starts its program file again, which takes over");
  app.add_option("--taken-over", to.keeper_socket)->group("");
  for (const setting_row& row : setting_rows())
    app.add_option_function<std::string>(
        std::string("--") + row.name,
        [&row, &to](const std::string& text) {
          if (const std::string allowed = row.take(to.how, text); !allowed.empty())
            throw CLI::ValidationError(std::string("--") + row.name, text + ": " + allowed);
        },
        row.what);
  app.add_flag("--trace", to.how.trace,
               "each command, event, doorbell and refusal as a line on stderr");
  app.footer(
      "It ends by SIGTERM or SIGINT. Exit codes: 0 ended as it was asked to; 1 the operating "
      "system refused\nsomething; 2 wrong usage, or a state that --load refuses; 3 the server that "
      "--ask asked refused the "
      "request.");
  try {
    app.parse(argc, argv);
    if (upgraded->count() != 0 && app.count_all() > 2)
      throw CLI::ValidationError("--upgrade asks a server that is there: it goes alone");
    std::string why;
    if (upgraded->count() == 0 && to.keeper_socket < 0)
      why = check_sockets(socket->count() != 0, control->count() != 0, question->count() != 0,
                          handed_over);
    if (why.empty()) why = take_save_on(save_on, to.how);
    if (why.empty()) why = finish(to.how);
    if (!why.empty()) throw CLI::ValidationError(why);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : usage_error;
  }
  return -1;
}

}  // namespace freehca::device_server
