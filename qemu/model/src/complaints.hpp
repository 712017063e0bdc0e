// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include <freehca/model/environment.hpp>

namespace freehca::model {

/// Counts what a real card would have to suffer silently. Zero in every clean run.
class complaint_counter {
 public:
  explicit complaint_counter(environment& surroundings) : environment_(surroundings) {}

  [[gnu::format(printf, 2, 3)]] void operator()(const char* format, ...) {
    ++count_;
    // A guest in a loop must not fill the host's log.
    if (count_ > printed_at_most) return;
    char text[240];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    environment_.complain(text);
  }
  std::uint64_t count() const { return count_; }

 private:
  static constexpr std::uint64_t printed_at_most = 200;
  environment& environment_;
  std::uint64_t count_ = 0;
};

}  // namespace freehca::model
