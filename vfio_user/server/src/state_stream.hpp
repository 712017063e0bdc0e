// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The stream of a server's state: a mark, a version, and sections. A section has a name, the number
// of its bytes, its bytes, and a CRC over all of these. The model's stream is the bytes of one
// section. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace freehca::device_server {

/// Takes the bytes of a section. A class with state has a member function
/// `transfer_state(archive)`, a template that serves the writer and the reader.
class state_writer {
 public:
  static constexpr bool loads = false;

  void bytes(const void* from, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(from);
    written_.insert(written_.end(), first, first + count);
  }
  template <class Number>
  void number(const Number& value) {
    static_assert(std::is_unsigned_v<Number>);
    for (std::size_t i = 0; i < sizeof value; ++i)
      written_.push_back(static_cast<std::byte>(std::uint64_t{value} >> (8 * i)));
  }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes(value.data(), value.size());
  }
  std::vector<std::byte>& written() { return written_; }

 private:
  std::vector<std::byte> written_;
};

/// Gives the bytes of a section. After the first fault everything that is read is zero, and ok()
/// returns false.
class state_reader {
 public:
  static constexpr bool loads = true;

  explicit state_reader(std::span<const std::byte> from) : left_(from) {}

  void bytes(void* to, std::size_t count);
  template <class Number>
  void number(Number& value) {
    static_assert(std::is_unsigned_v<Number>);
    std::uint64_t read = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) {
      std::uint8_t byte = 0;
      bytes(&byte, 1);
      read |= std::uint64_t{byte} << (8 * i);
    }
    value = static_cast<Number>(read);
  }
  void text(std::string& value);
  /// The next bytes, in place.
  std::span<const std::byte> part(std::size_t count);
  void refuse() { ok_ = false; }
  bool ok() const { return ok_; }
  /// Whether everything was read, and nothing more.
  bool at_end() const { return ok_ && left_.empty(); }
  std::size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> left_;
  bool ok_ = true;
};

/// A flag, in one byte.
inline void transfer_flag(state_writer& archive, bool value) {
  archive.number(static_cast<std::uint8_t>(value));
}
inline void transfer_flag(state_reader& archive, bool& value) {
  std::uint8_t byte = 0;
  archive.number(byte);
  if (byte > 1) archive.refuse();
  value = byte == 1;
}

struct state_section {
  std::string_view name;
  std::span<const std::byte> bytes;
};

std::vector<std::byte> write_state_stream(std::span<const state_section> sections);

/// Checks the mark, the version, all lengths and all CRCs. `to` receives the sections, which are
/// parts of `from`. Returns "", or the reason for a refusal.
std::string read_state_stream(std::span<const std::byte> from, std::vector<state_section>& to);

}  // namespace freehca::device_server
