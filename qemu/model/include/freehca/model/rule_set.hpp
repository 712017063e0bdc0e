// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

namespace freehca::model {

/// A rule that hardware has for its driver: rules.hpp lists them.
enum class rule : std::uint16_t;

/// Rules that are switched off: what breaks them is taken, and nobody is told. For tests that show
/// that it is this rule which finds a wrong driver.
class rule_set {
 public:
  static constexpr std::size_t room = 512;  ///< rules that there may be

  void add(rule r) { bits_.set(static_cast<std::size_t>(r)); }
  bool has(rule r) const { return bits_.test(static_cast<std::size_t>(r)); }
  /// Names with commas between them; no text is the empty set. Nothing when a name is not known.
  static std::optional<rule_set> named(std::string_view text);

  /// Of a saved state.
  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer(archive, bits_);
  }

 private:
  std::bitset<room> bits_;
};

}  // namespace freehca::model
