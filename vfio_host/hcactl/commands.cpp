// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "commands.hpp"

#include <fmt/format.h>

#include "conform.hpp"
#include "nic.hpp"
#include "print.hpp"
#include "threads.hpp"
#include "tool_host.hpp"
#include "verdict.hpp"
#include "work.hpp"

namespace freehca::hcactl {
namespace {

using blocking::session;
// `more_bytes`: bytes of memory that are mapped for the device beyond those of the session.
int with_session(const common_options& options, bool take_over, std::size_t more_bytes,
                 const work& doing, const easy::sizes& size = usual_size(),
                 const verbs_events& events = {}) {
  auto opened = open_adapter(options, device::dma_bytes(size.budget) + more_bytes);
  if (!opened) return report(opened.error(), options.json);
  tool_host& host = **opened;
  loopback_traffic::traffic_memory memory;
  session s(host, size);
  workplace at{.driver = s,
               .memory = memory,
               .address = host.address(),
               .json = options.json,
               .wanted_back = [&host] { return host.wanted_back(); },
               .events = events,
               .verdict = {}};
  at.verdict = [&](status outcome, const char* task) {
    return verdict(host, s, outcome, task, at.address);
  };
  return run(at, take_over, doing);
}

}  // namespace

int info(const common_options& options, const info_options& how) {
  auto view = look_at_adapter(options);
  if (!view) return report(view.error(), options.json);
  nlohmann::json document = std::move(view->document);
  document["usable"] = !view->obstacle;
  if (!options.json) fmt::print("{}", view->text);
  if (view->obstacle) document["obstacle"] = view->obstacle->message;
  if (how.reset && !view->obstacle)
    return with_session(options, false, 0,
                        with_adapter([&document](workplace& at) { return inform(at, document); }));
  const std::string more =
      fmt::format("limits, ports and what it can do take a bring-up, which resets it: {}",
                  command_line_for("info", options.address, "--reset"));
  if (!view->obstacle) document["more"] = more;
  if (options.json) fmt::print("{}\n", document.dump(2));
  else fmt::print("{}\n", view->obstacle ? view->obstacle->message : "usable     yes; " + more);
  return 0;
}

int up(const common_options& options, const up_options& what) {
  return with_session(options, false, 0,
                      with_adapter([&what](workplace& at) { return stay_up(at, what); }),
                      what.size);
}

int ping(const common_options& options, const ping_options& traffic) {
  return with_session(options, false, loopback_traffic::traffic_bytes(),
                      with_adapter([&traffic](workplace& at) { return move_data(at, traffic); }));
}

int ping(const common_options& options, const threads_options& settings) {
  return with_session(
      options, false, threads_bytes(settings.threads),
      with_adapter([&settings](workplace& at) { return move_data_by_threads(at, settings); }),
      size_for_threads(settings.threads));
}

int nic(const common_options& options, const nic_options& what) {
  return with_session(options, false, nic_bytes(what),
                      with_adapter([&what](workplace& at) { return join_tap(at, what); }),
                      size_for_nic(what));
}

int conform(const common_options& options, const conform_options& how) {
  if (!how.yes) {
    // The list ends with a command for the user to type, so the address must be valid.
    if (const auto why = malformed(options)) return report(*why, options.json);
    if (options.json) fmt::print("{}\n", list_to_json().dump(2));
    else fmt::print("{}", list_to_text(options.address));
    return 0;
  }
  conformance::heard_events heard;
  return with_session(options, false, 0,
                      with_adapter([&](workplace& at) { return run_conformance(at, heard, how); }),
                      usual_size(), heard.events());
}

int reset(const common_options& options) {
  return with_session(options, true, 0, reset_adapter);
}

}  // namespace freehca::hcactl
