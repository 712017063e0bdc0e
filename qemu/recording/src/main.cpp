// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_replay FILE: feeds a recording to the model again and prints where the answers differ.
// Status: 0 equal, 1 different, 2 the recording cannot be used, or not to its end.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <new>
#include <string>

#include <CLI/CLI.hpp>

#include <freehca/model/recording_format.hpp>
#include <freehca/recording/compare.hpp>
#include <freehca/recording/driver_replay.hpp>
#include <freehca/recording/replay.hpp>

namespace {

constexpr int equal = 0, different = 1, unusable = 2;

/// What stands in a recording goes to a terminal: control characters, also those of two bytes in
/// UTF-8, become their numbers.
std::string shown(const std::string& text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    const bool wide = c == 0xc2 && next >= 0x80 && next < 0xa0;
    if (c >= 0x20 && c != 0x7f && !wide) {
      safe += text[i];
      continue;
    }
    char number[8];
    std::snprintf(number, sizeof number, "\\x%02x", wide ? next : c);
    safe += number;
    i += wide ? 1 : 0;
  }
  return safe;
}

freehca::recording::recording load(const std::string& path, const std::string& name) {
  if (path == "-") return freehca::recording::load(std::cin, name);
  std::ifstream file(path, std::ios::binary);
  if (file) return freehca::recording::load(file, name);
  freehca::recording::recording none;
  none.problem = name + ": cannot be read";
  return none;
}

/// Status of the replay of a recording that was made at the driver's side.
int replay_and_tell(const freehca::recording::recording& from, const std::string& kind,
                    std::size_t limit) {
  using namespace freehca::recording;
  const driver_replay_result result = replay_driver(from);
  for (const std::string& r : result.remarks) std::printf("remark: %s\n", shown(r).c_str());
  for (std::size_t i = 0; i < std::min(limit, result.differences.size()); ++i)
    std::printf("%s\n", shown(words_of(result.differences[i])).c_str());
  if (result.differences.size() > limit)
    std::printf("(%zu more differences)\n", result.differences.size() - limit);
  std::printf(
      "%s%s%s, recorded by a driver, %zu records, %zu fields compared, %zu volatile ones differ, "
      "%zu differences\n",
      kind.c_str(), from.label.empty() ? "" : ", ", shown(from.label).c_str(), from.records.size(),
      result.compared, result.left_out, result.differences.size());
  if (!from.problem.empty()) return unusable;
  return result.differences.empty() ? equal : different;
}

int run(int argc, char** argv) {
  using namespace freehca::recording;
  CLI::App app("Feeds a recording (docs/recording.md) to the model and compares the answers");
  app.set_version_flag("--version", "freehca_replay " FREEHCA_VERSION);
  std::string path, name, variant;
  bool answers = false;
  std::size_t limit = 20;
  app.add_option("FILE", path, "a recording; - is standard input")->required();
  app.add_flag("--answers", answers, "compare what a driver is told, not each step");
  app.add_option("--limit", limit, "differences that are printed (20)");
  app.add_option("--variant", variant, "the recording must be of this variant");
  app.add_option("--name", name, "what messages call the recording");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? equal : unusable;
  }
  const recording from = load(path, name.empty() ? path : name);
  if (!from.problem.empty()) std::fprintf(stderr, "replay: %s\n", shown(from.problem).c_str());
  if (!from.usable) return unusable;
  const std::string kind(freehca::model::variant_names[static_cast<std::size_t>(from.how.kind)]);
  if (!variant.empty() && variant != kind) {
    std::fprintf(stderr, "replay: %s: line 1: the recording is of a %s, not of a %s\n",
                 shown(from.name).c_str(), kind.c_str(), variant.c_str());
    return unusable;
  }
  if (from.by_driver) return replay_and_tell(from, kind, limit);
  const replay_result result = replay(from);
  for (const std::string& r : result.remarks) std::printf("remark: %s\n", shown(r).c_str());
  const bool exact = !answers && from.of_model;
  const differences found =
      compare(from, result.again, exact ? closeness::exact : closeness::answers, limit);
  for (const std::string& d : found.text) std::printf("%s\n", shown(d).c_str());
  if (found.count > found.text.size())
    std::printf("(%zu more differences)\n", found.count - found.text.size());
  std::printf("%s%s%s, %zu records, %zu answers compared (%s), %zu differences\n", kind.c_str(),
              from.label.empty() ? "" : ", ", shown(from.label).c_str(), from.records.size(),
              found.compared, exact ? "exact" : "what a driver is told", found.count);
  if (!from.problem.empty()) return unusable;
  return found.count == 0 ? equal : different;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "replay: the recording does not fit into memory\n");
    return unusable;
  }
}
