// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the files of the device say (ibverbs/files).
#include <algorithm>
#include <cstdio>
#include <cstring>

#include <freehca/hca/ports.hpp>
#include <freehca/ibverbs_files/device_facts.hpp>

#include "engine.hpp"

namespace freehca::ibverbs {

namespace {

using ibverbs_files::device_facts;
using ibverbs_files::gid_facts;
using ibverbs_files::port_facts;

// Linux 6.1 drivers/infiniband/core/sysfs.c state_show, phys_state_to_str.
const char* const states[] = {"0: NOP", "1: DOWN", "2: INIT", "3: ARMED", "4: ACTIVE"};
const char* const physical_states[] = {"0: <unknown>",
                                       "1: Sleep",
                                       "2: Polling",
                                       "3: Disabled",
                                       "4: PortConfigurationTraining",
                                       "5: LinkUp",
                                       "6: LinkErrorRecovery",
                                       "7: Phy Test"};

template <std::size_t Count>
const char* text_of(const char* const (&texts)[Count], std::size_t which) {
  return which < Count ? texts[which] : texts[0];
}

/// As Linux writes it (6.1 drivers/infiniband/core/sysfs.c rate_show).
std::string rate_of(const port_attributes& port) {
  using layouts::link_speed;
  using layouts::link_speed_ext;
  const bool fdr = port.active_speed_ext == link_speed_ext::fdr;
  const char* const name = fdr                                    ? " FDR"
                           : port.active_speed == link_speed::qdr ? " QDR"
                           : port.active_speed == link_speed::ddr ? " DDR"
                                                                  : "";
  // Tenths of Gb/s of one lane.
  const unsigned lane = fdr ? 140 : 25 * std::max(1u, static_cast<unsigned>(port.active_speed));
  const unsigned code = static_cast<unsigned>(port.active_width);
  const unsigned lanes = code == 1 ? 1 : code == 2 ? 4 : code == 4 ? 8 : code == 8 ? 12 : 2;
  const unsigned tenths = lane * lanes;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " Gb/sec (" + std::to_string(lanes) + "X" + name + ")";
}

/// As Linux has it for mlx4 (6.1 hw/mlx4/main.c eth_link_query_port, core/sysfs.c). An entry of the
/// GID table that is not used has zeros, and no type.
template <class Add>
void add_ethernet(engine& here, unsigned number, const Add& add, port_facts& to) {
  constexpr std::uint32_t has_connection_manager = 1u << 16;  // ib_port_capability_mask_bits
  const engine::port_tables& tables = here.port(number);
  const std::size_t length = here.hardware().port(number).gid_table_length;
  to.link_layer = "Ethernet";
  to.capability_mask = has_connection_manager;
  for (const port_gid& from : tables.gids) {
    gid_facts& added = add(from.address);
    added.type = from.version == roce_version::v1 ? "IB/RoCE v1" : "RoCE v2";
    added.network_device = tables.network_device;
  }
  for (std::size_t i = tables.gids.size(); i < length; ++i) add(gid{}).type.clear();
  to.network_device = tables.network_device;
  for (unsigned i = 0; i < to.mac.size(); ++i)
    to.mac[i] = static_cast<std::uint8_t>(tables.mac >> (40 - 8 * i));
}

port_facts port_of(engine& here, unsigned number) {
  const port_attributes& now = here.hardware().port(number);
  port_facts to;
  to.state = text_of(states, static_cast<std::size_t>(now.state));
  to.physical_state = text_of(physical_states, static_cast<std::size_t>(now.physical_state));
  to.rate = rate_of(now);
  to.lid = now.lid;
  to.sm_lid = now.sm_lid;
  to.lid_mask_count = now.lmc;
  to.sm_sl = now.sm_sl;
  to.capability_mask = now.capability_mask;
  const auto add = [&to](const gid& from) -> gid_facts& {
    gid_facts& added = to.gids.emplace_back();
    std::copy(std::begin(from.raw), std::end(from.raw), added.raw.begin());
    return added;
  };
  for (const std::uint64_t guid : here.port(number).guids) add(gid_of(now.subnet_prefix, guid));
  if (now.link_layer == layouts::port_type::ethernet) add_ethernet(here, number, add, to);
  to.pkeys = here.port(number).pkeys;
  return to;
}

const device_facts& facts() {
  thread_local device_facts to;
  to = {};
  to.name = "freehca0";
  to.uverbs_name = "uverbs-freehca0";
  to.node_description = "freehca";
  to.port_count = 1;
  std::string why;
  engine* const here = engine::get(why);
  if (here == nullptr) return to;
  const engine::guard held(here->lock);
  const device_info info = here->hardware().info();
  to.node_guid = info.node_guid;
  to.system_image_guid = info.system_image_guid;
  to.vendor = info.pci_vendor;
  to.device = static_cast<std::uint16_t>(here->part_id());
  to.revision = info.pci_revision;
  char version[32];
  std::snprintf(version, sizeof version, "%u.%u.%u", info.firmware_major, info.firmware_minor,
                info.firmware_subminor);
  to.firmware_version = version;
  to.board_id = info.board_id;
  to.port_count = std::min<unsigned>(here->ports(), to.ports.size());
  for (unsigned number = 1; number <= to.port_count; ++number)
    to.ports[number - 1] = port_of(*here, number);
  return to;
}

[[gnu::constructor]] void begin() {
  ibverbs_files::set_facts_source(facts);
}

}  // namespace
}  // namespace freehca::ibverbs
