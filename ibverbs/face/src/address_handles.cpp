// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <cstring>

#include <freehca/hca/kinds/address_handle.hpp>
#include <freehca/layouts/layout.hpp>

#include "errors.hpp"
#include "objects.hpp"

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
  engine& here = engine_of(pd->context);
  if (here.dead()) return fail(ENODEV);
  auto made = std::make_unique<datagram_address>();
  const engine::guard held(here.lock);
  const result<ah_handle> created =
      here.objects().create<address_handle>({of(pd).handle, address_of(*how)});
  if (!created.ok()) return fail(errno_of(created.error()));
  made->verbs = {pd->context, pd, 0};
  made->handle = created.value();
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

FREEHCA_EXPORT int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* done,
                                       ibv_grh* grh, ibv_ah_attr* to) {
  engine& here = engine_of(context);
  if (!here.is_port(port)) return EINVAL;
  *to = {};
  to->dlid = done->slid;
  to->sl = done->sl;
  to->src_path_bits = done->dlid_path_bits;
  to->port_num = port;
  if ((done->wc_flags & IBV_WC_GRH) == 0) return 0;
  // The answer goes from where the request went to (IBTA vol. 1, 13.5.4.4).
  const std::vector<std::uint64_t>& guids = here.port(port).guids;
  std::size_t index = 0;
  while (index < guids.size() && layouts::swap_be(grh->dgid.global.interface_id) != guids[index])
    ++index;
  if (index == guids.size()) return EINVAL;
  const std::uint32_t words = layouts::swap_be(grh->version_tclass_flow);
  to->is_global = 1;
  to->grh.dgid = grh->sgid;
  to->grh.sgid_index = static_cast<std::uint8_t>(index);
  to->grh.flow_label = words & 0xfffff;
  to->grh.traffic_class = static_cast<std::uint8_t>(words >> 20);
  to->grh.hop_limit = grh->hop_limit;
  return 0;
}

FREEHCA_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* done, ibv_grh* grh,
                                             std::uint8_t port) {
  ibv_ah_attr how;
  if (const int error = ibv_init_ah_from_wc(pd->context, port, done, grh, &how); error != 0)
    return fail(error);
  return ibv_create_ah(pd, &how);
}
