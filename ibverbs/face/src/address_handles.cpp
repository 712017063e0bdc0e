// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <cerrno>
#include <cstring>

#include <freehca/hca/kinds/address_handle.hpp>

#include "errors.hpp"
#include "gid_tables.hpp"
#include "objects.hpp"
#include "roce_paths.hpp"

namespace freehca::ibverbs {

address_attributes address_of(const ibv_ah_attr& from) {
  infiniband_path to;
  to.port = from.port_num;
  to.dlid = from.dlid;
  to.sl = from.sl;
  to.path_bits = from.src_path_bits;
  to.static_rate = from.static_rate;
  to.global = from.is_global != 0;
  if (!to.global) return to;
  to.sgid_index = from.grh.sgid_index;
  to.hop_limit = from.grh.hop_limit;
  to.traffic_class = from.grh.traffic_class;
  to.flow_label = from.grh.flow_label;
  std::memcpy(to.dgid.raw, from.grh.dgid.raw, sizeof to.dgid.raw);
  return to;
}

}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* how) {
  FREEHCA_CALL(call);
  engine& here = engine_of(pd->context);
  if (here.dead()) return fail(ENODEV);
  if (!here.is_port(how->port_num))
    return fail(call.ended(because(EINVAL, "port_num %u is no port", unsigned{how->port_num})));
  auto made = std::make_unique<datagram_address>();
  const engine::guard held(here.lock);
  address_attributes path = address_of(*how);
  if (is_ethernet(here, how->port_num)) {
    roce_path found;
    if (const int error = read_path(here, *how, how->port_num, found); error != 0)
      return fail(call.ended(error));
    path = found;
  }
  const result<ah_handle> created = here.objects().create<address_handle>({of(pd).handle, path});
  if (!created.ok()) return fail(call.ended(here.errno_of_refusal(created.error())));
  made->verbs = {pd->context, pd, 0};
  made->handle = created.value();
  note_address(&made->verbs, call.from());
  made->address = &here.objects().find(made->handle)->address;
  return &made.release()->verbs;
}

FREEHCA_EXPORT int ibv_destroy_ah(ibv_ah* ah) {
  engine& here = engine_of(ah->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    if (const status s = here.objects().destroy(of(ah).handle); !s.ok()) return errno_of(s);
  }
  delete &of(ah);
  return 0;
}

// On failure -1, and the error in errno, as in rdma-core libibverbs/verbs.c.
FREEHCA_EXPORT int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* done,
                                       ibv_grh* grh, ibv_ah_attr* to) {
  engine& here = engine_of(context);
  *to = {};
  int error = here.dead() ? ENODEV : here.is_port(port) ? 0 : EINVAL;
  if (error == 0) {
    const engine::guard held(here.lock);
    error = read_sender(here, port, *done, *grh, *to);
  }
  if (error == 0) return 0;
  errno = error;
  return -1;
}

FREEHCA_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* done, ibv_grh* grh,
                                             std::uint8_t port) {
  ibv_ah_attr how;
  if (ibv_init_ah_from_wc(pd->context, port, done, grh, &how) != 0) return nullptr;
  return ibv_create_ah(pd, &how);
}

// A negative errno on failure, as in rdma-core libibverbs/verbs.c.
FREEHCA_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* how,
                                               std::uint8_t* mac, std::uint16_t* vlan) {
  engine& here = engine_of(context);
  if (here.dead()) return -ENODEV;
  if (!here.is_port(how->port_num)) return -EINVAL;
  roce_path found;
  {
    const engine::guard held(here.lock);
    if (!is_ethernet(here, how->port_num)) return -EINVAL;
    if (how->grh.sgid_index >= gid_count(here, how->port_num) ||
        gid_at(here, how->port_num, how->grh.sgid_index).empty)
      return -EINVAL;
    // libibverbs resolves the GID whether or not the attributes say that there is a GRH.
    ibv_ah_attr global = *how;
    global.is_global = 1;
    if (const int error = read_path(here, global, how->port_num, found); error != 0) return -error;
  }
  constexpr unsigned bytes = 6;
  for (unsigned i = 0; i < bytes; ++i)
    mac[i] = static_cast<std::uint8_t>(found.dmac >> 8 * (bytes - 1 - i));
  if (vlan != nullptr) *vlan = found.vlan;
  return 0;
}
