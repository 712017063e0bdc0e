// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/infiniband_switch/subnet_manager.hpp>

#include <algorithm>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

// OpenSM's defaults: transaction_timeout 200 ms, transaction_retries 3, subnet_timeout 18. A port
// that does not answer is asked again after a second, where OpenSM waits for its next sweep (10 s).
// no source: chosen
constexpr std::uint64_t answer_within_ns = 200'000'000, pause_ns = 1'000'000'000;
constexpr unsigned tries_at_most = 4;
constexpr unsigned subnet_timeout = 18;
// As the model's own manager has it: OpenSM, whose default is lower, leaves the subnet to it.
constexpr unsigned priority = 15;

}  // namespace

subnet_manager::subnet_manager(std::span<switch_port> ports, forwarding_tables& tables,
                               agent_listener& states,
                               std::function<void(unsigned, const packets::mad_buffer&)> send)
    : ports_(ports),
      tables_(tables),
      states_(states),
      send_(std::move(send)),
      neighbours_(ports.size()) {
  image<port_info>& own = ports_[0].info;
  own.set<&port_info::lid>(own_lid)
      .set<&port_info::master_sm_lid>(own_lid)
      .set<&port_info::subnet_timeout>(subnet_timeout)
      .set<&port_info::capability_mask>(own.get<&port_info::capability_mask>() |
                                        port_capability::sm);
  tables_.info().set<&switch_info::linear_fdb_top>(lid_of(static_cast<unsigned>(ports.size() - 1)));
  forward(own_lid, 0);
  for (unsigned port = 1; port < ports.size(); ++port) forward(lid_of(port), port);
}

void subnet_manager::forward(std::uint16_t lid, unsigned port) {
  image<linear_forwarding_block> block;
  const unsigned number = lid / lids_per_linear_block;
  if (!tables_.read_linear(number, block)) return;
  block.data()[lid % lids_per_linear_block] = static_cast<std::byte>(port);
  static_cast<void>(tables_.write_linear(number, block));
}

void subnet_manager::link_changed(unsigned port, std::uint64_t now) {
  neighbours_[port] = {};
  if (ports_[port].link_up()) go(port, step::node, now);
}

void subnet_manager::trapped(unsigned port, std::uint64_t now) {
  neighbour& n = neighbours_[port];
  if (n.at == step::done) go(port, step::node, now);
  else n.again = true;
}

void subnet_manager::go(unsigned port, step to, std::uint64_t now) {
  neighbour& n = neighbours_[port];
  n.at = to;
  n.tries = 0;
  n.due = never;
  const port_state theirs = n.info.get<&port_info::state>();
  const auto get = [&](smp_attribute what) { ask(port, mad_method::get, what, 0, nullptr, now); };
  const auto set_state = [&](port_state state) {
    ask(port, mad_method::set, smp_attribute::port_info, 0, wanted_info(port, state).data(), now);
  };
  switch (to) {
    case step::node:
      return get(smp_attribute::node_info);
    case step::port:
      return get(smp_attribute::port_info);
    case step::configure:
      configure_own_port(port);
      return set_state(port_state::no_change);
    case step::pkeys:
      return get(smp_attribute::pkey_table);
    case step::set_pkeys: {
      if (element<&pkey_table::pkeys, std::uint16_t>(n.pkeys, 0) == default_pkey_full)
        return go(port, step::arm, now);
      image<pkey_table> wanted = n.pkeys;
      set_element<&pkey_table::pkeys, std::uint16_t>(wanted, 0, default_pkey_full);
      return ask(port, mad_method::set, smp_attribute::pkey_table, 0, wanted.data(), now);
    }
    case step::arm:
      if (theirs != port_state::initialize) return go(port, step::activate, now);
      states_.state_wanted(port, port_state::armed, port_physical_state::no_change);
      return set_state(port_state::armed);
    case step::activate:
      states_.state_wanted(port, port_state::active, port_physical_state::no_change);
      if (theirs != port_state::armed) return go(port, step::done, now);
      return set_state(port_state::active);
    case step::done:
      n.known = true;
      if (!n.again) return;
      n.again = false;
      return go(port, step::node, now);
    case step::none:
      return;
  }
}

void subnet_manager::configure_own_port(unsigned port) {
  image<port_info>& own = ports_[port].info;
  const image<port_info>& theirs = neighbours_[port].info;
  // No port has less than the least of both, whatever the adapter says.
  own.set<&port_info::neighbor_mtu>(std::clamp(theirs.get<&port_info::mtu_cap>(), ib_mtu::mtu_256,
                                               own.get<&port_info::mtu_cap>()))
      .set<&port_info::operational_vls>(std::clamp(theirs.get<&port_info::vl_cap>(), vl_code::vl0,
                                                   own.get<&port_info::vl_cap>()));
}

image<port_info> subnet_manager::wanted_info(unsigned port, port_state state) const {
  const neighbour& n = neighbours_[port];
  image<port_info> w = n.info;
  const bool can_reregister =
      (w.get<&port_info::capability_mask>() & port_capability::client_reregistration) != 0;
  return w.set<&port_info::gid_prefix>(default_subnet_prefix)
      .set<&port_info::lid>(lid_of(port))
      .set<&port_info::master_sm_lid>(own_lid)
      .set<&port_info::lmc>(0)
      .set<&port_info::link_width_enabled>(0)  // these three: no change
      .set<&port_info::link_speed_enabled>(0)
      .set<&port_info::link_speed_ext_enabled>(0)
      .set<&port_info::state>(state)
      .set<&port_info::physical_state>(port_physical_state::no_change)
      .set<&port_info::neighbor_mtu>(ports_[port].info.get<&port_info::neighbor_mtu>())
      .set<&port_info::operational_vls>(ports_[port].info.get<&port_info::operational_vls>())
      .set<&port_info::subnet_timeout>(subnet_timeout)
      .set<&port_info::client_reregister>(state == port_state::no_change && !n.known &&
                                          can_reregister);
}

void subnet_manager::answered(unsigned port, const image<dr_smp>& answer, std::uint64_t now) {
  neighbour& n = neighbours_[port];
  if (n.tries == 0 || answer.get<&dr_smp::method>() != mad_method::get_resp ||
      answer.get<&dr_smp::tid>() != n.outstanding.get<&dr_smp::tid>())
    return;
  n.tries = 0;
  n.due = never;
  // A request that is refused is made again later, with all that comes before it.
  if (answer.get<&dr_smp::status>() != mad_status::success) {
    n.at = step::done;
    n.due = now + pause_ns;
    return;
  }
  switch (n.at) {
    case step::node:
      if (attribute<&dr_smp::data, node_info>(answer).get<&node_info::type>() !=
          node_type::channel_adapter) {
        n.at = step::none;
        return;
      }
      return go(port, step::port, now);
    case step::port:
      n.info = attribute<&dr_smp::data, port_info>(answer);
      return go(port, step::configure, now);
    case step::configure:
      n.info = attribute<&dr_smp::data, port_info>(answer);
      return go(port, step::pkeys, now);
    case step::pkeys:
      n.pkeys = attribute<&dr_smp::data, pkey_table>(answer);
      return go(port, step::set_pkeys, now);
    case step::set_pkeys:
      return go(port, step::arm, now);
    case step::arm:
      n.info = attribute<&dr_smp::data, port_info>(answer);
      return go(port, step::activate, now);
    case step::activate:
      n.info = attribute<&dr_smp::data, port_info>(answer);
      return go(port, step::done, now);
    case step::none:
    case step::done:
      return;
  }
}

void subnet_manager::ask(unsigned port, mad_method method, smp_attribute what,
                         std::uint32_t modifier, const std::byte* data, std::uint64_t now) {
  neighbour& n = neighbours_[port];
  n.outstanding = {};
  n.outstanding.set<&dr_smp::base_version>(mad_base_version)
      .set<&dr_smp::mgmt_class>(mad_class::subnet_directed_route)
      .set<&dr_smp::class_version>(1)
      .set<&dr_smp::method>(method)
      .set<&dr_smp::hop_pointer>(1)  // as it stands after port 0 has sent it on
      .set<&dr_smp::hop_count>(1)
      .set<&dr_smp::tid>(next_transaction_++)
      .set<&dr_smp::attribute_id>(static_cast<unsigned>(what))
      .set<&dr_smp::attribute_modifier>(modifier)
      .set<&dr_smp::dr_slid>(permissive_lid)
      .set<&dr_smp::dr_dlid>(permissive_lid);
  n.outstanding.data()[dr_smp{}.initial_path.offset + 1] = static_cast<std::byte>(port);
  if (data != nullptr) n.outstanding.set_bytes<&dr_smp::data>(data);
  send_again(port, now);
}

void subnet_manager::send_again(unsigned port, std::uint64_t now) {
  neighbour& n = neighbours_[port];
  ++n.tries;
  n.due = now + answer_within_ns;
  packets::mad_buffer mad;
  std::copy_n(n.outstanding.data(), mad.size(), mad.begin());
  send_(port, mad);
}

void subnet_manager::run(std::uint64_t now) {
  for (unsigned port = 1; port < neighbours_.size(); ++port) {
    neighbour& n = neighbours_[port];
    if (n.due > now) continue;
    if (n.tries == 0) {
      go(port, step::node, now);
    } else if (n.tries < tries_at_most) {
      send_again(port, now);
    } else {
      n.tries = 0;
      n.due = now + pause_ns;
    }
  }
}

std::uint64_t subnet_manager::deadline() const {
  std::uint64_t first = never;
  for (const neighbour& n : neighbours_) first = std::min(first, n.due);
  return first;
}

image<sm_info> subnet_manager::info(std::uint64_t guid) const {
  return image<sm_info>{}
      .set<&sm_info::guid>(guid)
      .set<&sm_info::activity_count>(next_transaction_ & 0xffffffff)
      .set<&sm_info::priority>(priority)
      .set<&sm_info::state>(sm_state::master);
}

}  // namespace freehca::infiniband_switch
