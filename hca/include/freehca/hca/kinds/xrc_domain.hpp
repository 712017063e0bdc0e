// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/objects/verbs.hpp>

namespace freehca {

/// A domain of extended reliable connections (XRC). A peer can use the shared receive queues of a
/// domain through each target of the domain. An XRC domain is a number. No command creates it.
struct xrc_domain : object_record {
  struct attributes {};
  static constexpr kind_facts facts{.name = "XRC domain", .item = 0x50};
  /// The numbers that each owner has for its domains.
  static constexpr unsigned log_domains_of_owner = 8;

  /// Errors: driver_error::unsupported (the device has no XRC), ::no_resource.
  status build(verbs& in, const attributes&);
  void strip(verbs&) { number = none; }  // it is not from a number space
};
static_assert(sizeof(void*) != 8 || sizeof(xrc_domain) == 88);

using xrcd_handle = handle<xrc_domain>;

}  // namespace freehca
