// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "report.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "without_exceptions.hpp"

namespace freehca::device_server {

void report(std::string_view what) noexcept {
  without_exceptions([&] { fmt::print(stderr, "freehca-device: {}\n", what); });
}

void bounded_report::operator()(std::string_view what) noexcept {
  if (told_ == most) return;
  ++told_;
  without_exceptions([&] {
    report(fmt::format("{}: {}", of_, what));
    if (told_ == most) report(fmt::format("{}: no more lines of these", of_));
  });
}

}  // namespace freehca::device_server
