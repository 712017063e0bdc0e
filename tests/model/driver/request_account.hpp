// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace freehca::testing {

/// Every work request that was posted, by its wr_id, and how it ended: once, whatever becomes of
/// the device.
class request_account {
 public:
  /// A wr_id that no request had before.
  std::uint64_t post() {
    open_.insert(++posted);
    return posted;
  }
  void complete(std::uint64_t wr_id) { end(wr_id, completed); }
  /// Without a completion of its own, because it was not signaled: by that of a later one.
  void imply(std::uint64_t wr_id) { end(wr_id, implied); }
  /// Told at the reset, as the device had completed it.
  void hand_over(std::uint64_t wr_id) { end(wr_id, handed_over); }
  /// Told at the reset, and nobody knows.
  void lose(std::uint64_t wr_id) { end(wr_id, lost); }

  void expect_all_ended() const {
    EXPECT_TRUE(open_.empty()) << open_.size() << " requests never ended, the first is "
                               << *open_.begin();
    EXPECT_EQ(posted, completed + implied + handed_over + lost);
  }

  std::uint64_t posted = 0, completed = 0, implied = 0, handed_over = 0, lost = 0;

 private:
  void end(std::uint64_t wr_id, std::uint64_t& how) {
    EXPECT_EQ(open_.erase(wr_id), 1u) << "request " << wr_id << " ended twice, or was never posted";
    ++how;
  }
  std::set<std::uint64_t> open_;
};

}  // namespace freehca::testing
