// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/command_status.hpp>
#include <freehca/model/options.hpp>

#include "basis/command.hpp"
#include "basis/counters.hpp"
#include "basis/rule_book.hpp"

namespace freehca::model {

class completion_queues;

/// DIAG_RPRT: the error counters of completions and transport, as the parts count them.
class diagnostics {
 public:
  diagnostics(const options& how, rule_book& rules, const completion_queues& cqs,
              const counter_registry& counters)
      : how_(how), rules_(rules), cqs_(cqs), counters_(counters) {}

  void add_handlers(command_table& commands);

 private:
  layouts::command_status report(command& c);

  const options& how_;
  rule_book& rules_;
  const completion_queues& cqs_;
  const counter_registry& counters_;
};

}  // namespace freehca::model
