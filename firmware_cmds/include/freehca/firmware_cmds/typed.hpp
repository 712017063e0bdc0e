// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A family describes one firmware command as a type, in namespace commands:
//
//   // code, input mailbox, output, object
//   using sw2hw_cq = family<opcode::sw2hw_cq, layouts::cqc, nothing, object_kind::cq>;
//
//   firmware_command<commands::sw2hw_cq> create{cqn};
//   create.input.set<&layouts::cqc::log_cq_size>(8);
//   channel.submit(create);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/mailbox.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca {

/// As the `input` or `output` of a family: the command has none.
struct nothing {};
/// As the `input` or `output` of a family: 64 bits in the command register. set_input() sets the
/// input. output_immediate() returns the output.
struct immediate {};
/// As the `input` of a family: an array of structures that is passed to set_input(). The caller
/// owns the array and keeps it until completion.
template <class Entry>
struct sequence {
  static constexpr unsigned most = mailbox::bytes / Entry::bytes;
};

namespace detail {

template <class Input>
struct command_input {
  static constexpr auto form = command_request::form::mailbox;
  static constexpr std::size_t bytes = Input::bytes;
  layouts::image<Input> input;
};
template <>
struct command_input<nothing> {
  static constexpr auto form = command_request::form::none;
};
template <>
struct command_input<immediate> {
  static constexpr auto form = command_request::form::immediate;
};
template <class Entry>
struct command_input<sequence<Entry>> {
  static constexpr auto form = command_request::form::mailbox;
  static_assert(sizeof(layouts::image<Entry>) == Entry::bytes);
};

template <class Output>
struct command_output {
  static constexpr auto form = command_request::form::mailbox;
  static constexpr std::size_t bytes = Output::bytes;
  layouts::image<Output> output;
};
template <>
struct command_output<nothing> {
  static constexpr auto form = command_request::form::none;
};
template <>
struct command_output<immediate> {
  static constexpr auto form = command_request::form::immediate;
};

}  // namespace detail

namespace commands {

using layouts::opcode;

/// The properties that all commands of a family have.
struct command_traits {
  std::uint8_t modifier = 0;  ///< the opcode modifier
  freehca::lane lane = freehca::lane::bulk;
  freehca::patience patience = freehca::patience::ordinary;
  bool barrier = false;
};

/// A family with these properties. aim() names the object: its number, and the immediate input if
/// the family has one. A family with other targets derives from this class and has an aim() of its
/// own.
template <opcode Code, class Input, class Output, object_kind Kind = object_kind::none,
          command_traits Traits = command_traits{}>
struct family {
  static constexpr auto code = Code;
  using input = Input;
  using output = Output;

  static void aim(command_request& r) requires(Kind == object_kind::none) { set_traits(r); }
  static void aim(command_request& r,
                  std::uint32_t number) requires(Kind != object_kind::none &&
                                                 !std::same_as<Input, immediate>) {
    set_object(r, number);
  }
  static void aim(command_request& r, std::uint32_t number,
                  std::uint64_t value) requires(Kind != object_kind::none &&
                                                std::same_as<Input, immediate>) {
    set_object(r, number);
    r.input = command_request::form::immediate;
    r.input_immediate = value;
  }

 private:
  static void set_object(command_request& r, std::uint32_t number) {
    set_traits(r);
    r.input_modifier = number;
    r.key = {Kind, number};
  }
  static void set_traits(command_request& r) {
    r.opcode_modifier = Traits.modifier;
    r.lane = Traits.lane;
    r.patience = Traits.patience;
    r.barrier = Traits.barrier;
  }
};

/// `others` with the opcode modifier `modifier`.
template <class Modifier>
constexpr command_traits traits_of(Modifier modifier, command_traits others = {}) {
  others.modifier = static_cast<std::uint8_t>(modifier);
  return others;
}
inline constexpr command_traits teardown{.lane = lane::teardown};
/// Commands that destroy an object and do not return its context.
inline constexpr command_traits destruction =
    traits_of(layouts::hw2sw_modifier::no_output, teardown);
inline constexpr command_traits exclusive{.patience = patience::lengthy, .barrier = true};
inline constexpr command_traits exclusive_teardown{
    .lane = lane::teardown, .patience = patience::lengthy, .barrier = true};

}  // namespace commands

/// A command of family F, with storage for its input and its output. The members `input` and
/// `output` are images of the family's layouts. `output` is valid once the outcome is ok.
template <class F>
class firmware_command : public command,
                         public detail::command_input<typename F::input>,
                         public detail::command_output<typename F::output> {
  using in = detail::command_input<typename F::input>;
  using out = detail::command_output<typename F::output>;

 public:
  using family = F;

  /// Names the object that the command works on. The arguments are those of F::aim.
  template <class... Target>
  requires requires(command_request& r, Target... t) { F::aim(r, t...); }
  explicit firmware_command(Target... target) {
    request.opcode = F::code;
    request.input = in::form;
    request.output = out::form;
    if constexpr (requires { in::header; }) {
      request.input_header = in::header.data();
      request.header_bytes = decltype(in::header)::bytes;
    }
    if constexpr (requires { in::bytes; }) {
      static_assert(in::bytes <= mailbox::bytes);
      request.input_data = in::input.data();
      request.input_bytes = in::bytes;
    }
    if constexpr (requires { out::bytes; }) {
      static_assert(out::bytes <= mailbox::bytes);
      request.output_data = out::output.data();
      request.output_bytes = out::bytes;
    }
    aim(target...);
  }

  /// Names another object. The command must not be under way.
  template <class... Target>
  requires requires(command_request& r, Target... t) { F::aim(r, t...); }
  void aim(Target... target) {
    FREEHCA_ASSERT(where() == phase::idle || where() == phase::done);
    F::aim(request, target...);
  }

  /// Sets the immediate input.
  void set_input(std::uint64_t value) requires std::same_as<typename F::input, immediate> {
    request.input_immediate = value;
  }

  /// Sets the entries of a sequence, at most F::input::most. The caller owns the entries and does
  /// not change them until completion. The input modifier becomes the number of entries.
  template <class Entry>
  void set_input(const layouts::image<Entry>* first, unsigned number) requires requires {
    F::input::most;
  }
  {
    FREEHCA_ASSERT(number > 0 && number <= F::input::most);
    request.input_modifier = number <= F::input::most ? number : F::input::most;
    request.input_data = first->data();
    request.input_bytes = static_cast<std::uint16_t>(request.input_modifier * Entry::bytes);
  }
};

}  // namespace freehca
