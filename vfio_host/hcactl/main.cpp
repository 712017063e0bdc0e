// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <string>

#include <CLI/CLI.hpp>

#include "another_program.hpp"
#include "commands.hpp"
#include "size.hpp"
#include "usage.hpp"

int main(int argc, char** argv) {
  using namespace freehca::hcactl;
  // Another driver's work, with commands of its own.
  if (argc > 1 && std::string(argv[1]).starts_with("--vfio-user"))
    return run_another_program("hcactl-vfio-user", argv, false);
  CLI::App app(
      "hcactl: ConnectX-2, ConnectX-3 and ConnectX-3 Pro adapters, driven from this process over "
      "VFIO");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done; 10 malformed address; 11 no such function; 12 not mlx4-class; 13 bound "
      "to another driver;\n"
      "14 no IOMMU; 15 IOMMU group not viable; 16 no permission; 17 locked-memory limit too low; "
      "18 in use by another\n"
      "process; 19 owned (semaphore held); 20 firmware refused; 21 firmware silent; 22 device "
      "gone; 23 wrong data;\n"
      "24 port not active; 25 refused by the system; 26 wanted back by the kernel; 27 unlike "
      "other\nadapters; 130 interrupted.\n"
      "Above 100 otherwise: wrong usage.\n"
      "hcactl --vfio-user SOCKET ...: an adapter that freehca-device serves; see hcactl "
      "--vfio-user "
      "--help.");
  common_options options;
  ping_options traffic{.messages = 20};
  app.add_flag("--json", options.json, "machine-readable output");
  app.add_option("--sysfs", options.sysfs, "another place of sysfs, for tests")->group("");
  app.fallthrough();

  const auto with_address = [&](const char* name, const char* what) {
    CLI::App* c = app.add_subcommand(name, what);
    c->add_option("address", options.address, "PCI address, such as 0000:03:00.0")->required();
    return c;
  };
  const CLI::App* list_command =
      app.add_subcommand("list", "the adapters of this machine, who drives them");
  const CLI::App* info_command = with_address(
      "info", "one adapter: what stands in the way of using it, or what it is and can do");
  CLI::App* up_command = with_address("up", "bring it up, report what it is, take everything back");
  CLI::App* ping_command =
      with_address("ping", "bring it up and move verified data in loopback on a port");
  CLI::App* conform_command = with_address(
      "conform", "run a list of what every such adapter should answer; without --yes, tell it");
  conform_options conforming;
  conform_command->add_flag("--yes", conforming.yes, "do what the list says");
  conform_command->add_option("--port", conforming.port, "port of the adapter")
      ->check(CLI::Range(1u, 2u));
  conform_command->add_option("--file", conforming.file, "the report goes there as JSON, too");
  conform_command->add_flag("--keep-identity", conforming.keep_identity,
                            "leaves GUIDs as they are");
  const CLI::App* reset_command =
      with_address("reset", "reset it, and free it from an owner that died");
  CLI::App* record_command = with_address(
      "record", "bring it up, move data in loopback, and write what driver and adapter say");
  record_options recorded;
  record_command->add_option("file", recorded.file, "the recording (docs/recording.md)")
      ->required();
  record_command->add_flag("--keep-identity", recorded.keep_identity,
                           "leaves GUIDs, MAC addresses and descriptions as they are");
  record_command->add_option("--label", recorded.label, "words for the recording's header");
  record_command
      ->add_option("--port", recorded.port, "port of the traffic; the first that is active")
      ->check(CLI::Range(1u, 2u));
  record_command->add_option("--messages", recorded.messages, "messages of each kind and size")
      ->check(CLI::Range(1u, 1000u));
  up_options held;
  unsigned event_queues = 1 + held.size.budget.completion_event_queues;
  up_command
      ->add_option_function<std::vector<std::string>>(
          "--size",
          [&held](const std::vector<std::string>& all) {
            for (const std::string& one : all)
              if (const std::string why = set_size(held.size.budget, one); !why.empty())
                throw CLI::ValidationError("--size", why);
          },
          "NAME=LOG: room for 2^LOG of qps, srqs, cqs, eqs, mpts, mtts, mcgs; repeatable")
      ->allow_extra_args(false);
  up_command
      ->add_option("--event-queues", event_queues,
                   "in all, the one for asynchronous events included")
      ->check(CLI::Range(1u, 1u + freehca::budget::most_completion_event_queues));
  up_command->add_flag("--tables", held.tables, "reads the GID and P_Key tables of its ports");
  up_command->add_flag("--hold", held.hold, "stays up until SIGINT or SIGTERM");
  ping_command->add_option("--port", traffic.port, "port of the adapter")
      ->check(CLI::Range(1u, 2u));
  ping_command->add_option("--messages", traffic.messages, "messages of each kind and size")
      ->check(CLI::Range(1u, 1000000u));
  ping_command
      ->add_option("--service", traffic.service, "transport service of the queue pairs: rc, uc, ud")
      ->transform(one_of({{"rc", freehca::layouts::qp_service::rc},
                          {"uc", freehca::layouts::qp_service::uc},
                          {"ud", freehca::layouts::qp_service::ud}}));
  ping_command->add_flag("--shared-receives", traffic.shared_receives,
                         "both queue pairs take their receives from a shared receive queue");
  ping_command->add_flag("--counted", traffic.counted,
                         "the sends complete to a completion queue that counts");
  threads_options threads;
  auto* const by_threads =
      ping_command
          ->add_option("--threads", threads.threads,
                       "RC traffic of so many threads, each with an event queue, an interrupt "
                       "vector and objects of its own")
          ->check(CLI::Range(1u, freehca::budget::most_completion_event_queues));
  for (const char* const other : {"--service", "--shared-receives", "--counted"})
    by_threads->excludes(ping_command->get_option(other));
  ping_command
      ->add_option("--seconds", threads.seconds,
                   "with --threads: so long, instead of a number of messages")
      ->check(CLI::Range(1u, 86400u))
      ->needs(by_threads)
      ->excludes(ping_command->get_option("--messages"));
  ping_command
      ->add_option("--recover", threads.recoveries,
                   "with --threads: resets the adapter so often meanwhile")
      ->check(CLI::Range(1u, 1000u))
      ->needs(by_threads);
  explain_wrong_usage(app);
  CLI11_PARSE(app, argc, argv);

  if (*list_command) return list(options);
  if (*info_command) return info(options);
  held.size.budget.completion_event_queues = event_queues - 1;
  if (*up_command) return up(options, held);
  threads.port = traffic.port;
  threads.messages = traffic.messages;
  if (*ping_command && *by_threads) return ping(options, threads);
  if (*ping_command) return ping(options, traffic);
  if (*conform_command) return conform(options, conforming);
  if (*reset_command) return reset(options);
  if (*record_command) return record(options, recorded, argv);
  return 0;
}
