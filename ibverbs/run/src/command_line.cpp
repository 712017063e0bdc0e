// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "command_line.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <freehca/wires_shm/fabric_port.hpp>

#include "refusal.hpp"
#include "values.hpp"

namespace freehca::run {
namespace {

bool is(const char* word, std::string_view text) {
  return word == text;
}

void add_options(CLI::App& app, request& to) {
  app.set_version_flag("--version", "freehca-run " FREEHCA_VERSION);
  app.add_option(
         "--fabric", to.fabric,
         "processes of one fabric reach each other; default: that of FREEHCA_FABRIC, or one "
         "for each user")
      ->type_name("NAME")
      ->check(check_fabric);
  app.add_option("--link", to.link,
                 "the link layer of the process's port, infiniband or roce; default: that of "
                 "FREEHCA_LINK, or infiniband")
      ->type_name("LINK")
      ->check(check_link);
  app.add_option("--ip", to.ip,
                 "the IP address of an Ethernet port; default: 10.0.0.x for a modelled adapter, "
                 "none with --device")
      ->type_name("ADDRESS")
      ->check(check_ip);
  app.add_option("--vlan", to.vlans,
                 "a further IP address of an Ethernet port, on a VLAN, as 100=192.0.2.1; may be "
                 "given several times")
      ->type_name("VLAN=ADDRESS")
      ->allow_extra_args(false)
      ->check(check_vlan);
  app.add_option("--device", to.device,
                 "an adapter that is bound to vfio-pci, as vfio:0000:03:00.0; default: that of "
                 "FREEHCA_DEVICE, or a modelled one inside the program")
      ->type_name("vfio:ADDRESS")
      ->check(check_device);
  app.add_option("--door", to.door,
                 "with --device: the kernel's interface, group or iommufd; default: that of "
                 "FREEHCA_DOOR, or auto: iommufd where it is there and permitted")
      ->type_name("DOOR")
      ->check(CLI::IsMember({"auto", "group", "iommufd"}));
  app.add_option("--pages", to.pages,
                 "with --device: the pages of the driver's memory, small, advised or huge; "
                 "default: that of FREEHCA_PAGES, or small")
      ->type_name("PAGES")
      ->check(CLI::IsMember({"small", "advised", "huge"}));
  app.add_option("--part-id", to.part_id,
                 "the part number that programs are told, a PCI device number; default: that of "
                 "FREEHCA_PART_ID, or the adapter's own")
      ->type_name("NUMBER")
      ->check(check_part_id);
  app.add_option("--capture", to.capture, "packets of the process's port go to this file, as pcap")
      ->type_name("FILE")
      ->check(check_output);
  app.add_option("--counters", to.counters,
                 "the adapter's counters go to this file when the process ends")
      ->type_name("FILE")
      ->check(check_output);
  app.add_flag("--explain", to.explain,
               "says on standard error why requests, calls and packets failed, and where the "
               "program made and posted what failed");
  app.add_flag("--list", to.list,
               "shows this user's fabrics with their processes and addresses; without a program");
  app.add_flag("--json", to.json, "the list, and errors of the launcher, as JSON on stdout");
  app.footer(
      "  -- PROGRAM ARGS...          the program, which is found as a shell finds it\n\n"
      "The launcher becomes the program: process number, exit status, signals and terminal are "
      "the\n"
      "program's. FREEHCA_VERBS names another libfreehca-verbs.so. Exit codes of the launcher\n"
      "itself: 1 the operating system refused something; 2 wrong usage; 126 the program cannot\n"
      "run this way; 127 there is no such program.");
}

/// What the parser found wrong, with what to do where the parser does not know that.
std::string explain(const CLI::App& app, const CLI::ParseError& e) {
  const std::vector<std::string> others = app.remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr && !others.empty() &&
      !others.front().starts_with("-"))
    return fmt::format("the program stands behind '--': freehca-run ... -- {}", others.front());
  return e.what();
}

/// Takes the device of the environment, if the command line names none. Returns what is wrong with
/// it, or with other options beside it.
std::string take_device(request& to) {
  const char* const variable = std::getenv("FREEHCA_DEVICE");
  if (to.device.empty() && variable != nullptr && *variable != '\0') {
    to.device = variable;
    if (const std::string why = check_device(to.device); !why.empty())
      return "FREEHCA_DEVICE: " + why;
  }
  if (to.device.empty()) {
    for (const auto& [option, value] : {std::pair{"--door", &to.door}, {"--pages", &to.pages}})
      if (!value->empty())
        return fmt::format("{} is for an adapter that is bound to vfio-pci: add --device", option);
    return "";
  }
  for (const auto& [option, value] :
       {std::pair{"--fabric", &to.fabric}, std::pair{"--link", &to.link},
        std::pair{"--capture", &to.capture}, std::pair{"--counters", &to.counters}})
    if (!value->empty())
      return fmt::format(
          "{} is for modelled adapters alone: leave it out, or have no --device and no "
          "FREEHCA_DEVICE ({})",
          option, to.device);
  return "";
}

/// Returns what is wrong with IP addresses beside the other options.
std::string check_addresses(const request& what) {
  constexpr std::size_t most_vlans = wires::fabric_port::most_vlan_addresses;
  if (what.vlans.size() > most_vlans)
    return fmt::format("--vlan: a port has at most {} addresses on VLANs", most_vlans);
  if (what.vlans.empty() && what.ip.empty()) return "";
  std::vector<std::string> all{what.ip};
  for (const std::string& each : what.vlans) all.push_back(each.substr(each.find('=') + 1));
  if (const std::string twice = address_twice(all); !twice.empty())
    return fmt::format("--vlan: the port has the IP address {} already", twice);
  if (!what.device.empty()) return "";
  const char* const variable = std::getenv("FREEHCA_LINK");
  const std::string link = !what.link.empty() ? what.link : variable != nullptr ? variable : "";
  if (link == "roce") return "";
  const char* const option = what.ip.empty() ? "--vlan" : "--ip";
  return fmt::format("{0} is for Ethernet ports: add --link roce, or leave {0} out", option);
}

}  // namespace

int read_command_line(int argc, char** argv, request& to) {
  CLI::App app(
      "freehca-run: runs an unmodified RDMA program on freehca's driver, without a kernel device",
      "freehca-run");
  add_options(app, to);
  char** const end = argv + argc;
  char** const dashes = std::find_if(argv, end, [](const char* w) { return is(w, "--"); });
  // The parser may stop before it sees --json.
  const bool json = std::any_of(argv, dashes, [](const char* w) { return is(w, "--json"); });
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
    if (to.list) {
      if (dashes == end && to.fabric.empty() && to.link.empty() && to.ip.empty() &&
          to.vlans.empty() && to.device.empty() && to.door.empty() && to.pages.empty() &&
          to.part_id.empty() && to.capture.empty() && to.counters.empty())
        return -1;
      return report({usage_error, "--list shows all fabrics: no program, and no option but --json"},
                    json);
    }
    if (dashes == end || dashes + 1 == end)
      return report({usage_error, "no program is named: freehca-run ... -- PROGRAM ARGS"}, json);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return report({usage_error, explain(app, e) + " (--help shows the options)"}, json);
  }
  if (const std::string why = take_device(to); !why.empty())
    return report({usage_error, why}, json);
  if (const std::string why = check_addresses(to); !why.empty())
    return report({usage_error, why}, json);
  to.program = dashes + 1;
  // The program may change its current folder before it writes.
  for (std::string* file : {&to.capture, &to.counters})
    if (!file->empty()) *file = std::filesystem::absolute(*file).string();
  return -1;
}

}  // namespace freehca::run
