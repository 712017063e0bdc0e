// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "command_line.hpp"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "conform.hpp"
#include "size.hpp"
#include "usage.hpp"

namespace freehca::hcactl {
namespace {

constexpr const char* exit_codes =
    "Exit codes: 0 done; 10 malformed address; 11 no such function or server; 12 not mlx4-class; "
    "13 bound to another\n"
    "driver; 14 no IOMMU; 15 IOMMU group not viable; 16 no permission; 17 locked-memory limit too "
    "low; 18 in use by\n"
    "another process; 19 owned (semaphore held); 20 firmware refused; 21 firmware silent; 22 "
    "device gone; 23 wrong\n"
    "data; 24 port not active; 25 refused by the system; 26 wanted back by the kernel; 27 unlike "
    "other adapters;\n"
    "130 interrupted. Above 100 otherwise: wrong usage.";

class parser {
 public:
  parser(form how, request& to);
  int parse(int argc, char** argv);

 private:
  using command = request::command;
  CLI::App* add(command which, const char* name, const char* what);
  void add_open_options();
  void add_info();
  void add_up();
  void add_ping();
  void add_nic();
  void add_conform();
  void add_record();
  CLI::Option* add_port(CLI::App& to, unsigned& port, const char* what);
  int refuse(const CLI::ParseError& e, bool json) const;

  form how_;
  request& to_;
  CLI::App app_;
  CLI::Option* threads_ = nullptr;
  unsigned event_queues_ = 1 + budget{}.completion_event_queues;
};

parser::parser(form how, request& to)
    : how_(how),
      to_(to),
      app_(
          "hcactl: ConnectX-2, ConnectX-3 and ConnectX-3 Pro adapters, driven from this process "
          "over VFIO, or behind a socket of freehca-device") {
  app_.require_subcommand(1);
  app_.footer(exit_codes);
  app_.set_version_flag("--version", "hcactl " FREEHCA_VERSION);
  app_.add_flag("--json", to.common.json, "machine-readable output, also for an error");
  CLI::Option* const socket =
      app_.add_option("--vfio-user", to.common.address,
                      "an adapter that freehca-device serves on this socket, in place of ADDRESS");
  if (how == form::socket) socket->required();
  app_.add_option("--sysfs", to.common.sysfs, "another place of sysfs, for tests")->group("");
  app_.fallthrough();
  app_.failure_message([](const CLI::App* app, const CLI::Error& e) {
    return explain_usage(*app, e) + "\nRun with --help for more information.\n";
  });
  if (how == form::pci_address)
    app_.add_subcommand("list", "the adapters of this machine, who drives them")->callback([this] {
      to_.what = command::list;
    });
  if (how == form::pci_address) add_open_options();
  add_info();
  add_up();
  add_ping();
  add_nic();
  add_conform();
  add(command::reset, "reset", "reset it, and free it from an owner that died");
  add_record();
}

CLI::App* parser::add(command which, const char* name, const char* what) {
  CLI::App* const c = app_.add_subcommand(name, what);
  c->callback([this, which] { to_.what = which; });
  if (how_ == form::pci_address)
    c->add_option("address", to_.common.address, "PCI address, such as 0000:03:00.0")->required();
  return c;
}

CLI::Option* parser::add_port(CLI::App& to, unsigned& port, const char* what) {
  return to.add_option("--port", port, what)->check(CLI::Range(1u, 2u));
}

// Names, not values of the enumerations: help would print those as characters.
void parser::add_open_options() {
  app_.add_option_function<std::string>(
          "--door",
          [this](const std::string& name) {
            to_.common.how.way = vfio_host::door_named(name).value_or(vfio_host::door::automatic);
          },
          "the kernel's interface: group (VFIO's group and container) or iommufd (character "
          "devices); auto: iommufd where it is there and permitted")
      ->check(CLI::IsMember({"auto", "group", "iommufd"}));
  app_.add_option_function<std::string>(
          "--pages",
          [this](const std::string& name) {
            to_.common.how.pages =
                vfio_host::pages_named(name).value_or(vfio_host::memory_pages::small);
          },
          "the driver's memory: small pages, advised (large ones where the kernel has them), or "
          "huge (reserved pages of 2 MiB)")
      ->check(CLI::IsMember({"small", "advised", "huge"}));
}

void parser::add_info() {
  CLI::App* const c = add(command::info, "info",
                          "one adapter: what stands in the way of using it, and what is known of "
                          "it without a reset");
  c->add_flag("--reset", to_.inform.reset,
              "resets it and brings it up, to tell what it is and can do");
}

void parser::add_up() {
  CLI::App* const c =
      add(command::up, "up", "bring it up, report what it is, take everything back");
  c->add_option_function<std::vector<std::string>>(
       "--size",
       [this](const std::vector<std::string>& all) {
         for (const std::string& one : all)
           if (const std::string why = set_size(to_.up.size.budget, one); !why.empty())
             throw CLI::ValidationError("--size", why);
       },
       "NAME=LOG: room for 2^LOG of qps, srqs, cqs, eqs, mpts, mtts, mcgs; repeatable")
      ->allow_extra_args(false);
  c->add_option("--event-queues", event_queues_, "in all, the one for asynchronous events included")
      ->check(CLI::Range(1u, 1u + budget::most_completion_event_queues));
  c->add_flag("--tables", to_.up.tables, "reads the GID and P_Key tables of its ports");
  c->add_flag("--hold", to_.up.hold, "stays up until SIGINT or SIGTERM");
}

void parser::add_ping() {
  CLI::App* const c =
      add(command::ping, "ping", "bring it up and move verified data in loopback on a port");
  add_port(*c, to_.ping.port, "port of the adapter");
  CLI::Option* const messages =
      c->add_option("--messages", to_.ping.messages, "messages of each kind and size")
          ->check(CLI::Range(1u, 1000000u));
  // Names, not values of the enumeration: help would print those as characters.
  c->add_option_function<std::string>(
       "--service",
       [this](const std::string& name) {
         using layouts::qp_service;
         to_.ping.service = name == "ud"   ? qp_service::ud
                            : name == "uc" ? qp_service::uc
                                           : qp_service::rc;
       },
       "transport service of the queue pairs")
      ->check(CLI::IsMember({"rc", "uc", "ud"}));
  c->add_flag("--shared-receives", to_.ping.shared_receives,
              "both queue pairs take their receives from a shared receive queue");
  c->add_flag("--counted", to_.ping.counted,
              "the sends complete to a completion queue that counts");
  threads_ = c->add_option("--threads", to_.threads.threads,
                           "RC traffic of so many threads, each with an event queue, an interrupt "
                           "vector and objects of its own")
                 ->check(CLI::Range(1u, budget::most_completion_event_queues));
  for (const char* const other : {"--service", "--shared-receives", "--counted"})
    threads_->excludes(c->get_option(other));
  c->add_option("--seconds", to_.threads.seconds,
                "with --threads: so long, instead of a number of messages")
      ->check(CLI::Range(1u, 86400u))
      ->needs(threads_)
      ->excludes(messages);
  c->add_option("--recover", to_.threads.recoveries,
                "with --threads: resets the adapter so often meanwhile")
      ->check(CLI::Range(1u, 1000u))
      ->needs(threads_);
}

void parser::add_nic() {
  CLI::App* const c = add(command::nic, "nic",
                          "a network device of Linux over an Ethernet port: ping and TCP run "
                          "through the driver of this process");
  c->add_option("--tap", to_.nic.tap, "name of the TAP device, which it creates")->required();
  add_port(*c, to_.nic.port, "port of the adapter");
  c->add_option("--mtu", to_.nic.mtu, "MTU of the port and of the device")
      ->check(CLI::Range(68u, 9600u));
  c->add_option("--rings", to_.nic.rings, "receive rings: the adapter spreads frames over them")
      ->check(CLI::IsMember({1u, 2u, 4u, 8u, 16u}));
  c->add_flag("!--no-offload", to_.nic.offload,
              "the kernel computes checksums and cuts TCP payloads, not the adapter");
  c->add_flag("--promiscuous", to_.nic.promiscuous, "takes frames to all addresses, for a bridge");
  c->add_flag("--ethernet", to_.nic.ethernet,
              "makes a VPI port an Ethernet port, until the next reset");
  c->add_option("--for", to_.nic.seconds, "seconds; without it until SIGINT or SIGTERM")
      ->check(CLI::Range(1u, 86400u));
}

void parser::add_conform() {
  CLI::App* const c =
      add(command::conform, "conform",
          "run a list of what every such adapter should answer; without --yes, tell it");
  c->add_flag("--yes", to_.conform.yes, "do what the list says");
  add_port(*c, to_.conform.port, "port of the adapter");
  c->add_option("--file", to_.conform.file, "the report goes there as JSON, too");
  c->add_flag("--keep-identity", to_.conform.keep_identity, "leaves GUIDs as they are");
}

void parser::add_record() {
  CLI::App* const c =
      add(command::record, "record",
          "bring it up, move data in loopback, and write what driver and adapter say");
  c->add_option("file", to_.record.file, "the recording (docs/recording.md)")->required();
  c->add_flag("--keep-identity", to_.record.keep_identity,
              "leaves GUIDs, MAC addresses and descriptions as they are");
  c->add_option("--label", to_.record.label, "words for the recording's header");
  add_port(*c, to_.record.port, "port of the traffic; the first that is active");
  c->add_option("--messages", to_.record.messages, "messages of each kind and size")
      ->check(CLI::Range(1u, 1000u));
}

int parser::refuse(const CLI::ParseError& e, bool json) const {
  if (json && e.get_exit_code() != 0)
    fmt::print(
        "{}\n",
        nlohmann::json{{"code", e.get_exit_code()}, {"error", explain_usage(app_, e)}}.dump(2));
  return app_.exit(e);
}

int parser::parse(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // The parser stopped at the wrong word, so options after it are searched here.
    return refuse(e, std::any_of(argv, argv + argc, [](const char* word) {
                    return std::string_view(word) == "--json";
                  }));
  }
  if (how_ == form::socket && to_.common.address.find('/') == std::string::npos)
    to_.common.address = "./" + to_.common.address;
  to_.up.size.budget.completion_event_queues = event_queues_ - 1;
  to_.threads.port = to_.ping.port;
  to_.threads.messages = to_.ping.messages;
  if (to_.what == command::ping && threads_->count() != 0) to_.what = command::threads;
  return -1;
}

}  // namespace

form form_of(int argc, char** argv) {
  const bool socket = std::any_of(argv, argv + argc, [](const char* text) {
    const std::string_view word = text;
    return word == "--vfio-user" || word.starts_with("--vfio-user=");
  });
  return socket ? form::socket : form::pci_address;
}

int read_command_line(int argc, char** argv, form how, request& to) {
  return parser(how, to).parse(argc, argv);
}

int run(const request& what, char** argv) {
  switch (what.what) {
    case request::command::list:
      return list(what.common);
    case request::command::info:
      return info(what.common, what.inform);
    case request::command::up:
      return up(what.common, what.up);
    case request::command::ping:
      return ping(what.common, what.ping);
    case request::command::threads:
      return ping(what.common, what.threads);
    case request::command::nic:
      return nic(what.common, what.nic);
    case request::command::conform:
      return conform(what.common, what.conform);
    case request::command::reset:
      return reset(what.common);
    case request::command::record:
      return record(what.common, what.record, argv);
  }
  return 0;
}

}  // namespace freehca::hcactl
