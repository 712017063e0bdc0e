// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>
#include <freehca/texts/text.hpp>

#include <freehca/bare/trouble.hpp>

namespace freehca::bare {

/// A line of the console, written at the end of its life: `line() << "port " << 1;`. Begins with a
/// label, which fills a column, when there is one. What goes beyond 240 characters is cut off.
class line {
 public:
  explicit line(const char* label = nullptr);
  line(const line&) = delete;
  line& operator=(const line&) = delete;
  ~line();

  line& operator<<(const char* text) {
    text_ << text;
    return *this;
  }
  line& operator<<(std::uint64_t n) {
    text_.decimal(n);
    return *this;
  }
  line& operator<<(status s) {
    describe(s, text_);
    return *this;
  }
  line& operator<<(const log_record& r) {
    describe(r, text_);
    return *this;
  }
  line& hex(std::uint64_t n, unsigned digits = 1) {
    text_.hex(n, digits);
    return *this;
  }
  /// As 0002:c903:00f0:ca01.
  line& guid(std::uint64_t n);
  /// Without "0x".
  line& digits(std::uint64_t n, unsigned hexadecimal);
  /// At least four digits, as the last part of a firmware's version has them.
  line& four_digits(std::uint64_t n);
  /// Nanoseconds as seconds, to the microsecond.
  line& seconds(std::uint64_t ns);

 private:
  char buffer_[241];
  text_writer text_;
};

/// FAILED, with step, cause and remedy.
void tell(const trouble& why);

}  // namespace freehca::bare
