// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "report.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace freehca::device_server {

void report(std::string_view what) {
  fmt::print(stderr, "freehca-device: {}\n", what);
}

void bounded_report::operator()(std::string_view what) {
  if (told_ == most) return;
  report(fmt::format("{}: {}", of_, what));
  if (++told_ == most) report(fmt::format("{}: no more lines of these", of_));
}

}  // namespace freehca::device_server
