// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "settings.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <freehca/infiniband_switch/switch_port.hpp>
#include <freehca/wires/guid_text.hpp>

namespace freehca::switch_program {
namespace {

using infiniband_switch::most_ports;

constexpr std::size_t longest_description = 64;
/// After this silence the other end gives the link up (port_link::silence_ns).
constexpr unsigned longest_grace_ms = 10'000;

/// What the options say together. "", or what is wrong.
std::string finish(settings& to, bool ports_given) {
  if (to.listen.empty() == to.wires.empty())
    return "either --port, once for each cable, or --listen with --ports";
  if (!to.wires.empty() && ports_given) return "--ports is for --listen: each --port is one";
  if (!to.listen.empty() && !ports_given) return "--listen needs --ports";
  if (!to.wires.empty()) to.ports = static_cast<unsigned>(to.wires.size());
  if (to.ports < fewest_ports || to.ports > most_ports)
    return fmt::format("{} ports: a switch has {} to {}", to.ports, fewest_ports, most_ports);
  if (to.ethernet && to.manages) return "--sm on: an Ethernet bridge has no subnet to manage";
  if (to.description.size() > longest_description)
    return fmt::format("--description: {} bytes; there is room for {}", to.description.size(),
                       longest_description);
  return "";
}

}  // namespace

int read_command_line(int argc, char** argv, settings& to) {
  CLI::App app(
      "freehca-switch: joins the cables of 2 to 36 adapters on one machine, as an InfiniBand "
      "switch that a subnet manager programs, or as an Ethernet bridge");
  app.set_version_flag("--version", "freehca-switch " FREEHCA_VERSION);
  app.add_option("--link", "ib (default): an InfiniBand switch; eth: an Ethernet bridge")
      ->check(CLI::IsMember({"ib", "eth"}))
      ->each([&to](const std::string& text) { to.ethernet = text == "eth"; });
  app.add_option("--port", to.wires,
                 "the cable of the next port, as freehca-device's --port1: stream:listen=ADDRESS, "
                 "stream:connect=ADDRESS or dgram:local=ADDRESS,remote=ADDRESS; repeatable")
      ->allow_extra_args(false);
  app.add_option("--listen", to.listen,
                 "each who connects to this address takes the next port that is free");
  const CLI::Option* ports = app.add_option("--ports", to.ports, "with --listen: how many");
  app.add_option("--grace-ms", to.grace_ms,
                 "with --listen: how long a port keeps its link for a peer with a name whose "
                 "connection has ended (5000)")
      ->check(CLI::Range(0u, longest_grace_ms));
  app.add_option("--names",
                 "with --listen: required: a peer without a name gets no port, and one that is "
                 "silent waits; optional (default)")
      ->check(CLI::IsMember({"required", "optional"}))
      ->each([&to](const std::string& text) { to.names_required = text == "required"; });
  app.add_option_function<std::string>(
      "--guid",
      [&to](const std::string& text) {
        const auto value = wires::guid_of(text);
        if (!value) throw CLI::ValidationError("--guid", text + ": " + wires::guid_allowed);
        to.guid = *value;
      },
      "node GUID of the switch; each in a fabric needs its own");
  app.add_option("--description", to.description, "its NodeDescription, up to 64 bytes");
  app.add_option("--sm",
                 "on: a subnet manager in the InfiniBand switch gives the adapters LIDs and makes "
                 "them active; off (default): one of the hosts runs it")
      ->check(CLI::IsMember({"on", "off"}))
      ->each([&to](const std::string& text) { to.manages = text == "on"; });
  app.add_option("--closed",
                 "auto (default): the program gives up the rights that it does not need after its "
                 "start, as far as the kernel can; required: it ends if that fails; off")
      ->check(CLI::IsMember({"auto", "required", "off"}))
      ->each([&to](const std::string& text) { closed_process::read_mode(text, to.closed); });
  app.add_flag("--trace", to.trace,
               "each link that comes or goes and each dropped packet as a line on stderr");
  app.footer(
      "An ADDRESS is a path with a slash in it, or HOST:PORT. Behind the ADDRESS of a stream or of "
      "--listen there may be\n,secret=FILE (or ,secret=none) and ,name=NAME. It ends by SIGTERM or "
      "SIGINT. Exit codes: 0 ended as it was asked to; 1 the\noperating system refused something; "
      "2 wrong usage.");
  try {
    app.parse(argc, argv);
    if (const std::string why = finish(to, ports->count() != 0); !why.empty())
      throw CLI::ValidationError(why);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : usage_error;
  }
  return -1;
}

}  // namespace freehca::switch_program
