// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/address_handle.hpp>

#include <freehca/hca/kinds/address_handle.hpp>

#include "in_room.hpp"
#include "path_attributes.hpp"

namespace freehca {

namespace {

constexpr auto known =
    attributes_of<address_handle_attributes>(
        {required(FREEHCA_ATTRIBUTE(address_handle_attributes, pd, ah::domain))})
        .with(offsetof(address_handle_attributes, address), interfaces::path_known);

status create(verbs& in, const attribute_list& list, ah_handle& made) {
  address_handle_attributes attributes;
  FREEHCA_TRY(read(list, known, attributes));
  return interfaces::create_now<address_handle>(in, attributes, made);
}

constexpr address_handle_interface operations{
    .create = &create,
    .destroy = &interfaces::destroy_now<address_handle>,
};

}  // namespace

constexpr offered_interface address_handle_offered = interfaces::offered(operations);

}  // namespace freehca
