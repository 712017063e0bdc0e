// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "adapter.hpp"

namespace freehca::model {

/// BAR2: UAR pages in the first half (doorbells), BlueFlame pages in the second, one per UAR page.
class uar_window {
 public:
  explicit uar_window(adapter& a);

  /// Doorbell pages have nothing to read: 0.
  std::uint64_t read(std::uint64_t offset, unsigned bytes);
  /// Values as in device::write_uar.
  void write(std::uint64_t offset, std::uint64_t value, unsigned bytes);

 private:
  void write_word(std::uint64_t page, std::uint32_t offset, std::uint32_t value);

  adapter& a_;
  std::uint64_t doorbells_ = 0, blueflame_writes_ = 0;
  /// A CQ doorbell may come as two 32-bit writes in order: the first half waits here, with its page.
  std::uint64_t cq_page_ = 0;
  std::uint32_t cq_first_ = 0;
  bool cq_half_ = false;
};

}  // namespace freehca::model
