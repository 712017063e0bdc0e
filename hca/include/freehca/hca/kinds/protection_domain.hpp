// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/objects/verbs.hpp>

namespace freehca {

/// A queue pair can use the memory regions of its own protection domain only. A protection domain
/// is a number. No command creates it.
struct protection_domain : object_record {
  struct attributes {};
  static constexpr kind_facts facts{
      .name = "protection domain", .item = 0x42, .numbers = &number_spaces::pds};

  status build(verbs& in, const attributes&) { return in.take_number(*this); }
};
static_assert(sizeof(void*) != 8 || sizeof(protection_domain) == 88);

}  // namespace freehca
