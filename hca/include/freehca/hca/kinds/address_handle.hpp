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
    using layouts::address_vector;
    protection_domain* const domain = in.find(a.pd);
    FREEHCA_TRY(verbs::usable(domain));
    FREEHCA_TRY(check_port(in, a.address.port));
    // The fields are set as in Linux (6.1 hw/mlx4/ah.c create_ib_ah).
    address = {};
    FREEHCA_TRY(write_path(in, a.address, true, address.vector));
    use(*domain);
    address.vector.set<&address_vector::port>(a.address.port)
        .set<&address_vector::pd>(domain->number);
    return {};
  }
};
static_assert(sizeof(void*) != 8 || sizeof(address_handle) == 128);

using ah_handle = handle<address_handle>;

}  // namespace freehca
