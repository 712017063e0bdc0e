// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string_view>

namespace freehca::device_server {

/// A line on stderr. If there is no memory for it, the line is lost.
void report(std::string_view what) noexcept;

/// Reports lines that a guest or a client can cause. Only the first ones are printed.
class bounded_report {
 public:
  static constexpr unsigned most = 32;

  explicit bounded_report(std::string_view of) : of_(of) {}
  void operator()(std::string_view what) noexcept;
  void begin_again() { told_ = 0; }

 private:
  std::string_view of_;
  unsigned told_ = 0;
};

}  // namespace freehca::device_server
