// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/queues/address.hpp>

#include <freehca/hca/kinds/address_attributes.hpp>
#include <freehca/hca/kinds/protection_domain.hpp>

namespace freehca {

struct address_handle_attributes {
  pd_handle pd{};                ///< the domain of the queue pairs that use the handle
  address_attributes address{};  ///< a multicast LID needs a GRH
};

/// The destination of datagrams. Only the driver knows the object. A post copies the destination
/// (datagram_destination::at).
struct address_handle : object_record {
  using attributes = address_handle_attributes;
  static constexpr kind_facts facts{.name = "address handle", .item = 0x48};

  queues::address address;  ///< the destination for posts

  status build(verbs& in, const attributes& a) {
    using layouts::address_vector_rows;
    protection_domain* const domain = in.find(a.pd);
    FREEHCA_TRY(verbs::usable(domain));
    const capabilities& can = in.adapter().capabilities();
    const address_attributes& way = a.address;
    FREEHCA_TRY(check_port(way.port, can));
    if (!is_valid_path(way, true)) return driver_error::bad_argument;
    use(*domain);
    // The fields are set as in Linux (6.1 hw/mlx4/ah.c create_ib_ah).
    address = {};
    layouts::image<layouts::address_vector>& v = address.vector;
    v.set<&address_vector_rows::port>(way.port).set<&address_vector_rows::pd>(domain->number);
    v.set<&address_vector_rows::force_loopback>(way.force_loopback);
    v.set<&address_vector_rows::rlid>(way.dlid);
    v.set<&address_vector_rows::my_lid_smac_idx>(way.path_bits);
    v.set<&address_vector_rows::static_rate>(static_rate_code(way.static_rate, can));
    v.set<&address_vector_rows::sl>(way.sl);
    if (!way.global) return {};
    v.set<&address_vector_rows::grh>(true);
    v.set<&address_vector_rows::mgid_index>(way.sgid_index);
    v.set<&address_vector_rows::hop_limit>(way.hop_limit);
    v.set<&address_vector_rows::tclass>(way.traffic_class);
    v.set<&address_vector_rows::flow_label>(way.flow_label);
    std::byte raw[sizeof way.dgid.raw];
    __builtin_memcpy(raw, way.dgid.raw, sizeof raw);
    v.set_bytes<&address_vector_rows::dgid>(raw);
    return {};
  }
};
static_assert(sizeof(void*) != 8 || sizeof(address_handle) == 128);

using ah_handle = handle<address_handle>;

}  // namespace freehca
