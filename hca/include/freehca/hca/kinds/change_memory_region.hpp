// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/kinds/memory_region.hpp>

namespace freehca {

/// Changes the access rights of a region, or its protection domain, or both. The region keeps its
/// handle, its key and its memory. The device takes the entry of the region back (HW2SW_MPT) and
/// gets it again (SW2HW_MPT), as for a virtual function of Linux (6.1 hw/mlx4/mr.c
/// mlx4_ib_rereg_user_mr; mlx4/mr.c mlx4_mr_hw_get_mpt, mlx4_mr_hw_write_mpt). Between the two
/// commands the key gives no access.
///
/// Outcomes: those of the two commands, and driver_error::stale_handle (the region or the domain is
/// gone), ::busy, ::bad_argument (remote_write or remote_atomic without local_write),
/// ::bad_state (the device has no entry of the region), ::unsupported (the region is of a kind that
/// stands in for a memory region; or local_write, and the memory of the program is mapped for
/// reading only).
///
/// With the outcomes above, and if the device refuses the first command, the region is unchanged.
/// It refuses with region_bound while memory windows are bound to the region. If the second command
/// is refused, or if the operation is destroyed between the two, the device has no entry of the
/// region: the key gives no access, and the region can only be destroyed or replaced
/// (replace_memory_region). After the answer to the first command, cancel() and the deadline do not
/// prevent the second command: it is sent, so that the region has its entry again. If a command is
/// not answered, the region is in doubt. After the late answer or a reset it is as it would have
/// been after the answer in time. A late answer to the first command does not start the second one.
class change_memory_region : public stepper {
 public:
  change_memory_region() = default;
  ~change_memory_region() { drop(); }

  /// `domain` may be the default handle: the region stays in its domain.
  void start(verbs& owner, mr_handle which, pd_handle domain, const memory_access& access);

 private:
  struct command_on_region : object_operation {
    void start(memory_region& region, command& c, bool gives);
    static void finished(object_operation& op, status outcome) noexcept;
  };
  static void advance(stepper& self, status outcome) noexcept;
  void give(memory_region& region);

  verbs* owner_ = nullptr;
  mr_handle which_;
  memory_access access_;
  bool gives_ = false;  // the second command was sent
  command_on_region step_;
  firmware_command<commands::hw2sw_mpt_read> take_{std::uint32_t{0}};
  firmware_command<commands::sw2hw_mpt> give_{std::uint32_t{0}};
};

}  // namespace freehca
