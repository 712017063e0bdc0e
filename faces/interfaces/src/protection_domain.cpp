// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/protection_domain.hpp>

#include <freehca/hca/kinds/protection_domain.hpp>

#include "in_room.hpp"

namespace freehca {

namespace {

status create(verbs& in, const attribute_list& list, pd_handle& made) {
  // A protection domain has no attributes.
  FREEHCA_TRY(read_attributes(list, nullptr, 0, nullptr));
  return interfaces::create_now<protection_domain>(in, {}, made);
}

constexpr protection_domain_interface operations{
    .create = &create,
    .destroy = &interfaces::destroy_now<protection_domain>,
};

}  // namespace

constexpr offered_interface protection_domain_offered = interfaces::offered(operations);

}  // namespace freehca
