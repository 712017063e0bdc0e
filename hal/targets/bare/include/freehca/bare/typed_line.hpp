// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::bare {

/// A line of text that comes byte by byte, as by machine::get(). It touches no hardware and does
/// not wait.
class typed_line {
 public:
  static constexpr std::size_t most = 120;  ///< characters

  /// The next byte. True: the line has ended with it, and wrong() says what it is worth; the byte
  /// after that begins the next line. Carriage return or line feed ends a line; empty ones count as
  /// none, so that both together end one. Backspace and delete take a character back.
  bool take(char c);

  /// Of a line that has ended. Valid until the next byte; empty where wrong() says something.
  const char* text() const { return text_; }
  /// Null: nothing is wrong. Else why the line cannot be used, in words that live for ever.
  const char* wrong() const { return wrong_; }

 private:
  bool end();

  char text_[most + 1] = {};
  std::size_t length_ = 0;
  bool ended_ = false;
  const char* wrong_ = nullptr;
};

/// Reads the words of a text one after the other, and numbers in them. The text outlives it.
class words {
 public:
  explicit words(const char* text) : at_(text) {}

  /// The next word is this one, and is taken.
  bool take(const char* word);
  /// A decimal number from `least` to `most`, which is a word of its own. False: the next word is
  /// none; it stays.
  bool take_number(std::uint64_t least, std::uint64_t most, std::uint64_t* to);
  /// `digits` hexadecimal digits, 16 at most, right behind what was taken last.
  bool take_digits(unsigned digits, std::uint64_t* to);
  /// This character, right behind what was taken last.
  bool take_mark(char mark);
  /// Nothing is left. Else the next word's beginning is what comes right behind.
  bool done();

 private:
  void skip_blanks();

  const char* at_;
};

}  // namespace freehca::bare
