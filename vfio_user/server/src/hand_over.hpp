// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What an adapter's process, the keeper and a process of another build send each other when the
// last one takes the adapter over (keeper::record). Both builds must have the same version of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <freehca/keeper/kept_client.hpp>
#include <freehca/keeper/shared_state.hpp>
#include <freehca/vfio_user/channel.hpp>

#include "notify.hpp"
#include "run_time_settings.hpp"

namespace freehca::device_server {

/// The body of record::shared_memory.
struct hand_over_version {
  static constexpr std::uint32_t present = 1;
  std::uint32_t version;
  std::uint32_t starts;
  std::uint64_t shared_bytes;
};

/// The adapter's state in a file, and the descriptors of its wires in the order of the file.
struct handed_adapter {
  vfio_user::descriptor state;
  std::vector<vfio_user::descriptor> wires;
};

/// Writes the adapter's state. Returns "", or the reason for a failure.
std::string write_handed_adapter(served_adapter& of, handed_adapter& to);
/// Reads it. `adapter` receives the state for load_adapter(). Returns "", or the reason for a
/// refusal.
std::string read_handed_adapter(const settings& how, handed_adapter& from, handed_wires& wires,
                                std::vector<std::byte>& adapter);

/// What the keeper has sent to this process.
struct handed_over {
  keeper::shared_state* state = nullptr;
  unsigned starts = 1;
  passed_sockets sockets;
  keeper::kept_client client;
  handed_adapter adapter;  ///< without a state: the adapter's process died
};

/// Receives the keeper's records up to the last one. Returns "", or the reason for a refusal.
std::string receive_hand_over(vfio_user::channel& from, handed_over& to);

/// Serves with what the keeper sends through the descriptor. Returns the exit code, or ends the
/// process.
int take_over(settings& how, int link);

}  // namespace freehca::device_server
