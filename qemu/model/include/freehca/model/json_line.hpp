// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace freehca::model {

/// One JSON object on one line, built from its first key to its last.
class json_line {
 public:
  json_line() : text_("{") {}

  json_line& number(std::string_view key, std::uint64_t value) {
    this->key(key) += std::to_string(value);
    return *this;
  }
  /// A number as text: "0x1f".
  json_line& hex(std::string_view key, std::uint64_t value) {
    std::array<char, 24> digits;
    std::snprintf(digits.data(), digits.size(), "\"0x%llx\"",
                  static_cast<unsigned long long>(value));
    this->key(key) += digits.data();
    return *this;
  }
  json_line& boolean(std::string_view key, bool value) {
    this->key(key) += value ? "true" : "false";
    return *this;
  }
  json_line& text(std::string_view key, std::string_view value) {
    quote(this->key(key), value);
    return *this;
  }
  /// Two hexadecimal digits for each byte, in the order of addresses.
  json_line& bytes(std::string_view key, const void* from, std::size_t count) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string& to = this->key(key);
    const auto* p = static_cast<const unsigned char*>(from);
    to += '"';
    for (std::size_t i = 0; i < count; ++i) {
      to += digits[p[i] >> 4];
      to += digits[p[i] & 15];
    }
    to += '"';
    return *this;
  }
  /// `json` is a value already.
  json_line& value(std::string_view key, std::string_view json) {
    this->key(key) += json;
    return *this;
  }

  /// The object, without the line's end.
  std::string finish() const { return text_ + "}"; }

  static void quote(std::string& to, std::string_view value) {
    to += '"';
    for (const char c : value) {
      const auto code = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        to += '\\';
        to += c;
      } else if (code < 0x20 || code >= 0x7f) {
        std::array<char, 8> escaped;
        std::snprintf(escaped.data(), escaped.size(), "\\u%04x", code);
        to += escaped.data();
      } else {
        to += c;
      }
    }
    to += '"';
  }

 private:
  std::string& key(std::string_view name) {
    if (text_.size() > 1) text_ += ',';
    text_ += '"';
    text_ += name;
    return text_ += "\":";
  }
  std::string text_;
};

}  // namespace freehca::model
