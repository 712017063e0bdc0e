// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <deque>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/config_dev.hpp>
#include <freehca/model/raised_event.hpp>

#include "basis/command.hpp"
#include "basis/counters.hpp"
#include "basis/rule_book.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class event_queues;
class ports;

/// The events that an adapter in order never raises, on request. The bytes of the entries are those
/// that Linux 6.1 eq.c mlx4_eq_int reads. Answers GET_OP_REQ, by which the driver learns what an
/// operation_required event asks for.
class raised_events {
 public:
  raised_events(event_queues& eqs, ports& links, rule_book& rules, command_table& commands,
                counter_registry& counters);

  /// Raises the event. False: no event queue takes events of this type.
  bool raise(const raised_event& event);
  /// A reset forgets the operations that are required.
  void clear() { required_.clear(); }

 private:
  layouts::command_status get_operation(command& c);
  layouts::command_status acknowledge(const command& c);

  event_queues& eqs_;
  ports& links_;
  rule_book& rules_;
  std::deque<layouts::image<layouts::get_op_req>> required_;  ///< oldest first
  std::uint16_t last_token_ = 0;
  std::uint64_t raised_ = 0, done_ = 0, refused_ = 0;

 public:
  using saved =
      saving::fields<&raised_events::required_, &raised_events::last_token_,
                     &raised_events::raised_, &raised_events::done_, &raised_events::refused_>;
};

}  // namespace freehca::model
