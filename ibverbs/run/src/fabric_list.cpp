// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric_list.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <freehca/wires_shm/fabrics.hpp>

#include "refusal.hpp"

namespace freehca::run {
namespace {

/// A name that another process chose, without bytes that a terminal would obey.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string to_text(const wires::fabric_listing& fabric) {
  std::string text = printable(fabric.name) + "\n";
  if (!fabric.problem.empty()) text += fmt::format("  {}\n", fabric.problem);
  else if (fabric.members.empty()) text += "  no process; the next one of this fabric uses it\n";
  for (const wires::fabric_member& m : fabric.members)
    text += fmt::format("  slot {:<2}  LID {:<5}  process {:<7}  {}\n", m.slot, m.lid, m.process,
                        printable(m.program));
  return text;
}

nlohmann::json to_json(const wires::fabric_listing& fabric) {
  nlohmann::json members = nlohmann::json::array();
  for (const wires::fabric_member& m : fabric.members)
    members.push_back(
        {{"slot", m.slot}, {"lid", m.lid}, {"process", m.process}, {"program", m.program}});
  nlohmann::json document{{"name", fabric.name}, {"members", std::move(members)}};
  if (!fabric.problem.empty()) document["problem"] = fabric.problem;
  return document;
}

}  // namespace

int list_fabrics(bool json) {
  const std::vector<wires::fabric_listing> all = wires::fabrics();
  const bool complete = std::all_of(all.begin(), all.end(),
                                    [](const auto& fabric) { return fabric.problem.empty(); });
  if (json) {
    nlohmann::json document{{"fabrics", nlohmann::json::array()}};
    for (const wires::fabric_listing& fabric : all) document["fabrics"].push_back(to_json(fabric));
    // A program's name may have bytes that are no UTF-8.
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    if (all.empty()) fmt::print("no fabrics\n");
    for (const wires::fabric_listing& fabric : all) fmt::print("{}", to_text(fabric));
  }
  return complete ? 0 : system_error;
}

}  // namespace freehca::run
