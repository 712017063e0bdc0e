// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/init_hca.hpp>

#include "basis/adapter.hpp"
#include "command/system_state.hpp"
#include "firmware/port_settings.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class command_checks;

/// The firmware's own life: its memory, its context memory, INIT_HCA and CLOSE_HCA, what it tells
/// about itself (QUERY_FW, QUERY_DEV_CAP, QUERY_ADAPTER, QUERY_HCA), and software reset.
class firmware {
 public:
  explicit firmware(adapter& a);

  system_state state() const { return state_; }

  /// Frequency of the free-running clock in MHz; 0: this variant has none (docs/hardware.md).
  unsigned clock_mhz() const;
  /// The clock now, in its own ticks.
  std::uint64_t clock_ticks() const;

  /// What the write to the software reset register does, as registered by the device.
  void on_software_reset(std::function<void()> what) { software_reset_ = std::move(what); }
  void software_reset() { software_reset_(); }

  /// Rises when what commands work on goes away: CLOSE_HCA, the firmware area or auxiliary memory
  /// taken back.
  std::uint64_t era() const { return era_; }

  void clear();

 private:
  layouts::command_status query_fw(command& c);
  layouts::command_status query_dev_cap(command& c);
  layouts::command_status query_adapter(command& c);
  slice_result map_fa(command& c);
  slice_result continue_map_fa(command& c);
  layouts::command_status unmap_fa(command& c);
  layouts::command_status run_fw(command& c);
  layouts::command_status mod_stat_cfg(command& c);
  layouts::command_status wake_on_lan(command& c, unsigned setup_mode, unsigned port);
  layouts::command_status set_icm_size(command& c);
  slice_result map_icm_aux(command& c);
  slice_result continue_map_icm_aux(command& c);
  layouts::command_status unmap_icm_aux(command& c);
  slice_result map_icm(command& c);
  slice_result continue_map_icm(command& c);
  slice_result unmap_icm(command& c);
  slice_result continue_unmap_icm(command& c);
  slice_result init_hca(command& c);
  slice_result continue_init_hca(command& c);
  layouts::command_status query_hca(command& c);
  layouts::command_status close_hca(command& c);
  layouts::command_status nop(command& c);

  slice_result take_pages(command& c, std::uint64_t& count);
  bool empty_groups(command_checks& is, std::uint64_t& from, std::uint64_t end);
  void check_nothing_lent(command_checks& is) const;
  bool running() const { return state_ == system_state::hca_running || initialising_; }
  /// What INIT_HCA began has an end.
  void stop();
  void count_profile();
  void take_profile(command_checks& is, const layouts::image<layouts::init_hca>& in);
  void check_reserved_entries(command_checks& is) const;
  /// `good`, or the command comes out of its order.
  static void check_order(command_checks& is, bool good, const char* state);

  adapter& a_;
  port_settings port_settings_;
  std::function<void()> software_reset_;
  system_state state_ = system_state::cold;
  std::uint64_t era_ = 0;
  bool initialising_ = false;  ///< INIT_HCA is at work
  std::uint64_t firmware_pages_ = 0, auxiliary_pages_ = 0;
  std::uint64_t icm_bytes_ = 0, auxiliary_needed_ = 0;
  layouts::image<layouts::init_hca> initial_;  ///< what INIT_HCA was given; QUERY_HCA gives it back

 public:
  using saved =
      saving::fields<&firmware::port_settings_,
                     saving::up_to(&firmware::state_, system_state::hca_running), &firmware::era_,
                     &firmware::initialising_, &firmware::firmware_pages_,
                     &firmware::auxiliary_pages_, &firmware::icm_bytes_,
                     &firmware::auxiliary_needed_, &firmware::initial_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"software_reset_", "a function set at construction"}};
  /// Precondition: the adapter's profile is loaded.
  const char* broken_invariant() const {
    return a_.profile.running == running() ? a_.profile.unfit_for(a_.how)
                                           : "the profile is not that of the system state";
  }
};

/// Memory that MAP_FA must lend, in pages. No source: chosen.
inline constexpr unsigned firmware_pages_needed = 1024;

}  // namespace freehca::model
