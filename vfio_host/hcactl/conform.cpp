// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "conform.hpp"

#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include <freehca/blocking/words.hpp>
#include <freehca/description/adapter.hpp>

#include "print.hpp"

namespace freehca::hcactl {
namespace {

using conformance::row;
using conformance::row_group;
using conformance::row_report;
using conformance::summary;
using conformance::verdict;
using vfio_host::failure;
using vfio_host::trouble;

template <class Said>
std::string in_words(const Said& what) {
  char line[400];
  text_writer to(line);
  to << what;
  return to.text();
}

std::string name_of(const row_group& group, const row& r) {
  return fmt::format("{}/{}", group.name, r.name);
}

const char* name_of(verdict v) {
  switch (v) {
    case verdict::as_expected:
      return "as expected";
    case verdict::differs:
      return "differs";
    case verdict::not_applicable:
      return "not applicable";
  }
  return "unknown";
}

nlohmann::json to_json(const row_group& group, const row& r) {
  return {{"row", name_of(group, r)},
          {"what", r.what},
          {"expected", in_words(r.expected)},
          {"source", r.source}};
}

nlohmann::json to_json(const row_report& r) {
  nlohmann::json j = to_json(r.group, r.row);
  j["result"] = name_of(r.how);
  if (r.how == verdict::differs || (r.how == verdict::as_expected && !r.row.expected.is_one()))
    j["got"] = in_words(r.got);
  if (r.how == verdict::not_applicable) j["why"] = r.not_applicable;
  return j;
}

struct listening {
  bool aloud;
  nlohmann::json rows = nlohmann::json::array();
  std::string differing{};
};

void hear(void* to, const row_report& r) {
  auto& all = *static_cast<listening*>(to);
  all.rows.push_back(to_json(r));
  if (r.how == verdict::differs && all.differing.empty()) all.differing = in_words(r);
  if (!all.aloud) return;
  fmt::print("{}\n", in_words(r));
  std::fflush(stdout);
}

blocking::session& session_of(void* context) {
  return *static_cast<blocking::session*>(context);
}

nlohmann::json to_json(const summary& sum, nlohmann::json rows) {
  nlohmann::json j = {{"rows", std::move(rows)},
                      {"as_expected", sum.as_expected},
                      {"differ", sum.differ},
                      {"not_applicable", sum.not_applicable},
                      {"of", conformance::count_rows()},
                      {"ok", sum.all_well()}};
  if (!sum.ended.ok()) j["ended"] = blocking::words(sum.ended);
  if (sum.left_behind) j["left_behind"] = true;
  return j;
}

std::string to_text(const summary& sum) {
  return fmt::format("conform    {} rows of {}: {} as expected, {} differ, {} not applicable\n",
                     sum.rows(), conformance::count_rows(), sum.as_expected, sum.differ,
                     sum.not_applicable);
}

const char* doing_at_the_end(const summary& sum) {
  return sum.left_behind ? "conformance, taking back what the last row made" : "conformance";
}

}  // namespace

std::string list_to_text(const std::string& address) {
  std::string t;
  for (const row_group* group : conformance::all_rows()) {
    t += fmt::format("{}: {} ({} rows)\n", group->name, group->about, group->count);
    for (unsigned i = 0; i < group->count; ++i) {
      const row& r = group->at(i);
      t += fmt::format("  {:<44} {}\n", r.name, r.what);
    }
  }
  t += fmt::format(
      "\n{} rows. Nothing of this touches the flash or outlasts a reset. The adapter is brought up "
      "\nfor it, which sets its smallest page (MOD_STAT_CFG) and the limits of its InfiniBand "
      "ports "
      "\n(SET_PORT), both until the reset; no row changes a setting. Nobody else may use the "
      "adapter "
      "\nmeanwhile. Nothing was done yet; to do it:\n\n    {}\n",
      conformance::count_rows(), command_line_for("conform", address, "--yes"));
  return t;
}

nlohmann::json list_to_json() {
  nlohmann::json rows = nlohmann::json::array();
  for (const row_group* group : conformance::all_rows())
    for (unsigned i = 0; i < group->count; ++i) rows.push_back(to_json(*group, group->at(i)));
  return {{"done", false}, {"rows", std::move(rows)}};
}

findings run_conformance(workplace& at, conformance::heard_events& heard,
                         const conform_options& how) {
  const auto who =
      how.keep_identity ? description::identity::included : description::identity::left_out;
  if (!at.json) fmt::print("{}", description::to_text(at.driver.adapter().hardware(), who));
  if (const auto why = unusable_port(at, how.port)) return *why;
  // Open the file before the run, so that a wrong name ends the command before it begins.
  std::ofstream file;
  if (!how.file.empty()) file.open(how.file);
  if (!how.file.empty() && !file) return cannot_write(how.file);
  listening collected{.aloud = !at.json};
  const summary sum = conformance::run_all(
      {.adapter = at.driver.adapter().hardware(),
       .objects = at.driver.adapter().objects(),
       .events = heard,
       .port = how.port,
       .turn = [](void* s) { session_of(s).turn(); },
       .context = &at.driver,
       .interrupted = [](void* s) { return session_of(s).host().interrupted(); }},
      &hear, &collected);
  nlohmann::json document = {{"adapter", description::to_json(at.driver.adapter().hardware(), who)},
                             {"conformance", to_json(sum, std::move(collected.rows))}};
  if (!at.json) fmt::print("{}", to_text(sum));
  if (!how.file.empty() && !(file << document.dump(2) << "\n" << std::flush))
    return cannot_write(how.file);
  at.found = std::move(document);
  if (!sum.ended.ok()) return at.verdict(sum.ended, doing_at_the_end(sum));
  if (sum.differ != 0)
    return failure{trouble::unlike_others,
                   fmt::format("{} of {} rows differ from what is known of such adapters; the "
                               "first: {}",
                               sum.differ, sum.rows(), collected.differing)};
  return at.found;
}

}  // namespace freehca::hcactl
