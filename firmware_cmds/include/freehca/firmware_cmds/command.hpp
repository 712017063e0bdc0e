// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/lease.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/layouts/opcode.hpp>

namespace freehca {

/// The priority of a command. The channel posts management commands first, then teardown commands,
/// then bulk commands. Commands with equal keys keep their order of submission, even if they are in
/// different lanes.
enum class lane : std::uint8_t { management, teardown, bulk };
inline constexpr unsigned lanes = 3;

/// The class of the time limit for the firmware's answer. The channel has one limit for each class
/// (channel::set_limit).
enum class patience : std::uint8_t {
  probe,     ///< asks only whether an answer arrives at all (NOP)
  ordinary,  ///< commands on objects
  lengthy,   ///< firmware start, INIT_HCA, CLOSE_HCA, ports
};
inline constexpr unsigned patience_classes = 3;

class channel;
class command;
class command_client;
struct command_slot;

enum class object_kind : std::uint8_t { none, eq, cq, qp, srq, mpt, mcg, port, context_memory };

/// The object that a command works on. Commands with equal keys never overlap. If an object
/// executes a command, the firmware answers resource_busy to another command on this object (Linux
/// 6.1 cmd.c CMD_STAT_RESOURCE_BUSY).
struct object_key {
  object_kind kind = object_kind::none;
  std::uint64_t number = 0;
  friend constexpr bool operator==(const object_key&, const object_key&) = default;
};

/// The contents of a command. The caller does not change them from submit() to completion.
struct command_request {
  enum class form : std::uint8_t { none, immediate, mailbox };

  layouts::opcode opcode{};
  form input = form::none;
  form output = form::none;
  // The next four are neighbours: one store sets all of them.
  std::uint8_t opcode_modifier = 0;  ///< four bits
  freehca::lane lane = freehca::lane::bulk;
  freehca::patience patience = freehca::patience::ordinary;
  bool barrier = false;  ///< no other command is in flight beside this one
  std::uint32_t input_modifier = 0;
  std::uint64_t input_immediate = 0;  ///< with form::immediate
  // With form::mailbox. The input is copied when the command is posted, header first. The output is
  // copied before the command completes, if the firmware answered with ok.
  const std::byte *input_header = nullptr, *input_data = nullptr;
  std::byte* output_data = nullptr;
  std::uint16_t header_bytes = 0, input_bytes = 0, output_bytes = 0;
  object_key key;
};

/// The commands of all clients on one object. One command holds the line: it may be posted, or the
/// firmware has it. The others wait behind it in the order of their submission. A line that is in
/// use is in a list of the channel.
struct key_line : list_node {
  object_key key;
  list<command> waiting;
};

/// One firmware command: an operation that a channel runs. Most commands are a firmware_command<F>
/// of typed.hpp. This class itself is the raw form, which can carry any opcode.
///
/// Outcomes: ok; the status that the firmware returned; transport_error::timeout, ::gone, ::reset;
/// driver_error::cancelled, ::busy, ::bad_argument, ::bad_state; the argument of
/// channel::fail_all(). `where` is the opcode. The outcome is ::timeout if the command was not
/// answered before its deadline, or if commands before it were not answered and nothing more can be
/// posted. It is ::busy if an earlier command on the same object is in doubt and past its deadline.
/// It is ::bad_state if the channel is not open, or if the channel does not admit the commands of
/// clients.
class command : public operation, public list_place<channel> {
 public:
  using operation::linked;
  using operation::unlink;
  [[gnu::noinline]] command() {}
  ~command();
  explicit command(const command_request& r) : request(r) {}

  command_request request;

  /// Puts the resource of a lease at risk. Called before submit(). When the command completes, the
  /// resource is free again, or in doubt: see lease::in_doubt().
  void put_at_risk(lease& l) {
    FREEHCA_ASSERT(where() == phase::idle || where() == phase::done);
    at_risk_.push_back(l);
  }

  /// Valid once the outcome is ok, if the output form is immediate.
  std::uint64_t output_immediate() const { return output_immediate_; }

 private:
  friend class channel;
  friend class command_client;

  list<lease> at_risk_;
  command_client* client_ = nullptr;  // null after the command has ended
  command_slot* slot_ = nullptr;      // of the last posting
  key_line line_;                     // in use while the command is queued and first on its object
  std::uint64_t output_immediate_ = 0;
  std::uint64_t order_ = 0;      // place in the order of submission
  std::uint64_t queued_at_ = 0;  // nanoseconds; 0 without a trace
  std::uint64_t posted_at_ = 0;  // nanoseconds; 0: never
};

}  // namespace freehca
