// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "device/object_dump.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>

#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/srqc.hpp>

#include "basis/adapter_limits.hpp"
#include "tables/icm.hpp"
#include "transport/transport.hpp"

namespace freehca::model {

namespace {

object_dump nothing(std::string_view which, const std::string& why) {
  return {false, "'" + std::string(which) + "': " + why};
}

template <class Context>
std::string decoded(const layouts::image<Context>& context) {
  std::string text;
  context.dump([&text](const layouts::bits& row, std::uint64_t value) {
    if (row.is_raw() || value == 0) return;
    char number[24];
    std::snprintf(number, sizeof number, ": 0x%llx\n", static_cast<unsigned long long>(value));
    text.append(std::begin(row.name), std::find(std::begin(row.name), std::end(row.name), '\0'));
    text += number;
  });
  return text;
}

template <class Context>
object_dump entry(adapter& a, std::string_view which, std::uint64_t base, std::uint64_t number,
                  std::size_t bytes, unsigned log_entries) {
  if (number >> log_entries != 0)
    return nothing(which, "the table has 2^" + std::to_string(log_entries) + " entries");
  const auto context = a.context_memory->load<Context>(base + number * bytes);
  if (!context) return nothing(which, "no context memory is lent there");
  const std::string text = decoded(*context);
  return {true, text.empty() ? "all zero\n" : text};
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  const bool hexadecimal = text.substr(0, 2) == "0x";
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

object_dump dump_object(adapter& a, std::string_view which) {
  const std::size_t colon = which.find(':');
  const std::string_view kind = which.substr(0, colon);
  const auto number =
      colon == std::string_view::npos ? std::nullopt : number_of(which.substr(colon + 1));
  if (!number)
    return nothing(which,
                   "an object is KIND:NUMBER, as in qp:0x41; the kinds are qp cq eq srq mpt");
  const hca_profile& p = a.profile;
  if (!p.running) return nothing(which, "there are no objects before INIT_HCA");
  if (kind == "qp") {
    a.queue_pairs->write_back(static_cast<std::uint32_t>(*number));
    return entry<layouts::qpc>(a, which, p.qpc_base, *number, entry_bytes::qpc, p.log_qps);
  }
  if (kind == "cq")
    return entry<layouts::cqc>(a, which, p.cqc_base, *number, entry_bytes::cqc, p.log_cqs);
  if (kind == "eq")
    return entry<layouts::eqc>(a, which, p.eqc_base, *number, entry_bytes::eqc, p.log_eqs);
  if (kind == "srq")
    return entry<layouts::srqc>(a, which, p.srqc_base, *number, entry_bytes::srqc, p.log_srqs);
  if (kind == "mpt")
    return entry<layouts::mpt>(a, which, p.dmpt_base, *number, entry_bytes::dmpt, p.log_mpts);
  return nothing(which, "the kinds are qp cq eq srq mpt");
}

}  // namespace freehca::model
