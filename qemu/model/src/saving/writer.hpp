// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "saving/fields.hpp"

namespace freehca::model::saving {

/// What a stream of state is written for.
enum class purpose : unsigned char {
  load,   ///< everything that a load needs
  digest  ///< without the rows outside_digest()
};

/// Takes the bytes of one section of a stream (transfer.hpp).
class writer {
 public:
  static constexpr bool loads = false;

  explicit writer(purpose what = purpose::load) : purpose_(what) {}

  void bytes(const void* from, std::size_t count) {
    if (count == 0) return;
    const std::size_t at = written_.size();
    written_.resize(at + count);
    std::memcpy(written_.data() + at, from, count);
  }
  bool for_digest() const { return purpose_ == purpose::digest; }
  const std::vector<std::byte>& written() const { return written_; }

  // The reader's part of the interface.
  static constexpr unsigned version() { return newest_version; }
  static constexpr bool ok() { return true; }
  void enter(std::string_view) {}
  void leave() {}

 private:
  const purpose purpose_;
  std::vector<std::byte> written_;
};

}  // namespace freehca::model::saving
