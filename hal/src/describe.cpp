// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/text.hpp>
#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/opcode.hpp>

namespace freehca {

namespace {

constexpr const char* driver_errors[] = {"bad argument",
                                         "out of memory",
                                         "out of resources",
                                         "not supported",
                                         "wrong state",
                                         "busy",
                                         "the handle's object is gone",
                                         "cancelled",
                                         "queue full",
                                         "the device asks for more than the budget has",
                                         "unknown attribute",
                                         "the attribute is given twice",
                                         "the attribute is missing",
                                         "the attribute has another size"};
static_assert(sizeof driver_errors / sizeof *driver_errors ==
              static_cast<std::size_t>(driver_error::wrong_size));

constexpr const char* transport_errors[] = {"no answer in time",
                                            "the device is gone",
                                            "an answer that makes no sense",
                                            "ended by a reset of the device",
                                            "refused by the platform",
                                            "an event queue of the device was full"};
static_assert(sizeof transport_errors / sizeof *transport_errors ==
              static_cast<std::size_t>(transport_error::events_lost));

constexpr const char* name_of(driver_error e) {
  const std::size_t i = static_cast<std::size_t>(e) - 1;
  return i < sizeof driver_errors / sizeof *driver_errors ? driver_errors[i] : "unknown error";
}

constexpr const char* name_of(transport_error e) {
  const std::size_t i = static_cast<std::size_t>(e) - 1;
  return i < sizeof transport_errors / sizeof *transport_errors ? transport_errors[i]
                                                                : "unknown error";
}

constexpr std::size_t length(const char* text) {
  std::size_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}

/// The texts of name_of() for the values up to `End`, as one run of bytes. Switches need pointers
/// and jumps, which take three times as much space. The two bytes of a value stand in front of its
/// name. The last name is the one for `End`, which is no value of E. It is the name of all unknown
/// values.
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
  switch (s.who()) {
    case origin::none:
      to << "ok";
      return;
    case origin::driver:
      to << "driver: " << name_in(names_of<driver_error, 0xff>, s.code());
      break;
    case origin::transport:
      to << "transport: " << name_in(names_of<transport_error, 0xff>, s.code());
      break;
    case origin::firmware:
      to << "firmware: " << name_in(names_of<layouts::command_status, 0xff>, s.code()) << " (";
      to.hex(s.code(), 2) << ")";
      break;
  }
  if (s.where() == 0) return;
  to << " at ";
  // Only commands have the firmware as origin. Their `where` is the opcode.
  if (s.who() == origin::firmware) to << name_in(names_of<layouts::opcode, 0x1000>, s.where());
  else to.hex(s.where());
}

std::size_t describe(status s, char* buffer, std::size_t bytes) {
  if (buffer == nullptr || bytes == 0) return 0;
  text_writer to(buffer, bytes);
  describe(s, to);
  return to.length();
}

}  // namespace freehca
