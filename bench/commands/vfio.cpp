// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// RC queue pairs from nothing to RTS by our driver over VFIO, on the clock of the machine: the peer
// of linux_ibverbs.cpp.
#include <cstdlib>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <freehca/blocking/words.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

#include "budgets.hpp"
#include "connecting.hpp"
#include "over_vfio.hpp"

namespace {

using namespace freehca;
using vfio_host::vfio_device;

status connect_in(bench::vfio_rig& s, const bench::connecting_options& how,
                  bench::connecting_result& r) {
  FREEHCA_TRY(s.bring_up());
  const auto domain = s.objects.create<protection_domain>();
  if (!domain.ok()) return domain.error();
  create_completion_queue c;
  c.start(s.objects, {.entries = 64});
  FREEHCA_TRY(s.await(c));
  r = connect_queue_pairs({.adapter = s.adapter,
                           .objects = s.objects,
                           .domain = domain.value(),
                           .completions = c.made(),
                           .now = vfio_device::clock,
                           .until =
                               [&s](const auto& done) {
                                 while (!done()) s.turn();
                                 return status();
                               }},
                          how);
  FREEHCA_TRY(r.outcome);
  destroy_completion_queue d;
  d.start(s.objects, c.made());
  FREEHCA_TRY(s.await(d));
  return s.objects.destroy(domain.value());
}

int fail(const std::string& why) {
  fmt::print(stderr, "bench: {}\n", why);
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("freehca: RC queue pairs from nothing to RTS, over VFIO");
  std::string address;
  bench::connecting_options how;
  app.add_option("address", address, "PCI address of the adapter, bound to vfio-pci")->required();
  app.add_option("--queue-pairs", how.queue_pairs, "to connect")->check(CLI::Range(1u, 65536u));
  app.add_option("--at-a-time", how.at_a_time, "of these at the same time")
      ->check(CLI::Range(1u, 4096u));
  CLI11_PARSE(app, argc, argv);

  bench::vfio_rig s(address, bench::budget_for(how.queue_pairs),
                    bench::objects_for(how.queue_pairs));
  if (!s.trouble().empty()) return fail(s.trouble());
  bench::connecting_result r;
  status outcome = connect_in(s, how, r);
  const status down = s.tear_down();
  if (outcome.ok()) outcome = down;
  if (!outcome.ok()) return fail(blocking::words(outcome));
  const double seconds = static_cast<double>(r.nanoseconds) / 1e9;
  fmt::print("{}\n", nlohmann::json{{"driver", "freehca"},
                                    {"queue_pairs", how.queue_pairs},
                                    {"commands", r.commands},
                                    {"seconds", seconds},
                                    {"queue_pairs_per_second", how.queue_pairs / seconds}}
                         .dump());
  return EXIT_SUCCESS;
}
