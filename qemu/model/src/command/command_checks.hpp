// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/layout.hpp>

#include "basis/command.hpp"
#include "basis/configuration.hpp"
#include "basis/kept_memory.hpp"
#include "basis/rule_book.hpp"

namespace freehca::model {

/// What one command is held to, one rule after the other, as far as the first that refuses it:
/// those behind that one are not looked at. What the rules let pass has been complained of, and the
/// command goes on.
///
/// Texts begin with the field, parameter or object that is wrong, and the value found.
class command_checks {
 public:
  using status_code = layouts::command_status;

  explicit command_checks(rule_book& rules) : rules_(rules) {}

  bool refused() const { return status_ != status_code::ok; }
  /// The status of the rule that refused the command; else ok.
  status_code status() const { return status_; }

  /// `good`, or `r` is broken as the text says, and a refusal has status `s`.
  [[gnu::format(printf, 5, 6)]] command_checks& that(bool good, rule r, status_code s,
                                                     const char* format, ...);
  /// The same where there is nothing that the adapter could do instead: it refuses with the rule
  /// switched off, too.
  [[gnu::format(printf, 5, 6)]] command_checks& must(bool good, rule r, status_code s,
                                                     const char* format, ...);

  /// `number` is one of the 2^log_entries of its table.
  command_checks& in_table(const char* name, std::uint64_t number, unsigned log_entries);
  /// `number` is not one of the first `reserved`.
  command_checks& not_reserved(const char* name, std::uint64_t number, std::uint64_t reserved);
  command_checks& hardware_owns(bool owns, const char* name, std::uint64_t number);
  command_checks& software_owns(bool owns, const char* name, std::uint64_t number);
  command_checks& at_most(rule r, const char* field, std::uint64_t value, std::uint64_t most,
                          status_code s = status_code::bad_parameter);
  /// The same of a field of a mailbox.
  template <auto Field, class T>
  command_checks& at_most(rule r, const layouts::image<T>& m, std::uint64_t most,
                          status_code s = status_code::bad_parameter) {
    return at_most(r, layouts::row_of<Field>.name,
                   static_cast<std::uint64_t>(m.template get<Field>()), most, s);
  }
  /// The same where the adapter can do no more: a value that is taken though it is above `most` is
  /// taken as `most`.
  template <auto Field, class T>
  command_checks& clamp(rule r, layouts::image<T>& m, std::uint64_t most) {
    at_most<Field>(r, m, most);
    m.template set<Field>(std::min<std::uint64_t>(m.template get<Field>(), most));
    return *this;
  }
  /// The UAR page of a queue lies in the BAR, which has `pages` of them.
  template <class T>
  command_checks& in_uar(std::uint64_t pages, const layouts::image<T>& q) {
    const std::uint64_t page = q.template get<&T::usr_page>();
    return that(page < pages, rule::uar_page, status_code::bad_parameter,
                "usr_page 0x%llx; the BAR has 0x%llx", static_cast<unsigned long long>(page),
                static_cast<unsigned long long>(pages));
  }
  /// The port that `field` names is there.
  command_checks& port(bool there, const char* field, std::uint64_t number, unsigned ports);
  /// The adapter holds `now` objects of a kind, and one more of `bytes` has room beside them.
  command_checks& room_for_one_more(const kept_memory& kept, const char* what, std::size_t now,
                                    std::size_t bytes);
  /// The adapter may take `bytes` more of the host's memory for objects.
  command_checks& host_memory(const kept_memory& kept, std::size_t bytes);
  /// The adapter could read or write context memory of an object.
  command_checks& lent(bool reached, const char* what, std::uint64_t number);

  /// Reads T from the input mailbox.
  template <class T>
  command_checks& read(const command& c, layouts::image<T>& to, std::size_t offset = 0) {
    return refused() ? *this : was_read(c.read_input(to, offset), c);
  }
  command_checks& was_read(bool read, const command& c);
  /// Writes T to the output mailbox.
  template <class T>
  command_checks& answer(const command& c, const layouts::image<T>& from) {
    return refused() ? *this : was_written(c.write_output(from), c);
  }
  command_checks& was_written(bool written, const command& c);

  template <class T>
  command_checks& no_reserved_bits(const layouts::image<T>& m, const char* what = "mailbox") {
    const std::size_t at = m.first_reserved_set();
    return that(at == T::bytes, rule::reserved_bits, status_code::bad_parameter,
                "reserved bit: byte 0x%zx of the %s is 0x%02x", at, what,
                at == T::bytes ? 0u : std::to_integer<unsigned>(m.data()[at]));
  }

 private:
  rule_book& rules_;
  status_code status_ = status_code::ok;
};

}  // namespace freehca::model
