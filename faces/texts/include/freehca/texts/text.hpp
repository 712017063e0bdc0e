// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/log.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

/// Writes a line of text into a buffer that the caller owns. Text beyond the end of the buffer is
/// cut off. The text always ends with a zero byte.
class text_writer {
 public:
  /// `bytes` counts the final zero and is at least 1.
  text_writer(char* buffer, std::size_t bytes)
      : begin_(buffer), at_(buffer), last_(buffer + bytes - 1) {
    *at_ = '\0';
  }
  template <std::size_t Bytes>
  explicit text_writer(char (&buffer)[Bytes]) : text_writer(buffer, Bytes) {}

  text_writer& operator<<(const char* text);
  text_writer& put(char c);
  text_writer& decimal(std::uint64_t value) { return number(value, 10, 1); }
  /// Writes "0x" and at least `digits` digits.
  text_writer& hex(std::uint64_t value, unsigned digits = 1);

  const char* text() const { return begin_; }
  std::size_t length() const { return static_cast<std::size_t>(at_ - begin_); }
  bool full() const { return at_ == last_; }

 private:
  text_writer& number(std::uint64_t value, unsigned base, unsigned digits);

  char* begin_;
  char* at_;
  char* last_;
};

/// Writes a status in English: its origin, the meaning of its code, and its `where`. An example is
/// "firmware: bad index (0x0a) at SW2HW_CQ". If the origin is not the firmware, `where` is written
/// as a number, whose meaning the caller knows.
void describe(status s, text_writer& to);
/// Writes a report of the driver to its log, without the severity.
void describe(const log_record& r, text_writer& to);

/// Writes one of the above to a buffer. Returns the length without the final zero.
template <class What>
std::size_t describe(const What& what, char* buffer, std::size_t bytes) {
  if (buffer == nullptr || bytes == 0) return 0;
  text_writer to(buffer, bytes);
  describe(what, to);
  return to.length();
}

}  // namespace freehca
