// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

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
    FREEHCA_TRY(write_address(in, a.pd, a.address, address));
    use(*in.find(a.pd));
    in.count_port_users(a.address.port(), 1);
    return {};
  }
  void strip(verbs& in) {
    using rows = layouts::address_vector_rows;
    if (const auto port = static_cast<unsigned>(address.vector.get<&rows::port>()); port != 0)
      in.count_port_users(port, -1);
    address = {};
  }
};
static_assert(sizeof(void*) != 8 || sizeof(address_handle) == 128);

using ah_handle = handle<address_handle>;

}  // namespace freehca
