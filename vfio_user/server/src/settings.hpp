// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <freehca/model/c_api.h>
#include <freehca/closed_process/closing.hpp>

#include "configuration_space.hpp"

namespace freehca::device_server {

/// All settings. Pointers in `model` point to strings of this object, so it must not be moved.
struct settings {
  settings();
  settings(const settings&) = delete;
  settings& operator=(const settings&) = delete;

  std::string socket, control;
  freehca_model_options model;
  configuration_options configuration;
  std::array<std::string, 2> wire{"none", "none"};  ///< port1, port2
  std::array<std::string, 2> capture;
  std::array<bool, 2> cable_plugged{true, true};
  std::string recording, recording_label;
  std::string rules_off, without;
  std::string command_fault, event_fault;
  std::array<std::string, 2> link_fault;
  bool polled_doorbells = false;
  /// The time for which the server polls without a pause after the last event. An answer of the
  /// other end arrives within a few microseconds. A longer time would occupy a processor that the
  /// other end may need for its answer (docs/performance-model.md).
  std::uint64_t poll_ns = default_poll_us * 1000;
  static constexpr std::uint64_t default_poll_us = 8, most_poll_us = 1'000'000;
  bool trace = false;
  /// Whether a keeper keeps the client if the adapter's process dies.
  bool restarts = false;
  /// The file that the state is written to at SIGTERM, and the file with the state to begin with;
  /// "": none.
  std::string save, load;
  closed_process::mode closed = closed_process::mode::automatic;
};

}  // namespace freehca::device_server
