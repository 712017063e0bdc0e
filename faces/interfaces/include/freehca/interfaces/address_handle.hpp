// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/interfaces/common_attributes.hpp>
#include <freehca/interfaces/interface.hpp>
#include <freehca/interfaces/path_attributes.hpp>

namespace freehca {

struct address_handle;

/// The attributes of address handles: these, and those of `path`.
namespace ah {
using common::domain;  ///< required: the domain of the queue pairs that use the handle
}

/// The destinations of datagrams. All calls are made on the owner thread of the verbs object. They
/// create and destroy at once.
struct address_handle_interface {
  static constexpr const char* name = "address_handle";
  static constexpr std::uint32_t version = 1;

  interface_head head{sizeof(address_handle_interface), sizeof(address_handle_interface)};

  /// Errors: driver_error::bad_state (the verbs object is not open), ::bad_argument, ::stale_handle
  /// (the domain), ::no_resource, ::unsupported, and those of read(). After an error, `made` is
  /// unchanged.
  status (*create)(verbs& in, const attribute_list& attributes,
                   handle<address_handle>& made) = nullptr;
  /// Errors: driver_error::stale_handle, ::bad_state.
  status (*destroy)(verbs& in, handle<address_handle> which) = nullptr;
};
static_assert(sizeof(void*) != 8 || (sizeof(address_handle_interface) == 24 &&
                                     offsetof(address_handle_interface, create) == 8 &&
                                     offsetof(address_handle_interface, destroy) == 16));

extern const offered_interface address_handle_offered;

}  // namespace freehca
