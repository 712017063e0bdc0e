// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace freehca::model::saving {

/// Gives the bytes of one section of a stream (transfer.hpp). The first refusal is kept, and
/// everything that is read after it is zero.
class reader {
 public:
  static constexpr bool loads = true;

  reader(std::string_view section, unsigned version, std::span<const std::byte> from)
      : version_(version), left_(from), path_{section} {}

  void bytes(void* to, std::size_t count);
  /// Whether so many bytes are left. Refuses the stream otherwise.
  bool has(std::uint64_t count);
  /// Precondition: has(count).
  void skip(std::size_t count) { left_ = left_.subspan(count); }
  std::size_t left() const { return left_.size(); }
  static constexpr bool for_digest() { return false; }

  unsigned version() const { return version_; }
  bool ok() const { return refusal_.empty(); }
  /// The path of members that leads to the value, and why it is refused.
  const std::string& refusal() const { return refusal_; }
  [[gnu::format(printf, 2, 3)]] void refuse(const char* format, ...);

  /// The members between enter() and leave() belong to that member. The text is lent until then.
  void enter(std::string_view member) { path_.push_back(member); }
  void leave() { path_.pop_back(); }

 private:
  const unsigned version_;
  std::span<const std::byte> left_;
  std::vector<std::string_view> path_;
  std::string refusal_;
};

}  // namespace freehca::model::saving
