// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "size.hpp"

#include <charconv>

#include <fmt/format.h>

namespace freehca::hcactl {
namespace {

// What the hardware's fields hold; what the adapter at hand allows, bring-up says.
struct table {
  const char* name;
  unsigned budget::*log;
  unsigned least, most;
};
constexpr table tables[] = {{"qps", &budget::log_qps, 6, 24},
                            {"srqs", &budget::log_srqs, 6, 24},
                            {"cqs", &budget::log_cqs, 7, 24},
                            {"eqs", &budget::log_eqs, 3, 9},
                            {"mpts", &budget::log_mpts, 8, 24},
                            {"mtts", &budget::log_mtts, 6, 31},
                            {"mcgs", &budget::log_mcgs, 1, 17},
                            {"mcg_entry", &budget::log_mcg_entry_bytes, 6, 12},
                            {"rdmarc_per_qp", &budget::log_rdmarc_per_qp, 0, 7}};

}  // namespace

std::string set_size(budget& of, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  std::string names;
  for (const table& t : tables) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", t.name);
    if (name != t.name) continue;
    unsigned log = 0;
    const char* const end = text.data() + text.size();
    const char* const number = equals == std::string::npos ? end : text.data() + equals + 1;
    const auto read = std::from_chars(number, end, log);
    if (read.ec != std::errc() || read.ptr != end || log < t.least || log > t.most)
      return fmt::format("'{}': {} wants a logarithm from {} to {}, as in {}={}", text, t.name,
                         t.least, t.most, t.name, of.*t.log);
    of.*t.log = log;
    return {};
  }
  return fmt::format("'{}': NAME=LOG, where NAME is one of {}", text, names);
}

}  // namespace freehca::hcactl
