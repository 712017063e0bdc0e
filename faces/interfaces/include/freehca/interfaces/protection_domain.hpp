// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/interfaces/interface.hpp>

namespace freehca {

/// Protection domains. They have no attributes and need no firmware commands. All calls are made on
/// the owner thread of the verbs object. They create and destroy at once.
struct protection_domain_interface {
  static constexpr const char* name = "protection_domain";
  static constexpr std::uint32_t version = 1;

  interface_head head{sizeof(protection_domain_interface), sizeof(protection_domain_interface)};

  /// Errors: driver_error::bad_state (the verbs object is not open), ::no_resource, ::unsupported,
  /// and those of read(). After an error, `made` is unchanged.
  status (*create)(verbs& in, const attribute_list& attributes, pd_handle& made) = nullptr;
  /// Errors: driver_error::busy (other objects refer to the domain), ::stale_handle, ::bad_state.
  status (*destroy)(verbs& in, pd_handle which) = nullptr;
};
static_assert(sizeof(void*) != 8 || (sizeof(protection_domain_interface) == 24 &&
                                     offsetof(protection_domain_interface, create) == 8 &&
                                     offsetof(protection_domain_interface, destroy) == 16));

extern const offered_interface protection_domain_offered;

}  // namespace freehca
