// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A family describes one firmware command as a type, in namespace commands:
//
//   struct sw2hw_cq {
//     static constexpr auto code = layouts::opcode::sw2hw_cq;
//     using input = layouts::cqc;      // a layout: the input mailbox holds one
//     using output = nothing;
//     static void aim(command_request& r, std::uint32_t cqn) {   // names the object
//       r.input_modifier = cqn;
//       r.key = {object_kind::cq, cqn};
//     }
//   };
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
/// owns the array and keeps it until completion. If Header is not `nothing`, a structure of this
/// layout is in front of the array. It is the member `header`.
template <class Entry, class Header = nothing>
struct sequence {
  static constexpr std::size_t header_bytes = [] {
    if constexpr (std::same_as<Header, nothing>) return std::size_t{0};
    else return Header::bytes;
  }();
  static constexpr unsigned most = (mailbox::bytes - header_bytes) / Entry::bytes;
};
/// As the `input` of a family: a structure First, followed by a structure Second, which is the
/// member `extra`.
template <class First, class Second>
struct joined {};

namespace detail {

template <class Input>
struct command_input {
  static constexpr auto form = command_request::form::mailbox;
  layouts::image<Input> input;
  void write(std::byte* box) const { mailbox::store(box, input); }
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
struct command_input<sequence<Entry, nothing>> {
  static constexpr auto form = command_request::form::mailbox;
  const layouts::image<Entry>* entries = nullptr;
  unsigned count = 0;
  void write(std::byte* box) const {
    for (unsigned i = 0; i < count; ++i) mailbox::store(box, entries[i], i * Entry::bytes);
  }
};
template <class Entry, class Header>
struct command_input<sequence<Entry, Header>> {
  static constexpr auto form = command_request::form::mailbox;
  layouts::image<Header> header;
  const layouts::image<Entry>* entries = nullptr;
  unsigned count = 0;
  void write(std::byte* box) const {
    mailbox::store(box, header);
    for (unsigned i = 0; i < count; ++i)
      mailbox::store(box, entries[i], Header::bytes + i * Entry::bytes);
  }
};

template <class First, class Second>
struct command_input<joined<First, Second>> {
  static constexpr auto form = command_request::form::mailbox;
  layouts::image<First> input;
  layouts::image<Second> extra;
  void write(std::byte* box) const {
    mailbox::store(box, input);
    mailbox::store(box, extra, First::bytes);
  }
};

template <class Output>
struct command_output {
  static constexpr auto form = command_request::form::mailbox;
  layouts::image<Output> output;
  void read(const std::byte* box) { mailbox::load(box, output); }
};
template <>
struct command_output<nothing> {
  static constexpr auto form = command_request::form::none;
};
template <>
struct command_output<immediate> {
  static constexpr auto form = command_request::form::immediate;
};

template <class T>
inline constexpr bool is_sequence = false;
template <class Entry, class Header>
inline constexpr bool is_sequence<sequence<Entry, Header>> = true;

}  // namespace detail

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
    if constexpr (in::form == command_request::form::mailbox)
      request.encode = [](command& c, std::byte* box) noexcept {
        static_cast<firmware_command&>(c).write(box);
      };
    if constexpr (out::form == command_request::form::mailbox)
      request.decode = [](command& c, const std::byte* box) noexcept {
        static_cast<firmware_command&>(c).read(box);
      };
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
  void set_input(const layouts::image<Entry>* first,
                 unsigned number) requires detail::is_sequence<typename F::input> {
    FREEHCA_ASSERT(number > 0 && number <= F::input::most);
    in::entries = first;
    in::count = number <= F::input::most ? number : F::input::most;
    request.input_modifier = in::count;
  }
};

}  // namespace freehca
