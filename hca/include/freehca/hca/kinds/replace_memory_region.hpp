// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/memory_region.hpp>

namespace freehca {

/// Registers a region again, with another protection domain, other access rights or other memory.
/// The region keeps its handle. It gets a new key, and accesses by the old key fail afterwards. The
/// attributes replace all earlier ones. While the operation is under way, the owner has one more
/// region.
///
/// Linux keeps the key: it takes the entry back, changes it and gives it to the device again (6.1
/// hw/mlx4/mr.c mlx4_ib_rereg_user_mr). The region is lost if the second step fails. This operation
/// creates the new region before it destroys the old one, so that the old one stays if the device
/// refuses either step.
///
/// Outcomes: those of a creation and of a destruction, and driver_error::unsupported (the region is
/// of a kind that stands in for a memory region). In all cases but one, the region is unchanged
/// after an error. The exception is transport_error::timeout, or ::cancelled after the firmware had
/// the last command: the region may then already be the new one (key_of() has changed), and the
/// device may still use the old memory until its late answer or a reset.
class replace_memory_region : public stepper {
 public:
  replace_memory_region() = default;
  ~replace_memory_region() { drop(); }

  void start(verbs& owner, mr_handle which, const memory_region_attributes& to);

 private:
  static void advance(stepper& self, status outcome) noexcept;
  void ended(status outcome);
  void exchange();

  verbs* owner_ = nullptr;
  mr_handle which_, spare_;                  // spare_: null until the new region exists
  std::uint32_t put_ = object_record::none;  // the number that the region got
  create_memory_region create_;
  destroy_memory_region destroy_;
};

}  // namespace freehca
