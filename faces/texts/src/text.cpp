// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/texts/text.hpp>

#include "text_row.hpp"

namespace freehca {

const char* text_at(const char* first, unsigned count, unsigned number, const char* otherwise) {
  if (number >= count) return otherwise;
  for (; number != 0; ++first) number -= *first == '\0' ? 1 : 0;
  return first;
}

text_writer& text_writer::put(char c) {
  if (at_ != last_) {
    *at_++ = c;
    *at_ = '\0';
  }
  return *this;
}

text_writer& text_writer::operator<<(const char* text) {
  for (; *text != '\0'; ++text) put(*text);
  return *this;
}

text_writer& text_writer::number(std::uint64_t value, unsigned base, unsigned digits) {
  char text[20];
  unsigned count = 0;
  do text[count++] = "0123456789abcdef"[value % base];
  while ((value /= base) != 0 || count < digits);
  while (count != 0) put(text[--count]);
  return *this;
}

text_writer& text_writer::hex(std::uint64_t value, unsigned digits) {
  return (*this << "0x").number(value, 16, digits > 16 ? 16 : digits);
}

}  // namespace freehca
