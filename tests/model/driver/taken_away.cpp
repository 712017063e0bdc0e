// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Takes a command, an event or a work request away from every adapter of the program, and lists
// those that its tests used. tests/features/taken_away.py sets the variables:
//   FREEHCA_TAKEN_AWAY  "command 13", "event 1" or "request 8": commands are refused with "bad
//                       operation", events are lost, requests end with an error
//   FREEHCA_USED        a file that gets a line of this form for each that was used
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include <freehca/in_process/machine.hpp>

namespace freehca::testing {
namespace {

class taken_away {
 public:
  taken_away() {
    if (const char* const given = std::getenv("FREEHCA_TAKEN_AWAY")) taken_ = given;
    if (const char* const given = std::getenv("FREEHCA_USED")) file_ = given;
    if (!taken_.empty() || !file_.empty()) in_process::machine::adjust_options = adjust;
  }
  ~taken_away() {
    if (file_.empty()) return;
    std::FILE* const file = std::fopen(file_.c_str(), "w");
    if (file == nullptr) {
      std::perror(file_.c_str());
      return;
    }
    for (const std::string& each : used_) std::fprintf(file, "%s\n", each.c_str());
    std::fclose(file);
  }

 private:
  // Returns true if it is taken away.
  bool use(const char* kind, unsigned code) {
    const std::string name = kind + (" " + std::to_string(code));
    used_.insert(name);
    return name == taken_;
  }
  static void adjust(in_process::machine_options& how) {
    using model::command_verdict;
    using model::event_fate;
    how.model.judges.commands = [](layouts::opcode code, std::uint32_t) {
      constexpr command_verdict refused{command_verdict::fate::refuse,
                                        layouts::command_status::bad_operation};
      return all.use("command", static_cast<unsigned>(code)) ? refused : command_verdict{};
    };
    how.model.judges.events = [](layouts::event_type type) {
      return all.use("event", static_cast<unsigned>(type)) ? event_fate::lose : event_fate::deliver;
    };
    how.model.judges.requests = [](layouts::wqe_opcode opcode) {
      return !all.use("request", static_cast<unsigned>(opcode));
    };
  }

  static taken_away all;
  std::string taken_, file_;
  std::set<std::string> used_;
};
taken_away taken_away::all;

}  // namespace
}  // namespace freehca::testing
