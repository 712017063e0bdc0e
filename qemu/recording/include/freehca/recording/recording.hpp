// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/opcode.hpp>
#include <freehca/model/options.hpp>

namespace freehca::recording {

/// What a record tells; docs/recording.md has each.
enum class record_kind : std::uint8_t {
  call,    ///< the host calls the adapter
  result,  ///< what a call that reads answers
  read,    ///< DMA from host memory
  write,   ///< DMA to host memory
  bus_master,
  msix_enabled,
  msix,
  intx,
  wipe,
  send,  ///< a packet leaves by a cable
  complaint,
  command,  ///< the adapter has accepted a command
  answer,   ///< and has answered one
  store,    ///< the driver has stored in memory that the adapter sees
  step,     ///< what the driver does from here on
};

/// One line of a recording. Members that its kind has no use for are zero or empty.
struct record {
  record_kind kind = record_kind::call;
  std::size_t line = 0;  ///< of the file, from 1
  std::string name;      ///< of the call or the command; a complaint's text
  std::string what;      ///< read, write: the subject, empty when none was told
  std::uint64_t of = 0, index = 0;
  std::uint64_t at = 0;     ///< bus address; offset in the BAR; port of `send`
  std::uint64_t bytes = 0;  ///< of an access; data.size() where there is data
  std::uint64_t time = 0;   ///< call, or any record of a driver's recorder: nanoseconds
  std::uint64_t value = 0;  ///< written or answered; MSI-X vector; 0 or 1
  bool refused = false;     ///< by the host's bus, or the cable
  std::vector<std::byte> data;

  layouts::opcode opcode{};  ///< command, answer
  std::uint8_t opcode_modifier = 0;
  std::uint32_t input_modifier = 0;
  std::uint64_t input = 0, output = 0;
  std::uint16_t token = 0;
  bool event = false;
  layouts::command_status status{};

  std::map<std::string, std::uint64_t> numbers;  ///< call: what else it was given
};

/// A recording as it was read.
struct recording {
  std::string name;  ///< of the file, for messages
  bool usable =
      /// It has a header that this program reads; `records` are what follows, as far as they are
      /// whole.
      false;
  std::string
      problem;  ///< why it is not usable, or where it is cut off or broken; empty: it is whole
  bool of_model = true;  ///< false: of a card
  /// Made at the driver's side ("by": "driver"): replay_driver() is for it, replay() is not.
  bool by_driver = false;
  model::options how;  ///< of the adapter; `record` is off
  std::string label;
  std::vector<record> records;
};

/// Reads until the end, or to the first line that is not a record, or has more than a recording can
/// have (docs/recording.md, "What a reader refuses"). Throws nothing: a file that does not fit into
/// memory is a problem, too.
recording load(std::istream& from, const std::string& name);

}  // namespace freehca::recording
