// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::model {

/// How far the host has brought the adapter up. Each state includes the ones before it.
enum class system_state : std::uint8_t {
  cold,              ///< after reset: QUERY_FW and MAP_FA only
  firmware_mapped,   ///< memory was lent by MAP_FA
  firmware_running,  ///< after RUN_FW
  hca_running,       ///< after INIT_HCA
};

/// The command that leads to it.
constexpr const char* name_of(system_state s) {
  switch (s) {
    case system_state::cold:
      return "a reset";
    case system_state::firmware_mapped:
      return "MAP_FA";
    case system_state::firmware_running:
      return "RUN_FW";
    case system_state::hca_running:
      return "INIT_HCA";
  }
  return "unknown state";
}

}  // namespace freehca::model
