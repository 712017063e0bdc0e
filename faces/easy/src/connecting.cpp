// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

using layouts::qp_state;

infiniband_path path_between(unsigned port, const peer& from, const peer& to) {
  infiniband_path a;
  a.port = port;
  a.dlid = to.lid;
  a.sl = to.sl;
  // The first half of a GID is the subnet. Without a GID, the peer is in the same subnet.
  a.global = !(to.gid == gid{}) && __builtin_memcmp(from.gid.raw, to.gid.raw, 8) != 0;
  if (a.global) {
    a.dgid = to.gid;
    a.hop_limit = 255;  // chosen, it has no source; routers count down from it
  }
  return a;
}

layouts::ib_mtu path_mtu_of(layouts::ib_mtu a, layouts::ib_mtu b) {
  if (layouts::mtu_bytes(a) == 0) return b;
  return layouts::mtu_bytes(b) == 0 || a < b ? a : b;
}

bool share_partition(const peer& a, const peer& b) {
  constexpr std::uint16_t full = 0x8000;
  if (a.pkey == 0 || b.pkey == 0) return true;
  return ((a.pkey ^ b.pkey) & ~full & 0xffff) == 0 && ((a.pkey | b.pkey) & full) != 0;
}

status check_peers(const peer& from, const peer& to, refused_attribute& note) {
  if (!share_partition(from, to)) return driver_error::bad_argument;
  if (from.type != to.type)
    return note.refuse(attribute_id::link_layer, static_cast<unsigned>(to.type),
                       static_cast<unsigned>(from.type));
  return from.vlan == to.vlan ? status() : note.refuse(attribute_id::vlan, to.vlan, from.vlan);
}

address_attributes connection_object::path(const peer& from, const peer& to) const {
  address_attributes a = route;
  roce_path* const r = a.roce();
  if (r == nullptr) return path_between(a.port(), from, to);
  r->dmac = to.mac;
  r->vlan = to.vlan;
  r->priority = to.sl;
  r->dgid = to.gid;
  return a;
}

void connecting::start(adapter& hca, const connection& what, const peer& to) {
  if (!startable()) return;
  if (!hca.up()) return refuse(hca, driver_error::bad_state);
  connection_object* const p = claim(hca, what);
  if (p == nullptr) return;
  const queue_pair* const pair = hca.objects().find(p->pair);
  if (pair == nullptr) return refuse(hca, driver_error::stale_handle);
  if (pair->service->code != layouts::qp_service::rc)
    return refuse(hca, driver_error::bad_argument);
  if (const status s = check_peers(what.self, to, hca.objects().refused()); !s.ok())
    return refuse(hca, s);
  pair_handle = p->pair;
  // The attributes of INIT are those that open_rc() gave the queue pair.
  settings.pkey_index = pair->pkey_index;
  settings.remote_read = pair->remote_read;
  settings.remote_write = pair->remote_write;
  settings.remote_atomic = pair->remote_atomic;
  // The present MTU of the port. A subnet manager may have changed it since open_rc().
  settings.path_mtu = path_mtu_of(hca.hardware().port(p->route.port()).active_mtu, to.mtu);
  settings.min_rnr_timer = 12;  // 0.64 ms
  settings.remote_qpn = to.qpn;
  settings.receive_psn = to.psn;
  settings.send_psn = what.self.psn;
  settings.reads_as_responder = settings.reads_as_requester = 4;
  settings.address = p->path(what.self, to);
  const bool fresh = pair->qp_state == qp_state::init && !pair->state_unknown;
  const bool blank = pair->qp_state == qp_state::reset && !pair->state_unknown;
  begin_on(hca, *p, &advance);
  move(fresh ? qp_state::rtr : blank ? qp_state::init : qp_state::reset);
}

void connecting::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<connecting&>(s);
  if (self.dropped()) return self.end_work(self.stop_reason());
  if (self.undoing()) {
    // A failed undo is not repeated, because the next connect() begins with a reset of the queue
    // pair.
    if (outcome.ok() && self.target == qp_state::reset) return self.move(qp_state::init);
    return self.end_work(self.why());
  }
  if (outcome.ok()) outcome = self.stop_reason();
  if (!outcome.ok()) return self.undo(outcome);
  if (self.target == qp_state::rts) return self.end_work({});
  static_assert(static_cast<unsigned>(qp_state::rts) == 3);  // RESET, INIT, RTR, RTS
  self.move(static_cast<qp_state>(static_cast<unsigned>(self.target) + 1));
}

void connecting::undo(status why) {
  begin_undoing(why);
  const queue_pair* const pair = owner().objects().find(pair_handle);
  if (pair == nullptr || pair->in_doubt() || pair->state_unknown ||
      pair->qp_state == qp_state::init)
    return end_work(why);
  move(pair->qp_state == qp_state::reset ? qp_state::init : qp_state::reset);
}

// ---- Closing.

void closing::start(adapter& hca, const connection& what) {
  if (!startable()) return;
  if (connection_object* const p = claim(hca, what)) start(hca, *p);
}

void closing::start(adapter& hca, connection_object& what) {
  begin_on(hca, what, &advance);
  go_on(what);
}

void closing::go_on(connection_object& what) {
  const verbs& objects = owner().objects();
  part(destroy_).start(owner().objects(), what.last_made(objects));
}

void closing::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<closing&>(s);
  connection_object* const p = self.found();
  if (p == nullptr) return self.complete({});
  if (outcome.ok()) outcome = self.stop_reason();
  if (!outcome.ok()) return self.end_work(outcome);
  self.go_on(*p);
}

}  // namespace freehca::easy
