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

std::string mac_text(std::uint64_t mac) {
  std::string text;
  for (int shift = 40; shift >= 0; shift -= 8)
    text += fmt::format("{}{:02x}", text.empty() ? "" : ":", mac >> shift & 0xff);
  return text;
}

/// The addresses of a member, as columns.
std::string addresses_of(const wires::fabric_listing& fabric, const wires::fabric_member& m) {
  if (fabric.link != wires::link_layer::ethernet) return fmt::format("LID {:<5}", m.lid);
  return fmt::format("MAC {}  IP {:<15}", mac_text(m.mac), wires::text_of(m.address));
}

/// The addresses of a member on VLANs, behind its other columns.
std::string vlans_of(const wires::fabric_member& m) {
  std::string text;
  for (const wires::vlan_address& a : m.vlan_addresses)
    text += fmt::format("  VLAN {} IP {}", a.vlan, wires::text_of(a.address));
  return text;
}

std::string to_text(const wires::fabric_listing& fabric) {
  std::string text = printable(fabric.name) + "\n";
  if (!fabric.problem.empty()) text += fmt::format("  {}\n", fabric.problem);
  else if (fabric.members.empty()) text += "  no process; the next one of this fabric uses it\n";
  for (const wires::fabric_member& m : fabric.members)
    text += fmt::format("  slot {:<2}  {}  process {:<7}  {}{}\n", m.slot, addresses_of(fabric, m),
                        m.process, printable(m.program), vlans_of(m));
  return text;
}

nlohmann::json to_json(const wires::fabric_listing& fabric) {
  nlohmann::json members = nlohmann::json::array();
  const bool ethernet = fabric.link == wires::link_layer::ethernet;
  for (const wires::fabric_member& m : fabric.members) {
    nlohmann::json member{{"slot", m.slot}, {"process", m.process}, {"program", m.program}};
    if (ethernet) {
      member["mac"] = mac_text(m.mac);
      member["ip"] = wires::text_of(m.address);
      for (const wires::vlan_address& a : m.vlan_addresses)
        member["vlans"].push_back({{"vlan", a.vlan}, {"ip", wires::text_of(a.address)}});
    } else {
      member["lid"] = m.lid;
    }
    members.push_back(std::move(member));
  }
  nlohmann::json document{{"name", fabric.name},
                          {"link", ethernet ? "roce" : "infiniband"},
                          {"members", std::move(members)}};
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
