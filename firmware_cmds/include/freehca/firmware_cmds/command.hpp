// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/key_line.hpp>
#include <freehca/firmware_cmds/lease.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/layouts/opcode.hpp>

namespace freehca {

/// Who goes first when several commands wait. Commands with equal keys keep their order across
/// lanes.
enum class lane : std::uint8_t { management, teardown, bulk };
inline constexpr unsigned lanes = 3;

/// How long the firmware may take; the channel has a limit for each (channel::set_limit).
enum class patience : std::uint8_t {
  probe,     ///< asks only whether an answer arrives at all (NOP)
  ordinary,  ///< commands on objects
  lengthy,   ///< firmware start, INIT_HCA, CLOSE_HCA, ports
};
inline constexpr unsigned patience_classes = 3;

class command_client;

/// What is asked of the firmware. All of it stays as it is from submit() to completion.
struct command_request {
  enum class form : std::uint8_t { none, immediate, mailbox };
  /// Writes the input mailbox at the time of posting, through the dma accessors.
  using encoder = void (*)(command& from, std::byte* box) noexcept;
  /// Reads the output mailbox of a command that the firmware answered with ok, through the dma
  /// accessors, before the command completes.
  using decoder = void (*)(command& into, const std::byte* box) noexcept;

  layouts::opcode opcode{};
  std::uint8_t opcode_modifier = 0;  ///< four bits
  form input = form::none;
  form output = form::none;
  freehca::lane lane = freehca::lane::bulk;
  freehca::patience patience = freehca::patience::ordinary;
  bool barrier = false;  ///< nothing overlaps it: INIT_HCA, CLOSE_HCA, port commands
  std::uint32_t input_modifier = 0;
  std::uint64_t input_immediate = 0;  ///< with form::immediate
  encoder encode = nullptr;           ///< with form::mailbox
  decoder decode = nullptr;           ///< with form::mailbox
  object_key key;
};

/// One firmware command: an operation that a channel runs. Usually a firmware_command<F> of
/// typed.hpp; this class itself is the raw form that can carry any opcode.
///
/// Outcomes: ok; the firmware's status as it gave it; transport_error::timeout (it was not
/// answered, or others before it were not and nothing more can be posted), ::gone, ::reset;
/// driver_error::cancelled, ::busy (an earlier command on the same object is in doubt),
/// ::bad_argument, ::bad_state (the channel is not open). `where` is the opcode.
class command : public operation {
 public:
  [[gnu::noinline]] command() {}
  ~command();
  explicit command(const command_request& r) : request(r) {}

  command_request request;

  /// Before submit(). Each lease goes back to its owner or into doubt before the command completes.
  void put_at_risk(lease& l) {
    FREEHCA_ASSERT(where() == phase::idle || where() == phase::done);
    at_risk_.push_back(l);
  }

  /// With output form immediate, once the outcome is ok.
  std::uint64_t output_immediate() const { return output_immediate_; }

 private:
  friend class channel;
  friend class command_client;
  static constexpr std::uint16_t no_slot = 0xffff;

  list<lease> at_risk_;
  command_client* client_ = nullptr;  // until it has ended
  key_line line_;                     // while it is queued, and none on its object is ahead of it
  std::uint64_t output_immediate_ = 0;
  std::uint64_t order_ = 0;      // of submission
  std::uint64_t queued_at_ = 0;  // nanoseconds
  std::uint64_t posted_at_ = 0;  // nanoseconds; 0: never
  std::uint16_t slot_ = no_slot;
};

}  // namespace freehca
