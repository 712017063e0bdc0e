// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "threads.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <freehca/description/adapter.hpp>

#include "owner_team.hpp"

namespace freehca::hcactl {

using loopback_traffic::owner_traffic;
using loopback_traffic::scattered_memory;
using vfio_host::failure;
using vfio_host::trouble;

easy::sizes size_for_threads(unsigned threads) {
  easy::sizes s = usual_size();
  s.budget.completion_event_queues = threads;
  // The rings and doorbell records of a thread's objects.
  s.budget.queue_bytes += threads * (std::size_t{256} << 10);
  s.budget.doorbell_bytes += threads * (std::size_t{4} << 10);
  return s;
}

std::size_t threads_bytes(unsigned threads) {
  return threads * scattered_memory::whole_pages(owner_traffic::buffer_bytes);
}

namespace {

/// The part of the requested work that is done; 1 is all of it.
double progress(const owner_team& team, const threads_options& settings, std::uint64_t since,
                std::uint64_t now) {
  if (settings.seconds == 0)
    return static_cast<double>(team.least_messages()) / static_cast<double>(settings.messages);
  return static_cast<double>(now - since) / static_cast<double>(clock::seconds(settings.seconds));
}

/// Drives the device until the work is done or a thread has ended. A thread that ended early has
/// its reason in its member.
std::optional<failure> drive(workplace& at, owner_team& team, const threads_options& settings) {
  const device& adapter = at.driver.adapter().hardware();
  const std::uint64_t since = adapter.platform().now();
  for (unsigned recovered = 0;;) {
    at.driver.turn();
    if (at.driver.host().interrupted()) return at.verdict(driver_error::cancelled, "traffic");
    if (!adapter.up()) return at.verdict(transport_error::gone, "traffic");
    if (team.somebody_ended()) return std::nullopt;
    if (const std::string why = team.look(); !why.empty()) return failure{trouble::system, why};
    // Each thread must have moved data between two resets.
    if (!team.all_moved()) continue;
    const double done = progress(team, settings, since, adapter.platform().now());
    if (recovered == settings.recoveries) {
      if (done >= 1) return std::nullopt;
      continue;
    }
    if (done * (settings.recoveries + 1) < recovered + 1) continue;
    if (const status s = team.recover(); !s.ok()) {
      if (team.somebody_ended()) return std::nullopt;
      return at.verdict(s, "recovery");
    }
    ++recovered;
  }
}

nlohmann::json report_messages(const workplace& at, const owner_team& team) {
  nlohmann::json threads = nlohmann::json::array();
  std::uint64_t total = 0;
  if (!at.json) fmt::print("threads    name                messages  resets  ended by resets\n");
  for (const owner_team::member& m : team.members()) {
    if (!at.json)
      fmt::print("           {:<15} {:>12} {:>7} {:>16}\n", m.name, m.messages(), m.traffic.resets,
                 m.traffic.requests_ended);
    threads.push_back({{"name", m.name},
                       {"messages", m.messages()},
                       {"requests_ended_by_resets", m.traffic.requests_ended},
                       {"resets", m.traffic.resets}});
    total += m.messages();
  }
  if (!at.json) fmt::print("           {} messages in all, each byte of them verified\n", total);
  return {{"threads", threads}, {"total", total}};
}

}  // namespace

findings move_data_by_threads(workplace& at, const threads_options& settings) {
  const device& adapter = at.driver.adapter().hardware();
  if (!at.json) fmt::print("{}", description::to_text(adapter));
  if (auto why = unusable_port(at, settings.port)) return *why;
  nlohmann::json document{{"adapter", description::to_json(adapter)}};
  owner_team team(at);
  std::optional<failure> why = team.start(settings);
  if (!why) why = drive(at, team, settings);
  if (auto left = team.end(); !why) why = left;
  document.update(report_messages(at, team));
  if (why) return *why;
  for (const owner_team::member& m : team.members()) {
    if (!m.traffic.wrong.empty())
      return failure{trouble::wrong_data, m.name + ": " + m.traffic.wrong};
    if (!m.traffic.outcome.ok()) return at.verdict(m.traffic.outcome, m.name.c_str());
  }
  return document;
}

}  // namespace freehca::hcactl
