// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Multicast groups. What is refused, and with which error: Linux 6.1 core/uverbs_cmd.c
// ib_uverbs_attach_mcast, ib_uverbs_detach_mcast; core/verbs.c ib_attach_mcast.
#include <algorithm>
#include <cstring>

#include <freehca/hca/kinds/multicast.hpp>
#include <freehca/layouts/ib_types.hpp>

#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

constexpr std::uint16_t permissive_lid = 0xffff;

/// On an Ethernet port the LID of a group means nothing. A queue pair in RESET has no port yet:
/// then all ports are looked at.
bool is_valid_lid(engine& here, const pair& queue, std::uint16_t lid) {
  if (lid >= layouts::first_multicast_lid && lid != permissive_lid) return true;
  const auto is_ethernet = [&](unsigned port) {
    return here.hardware().port(port).link_layer == layouts::port_type::ethernet;
  };
  if (queue.object->qp_state != layouts::qp_state::reset) return queue.shared->on_ethernet;
  for (unsigned port = 1; port <= here.ports(); ++port)
    if (is_ethernet(port)) return true;
  return false;
}

std::vector<attached_group>::iterator find(pair& queue, const ibv_gid& gid, std::uint16_t lid) {
  return std::find_if(queue.groups.begin(), queue.groups.end(), [&](const attached_group& g) {
    return g.lid == lid && std::memcmp(g.gid.raw, gid.raw, sizeof gid.raw) == 0;
  });
}

/// The port of a queue pair, or 0: it is in RESET, and the device has several ports. Only a rule
/// has a port. Linux then gives the firmware port 0, which it refuses.
std::uint8_t port_of(engine& here, const pair& queue) {
  if (here.ports() == 1) return 1;
  const bool has_port = queue.object->qp_state != layouts::qp_state::reset;
  return has_port ? queue.shared->attributes.port_num : 0;
}

/// Returns 0, or an errno.
int join(engine& here, const pair& queue, attached_group& to) {
  gid group;
  std::memcpy(group.raw, to.gid.raw, sizeof group.raw);
  if (here.hardware().steers_by_rules()) {
    create_flow_rule create;
    const int error = here.perform(
        create, group_rule(queue.handle, port_of(here, queue), group, queue.blocks_loopback));
    to.rule = create.made();
    return error;
  }
  const result<multicast_table_handle> table = here.groups();
  if (!table.ok()) return errno_of(table.error());
  join_group join;
  const int error = here.perform(join, group_attributes{.table = table.value(),
                                                        .pair = queue.handle,
                                                        .group = group,
                                                        .block_loopback = queue.blocks_loopback});
  to.member = join.made();
  return error;
}

int leave(engine& here, const attached_group& from) {
  if (here.hardware().steers_by_rules()) {
    destroy_flow_rule destroy;
    return here.perform(destroy, from.rule);
  }
  leave_group leave;
  return here.perform(leave, from.member);
}

}  // namespace
}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* to, std::uint16_t lid) {
  FREEHCA_CALL(call);
  engine& here = engine_of(qp->context);
  if (here.dead()) return ENODEV;
  pair& queue = of(qp);
  const engine::guard held(here.lock);
  if (find(queue, *to, lid) != queue.groups.end()) return 0;
  gid group;
  std::memcpy(group.raw, to->raw, sizeof group.raw);
  if (qp->qp_type != IBV_QPT_UD)
    return call.ended(because(EINVAL, "QP 0x%06x is not of type UD", qp->qp_num));
  if (!is_multicast(group))
    return call.ended(because(EINVAL,
                              "QP 0x%06x: GID %02x%02x:... is no multicast GID, which begins with "
                              "ff",
                              qp->qp_num, to->raw[0], to->raw[1]));
  if (!is_valid_lid(here, queue, lid))
    return call.ended(
        because(EINVAL, "QP 0x%06x: LID 0x%x is no multicast LID", qp->qp_num, unsigned{lid}));
  queue.groups.reserve(queue.groups.size() + 1);
  // With another LID the group is the same one: the adapter knows groups by their GIDs.
  const auto same =
      std::find_if(queue.groups.begin(), queue.groups.end(), [&](const attached_group& g) {
        return std::memcmp(g.gid.raw, to->raw, sizeof to->raw) == 0;
      });
  attached_group made{*to, lid, {}, {}};
  if (same != queue.groups.end()) {
    made = *same;
    made.lid = lid;
  } else if (const int error = join(here, queue, made); error != 0) {
    return call.ended(error);
  }
  queue.groups.push_back(made);
  here.host().group_changed(lid, true);
  return 0;
}

FREEHCA_EXPORT int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* from, std::uint16_t lid) {
  engine& here = engine_of(qp->context);
  if (here.dead()) return ENODEV;
  pair& queue = of(qp);
  const engine::guard held(here.lock);
  const auto group = find(queue, *from, lid);
  if (group == queue.groups.end()) return EINVAL;
  const auto uses = std::count_if(
      queue.groups.begin(), queue.groups.end(),
      [&](const attached_group& g) { return g.member == group->member && g.rule == group->rule; });
  if (uses == 1)
    if (const int error = leave(here, *group); error != 0) return error;
  here.host().group_changed(group->lid, false);
  queue.groups.erase(group);
  return 0;
}
