// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <net/if.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <freehca/hca/ports.hpp>
#include <freehca/layouts/layout.hpp>

#include "errors.hpp"
#include "gid_tables.hpp"
#include "objects.hpp"
#include "uncancellable.hpp"

namespace freehca::ibverbs {

namespace {

constexpr std::uint32_t mellanox = 0x02c9;
/// Linux reports so many fewer requests of a send queue than the firmware names, as room for what
/// its queues keep free (6.1 drivers/infiniband/hw/mlx4/mlx4_ib.h MLX4_IB_SQ_MAX_SPARE).
constexpr int spare_requests = 33;

/// What the adapter has for windows and for requests that manage memory, as Linux reports it (6.1
/// hw/mlx4/main.c mlx4_ib_query_device).
unsigned memory_flags(const capabilities& can) {
  using layouts::bmme_flag;
  unsigned flags = 0;
  if (can.has(bmme_flag::fast_register) && can.has(bmme_flag::local_invalidate) &&
      can.has(bmme_flag::remote_invalidate))
    flags |= IBV_DEVICE_MEM_MGT_EXTENSIONS;
  if (!can.has(layouts::dev_cap_flag::memory_window)) return flags;
  flags |= IBV_DEVICE_MEM_WINDOW;
  if (can.has(bmme_flag::window_type_2) && can.has(bmme_flag::window_type_2b))
    flags |= IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  return flags;
}

void describe_device(engine& here, ibv_device_attr& to) {
  const capabilities& can = here.hardware().capabilities();
  const device_info info = here.hardware().info();
  std::snprintf(to.fw_ver, sizeof to.fw_ver, "%u.%u.%u", info.firmware_major, info.firmware_minor,
                info.firmware_subminor);
  to.node_guid = layouts::swap_be(info.node_guid);
  to.sys_image_guid = layouts::swap_be(info.system_image_guid);
  to.max_mr_size = ~std::uint64_t{0};
  to.page_size_cap = ~std::uint64_t{0} << can.log_smallest_page;
  to.vendor_id = mellanox;
  to.vendor_part_id = here.part_id();
  to.hw_ver = info.pci_revision;
  const object_limits& limits = here.limits();
  to.max_qp = static_cast<int>(limits.queue_pairs);
  to.max_qp_wr = static_cast<int>(queue_limits_of(here).requests);
  to.device_cap_flags = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
                        IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                        IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SHUTDOWN_PORT |
                        IBV_DEVICE_RAW_IP_CSUM | memory_flags(can);
  if (can.has(layouts::dev_cap_flag::xrc)) to.device_cap_flags |= IBV_DEVICE_XRC;
  if (has_flow_rules(here)) to.device_cap_flags |= IBV_DEVICE_MANAGED_FLOW_STEERING;
  to.max_sge = static_cast<int>(queue_limits_of(here).entries);
  to.max_cq = static_cast<int>(limits.completion_queues);
  to.max_cqe = static_cast<int>(limits.completions);
  to.max_mr = static_cast<int>(limits.regions);
  if ((to.device_cap_flags & IBV_DEVICE_MEM_WINDOW) != 0)
    to.max_mw = static_cast<int>(limits.windows);
  to.max_pd = static_cast<int>(limits.domains);
  to.max_qp_rd_atom = static_cast<int>(can.most_reads_as_responder);
  to.max_qp_init_rd_atom = static_cast<int>(can.most_reads_as_requester);
  to.max_res_rd_atom = to.max_qp_rd_atom * to.max_qp;
  to.atomic_cap = IBV_ATOMIC_HCA;
  to.max_ah = static_cast<int>(limits.address_handles);
  // Linux 6.1 hw/mlx4/main.c mlx4_ib_query_device, mlx4/main.c choose_steering_mode.
  const budget& opened = here.hardware().opened_with();
  to.max_mcast_grp = 1 << opened.log_mcgs;
  to.max_mcast_qp_attach =
      static_cast<int>(here.hardware().steers_by_rules()
                           ? can.raw.get<&layouts::query_dev_cap::dmfs_max_qp_per_entry>()
                           : layouts::mcg_members_per_entry(opened.log_mcg_entry_bytes));
  to.max_total_mcast_qp_attach = static_cast<int>(limits.group_members);
  to.max_srq = static_cast<int>(limits.shared_receive_queues);
  to.max_srq_wr = (1 << can.log_most_srq_wqes) - 1;
  // An entry begins with the link to the next one, which is as large as a data segment.
  const auto most_in_srq = static_cast<int>(can.most_qp_wqe_bytes_rq / sizeof(ibv_sge)) - 1;
  to.max_srq_sge = std::min(static_cast<int>(can.most_scatter), most_in_srq);
  for (unsigned port = 1; port <= here.ports(); ++port)
    to.max_pkeys = std::max(to.max_pkeys, static_cast<std::uint16_t>(here.port(port).pkeys.size()));
  to.local_ca_ack_delay = static_cast<std::uint8_t>(can.local_ack_delay);
  to.phys_port_cnt = static_cast<std::uint8_t>(can.ports);
}

/// What a device with an Ethernet port can do with frames (Linux 6.1 hw/mlx4/main.c
/// mlx4_ib_query_device).
void describe_frames(engine& here, ibv_device_attr_ex& to) {
  bool ethernet = false;
  for (unsigned port = 1; port <= here.ports(); ++port) ethernet |= is_ethernet(here, port);
  if (!ethernet) return;
  const capabilities& can = here.hardware().capabilities();
  if (can.has(layouts::dev_cap_flag::fcs_keep))
    to.raw_packet_caps |= IBV_RAW_PACKET_CAP_SCATTER_FCS;
  const auto most = static_cast<unsigned>(can.raw.get<&layouts::query_dev_cap::log_max_gso_sz>());
  if (most == 0 || !can.has(layouts::dev_cap_flag::big_lso_header)) return;
  to.tso_caps.max_tso = 1u << most;
  to.tso_caps.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
}

ibv_port_state state_of(layouts::port_state s) {
  return static_cast<ibv_port_state>(s);  // IBTA codes on both sides
}

/// libibverbs' speed: FDR and EDR follow the older ones (IBTA PortInfo:LinkSpeedExtActive).
std::uint8_t speed_of(const port_attributes& port) {
  switch (port.active_speed_ext) {
    case layouts::link_speed_ext::fdr:
      return 16;
    case layouts::link_speed_ext::edr:
      return 32;
    default:
      return static_cast<std::uint8_t>(port.active_speed);
  }
}

/// Fills in as much as the caller's release of libibverbs has.
template <class Attributes>
void give(const Attributes& from, Attributes* to, std::size_t bytes) {
  std::memset(to, 0, bytes);
  std::memcpy(to, &from, std::min(bytes, sizeof from));
}

ibv_gid gid_from(const gid& from) {
  ibv_gid to;
  std::memcpy(to.raw, from.raw, sizeof to.raw);
  return to;
}

/// What differs on an Ethernet port (Linux 6.1 hw/mlx4/main.c eth_link_query_port,
/// core/uverbs_cmd.c copy_port_attr_to_resp).
void describe_ethernet(ibv_port_attr& to) {
  to.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  to.flags = IBV_QPF_GRH_REQUIRED;
  to.link_layer = IBV_LINK_LAYER_ETHERNET;
  to.max_vl_num = 2;
  // IBTA PortInfo:PortPhysicalState: LinkUp and Disabled.
  to.phys_state = to.state == IBV_PORT_ACTIVE ? 5 : 3;
  to.lid = to.sm_lid = 0;
  to.lmc = to.sm_sl = 0;
}

/// The number of the interface, 0 if the system has none of this name.
std::uint32_t interface_number(const std::string& name) {
  const uncancellable stays;
  return name.empty() ? 0 : if_nametoindex(name.c_str());
}

/// Returns 0, or an errno: ENODATA for an empty entry.
int find_entry(engine& here, std::uint32_t port, std::uint32_t index, gid_entry& to) {
  if (here.dead()) return ENODEV;
  if (!here.is_port(port)) return EINVAL;
  const engine::guard held(here.lock);
  if (index >= gid_count(here, port)) return EINVAL;
  to = gid_at(here, port, index);
  return to.empty ? ENODATA : 0;
}

}  // namespace

queue_limits queue_limits_of(engine& here) {
  const capabilities& can = here.hardware().capabilities();
  return {(1u << can.log_most_wqes) - static_cast<std::uint32_t>(spare_requests),
          std::min<std::uint32_t>(can.most_gather, can.most_scatter)};
}

namespace {

/// Sets errno. Returns -1.
int fail_with(int error) {
  errno = error;
  return -1;
}

/// As Linux answers (6.1 hw/mlx4/main.c mlx4_ib_query_device).
void describe_rss(engine& here, ibv_device_attr_ex& to) {
  const capabilities& can = here.hardware().capabilities();
  const auto log_most =
      static_cast<unsigned>(can.raw.get<&layouts::query_dev_cap::log_max_rss_tbl_sz>());
  bool any_ethernet = false;
  for (unsigned port = 1; port <= can.ports; ++port) any_ethernet |= is_ethernet(here, port);
  if (!any_ethernet || log_most == 0) return;
  ibv_rss_caps& rss = to.rss_caps;
  to.max_wq_type_rq = static_cast<std::uint32_t>(to.orig_attr.max_qp);
  rss.max_rwq_indirection_tables = to.max_wq_type_rq;
  rss.max_rwq_indirection_table_size = 1u << log_most;
  rss.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
  rss.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
  rss.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 |
                            IBV_RX_HASH_DST_IPV6 | IBV_RX_HASH_SRC_PORT_TCP |
                            IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP |
                            IBV_RX_HASH_DST_PORT_UDP;
}

}  // namespace

int query_device(ibv_context* context, const ibv_query_device_ex_input* input,
                 ibv_device_attr_ex* to, std::size_t bytes) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (bytes < sizeof(ibv_device_attr)) return EINVAL;
  engine& here = engine_of(context);
  if (here.dead()) return ENODEV;
  ibv_device_attr_ex found{};
  {
    const engine::guard held(here.lock);
    describe_device(here, found.orig_attr);
    describe_frames(here, found);
    if (const device_clock* const clock = here.clock(); clock != nullptr) {
      found.hca_core_clock = std::uint64_t{clock->megahertz()} * 1000;
      found.completion_timestamp_mask = (std::uint64_t{1} << timestamp_bits) - 1;
    }
  }
  found.device_cap_flags_ex = found.orig_attr.device_cap_flags;
  found.phys_port_cnt_ex = found.orig_attr.phys_port_cnt;
  // Those of the fields of the command. Linux 6.1 reports them too (mlx4_ib_query_device).
  found.cq_mod_caps.max_cq_count = found.cq_mod_caps.max_cq_period = 0xffff;
  describe_rss(here, found);
  give(found, to, bytes);
  return 0;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* to, std::size_t bytes) {
  engine& here = engine_of(context);
  if (here.dead()) return ENODEV;
  if (!here.is_port(port)) return EINVAL;
  ibv_port_attr found{};
  {
    const engine::guard held(here.lock);
    const port_attributes& now = here.hardware().port(port);
    found.state = state_of(now.state);
    found.max_mtu = static_cast<ibv_mtu>(now.max_mtu);
    found.active_mtu = static_cast<ibv_mtu>(now.active_mtu);
    found.gid_tbl_len = static_cast<int>(gid_count(here, port));
    found.port_cap_flags = now.capability_mask;
    found.max_msg_sz = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(here.hardware().capabilities().most_message_bytes, 1u << 30));
    found.pkey_tbl_len = static_cast<std::uint16_t>(here.port(port).pkeys.size());
    found.lid = now.lid;
    found.sm_lid = now.sm_lid;
    found.lmc = now.lmc;
    found.max_vl_num = 4;  // IBTA PortInfo:VLCap, VL0 to VL7
    found.sm_sl = now.sm_sl;
    found.active_width = static_cast<std::uint8_t>(now.active_width);
    found.active_speed = speed_of(now);
    found.phys_state = static_cast<std::uint8_t>(now.physical_state);
    found.link_layer = IBV_LINK_LAYER_INFINIBAND;
    if (is_ethernet(here, port)) describe_ethernet(found);
  }
  give(found, to, bytes);
  return 0;
}

int query_clock(ibv_context* context, ibv_values_ex* to) {
  // As in rdma-core 44 providers/mlx4/verbs.c mlx4_query_rt_values.
  if ((to->comp_mask & ~std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EINVAL;
  if (to->comp_mask == 0) return 0;
  engine& here = engine_of(context);
  if (here.dead()) return ENODEV;
  const engine::guard held(here.lock);
  const device_clock* const clock = here.clock();
  if (clock == nullptr) {
    to->comp_mask = 0;
    return EOPNOTSUPP;
  }
  to->raw_clock = {};
  to->raw_clock.tv_nsec = static_cast<long>(clock->read());
  return 0;
}

}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* to) {
  ibv_device_attr_ex found{};
  if (const int error = query_device(context, nullptr, &found, sizeof found); error != 0)
    return error;
  *to = found.orig_attr;
  return 0;
}

FREEHCA_EXPORT int ibv_query_port(ibv_context* context, std::uint8_t port,
                                  _compat_ibv_port_attr* to) {
  // The structure of older releases ends before port_cap_flags2.
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(to),
                    offsetof(ibv_port_attr, port_cap_flags2));
}

FREEHCA_EXPORT int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* to) {
  gid_entry found;
  const int error =
      index < 0 ? EINVAL
                : find_entry(engine_of(context), port, static_cast<std::uint32_t>(index), found);
  if (error != 0 && error != ENODATA) return fail_with(error);
  *to = gid_from(found.address);
  return 0;
}

FREEHCA_EXPORT int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index,
                                      int* type) {
  gid_entry found;
  const int error = find_entry(engine_of(context), port, index, found);
  if (error != 0 && error != ENODATA) return fail_with(error);
  // 0: of InfiniBand and RoCE v1. 1: of RoCE v2 (rdma-core libibverbs/driver.h).
  *type = found.type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return 0;
}

FREEHCA_EXPORT int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                                     ibv_gid_entry* to, std::uint32_t flags, std::size_t bytes) {
  engine& here = engine_of(context);
  if (flags != 0) return here.dead() ? ENODEV : EOPNOTSUPP;
  gid_entry entry;
  if (const int error = find_entry(here, port, index, entry); error != 0) return error;
  ibv_gid_entry found{};
  found.gid = gid_from(entry.address);
  found.gid_index = index;
  found.port_num = port;
  found.gid_type = entry.type;
  found.ndev_ifindex = interface_number(here.port(port).network_device);
  give(found, to, bytes);
  return 0;
}

FREEHCA_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* to,
                                            std::size_t most, std::uint32_t flags,
                                            std::size_t bytes) {
  engine& here = engine_of(context);
  if (here.dead()) return -ENODEV;
  if (flags != 0) return -EOPNOTSUPP;
  std::size_t count = 0;
  for (std::uint32_t port = 1; port <= here.ports(); ++port) {
    gid_entry entry;
    int error = 0;
    // An index beyond the table is EINVAL.
    for (std::uint32_t i = 0; (error = find_entry(here, port, i, entry)) != EINVAL; ++i) {
      if (error == ENODATA) continue;
      if (error != 0) return -error;
      if (count == most) return -EINVAL;
      auto* const place = reinterpret_cast<std::byte*>(to) + count++ * bytes;
      error =
          _ibv_query_gid_ex(context, port, i, reinterpret_cast<ibv_gid_entry*>(place), 0, bytes);
      if (error != 0) return -error;
    }
  }
  return static_cast<ssize_t>(count);
}

FREEHCA_EXPORT int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* to) {
  engine& here = engine_of(context);
  if (here.dead()) return fail_with(ENODEV);
  const engine::guard held(here.lock);
  if (!here.is_port(port) || index < 0 ||
      static_cast<std::size_t>(index) >= here.port(port).pkeys.size())
    return fail_with(EINVAL);
  *to = layouts::swap_be(here.port(port).pkeys[static_cast<std::size_t>(index)]);
  return 0;
}

FREEHCA_EXPORT int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  engine& here = engine_of(context);
  if (here.dead()) return fail_with(ENODEV);
  const engine::guard held(here.lock);
  if (here.is_port(port)) {
    const std::vector<std::uint16_t>& keys = here.port(port).pkeys;
    const auto found = std::find(keys.begin(), keys.end(), layouts::swap_be(pkey));
    if (found != keys.end()) return static_cast<int>(found - keys.begin());
  }
  return fail_with(EINVAL);
}
