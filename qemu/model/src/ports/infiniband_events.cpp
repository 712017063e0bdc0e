// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a port tells: the host by events (Linux 6.1 eq.c, hw/mlx4/mad.c
// handle_port_mgmt_change_event), the subnet manager by traps (IBTA vol. 1, 14.2.5.1).
#include <algorithm>

#include "basis/capabilities.hpp"
#include "link/packet_receiver.hpp"
#include "ports/infiniband_port.hpp"
#include "queues/event_queues.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

template <class T>
image<eqe> plain(const image<T>& e) {
  return image<eqe>::from_bytes(e.data());
}

template <class T>
image<T>& generic(image<T>& n, notice_type type, trap number, std::uint16_t lid) {
  return n.template set<&notice_rows::is_generic>(true)
      .template set<&notice_rows::type>(type)
      .template set<&notice_rows::producer_type>(node_type::channel_adapter)
      .template set<&notice_rows::number>(number)
      .template set<&notice_rows::issuer_lid>(lid);
}

constexpr std::uint64_t greatest_violations = 0xffff;

}  // namespace

bool infiniband_port::sm_reachable() const {
  return managed_.state() >= layouts::port_state::armed &&
         managed_.info.get<&port_info::master_sm_lid>() != 0;
}

template <class N>
void infiniband_port::raise(const image<N>& notice) {
  // What changes before a manager has come is not told: it reads everything when it comes.
  if (sm_reachable()) traps_.raise(notice);
}

void infiniband_port::post_management_change(const image<eqe>& e) {
  if (offers(a_.how, capability::port_management_events))
    a_.eqs->post_asynchronous(event_type::port_management_change, e);
}

void infiniband_port::post_table_change(port_management_subtype subtype, unsigned block,
                                        std::uint32_t mask) {
  image<eqe_table_change> e;
  e.set<&eqe_table_change::event_sub_type>(static_cast<unsigned>(subtype))
      .set<&eqe_table_change::port>(number_)
      .set<&eqe_table_change::block_ptr>(block)
      .set<&eqe_table_change::tbl_entries_mask>(mask);
  post_management_change(plain(e));
}

void infiniband_port::port_info_set(const image<port_info>& before, bool client_reregister) {
  const image<port_info>& now = managed_.info;
  std::uint32_t changed = 0;
  const auto mark = [&changed](bool differs, port_info_change what) {
    if (differs) changed |= static_cast<std::uint32_t>(what);
  };
  mark(before.get<&port_info::master_sm_lid>() != now.get<&port_info::master_sm_lid>(),
       port_info_change::master_sm_lid);
  mark(before.get<&port_info::master_sm_sl>() != now.get<&port_info::master_sm_sl>(),
       port_info_change::master_sm_sl);
  mark(before.get<&port_info::gid_prefix>() != now.get<&port_info::gid_prefix>(),
       port_info_change::gid_prefix);
  mark(before.get<&port_info::lid>() != now.get<&port_info::lid>(), port_info_change::lid);
  mark(client_reregister, port_info_change::client_reregister);
  if (changed == 0) return;
  image<eqe_port_info_change> e;
  e.set<&eqe_port_info_change::event_sub_type>(
       static_cast<unsigned>(port_management_subtype::port_info))
      .set<&eqe_port_info_change::port>(number_)
      .set<&eqe_port_info_change::mstr_sm_lid>(now.get<&port_info::master_sm_lid>())
      .set<&eqe_port_info_change::port_lid>(now.get<&port_info::lid>())
      .set<&eqe_port_info_change::changed_attr>(changed)
      .set<&eqe_port_info_change::mstr_sm_sl>(now.get<&port_info::master_sm_sl>())
      .set<&eqe_port_info_change::gid_prefix>(now.get<&port_info::gid_prefix>());
  post_management_change(plain(e));
}

void infiniband_port::pkeys_set(unsigned block, std::uint32_t mask) {
  post_table_change(port_management_subtype::pkey_table, block, mask);
}

void infiniband_port::guids_set(unsigned block, std::uint32_t mask) {
  // The host counts in blocks of 32: four of the attribute's (Linux 6.1 handle_slaves_guid_change).
  post_table_change(port_management_subtype::guid_info, block / 4,
                    mask << (block % 4 * guids_per_block));
}

void infiniband_port::sl_to_vl_set() {
  image<eqe_sl2vl_change> e;
  e.set<&eqe_sl2vl_change::event_sub_type>(
       static_cast<unsigned>(port_management_subtype::sl_to_vl_map))
      .set<&eqe_sl2vl_change::port>(number_)
      .set_bytes<&eqe_sl2vl_change::sl2vl_table>(managed_.sl_to_vl.data());
  post_management_change(plain(e));
}

bool infiniband_port::raise_management_change(port_management_subtype what) {
  switch (what) {
    case port_management_subtype::guid_info:
      guids_set(0, 1);
      return true;
    case port_management_subtype::port_info:
      port_info_set(managed_.info, true);
      return true;
    case port_management_subtype::pkey_table:
      pkeys_set(0, 1);
      return true;
    case port_management_subtype::sl_to_vl_map:
      sl_to_vl_set();
      return true;
  }
  return false;
}

void infiniband_port::mkey_checked(const image<dr_smp>& request, bool passed) {
  image<port_info>& i = managed_.info;
  if (passed) {
    a_.work.cancel(mkey_lease_);
    return;
  }
  i.set<&port_info::mkey_violations>(
      std::min(i.get<&port_info::mkey_violations>() + 1, greatest_violations));
  // The lease runs out unless the manager who knows the key comes by; then nothing is protected any
  // more.
  if (const auto lease = i.get<&port_info::mkey_lease_period>(); lease != 0 && !mkey_lease_)
    mkey_lease_ = work_.after(lease * 1'000'000'000, {.kind = mkey_lease_end});
  const bool directed = request.get<&dr_smp::mgmt_class>() == mad_class::subnet_directed_route;
  image<notice_bad_mkey> n;
  generic(n, notice_type::security, trap::bad_mkey, managed_.lid())
      .set<&notice_bad_mkey::lid>(managed_.lid())
      .set<&notice_bad_mkey::method>(static_cast<unsigned>(request.get<&dr_smp::method>()))
      .set<&notice_bad_mkey::attribute_id>(request.get<&dr_smp::attribute_id>())
      .set<&notice_bad_mkey::attribute_modifier>(request.get<&dr_smp::attribute_modifier>())
      .set<&notice_bad_mkey::mkey>(request.get<&dr_smp::mkey>());
  if (directed) {
    constexpr unsigned path_bytes = 30;
    const auto hops = request.get<&dr_smp::hop_count>();
    n.set<&notice_bad_mkey::dr_slid>(request.get<&dr_smp::dr_slid>())
        .set<&notice_bad_mkey::dr_notice>(true)
        .set<&notice_bad_mkey::dr_path_truncated>(hops > path_bytes)
        .set<&notice_bad_mkey::dr_hop_count>(hops & 0x3f)
        .set_bytes<&notice_bad_mkey::dr_return_path>(request.bytes_of<&dr_smp::return_path>());
  }
  raise(n);
}

void infiniband_port::pkey_violation(const packet* p) {
  image<port_info>& i = managed_.info;
  i.set<&port_info::pkey_violations>(
      std::min(i.get<&port_info::pkey_violations>() + 1, greatest_violations));
  image<notice_bad_key> n;
  generic(n, notice_type::security, trap::bad_pkey, managed_.lid());
  if (const auto m = p != nullptr ? decode(*p) : std::nullopt)
    n.set<&notice_bad_key::lid1>(m->slid)
        .set<&notice_bad_key::lid2>(m->dlid)
        .set<&notice_bad_key::key>(m->pkey)
        .set<&notice_bad_key::sl>(m->service_level)
        .set<&notice_bad_key::qp1>(m->source_qp)
        .set<&notice_bad_key::qp2>(m->dest_qp);
  raise(n);
}

void infiniband_port::count_qkey_violation(std::uint32_t qkey, std::uint32_t source_qp) {
  image<port_info>& i = managed_.info;
  i.set<&port_info::qkey_violations>(
      std::min(i.get<&port_info::qkey_violations>() + 1, greatest_violations));
  image<notice_bad_key> n;
  generic(n, notice_type::security, trap::bad_qkey, managed_.lid())
      .set<&notice_bad_key::lid2>(managed_.lid())
      .set<&notice_bad_key::key>(qkey)
      .set<&notice_bad_key::qp1>(source_qp & 0xffffff);
  raise(n);
}

void infiniband_port::local_change(bool node_description) {
  image<notice_local_changes> n;
  generic(n, notice_type::informational, trap::local_changes, managed_.lid())
      .set<&notice_local_changes::lid>(managed_.lid())
      .set<&notice_local_changes::capability_mask>(managed_.info.get<&port_info::capability_mask>())
      .set<&notice_local_changes::other_changes>(node_description)
      .set<&notice_local_changes::node_description_changed>(node_description);
  raise(n);
}

void infiniband_port::trap_repressed(std::uint64_t transaction_id) {
  traps_.repressed(transaction_id);
}

void infiniband_port::send_trap(const mad_buffer& mad) {
  if (!sm_reachable()) return;
  mad_packet m;
  m.virtual_lane = 15;
  m.service_level = static_cast<std::uint8_t>(managed_.info.get<&port_info::master_sm_sl>());
  m.mad = mad;
  if (host_owns(0)) {
    // A trap with no source LID on its own QP0: the host sends it on (Linux 6.1 hw/mlx4/mad.c
    // forward_trap).
    work_.soon(number_, {.kind = trap_to_host, .bytes = encode(m).bytes});
    return;
  }
  m.slid = managed_.lid();
  m.dlid = static_cast<std::uint16_t>(managed_.info.get<&port_info::master_sm_lid>());
  transmit(encode(m));
}

}  // namespace freehca::model
