// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "refusal.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace freehca::run {

int report(const refusal& why, bool json) {
  if (json) {
    // A path may have bytes that are no UTF-8.
    const nlohmann::json document{{"code", why.status}, {"error", why.message}};
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  fmt::print(stderr, "freehca-run: {}\n", why.message);
  return why.status;
}

}  // namespace freehca::run
