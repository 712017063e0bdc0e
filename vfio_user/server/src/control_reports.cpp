// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The states of the client, the adapter and its ports, for the control socket.
#include <fmt/format.h>

#include "control_answers.hpp"
#include "without_exceptions.hpp"

namespace freehca::device_server {
namespace {

json client_report(const control_subject& about) {
  return {{"connected", about.client.serving()},
          {"mappings", about.memory.count()},
          {"mapped_bytes", about.memory.bytes()},
          {"mappings_cut_short", about.memory.cut_short()}};
}

json adapter_report(const control_subject& about) {
  const adapter_function& f = about.adapter.function;
  const configuration_space& space = f.configuration();
  return {{"variant", about.adapter.how.configuration.card->name},
          {"node_guid", fmt::format("{:#018x}", about.adapter.how.model.node_guid)},
          {"memory_space", space.memory_space()},
          {"bus_master", space.bus_master()},
          {"powered", space.in_d0()},
          {"interrupts", space.msix_enabled() ? "msix" : "pin"},
          {"removed", f.removed()},
          {"in_reset", freehca_model_in_reset(f.model())},
          {"failed", freehca_model_failed(f.model())},
          {"held_commands", freehca_model_held_commands(f.model())},
          {"capture_errors", f.capture_errors()}};
}

json port_report(const control_subject& about, unsigned port) {
  const settings& how = about.adapter.how;
  json report{{"port", port}};
  freehca_model_port_view view{};
  // A failed adapter does not report its ports.
  if (freehca_model_view_port(about.adapter.function.model(), port, &view)) {
    report["link"] = view.ethernet ? "eth" : "ib";
    report["open"] = view.open;
    report["peer"] = view.peer;
    report["link_up"] = view.link_up;
    report["active"] = view.active;
  }
  report["changeable_link"] = how.model.vpi[port - 1];
  const wires::wire* cable = about.adapter.function.cable(port - 1);
  report["cable"] = {{"to", how.wire[port - 1]},
                     {"plugged", how.cable_plugged[port - 1]},
                     {"state", cable != nullptr ? cable->state_name() : "none"}};
  return report;
}

std::string mac_text(std::uint64_t mac) {
  std::string text;
  for (int shift = 40; shift >= 0; shift -= 8)
    text += fmt::format("{:02x}{}", mac >> shift & 0xff, shift == 0 ? "" : ":");
  return text;
}

}  // namespace

json state_answer(control_subject& about, const json&) {
  json answer = success();
  answer["client"] = client_report(about);
  answer["adapter"] = adapter_report(about);
  for (unsigned port = 1; port <= about.adapter.how.model.ports; ++port)
    answer["ports"].push_back(port_report(about, port));
  return answer;
}

json receives_answer(control_subject& about, const json& arguments) {
  const std::uint64_t port = arguments["port"];
  if (port < 1 || port > about.adapter.how.model.ports)
    return refusal(fmt::format("receives: port {}: the adapter has 1 to {}", port,
                               unsigned{about.adapter.how.model.ports}));
  struct reader {
    json addresses = json::array(), vlans = json::array();
  } all;
  freehca_model_receive_filter filter{};
  filter.context = &all;
  filter.add_address = [](void* to, std::uint64_t mac) {
    without_exceptions([&] { static_cast<reader*>(to)->addresses.push_back(mac_text(mac)); });
  };
  filter.add_vlan = [](void* to, std::uint16_t vlan) {
    without_exceptions([&] { static_cast<reader*>(to)->vlans.push_back(vlan); });
  };
  json answer = success();
  answer["port"] = port;
  answer["open"] =
      freehca_model_receives(about.adapter.function.model(), static_cast<unsigned>(port), &filter);
  if (!answer["open"].get<bool>()) return answer;
  answer["mac"] = mac_text(filter.mac);
  answer["addresses"] = std::move(all.addresses);
  answer["broadcast"] = filter.broadcast;
  answer["promiscuous"] = filter.promiscuous;
  answer["all_multicast"] = filter.all_multicast;
  if (filter.all_vlans) answer["vlans"] = "all";
  else answer["vlans"] = std::move(all.vlans);
  return answer;
}

}  // namespace freehca::device_server
