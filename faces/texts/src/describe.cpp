// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/opcode.hpp>
#include <freehca/texts/names.hpp>
#include <freehca/texts/text.hpp>

#include "text_row.hpp"

namespace freehca {

namespace {

constexpr text_row origins(
    "ok\0"
    "driver: \0"
    "transport: \0"
    "firmware: ");

constexpr text_row driver_errors(
    "bad argument\0"
    "out of memory\0"
    "out of resources\0"
    "not supported\0"
    "wrong state\0"
    "busy\0"
    "the handle's object is gone\0"
    "cancelled\0"
    "queue full\0"
    "the device asks for more than the budget has\0"
    "unknown attribute\0"
    "the attribute is given twice\0"
    "the attribute is missing\0"
    "the attribute has another size");
static_assert(driver_errors.count == static_cast<unsigned>(driver_error::wrong_size));

constexpr text_row transport_errors(
    "no answer in time\0"
    "the device is gone\0"
    "an answer that makes no sense\0"
    "ended by a reset of the device\0"
    "refused by the platform\0"
    "an event queue of the device was full");
static_assert(transport_errors.count == static_cast<unsigned>(transport_error::events_lost));

/// The reports in the order of log_topic. "%d" and "%x" stand for the next number of the record,
/// "%i" for the name of the budget::item that it is, "%n" for the name in the record.
constexpr text_row reports(
    "called but not entered: %n\0"
    "the device asks for %d %i; the budget has %d\0"
    "the memory of a region that is gone stays mapped\0"
    "the error buffer (%d words at %x in BAR %d) cannot be read: an internal error of the device "
    "shows only in commands without an answer\0"
    "the device reports a memory error (ECC)\0"
    "the device reports that it is too hot");
static_assert(reports.count == static_cast<unsigned>(log_topic::too_hot) + 1);

constexpr std::size_t length(const char* text) {
  std::size_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}

/// The texts of layouts::name_of() for the values up to `End`, as one run of bytes. Switches need
/// pointers and jumps, which take three times as much space. The two bytes of a value stand in
/// front of its name. The last name is the one for `End`, which is no value of E. It is the name of
/// all unknown values.
template <class E, unsigned End>
struct names {
  template <class Take>
  static constexpr void for_each(Take take) {
    const char* const none = name_of(static_cast<E>(End));
    for (unsigned value = 0; value <= End; ++value) {
      const char* const name = name_of(static_cast<E>(value));
      if (value == End || __builtin_strcmp(name, none) != 0) take(value, name);
    }
  }
  static constexpr std::size_t bytes = [] {
    std::size_t sum = 0;
    for_each([&sum](unsigned, const char* name) { sum += 2 + length(name) + 1; });
    return sum;
  }();

  char text[bytes]{};
  unsigned count = 0;

  consteval names() {
    char* to = text;
    for_each([&](unsigned value, const char* name) {
      *to++ = static_cast<char>(value >> 8);
      *to++ = static_cast<char>(value & 0xff);
      do *to++ = *name;
      while (*name++ != '\0');
      ++count;
    });
  }
};

template <class E, unsigned End>
constexpr names<E, End> names_of;

const char* find(const char* text, unsigned count, unsigned value) {
  const auto byte = [&text](unsigned i) { return unsigned{static_cast<unsigned char>(text[i])}; };
  while (--count != 0 && (byte(0) << 8 | byte(1)) != value) text += 2 + length(text + 2) + 1;
  return text + 2;
}

template <class E, unsigned End>
const char* name_in(const names<E, End>& all, unsigned value) {
  return find(all.text, all.count, value);
}

}  // namespace

void describe(status s, text_writer& to) {
  to << origins.at(static_cast<unsigned>(s.who()), "");
  if (s.ok()) return;
  // Only commands have the firmware as origin. Their `where` is the opcode.
  const bool firmware = s.who() == origin::firmware;
  const unsigned error = s.code() - 1u;
  to << (firmware                       ? name_in(names_of<layouts::command_status, 0xff>, s.code())
         : s.who() == origin::transport ? transport_errors.at(error, "unknown error")
                                        : driver_errors.at(error, "unknown error"));
  if (firmware) (to << " (").hex(s.code(), 2) << ")";
  if (s.where() == 0) return;
  to << " at ";
  if (firmware) to << name_in(names_of<layouts::opcode, 0x1000>, s.where());
  else to.hex(s.where());
}

void describe(const log_record& r, text_writer& to) {
  const std::uint64_t* number = r.numbers;
  for (const char* c = reports.at(static_cast<unsigned>(r.topic), ""); *c != '\0'; ++c) {
    if (*c != '%') to.put(*c);
    else if (*++c == 'd') to.decimal(*number++);
    else if (*c == 'x') to.hex(*number++);
    else if (*c == 'i') to << name_of(static_cast<budget::item>(*number++));
    else to << r.name;
  }
}

}  // namespace freehca
