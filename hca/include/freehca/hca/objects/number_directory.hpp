// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/objects/object.hpp>

namespace freehca {

/// Finds the object whose number an event names. Numbers from the device are not trusted: find()
/// returns null if no object has the number. The caller provides the slots. Their count is a power
/// of two, and not less than the length of the range from which the numbers come.
class number_directory {
 public:
  void open(object_record** slots, std::uint32_t count) {
    slots_ = slots;
    mask_ = count - 1;
    for (std::uint32_t i = 0; i < count; ++i) slots_[i] = nullptr;
  }
  object_record* find(std::uint32_t number) const {
    object_record* const found = slots_[number & mask_];
    return found != nullptr && found->number == number ? found : nullptr;
  }
  void add(object_record& object) { slots_[object.number & mask_] = &object; }
  void remove(const object_record& object) {
    object_record*& slot = slots_[object.number & mask_];
    if (slot == &object) slot = nullptr;
  }

 private:
  object_record** slots_ = nullptr;
  std::uint32_t mask_ = 0;
};

}  // namespace freehca
