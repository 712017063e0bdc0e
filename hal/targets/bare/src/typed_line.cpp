// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/bare/typed_line.hpp>

namespace freehca::bare {

namespace {

constexpr char backspace = 0x08, del = 0x7f;

bool ends_word(char c) {
  return c == ' ' || c == '\0';
}

/// The digit's value; 16: it is none.
unsigned digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return 16;
}

}  // namespace

bool typed_line::take(char c) {
  if (ended_) {
    ended_ = false;
    length_ = 0;
    wrong_ = nullptr;
  }
  if (c == '\r' || c == '\n') return end();
  if (c == backspace || c == del) {
    if (length_ != 0) --length_;
  } else if (c < ' ' || c > '~') {
    wrong_ = "a character came damaged, or is none of ASCII";
  } else if (length_ == most) {
    wrong_ = "the line is too long";
  } else {
    text_[length_++] = c;
  }
  return false;
}

bool typed_line::end() {
  if (length_ == 0 && wrong_ == nullptr) return false;
  if (wrong_ != nullptr) length_ = 0;
  text_[length_] = '\0';
  ended_ = true;
  return true;
}

void words::skip_blanks() {
  while (*at_ == ' ') ++at_;
}

bool words::done() {
  skip_blanks();
  return *at_ == '\0';
}

bool words::take(const char* word) {
  skip_blanks();
  const char* from = at_;
  while (*word != '\0' && *from == *word) ++from, ++word;
  if (*word != '\0' || !ends_word(*from)) return false;
  at_ = from;
  return true;
}

bool words::take_number(std::uint64_t least, std::uint64_t most, std::uint64_t* to) {
  skip_blanks();
  const char* from = at_;
  std::uint64_t n = 0;
  for (; digit(*from) < 10; ++from) {
    n = 10 * n + digit(*from);
    // No number that is asked for is so large that this could overflow before it is seen.
    if (n > most) return false;
  }
  if (from == at_ || !ends_word(*from) || n < least) return false;
  at_ = from;
  *to = n;
  return true;
}

bool words::take_digits(unsigned digits, std::uint64_t* to) {
  std::uint64_t n = 0;
  for (unsigned i = 0; i < digits; ++i) {
    const unsigned d = digit(at_[i]);
    if (d == 16) return false;
    n = n << 4 | d;
  }
  at_ += digits;
  *to = n;
  return true;
}

bool words::take_mark(char mark) {
  if (*at_ != mark) return false;
  ++at_;
  return true;
}

}  // namespace freehca::bare
