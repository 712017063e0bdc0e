// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/description/adapter.hpp>

#include <fmt/format.h>

#include <freehca/layouts/port_names.hpp>
#include <freehca/texts/names.hpp>

namespace freehca::description {
namespace {

std::string guid_text(std::uint64_t guid) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48 & 0xffff, guid >> 32 & 0xffff,
                     guid >> 16 & 0xffff, guid & 0xffff);
}

std::string firmware_text(const device_info& i) {
  return fmt::format("{}.{}.{:04}", i.firmware_major, i.firmware_minor, i.firmware_subminor);
}

std::uint64_t lent_context(const device_info& i) {
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : i.lent_context) sum += bytes;
  return sum;
}

}  // namespace

nlohmann::json to_json(const device& adapter, identity who) {
  const device_info i = adapter.info();
  nlohmann::json j = {
      {"pci_id", fmt::format("{:04x}:{:04x}", i.pci_vendor, i.pci_device)},
      {"pci_subsystem", fmt::format("{:04x}:{:04x}", i.pci_subsystem_vendor, i.pci_subsystem)},
      {"pci_revision", i.pci_revision},
      {"hardware_id", i.hardware_id},
      {"firmware", firmware_text(i)},
      {"command_interface", i.command_interface},
      {"commands_in_flight", i.most_commands},
      {"board_id", i.board_id},
      {"node_guid", guid_text(i.node_guid)},
      {"system_image_guid", guid_text(i.system_image_guid)},
      {"interrupts", i.interrupts_work},
      {"line_interrupt", i.line_interrupt},
      {"internal_errors_show", i.internal_errors_show},
      {"commands_issued", i.commands_issued},
      {"resets", i.resets},
      {"bytes_lent",
       {{"firmware", i.lent_firmware},
        {"auxiliary", i.lent_auxiliary},
        {"context", lent_context(i)}}},
      {"capabilities", to_json(adapter.capabilities())},
  };
  for (unsigned t = 0; t < context_tables_count; ++t)
    j["bytes_lent"]["by_table"][name_of(static_cast<context_table>(t))] = i.lent_context[t];
  for (unsigned n = 0; n < i.ports; ++n) {
    const port_attributes& p = i.port[n];
    j["ports"].push_back({{"number", n + 1},
                          {"link_layer", layouts::name_of(p.link_layer)},
                          {"state", layouts::name_of(p.state)},
                          {"guid", guid_text(p.guid)},
                          {"lid", p.lid},
                          {"sm_lid", p.sm_lid},
                          {"mtu", layouts::mtu_bytes(p.active_mtu)},
                          {"max_mtu", layouts::mtu_bytes(p.max_mtu)},
                          {"gids", p.gid_table_length},
                          {"pkeys", p.pkey_table_length},
                          {"capability_mask", p.capability_mask}});
  }
  if (who == identity::included) return j;
  for (const char* key : {"node_guid", "system_image_guid"}) j.erase(key);
  if (j.contains("ports"))
    for (auto& p : j["ports"]) p.erase("guid");
  return j;
}

std::string to_text(const device& adapter, identity who) {
  const auto guid = [who](std::uint64_t g) {
    return who == identity::included ? guid_text(g) : std::string("left out");
  };
  const device_info i = adapter.info();
  std::string t = fmt::format(
      "adapter    {:04x}:{:04x}, subsystem {:04x}:{:04x}, revision {:02x}, hardware {:#010x}\n"
      "firmware   {}, board {}, command interface {}, {} commands in flight, completion by {}\n"
      "GUIDs      node {}, system image {}\n",
      i.pci_vendor, i.pci_device, i.pci_subsystem_vendor, i.pci_subsystem, i.pci_revision,
      i.hardware_id, firmware_text(i), i.board_id, i.command_interface, i.most_commands,
      !i.interrupts_work ? "polling"
      : i.line_interrupt ? "line interrupt"
                         : "interrupt",
      guid(i.node_guid), guid(i.system_image_guid));
  for (unsigned n = 0; n < i.ports; ++n) {
    const port_attributes& p = i.port[n];
    t += fmt::format(
        "port {}     {}, {}, GUID {}, LID {}, SM LID {}, MTU {} of {}, {} GIDs, {} P_Keys\n", n + 1,
        layouts::name_of(p.link_layer), layouts::name_of(p.state), guid(p.guid), p.lid, p.sm_lid,
        layouts::mtu_bytes(p.active_mtu), layouts::mtu_bytes(p.max_mtu), p.gid_table_length,
        p.pkey_table_length);
  }
  if (!i.internal_errors_show)
    t += "WARNING    its error buffer cannot be read: an internal error shows only in commands "
         "without an answer\n";
  t += to_text(adapter.capabilities());
  t += fmt::format("commands   {} issued, {} {}\n", i.commands_issued, i.resets,
                   i.resets == 1 ? "reset" : "resets");
  t += fmt::format("lent       {} bytes to the firmware, {} auxiliary, {} context memory:",
                   i.lent_firmware, i.lent_auxiliary, lent_context(i));
  for (unsigned n = 0; n < context_tables_count; ++n)
    if (i.lent_context[n] != 0)
      t += fmt::format(" {} {}", name_of(static_cast<context_table>(n)), i.lent_context[n]);
  return t + "\n";
}

}  // namespace freehca::description
