// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "command/command_checks.hpp"

#include <cstdarg>
#include <string>

#include "basis/limits.hpp"

namespace freehca::model {

using layouts::command_status;

namespace {

using ull = unsigned long long;

}  // namespace

command_checks& command_checks::that(bool good, rule r, command_status s, const char* format, ...) {
  if (good || refused()) return *this;
  va_list arguments;
  va_start(arguments, format);
  const std::string found = rule_book::formatted(format, arguments);
  va_end(arguments);
  if (rules_.refuses(r, "%s", found.c_str())) status_ = s;
  return *this;
}

command_checks& command_checks::must(bool good, rule r, command_status s, const char* format, ...) {
  if (good || refused()) return *this;
  va_list arguments;
  va_start(arguments, format);
  const std::string found = rule_book::formatted(format, arguments);
  va_end(arguments);
  if (!rules_.refuses(r, "%s", found.c_str())) rules_.because("%s: cannot be done", found.c_str());
  status_ = s;
  return *this;
}

command_checks& command_checks::in_table(const char* name, std::uint64_t number, unsigned log) {
  return must(number >> log == 0, rule::number_in_table, command_status::bad_index,
              "%s 0x%llx; the table has 0x%llx", name, ull{number}, ull{1} << log);
}

command_checks& command_checks::not_reserved(const char* name, std::uint64_t number,
                                             std::uint64_t reserved) {
  return that(number >= reserved, rule::number_not_reserved, command_status::bad_resource,
              "%s 0x%llx; the first 0x%llx are reserved", name, ull{number}, ull{reserved});
}

command_checks& command_checks::hardware_owns(bool owns, const char* name, std::uint64_t number) {
  return must(owns, rule::hardware_owns, command_status::bad_resource_state,
              "%s 0x%llx is not in hardware's hands", name, ull{number});
}

command_checks& command_checks::software_owns(bool owns, const char* name, std::uint64_t number) {
  return must(owns, rule::software_owns, command_status::bad_resource_state,
              "%s 0x%llx is in hardware's hands already", name, ull{number});
}

command_checks& command_checks::at_most(rule r, const char* field, std::uint64_t value,
                                        std::uint64_t most, command_status s) {
  return that(value <= most, r, s, "%s %llu; at most %llu", field, ull{value}, ull{most});
}

command_checks& command_checks::port(bool there, const char* field, std::uint64_t number,
                                     unsigned ports) {
  return must(there, rule::port_number, command_status::bad_index, "%s %llu; the ports are 1 to %u",
              field, ull{number}, ports);
}

command_checks& command_checks::room_for_one_more(const kept_memory& kept, const char* what,
                                                  std::size_t now, std::size_t bytes) {
  return must(now < limits::objects, rule::objects_at_once, command_status::exceeds_limits,
              "%s: %zu are in hardware's hands; at most %zu", what, now, limits::objects)
      .host_memory(kept, bytes);
}

command_checks& command_checks::host_memory(const kept_memory& kept, std::size_t bytes) {
  if (refused()) return *this;
  return must(kept.has_room(bytes), rule::host_memory, command_status::exceeds_limits,
              "host-memory-limit: the objects take %llu bytes, and this one %zu more",
              ull{kept.bytes()}, bytes);
}

command_checks& command_checks::lent(bool reached, const char* what, std::uint64_t number) {
  return that(reached, rule::context_lent, command_status::icm_error,
              "%s 0x%llx is in context memory that is not lent", what, ull{number});
}

command_checks& command_checks::was_read(bool read, const command& c) {
  return must(read, rule::mailbox_readable, command_status::internal_error,
              "input mailbox at 0x%llx cannot be read", ull{c.input_parameter});
}

command_checks& command_checks::was_written(bool written, const command& c) {
  return that(written, rule::mailbox_writable, command_status::internal_error,
              "output mailbox at 0x%llx cannot be written", ull{c.output_parameter});
}

}  // namespace freehca::model
