// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "environment.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace freehca::run {
namespace {

bool is_verbs_library(const std::string& path) {
  return path.substr(path.rfind('/') + 1).starts_with("libfreehca-verbs");
}

/// The library before the entries that LD_PRELOAD has. A program has one of the launcher's
/// libraries only, so those of another launcher are left out.
std::string preload_list(const std::string& library) {
  std::string list = library;
  const char* const variable = std::getenv("LD_PRELOAD");
  const std::string before = variable != nullptr ? variable : "";
  for (std::size_t begin = 0; begin < before.size();) {
    const std::size_t end = std::min(before.find_first_of(" :", begin), before.size());
    const std::string entry = before.substr(begin, end - begin);
    if (!entry.empty() && entry != library && !is_verbs_library(entry)) list += ":" + entry;
    begin = end + 1;
  }
  return list;
}

void set(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}

}  // namespace

void set_environment(const request& what, const std::string& library) {
  set("LD_PRELOAD", preload_list(library));
  set("FREEHCA_PROCESS", std::to_string(getpid()));
  set("FREEHCA_FABRIC", what.fabric);
  set("FREEHCA_LINK", what.link);
  set("FREEHCA_IP", what.ip);
  std::string vlans;
  for (const std::string& each : what.vlans) vlans += (vlans.empty() ? "" : ",") + each;
  set("FREEHCA_VLANS", vlans);
  set("FREEHCA_DEVICE", what.device);
  set("FREEHCA_DOOR", what.door);
  set("FREEHCA_PAGES", what.pages);
  set("FREEHCA_PART_ID", what.part_id);
  set("FREEHCA_CAPTURE", what.capture);
  set("FREEHCA_COUNTERS", what.counters);
  if (what.explain) set("FREEHCA_EXPLAIN", "1");
}

}  // namespace freehca::run
