// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/text.hpp>

namespace freehca {

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

text_writer& text_writer::decimal(std::uint64_t value) {
  char digits[20];
  unsigned count = 0;
  do digits[count++] = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  while (count != 0) put(digits[--count]);
  return *this;
}

text_writer& text_writer::hex(std::uint64_t value, unsigned digits) {
  unsigned count = 1;
  while (count < 16 && value >> (4 * count) != 0) ++count;
  if (digits > 16) digits = 16;
  if (count < digits) count = digits;
  *this << "0x";
  while (count-- != 0) put("0123456789abcdef"[value >> (4 * count) & 0xf]);
  return *this;
}

}  // namespace freehca
