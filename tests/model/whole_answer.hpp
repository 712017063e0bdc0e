// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// All that an adapter shows when something is wrong, so that a test can say what is to change, and
// that nothing else does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <freehca/layouts/eqe.hpp>

#include "queues/work_request.hpp"
#include "test_driver.hpp"

namespace freehca::model::test {

/// One entry of a completion queue.
struct completed {
  std::uint32_t qpn = 0;
  bool send = false;
  std::optional<failure> error;
  bool operator==(const completed& o) const;
};
void PrintTo(const completed& c, std::ostream* to);

/// What came of something wrong. Counters stand by their names: those of the model; "PortCounters1
/// ..." and "PortInfo1 ..." of a port; "DIAG_RPRT ...". Those that stay as they were do not stand
/// there, nor those that count commands, doorbells and the model's own work.
struct whole_answer {
  std::vector<completed> completions;
  std::vector<layouts::event_type> events;
  std::map<std::string, std::int64_t> counted;
  std::vector<std::string> complaints;  ///< the rules, in their order
  std::vector<std::string> explained;   ///< of work that failed and packets that were dropped
};

/// Looks at an adapter before something goes wrong, and afterwards.
class onlooker {
 public:
  /// `eq` takes all asynchronous events, `cq` all completions; both are empty.
  onlooker(test_driver& driver, test_driver::queue& eq, test_driver::queue& cq);
  /// What has changed since the last look. Takes the completions and events.
  whole_answer look();

 private:
  using counts = std::map<std::string, std::uint64_t>;
  void add_counters(counts& to) const;
  void add_reports(counts& to);

  test_driver& driver_;
  test_driver::queue &eq_, &cq_;
  counts before_;
};

/// What a row of a test's table expects: nothing, but for what it names.
struct wanted_answer {
  std::vector<completed> completions{};
  std::vector<layouts::event_type> events{};
  /// DIAG_RPRT's counters of error completions follow from the completions: they do not stand here.
  std::map<std::string, std::int64_t> counted{};
  std::vector<std::string> complaints{};
  /// Stands in an explanation, or in the complaint: the field, and its value where it has one.
  /// Null: nothing is explained.
  const char* says = nullptr;
};
/// Fails the test where the two differ. Records what came for docs/strictness.md, and `more`: what
/// was sent in answer, and which states were entered.
void expect(const wanted_answer& wanted, const whole_answer& came, const std::string& more);

}  // namespace freehca::model::test
