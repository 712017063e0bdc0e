// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/mailbox.hpp>

namespace freehca {

/// Any firmware command, with mailboxes of plain bytes. It has the same tokens, deadlines, leases
/// and reset rules as all other commands. The sender is responsible for the command's effects on
/// the driver's own objects.
class raw_command : public command {
 public:
  /// Sends `length` bytes from `bytes`, at most mailbox::bytes. The caller does not change the
  /// bytes until completion.
  void set_input_mailbox(const std::byte* bytes, std::size_t length) {
    FREEHCA_ASSERT(length <= mailbox::bytes);
    request.input_data = length != 0 ? bytes : &no_byte_;
    request.input_bytes = static_cast<std::uint16_t>(length <= mailbox::bytes ? length : 0);
    request.input = command_request::form::mailbox;
  }
  /// If the firmware answers with ok, the first `length` bytes of the output mailbox are copied to
  /// `bytes`.
  void set_output_mailbox(std::byte* bytes, std::size_t length) {
    FREEHCA_ASSERT(length <= mailbox::bytes);
    request.output_data = length != 0 ? bytes : &no_byte_;
    request.output_bytes = static_cast<std::uint16_t>(length <= mailbox::bytes ? length : 0);
    request.output = command_request::form::mailbox;
  }

 private:
  std::byte no_byte_{};  ///< of mailboxes of which the caller gives or takes no byte
};

}  // namespace freehca
