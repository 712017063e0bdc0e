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
    input_ = bytes;
    input_length_ = length <= mailbox::bytes ? length : 0;
    request.input = command_request::form::mailbox;
    request.encode = [](command& c, std::byte* box) noexcept {
      auto& self = static_cast<raw_command&>(c);
      dma::store_bytes(box, self.input_, self.input_length_);
    };
  }
  /// If the firmware answers with ok, the first `length` bytes of the output mailbox are copied to
  /// `bytes`.
  void set_output_mailbox(std::byte* bytes, std::size_t length) {
    FREEHCA_ASSERT(length <= mailbox::bytes);
    output_ = bytes;
    output_length_ = length <= mailbox::bytes ? length : 0;
    request.output = command_request::form::mailbox;
    request.decode = [](command& c, const std::byte* box) noexcept {
      auto& self = static_cast<raw_command&>(c);
      dma::load_bytes(self.output_, box, self.output_length_);
    };
  }

 private:
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  std::size_t input_length_ = 0;
  std::size_t output_length_ = 0;
};

}  // namespace freehca
