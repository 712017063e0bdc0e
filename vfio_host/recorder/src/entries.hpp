// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <freehca/layouts/opcode.hpp>

namespace freehca::recorder {

using bytes = std::vector<std::byte>;

enum class entry_kind : std::uint8_t {
  step,
  call,
  store,
  write,
  command,
  answer,
  bus_master,
  msix,
  intx
};

/// A record before it is formatted as text. Identities in it can still be replaced.
struct entry {
  entry_kind kind = entry_kind::call;
  std::uint64_t time = 0;
  std::string name;  ///< of the step or the call, or of the written structure
  std::uint64_t at = 0, width = 0, value = 0;
  bool has_result = false;  ///< for a call that reads; `value` is the result
  std::uint64_t of = 0, index = 0;
  bytes data;
  layouts::opcode opcode{};
  std::uint8_t opcode_modifier = 0;
  std::uint32_t input_modifier = 0;
  std::uint64_t input = 0, output = 0;
  std::uint16_t token = 0;
  bool event = false;
  std::uint8_t status = 0;
};

/// The adapter's facts for the header.
struct adapter_facts {
  std::string variant = "connectx3-pro";
  unsigned ports = 2;
  bool ethernet[2] = {};  ///< for a VPI port: the type that the card suggests
  bool vpi[2] = {};
  bool active[2] = {};  ///< InfiniBand: a subnet manager made the port active while it was recorded
  unsigned lid[2] = {2, 2}, sm_lid[2] = {1, 1};  ///< those of the fabric, or the model's defaults
  unsigned log_max_commands = 4;
  std::uint64_t uar_bar_bytes = 8u << 20;
};

}  // namespace freehca::recorder
