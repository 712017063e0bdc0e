// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace freehca::device_tree {

/// Makes a flattened device tree (Devicetree Specification 0.4, chapter 5).
class blob {
 public:
  blob& begin(const std::string& name) {
    word(structure_, 1);
    return text(structure_, name);
  }
  blob& end() {
    word(structure_, 2);
    return *this;
  }
  blob& cells(const std::string& name, std::initializer_list<std::uint32_t> values) {
    property(name, 4 * values.size());
    for (const std::uint32_t v : values) word(structure_, v);
    return *this;
  }
  /// Several texts stand with zero bytes between them.
  blob& texts(const std::string& name, const std::string& value) {
    property(name, value.size() + 1);
    return text(structure_, value);
  }
  blob& empty(const std::string& name) {
    property(name, 0);
    return *this;
  }
  blob& reserve(std::uint64_t base, std::uint64_t bytes) {
    for (const std::uint64_t v : {base, bytes}) {
      word(reserved_, static_cast<std::uint32_t>(v >> 32));
      word(reserved_, static_cast<std::uint32_t>(v));
    }
    return *this;
  }
  std::vector<std::byte> finish() {
    reserve(0, 0);
    word(structure_, 9);
    const auto sizes = [](const std::vector<std::byte>& v) {
      return static_cast<std::uint32_t>(v.size());
    };
    constexpr std::uint32_t head = 40;
    const std::uint32_t structure_at = head + sizes(reserved_);
    const std::uint32_t strings_at = structure_at + sizes(structure_);
    std::vector<std::byte> all;
    for (const std::uint32_t v :
         {0xd00dfeedu, strings_at + sizes(strings_), structure_at, strings_at, head, 17u, 16u, 0u,
          sizes(strings_), sizes(structure_)})
      word(all, v);
    for (const auto* part : {&reserved_, &structure_, &strings_})
      all.insert(all.end(), part->begin(), part->end());
    return all;
  }

 private:
  static void word(std::vector<std::byte>& to, std::uint32_t v) {
    for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::byte>(v >> shift));
  }
  blob& text(std::vector<std::byte>& to, const std::string& value) {
    for (const char c : value) to.push_back(static_cast<std::byte>(c));
    to.push_back(std::byte{0});
    while (to.size() % 4 != 0) to.push_back(std::byte{0});
    return *this;
  }
  void property(const std::string& name, std::size_t bytes) {
    word(structure_, 3);
    word(structure_, static_cast<std::uint32_t>(bytes));
    word(structure_, static_cast<std::uint32_t>(strings_.size()));
    for (const char c : name) strings_.push_back(static_cast<std::byte>(c));
    strings_.push_back(std::byte{0});
  }

  std::vector<std::byte> structure_, strings_, reserved_;
};

}  // namespace freehca::device_tree
