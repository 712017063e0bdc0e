// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "saving/fields.hpp"

namespace freehca::model {

/// Work that a part of the adapter has scheduled for itself (work_source). It is plain data,
/// without pointers and functions, so that it can be listed and saved.
struct work_item {
  std::uint8_t kind = 0;         ///< a value of the part's own enumeration
  std::uint32_t number = 0;      ///< of the object that the work is for, as a queue pair or a port
  std::uint64_t generation = 0;  ///< of the object; the part ignores items of earlier generations
  std::uint64_t value = 0;       ///< depends on the kind
  std::vector<std::byte> bytes{};  ///< a packet or a frame

  using saved = saving::fields<&work_item::kind, &work_item::number, &work_item::generation,
                               &work_item::value, &work_item::bytes>;
};

/// A part of the adapter that has scheduled work.
class work_receiver {
 public:
  /// Does the work. The scheduler removed the item before the call, and destroys it afterwards.
  virtual void run_item(work_item& what) = 0;

 protected:
  ~work_receiver() = default;
};

}  // namespace freehca::model
