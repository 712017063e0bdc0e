// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/assert.hpp>

#include <freehca/hca/objects/kind.hpp>

namespace freehca {

/// The kinds of objects that a program uses, and the largest number of objects of each kind at a
/// time. A kind that the budget does not name costs neither memory nor code. The numbers and the
/// context memory of the objects count in the device's budget.
///
///   constexpr verbs_budget mine = verbs_budget{}
///       .with<protection_domain>(1).with<memory_region>(2)
///       .with<completion_queue>(1).with<queue_pair>(1);
struct verbs_budget {
  static constexpr unsigned most_kinds = 30;
  /// 12 bytes, because each program has a budget as a constant.
  struct [[gnu::packed, gnu::aligned(4)]] entry {
    const kind* what = nullptr;
    std::uint32_t count = 0;
  };

  std::uint32_t requests = 16 * 1024;  ///< places in the rings of all queues together
  entry kinds[most_kinds] = {};        ///< used up to the first entry without a kind

  /// Returns the same budget with `count` objects of kind K. Replaces an existing entry of K.
  template <class K>
  constexpr verbs_budget with(std::uint32_t count) const {
    verbs_budget b = *this;
    for (entry& e : b.kinds) {
      if (e.what != nullptr && e.what != &kind_of<K>) {
        FREEHCA_ASSERT(e.what->facts.item != K::facts.item);
        continue;
      }
      e = {&kind_of<K>, count};
      return b;
    }
    FREEHCA_ASSERT(false);
    return b;
  }
  template <class K>
  constexpr std::uint32_t count() const {
    for (const entry& e : kinds)
      if (e.what == &kind_of<K>) return e.count;
    return 0;
  }

  /// The values of `where` in driver_error::no_resource, ::no_memory and ::bad_argument for
  /// resources that all kinds share. Each kind has its own item (kind_facts::item).
  enum class item : std::uint8_t {
    requests = 0x40,
    storage,
    first_of_kinds,
  };
};

}  // namespace freehca
