// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/text.hpp>
#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/opcode.hpp>

namespace freehca {

namespace {

constexpr const char* name_of(driver_error e) {
  switch (e) {
    case driver_error::bad_argument:
      return "bad argument";
    case driver_error::no_memory:
      return "out of memory";
    case driver_error::no_resource:
      return "out of resources";
    case driver_error::unsupported:
      return "not supported";
    case driver_error::bad_state:
      return "wrong state";
    case driver_error::busy:
      return "busy";
    case driver_error::stale_handle:
      return "the handle's object is gone";
    case driver_error::cancelled:
      return "cancelled";
    case driver_error::queue_full:
      return "queue full";
    case driver_error::exceeds_limits:
      return "the device asks for more than the budget has";
    case driver_error::unknown_attribute:
      return "unknown attribute";
    case driver_error::repeated_attribute:
      return "the attribute is given twice";
    case driver_error::missing_attribute:
      return "the attribute is missing";
    case driver_error::wrong_size:
      return "the attribute has another size";
  }
  return "unknown error";
}

constexpr const char* name_of(transport_error e) {
  switch (e) {
    case transport_error::timeout:
      return "no answer in time";
    case transport_error::gone:
      return "the device is gone";
    case transport_error::bad_reply:
      return "an answer that makes no sense";
    case transport_error::reset:
      return "ended by a reset of the device";
    case transport_error::refused:
      return "refused by the platform";
    case transport_error::events_lost:
      return "an event queue of the device was full";
  }
  return "unknown error";
}

constexpr std::size_t length(const char* text) {
  std::size_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}

/// What name_of() says of the values up to `End`, as one run of bytes: switches cost pointers and
/// jumps, three times as much. Each name stands behind the two bytes of its value; the last one,
/// that of `End`, which is no value, is for all that have none.
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
  // Only commands have the firmware for a judge: there `where` is the opcode.
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
