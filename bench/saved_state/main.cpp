// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How large the state of a model with connected queue pairs is, and how long it takes to save it
// and to load it in a new model. The peer is memcpy() of the same bytes.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <freehca/blocking/words.hpp>

#include "connecting.hpp"
#include "rig.hpp"

namespace {

using namespace freehca;

// Of 16,384 connected queue pairs (docs/evidence/model-state.md).
constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr double most_milliseconds = 150;

struct figures {
  std::size_t bytes = 0;
  double save = 0, load = 0, copy = 0;  // milliseconds, the least of all runs
  std::string refusal;
};

template <class Work>
double milliseconds(Work work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
      .count();
}

figures measure(model::device& adapter, unsigned runs) {
  figures f;
  for (unsigned run = 0; run < runs && f.refusal.empty(); ++run) {
    std::vector<std::byte> stream;
    const double save = milliseconds([&] { stream = adapter.save(); });
    in_process::machine target{in_process::machine_options{}};
    bool taken = false;
    const double load = milliseconds([&] { taken = target.adapter().load(stream, f.refusal); });
    if (!taken && f.refusal.empty()) f.refusal = "no reason was given";
    std::vector<std::byte> copied(stream.size());
    const double copy =
        milliseconds([&] { std::memcpy(copied.data(), stream.data(), stream.size()); });
    f.bytes = stream.size();
    f.save = run == 0 ? save : std::min(f.save, save);
    f.load = run == 0 ? load : std::min(f.load, load);
    f.copy = run == 0 ? copy : std::min(f.copy, copy);
  }
  return f;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("freehca: the state of a model with connected queue pairs");
  bench::connecting_options how{.queue_pairs = 16384};
  unsigned runs = 5;
  bool check = false;
  app.add_option("--queue-pairs", how.queue_pairs, "RC queue pairs that are connected")
      ->check(CLI::Range(1u, 65536u));
  app.add_option("--runs", runs, "saves and loads; the fastest of each counts")
      ->check(CLI::Range(1u, 100u));
  app.add_flag("--check", check, "exit status 1 if a bound is missed");
  CLI11_PARSE(app, argc, argv);

  bench::rig rig({}, how.queue_pairs);
  figures f;
  how.connected = [&] { f = measure(rig.machine.adapter(), runs); };
  status outcome = rig.open();
  if (outcome.ok())
    outcome = connect_queue_pairs({.adapter = rig.adapter,
                                   .objects = rig.objects,
                                   .domain = rig.domain,
                                   .completions = rig.completions,
                                   .now = [&rig] { return rig.machine.time(); },
                                   .until = [&rig](const auto& done) { return rig.drive(done); }},
                                  how)
                  .outcome;
  const status closed = rig.close();
  if (outcome.ok()) outcome = closed;
  if (!outcome.ok() || !f.refusal.empty()) {
    fmt::print(stderr, "bench: {}\n",
               outcome.ok() ? "the state is refused: " + f.refusal
                            : std::string(blocking::words(outcome)));
    return EXIT_FAILURE;
  }
  fmt::print("{} connected queue pairs: {} bytes, {} each\n", how.queue_pairs, f.bytes,
             f.bytes / how.queue_pairs);
  fmt::print("{:<10} {:>9.1f} ms, {:>6.1f} times memcpy() of these bytes\n", "save", f.save,
             f.save / f.copy);
  fmt::print("{:<10} {:>9.1f} ms, {:>6.1f} times memcpy() of these bytes\n", "load", f.load,
             f.load / f.copy);
  const bool within = f.bytes <= most_bytes && f.save + f.load <= most_milliseconds;
  if (check && !within)
    fmt::print(stderr, "bench: the bounds are {} bytes and {} ms for both\n", most_bytes,
               most_milliseconds);
  return check && !within ? EXIT_FAILURE : EXIT_SUCCESS;
}
