// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/bare/console.hpp>

#include <freehca/bare/machine.hpp>

namespace freehca::bare {

namespace {

constexpr std::size_t label_columns = 11;

void put_all(const char* text) {
  for (; *text != '\0'; ++text) machine::put(*text);
}

}  // namespace

line::line(const char* label) : text_(buffer_, sizeof buffer_) {
  if (label == nullptr) return;
  text_ << label;
  while (text_.length() < label_columns) text_.put(' ');
}

line::~line() {
  put_all(text_.text());
  put_all("\r\n");
}

line& line::digits(std::uint64_t n, unsigned hexadecimal) {
  char number[19];
  text_writer to(number);
  to.hex(n, hexadecimal);
  text_ << number + 2;
  return *this;
}

line& line::guid(std::uint64_t n) {
  for (unsigned i = 0; i < 4; ++i) {
    if (i != 0) text_.put(':');
    digits(n >> (48 - 16 * i) & 0xffff, 4);
  }
  return *this;
}

line& line::four_digits(std::uint64_t n) {
  for (std::uint64_t place = 1000; place > 1 && n < place; place /= 10) text_.put('0');
  text_.decimal(n);
  return *this;
}

line& line::seconds(std::uint64_t ns) {
  const std::uint64_t whole = ns / 1'000'000'000;
  std::uint64_t micros = ns / 1000 % 1'000'000;
  text_.decimal(whole).put('.');
  for (std::uint64_t place = 100'000; place != 0; micros %= place, place /= 10)
    text_.put(static_cast<char>('0' + micros / place));
  text_ << " s";
  return *this;
}

void tell(const trouble& why) {
  {
    line to("FAILED");
    to << "at " << why.step << ": " << why.what;
    if (!why.cause.ok()) to << " (" << why.cause << ")";
  }
  line("remedy") << why.remedy;
}

}  // namespace freehca::bare
