// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/subnet_manager.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace freehca::model {

using namespace layouts;

namespace {

// OpenSM's defaults (rdma-core and OpenSM manuals: transaction_timeout 200 ms, transaction_retries
// 3, subnet_timeout 18). What it does when nobody answers is to come back at its next sweep, after
// 10 s; here sooner. no source: chosen
constexpr std::uint64_t answer_within_ns = 200'000'000, pause_ns = 1'000'000'000;
constexpr unsigned tries_at_most = 4;
constexpr unsigned subnet_timeout = 18;
// no source: chosen; what a manager's node adds to the adapter's GUID
constexpr std::uint64_t guid_distance = 0x10000;

std::string name_of_port(unsigned port) {
  return "subnet manager of port " + std::to_string(port);
}

}  // namespace

subnet_manager::subnet_manager(const options& how, scheduler& schedule, unsigned port,
                               std::function<void(packet)> to_port)
    : schedule_(schedule),
      work_(schedule, name_of_port(port), *this),
      to_port_(std::move(to_port)),
      manager_lid_(how.sm_lid[port - 1]),
      managed_lid_(how.lid[port - 1]),
      own_port_(managed_port::at_power_on(
          1, how.node_guid + guid_distance * port + 1,
          port_capability::sm | port_capability::trap | port_capability::sl_mapping |
              port_capability::system_image_guid | port_capability::extended_speeds |
              port_capability::client_reregistration)),
      own_agent_(own_port_, node_, nullptr),
      own_counters_(own_port_, schedule, name_of_port(port)),
      administrator_(schedule, name_of_port(port), topology_,
                     [this](const mad_packet& m) { send(m); }) {
  node_.node_guid = how.node_guid + guid_distance * port;
  node_.system_image_guid = node_.node_guid + 3;
  node_.device_id = 0x1003;
  node_.describe("freehca built-in subnet manager");
  own_port_.info.set<&port_info::lid>(manager_lid_)
      .set<&port_info::master_sm_lid>(manager_lid_)
      .set<&port_info::subnet_timeout>(subnet_timeout);
  known_port& own = topology_.manager;
  own.node = node_info_of(node_, own_port_);
  std::copy(node_.description.begin(), node_.description.end(), own.description.data());
  own.info = own_port_.info;
  set_element<&guid_info::guids, std::uint64_t>(own.guids, 0, own_port_.guid);
  set_element<&pkey_table::pkeys, std::uint16_t>(own.pkeys, 0, own_port_.pkeys[0]);
}

void subnet_manager::link_changed(bool up) {
  up_ = up;
  schedule_.cancel(timer_);
  waiting_ = false;
  step_ = step::done;
  sweep_again_ = false;
  topology_.managed_known = false;
  administrator_.link_changed();
  own_port_.info
      .set<&port_info::state>(up ? layouts::port_state::active : layouts::port_state::down)
      .set<&port_info::physical_state>(up ? port_physical_state::link_up
                                          : port_physical_state::polling)
      .set<&port_info::link_speed_active>(up ? link_speed::qdr : link_speed::sdr)
      .set<&port_info::link_speed_ext_active>(up ? link_speed_ext::fdr : link_speed_ext::none);
  if (!up) return;
  reregister_ = true;
  sweep();
}

void subnet_manager::sweep() {
  if (step_ != step::done) {
    sweep_again_ = true;
    return;
  }
  run(step::description);
}

void subnet_manager::run(step s) {
  step_ = s;
  tries_ = 0;
  const auto get = [this](smp_attribute what, std::uint32_t modifier) {
    request(mad_method::get, what, modifier, nullptr);
  };
  const auto set_port = [this](layouts::port_state state) {
    request(mad_method::set, smp_attribute::port_info, 0, wanted_port_info(state).data());
  };
  switch (s) {
    case step::description:
      return get(smp_attribute::node_description, 0);
    case step::node:
      return get(smp_attribute::node_info, 0);
    case step::port:
      return get(smp_attribute::port_info, 0);
    case step::guids:
      return get(smp_attribute::guid_info, 0);
    case step::pkeys:
      return get(smp_attribute::pkey_table, 0);
    case step::configure:
      return configuration_differs() ? set_port(layouts::port_state::no_change)
                                     : run(step::configure_pkeys);
    case step::configure_pkeys: {
      // The default partition, whole, at index 0; whatever else is there stays.
      auto& known = topology_.managed.pkeys;
      if (element<&pkey_table::pkeys, std::uint16_t>(known, 0) == default_pkey_full)
        return run(step::arm);
      image<pkey_table> wanted = known;
      set_element<&pkey_table::pkeys, std::uint16_t>(wanted, 0, default_pkey_full);
      return request(mad_method::set, smp_attribute::pkey_table, 0, wanted.data());
    }
    case step::arm:
      if (topology_.managed.info.get<&port_info::state>() != layouts::port_state::initialize)
        return run(step::activate);
      return set_port(layouts::port_state::armed);
    case step::activate:
      if (topology_.managed.info.get<&port_info::state>() != layouts::port_state::armed)
        return run(step::done);
      return set_port(layouts::port_state::active);
    case step::done:
      break;
  }
  topology_.managed_known = true;
  if (sweep_again_) {
    sweep_again_ = false;
    sweep();
  }
}

bool subnet_manager::configuration_differs() const {
  const image<port_info>& now = topology_.managed.info;
  const auto wanted = wanted_port_info(layouts::port_state::no_change);
  return reregister_ || now.get<&port_info::lid>() != wanted.get<&port_info::lid>() ||
         now.get<&port_info::master_sm_lid>() != wanted.get<&port_info::master_sm_lid>() ||
         now.get<&port_info::gid_prefix>() != wanted.get<&port_info::gid_prefix>() ||
         now.get<&port_info::neighbor_mtu>() != wanted.get<&port_info::neighbor_mtu>() ||
         now.get<&port_info::subnet_timeout>() != wanted.get<&port_info::subnet_timeout>();
}

image<port_info> subnet_manager::wanted_port_info(layouts::port_state state) const {
  image<port_info> w = topology_.managed.info;
  const auto own_mtu = own_port_.info.get<&port_info::mtu_cap>();
  const auto own_vls = own_port_.info.get<&port_info::vl_cap>();
  const bool can_reregister =
      (w.get<&port_info::capability_mask>() & port_capability::client_reregistration) != 0;
  return w.set<&port_info::gid_prefix>(default_subnet_prefix)
      .set<&port_info::lid>(managed_lid_)
      .set<&port_info::master_sm_lid>(manager_lid_)
      .set<&port_info::lmc>(0)
      .set<&port_info::link_width_enabled>(0)  // these three: no change
      .set<&port_info::link_speed_enabled>(0)
      .set<&port_info::link_speed_ext_enabled>(0)
      .set<&port_info::state>(state)
      .set<&port_info::physical_state>(port_physical_state::no_change)
      .set<&port_info::neighbor_mtu>(std::min(w.get<&port_info::mtu_cap>(), own_mtu))
      .set<&port_info::operational_vls>(std::min(w.get<&port_info::vl_cap>(), own_vls))
      .set<&port_info::subnet_timeout>(subnet_timeout)
      .set<&port_info::client_reregister>(state == layouts::port_state::no_change && reregister_ &&
                                          can_reregister);
}

void subnet_manager::finished(const image<dr_smp>& answer) {
  const bool good = answer.get<&dr_smp::status>() == mad_status::success;
  known_port& known = topology_.managed;
  switch (step_) {
    case step::description:
      if (good) known.description = attribute<&dr_smp::data, node_description>(answer);
      return run(step::node);
    case step::node:
      if (good) known.node = attribute<&dr_smp::data, node_info>(answer);
      return run(step::port);
    case step::port:
      if (good) known.info = attribute<&dr_smp::data, port_info>(answer);
      return run(step::guids);
    case step::guids:
      if (good) known.guids = attribute<&dr_smp::data, guid_info>(answer);
      return run(step::pkeys);
    case step::pkeys:
      if (good) known.pkeys = attribute<&dr_smp::data, pkey_table>(answer);
      return run(step::configure);
    case step::configure:
      if (good) {
        known.info = attribute<&dr_smp::data, port_info>(answer);
        reregister_ = false;
      }
      return run(step::configure_pkeys);
    case step::configure_pkeys:
      if (good) known.pkeys = attribute<&dr_smp::data, pkey_table>(answer);
      return run(step::arm);
    case step::arm:
      if (good) known.info = attribute<&dr_smp::data, port_info>(answer);
      // A port that refuses is left as it is: the next sweep tries again.
      return run(good ? step::activate : step::done);
    case step::activate:
      if (good) known.info = attribute<&dr_smp::data, port_info>(answer);
      return run(step::done);
    case step::done:
      return;
  }
}

void subnet_manager::request(mad_method method, smp_attribute attribute, std::uint32_t modifier,
                             const std::byte* data) {
  outstanding_ = {};
  outstanding_.set<&dr_smp::base_version>(mad_base_version)
      .set<&dr_smp::mgmt_class>(mad_class::subnet_directed_route)
      .set<&dr_smp::class_version>(1)
      .set<&dr_smp::method>(method)
      .set<&dr_smp::hop_pointer>(1)  // as it stands after this node has sent it on
      .set<&dr_smp::hop_count>(1)
      .set<&dr_smp::tid>(next_transaction_++)
      .set<&dr_smp::attribute_id>(static_cast<unsigned>(attribute))
      .set<&dr_smp::attribute_modifier>(modifier)
      .set<&dr_smp::dr_slid>(permissive_lid)
      .set<&dr_smp::dr_dlid>(permissive_lid);
  outstanding_.data()[dr_smp{}.initial_path.offset + 1] = std::byte{1};
  if (data != nullptr) outstanding_.set_bytes<&dr_smp::data>(data);
  send_request();
}

void subnet_manager::send_request() {
  waiting_ = true;
  ++tries_;
  schedule_.cancel(timer_);
  timer_ = work_.after(answer_within_ns, {.kind = no_answer});
  mad_packet m;
  m.slid = m.dlid = permissive_lid;
  m.virtual_lane = management_lane;
  std::copy_n(outstanding_.data(), m.mad.size(), m.mad.begin());
  send(m);
}

void subnet_manager::run_item(work_item& what) {
  timer_ = {};
  if (what.kind == no_answer) timed_out();
  else sweep();
}

void subnet_manager::timed_out() {
  if (tries_ < tries_at_most) return send_request();
  waiting_ = false;
  step_ = step::done;
  timer_ = work_.after(pause_ns, {.kind = begin_sweep});
}

}  // namespace freehca::model
