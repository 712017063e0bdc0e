// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "size.hpp"

#include <charconv>

#include <fmt/format.h>

#include <freehca/layouts/bit_operations.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/texts/names.hpp>

namespace freehca::hcactl {
namespace {

// The limits of each table: the maximum is that of the hardware's field, the minimum leaves room
// for the firmware's reserved objects in the captures. Bring-up checks the limits of the present
// adapter and names `item` if one is exceeded.
struct table {
  const char* name;
  unsigned budget::*log;
  unsigned least, most;
  budget::item item;
};
using item = budget::item;
constexpr table tables[] = {
    {"qps", &budget::log_qps, 7, 24, item::qps},
    {"srqs", &budget::log_srqs, 7, 24, item::srqs},
    {"cqs", &budget::log_cqs, 8, 24, item::cqs},
    {"eqs", &budget::log_eqs, 3, 9, item::eqs},
    {"mpts", &budget::log_mpts, 9, 24, item::mpts},
    {"mtts", &budget::log_mtts, 7, 31, item::mtts},
    {"mcgs", &budget::log_mcgs, 1, 17, item::multicast_groups},
    {"mcg_entry", &budget::log_mcg_entry_bytes, 6, 12, item{}},
    {"rdmarc_per_qp", &budget::log_rdmarc_per_qp, 0, 7, item::reads_per_qp},
};

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

std::string size_name(budget::item of) {
  for (const table& t : tables)
    if (t.item == of && of != item{}) return t.name;
  return {};
}

std::string size_limit(budget::item of, const budget& b, const capabilities& can) {
  using l = layouts::query_dev_cap;
  struct {
    budget::item item;
    std::uint64_t log_most, reserved;
  } const limits[] = {
      {item::qps, can.raw.get<&l::log_max_qps>(), can.reserved_qps},
      {item::srqs, can.raw.get<&l::log_max_srqs>(), can.reserved_srqs},
      {item::cqs, can.raw.get<&l::log_max_cqs>(), can.reserved_cqs},
      {item::eqs, can.raw.get<&l::log_max_eqs>(), can.reserved_eqs + b.completion_event_queues},
      {item::mpts, can.raw.get<&l::log_max_mpts>(), can.reserved_mpts},
      {item::mtts, can.ports == 0 ? 0u : 31u, can.reserved_mtts},
      {item::multicast_groups, can.raw.get<&l::log_max_mcgs>(), can.raw.get<&l::num_rsvd_mcgs>()},
      {item::reads_per_qp, can.raw.get<&l::log_max_ra_res_qp>(), 0},
  };
  for (const auto& limit : limits) {
    if (limit.item != of || limit.log_most == 0) continue;
    for (const table& t : tables)
      if (t.item == of)
        return fmt::format(
            "--size {}={} is not from {} to {}: it has at most 2^{} {}, and keeps {} "
            "of them",
            t.name, b.*t.log, layouts::bit_width(limit.reserved), limit.log_most, limit.log_most,
            name_of(of), limit.reserved);
  }
  return {};
}

bool sized(const budget& b) {
  for (const table& t : tables)
    if (b.*t.log != budget{}.*t.log) return true;
  return false;
}

}  // namespace freehca::hcactl
