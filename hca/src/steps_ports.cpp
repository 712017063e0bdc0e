// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The steps for ports: their attributes, their limits, INIT_PORT, and the wait until a subnet
// manager has made them active. Sources: Linux 6.1 port.c mlx4_SET_PORT, fw.c mlx4_INIT_PORT and
// mlx4_config_mad_demux, main.c.
#include <freehca/firmware_cmds/mad.hpp>
#include <freehca/firmware_cmds/port.hpp>
#include <freehca/firmware_cmds/query.hpp>

#include "port_limits.hpp"
#include "steps.hpp"

namespace freehca {

namespace {

// The time between two reads of a port that is not active yet. Events report changes as well. The
// reads serve the first LID of a slow subnet manager. No source: chosen.
constexpr std::uint64_t port_poll = clock::milliseconds(20);

}  // namespace

status device::steps::query_ports(device& d) {
  if (d.sequence_.phase == 1) {
    const auto& c = d.sequence_.made<commands::query_port>();
    d.capabilities_.raw_port[d.sequence_.item] = c.output;
    d.ports_.describe(++d.sequence_.item, d.capabilities_);
  } else {
    d.ports_.begin(d.capabilities_.ports);
  }
  if (d.sequence_.item == d.capabilities_.ports) return {};
  d.sequence_.make<commands::query_port>(std::uint32_t{d.sequence_.item + 1});
  return d.sequence_.send(1);
}

/// Sets `item` to the first InfiniBand port from port `item` + 1 on (`item` counts from 0). Returns
/// false if there is none.
bool device::steps::next_infiniband_port(device& d) {
  const unsigned port = d.ports_.infiniband_from(d.sequence_.item + 1);
  if (port != 0) d.sequence_.item = port - 1;
  return port != 0;
}

status device::steps::start_port_query(device& d, unsigned phase) {
  return d.sequence_.await(phase, d.ports_.read(d.control_.commands, d.sequence_.item + 1));
}

status device::steps::start_guid_query(device& d, unsigned phase) {
  d.guid_query_.restart();
  d.guid_query_.start(d.control_.commands, d.sequence_.item + 1, 0);
  return d.sequence_.await(phase, d.guid_query_);
}

status device::steps::set_ports(device& d) {
  enum : unsigned { begin, asked, first_try };
  for (;;) {
    if (d.sequence_.phase == begin) {
      if (!next_infiniband_port(d)) return {};
      return start_port_query(d, asked);
    }
    unsigned attempt = 0;
    if (d.sequence_.phase == asked) {
      FREEHCA_TRY(d.ports_.take(d.sequence_.item + 1));
    } else {
      const status s = d.sequence_.answer();
      if (s.ok()) {
        d.sequence_.phase = begin;
        ++d.sequence_.item;
        continue;
      }
      attempt = d.sequence_.phase - first_try;
      if (!port_limits::too_many_lanes(s, attempt)) return s;
      ++attempt;
    }
    auto& c = d.sequence_.make<commands::set_port_ib>(std::uint32_t{d.sequence_.item + 1});
    port_limits::fill(c, d, d.sequence_.item + 1, attempt);
    return d.sequence_.send(first_try + attempt);
  }
}

status device::steps::init_ports(device& d) {
  if (d.sequence_.phase == 1) ++d.sequence_.item;
  if (!next_infiniband_port(d)) return {};
  d.sequence_.make<commands::init_port>(std::uint32_t{d.sequence_.item + 1});
  return d.sequence_.send_with_effect(1, d.ports_.control(d.sequence_.item + 1).open);
}

status device::steps::close_ports(device& d) {
  if (d.ports_.reading_changed()) return later(d, 0);
  if (d.sequence_.phase == 1) d.ports_.control(d.sequence_.item + 1).open = false;
  while (d.sequence_.item < most_ports && !d.ports_.control(d.sequence_.item + 1).open)
    ++d.sequence_.item;
  if (d.sequence_.item == most_ports) return {};
  d.sequence_.make<commands::close_port>(std::uint32_t{d.sequence_.item + 1});
  return d.sequence_.send(1);
}

/// The driver leaves subnet management to the firmware's agent. This is the state after INIT_HCA:
/// without CONF_SPECIAL_QP no other agent answers. This step only queries whether the host could
/// take over subnet management.
status device::steps::mad_demux(device& d) {
  if (!d.capabilities_.raw.get<&layouts::query_dev_cap::mad_demux>()) return {};
  const auto* const c = ask<commands::query_mad_demux>(d);
  if (c == nullptr) return {};
  using l = layouts::mad_demux;
  d.info_.secure_host =
      c->output.get<&l::set_attr_mask>() != 0 && c->output.get<&l::getresp_attr_mask>() != 0 &&
      c->output.get<&l::trap_attr_mask>() != 0 && c->output.get<&l::trap_repress_attr_mask>() != 0;
  return {};
}

/// True if bring-up still waits for this port. For a port with a partner it waits up to port_wait,
/// because a subnet manager may be slow. For a port without a partner it waits up to link_wait.
bool device::steps::is_awaited(const device& d, unsigned port) {
  if (d.ports_.attributes(port).active()) return false;
  std::uint64_t end = clock::after(d.sequence_.since, d.setup_.port_wait);
  if (!d.ports_.had_partner(port))
    end = clock::earlier(end, clock::after(d.sequence_.since, d.setup_.link_wait));
  // Leave time for the last read before the deadline of the bring-up.
  const std::uint64_t now = d.setup_.platform.now();
  return now < end && clock::after(now, 2 * port_poll) < d.sequence_.deadline();
}

status device::steps::wait_for_ports(device& d) {
  enum : unsigned { begin, node_known, guid_known, look, seen };
  for (;;) {
    switch (d.sequence_.phase) {
      case begin:
        d.sequence_.since = d.setup_.platform.now();
        d.node_query_.restart();
        // An Ethernet port answers as well (Linux 6.1 hw/mlx4/main.c init_node_data).
        next_infiniband_port(d);
        d.node_query_.start(d.control_.commands, d.sequence_.item + 1,
                            layouts::smp_attribute::node_info);
        return d.sequence_.await(node_known, d.node_query_);
      case node_known: {
        const auto node = d.node_query_.attribute<layouts::node_info>();
        d.info_.node_guid = node.get<&layouts::node_info::node_guid>();
        d.info_.system_image_guid = node.get<&layouts::node_info::system_image_guid>();
        if (!next_infiniband_port(d)) return {};
        return start_guid_query(d, guid_known);
      }
      case guid_known:
        d.ports_.set_guid(d.sequence_.item + 1, d.guid_query_.guid(0));
        ++d.sequence_.item;
        if (next_infiniband_port(d)) return start_guid_query(d, guid_known);
        d.sequence_.item = 0;
        d.sequence_.phase = look;
        break;
      case look:
        // Read the ports in turn, so that no port is read only after its time is over.
        for (unsigned looks = 0; looks < 2 * most_ports; ++looks) {
          if (!next_infiniband_port(d)) {
            d.sequence_.item = 0;
            continue;
          }
          const unsigned port = d.sequence_.item + 1;
          if (!d.ports_.known(port) || is_awaited(d, port)) return start_port_query(d, seen);
          ++d.sequence_.item;
        }
        return {};
      default: {
        const unsigned port = d.sequence_.item + 1;
        FREEHCA_TRY(d.ports_.take(port));
        d.sequence_.phase = look;
        ++d.sequence_.item;
        if (is_awaited(d, port)) return later(d, port_poll);
      }
    }
  }
}

}  // namespace freehca
