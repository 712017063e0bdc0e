// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "device/raised_events.hpp"

#include <freehca/layouts/mcg.hpp>

#include "command/command_checks.hpp"
#include "ports/infiniband_port.hpp"
#include "ports/ports.hpp"
#include "queues/event_queues.hpp"

namespace freehca::model {

using layouts::command_status;
using layouts::event_type;
using layouts::image;

namespace {

// No source: chosen.
constexpr unsigned warning_threshold = 105, current_temperature = 110;

/// What GET_OP_REQ writes: the operation, and the head of a multicast entry.
struct operation_answer {
  static constexpr std::size_t bytes = layouts::get_op_req::bytes + layouts::mcg_header::bytes;
  layouts::raw<layouts::get_op_req::bytes> operation{0, "operation"};
};

template <class T>
image<layouts::eqe> entry_of(image<T> e, const raised_event& event) {
  e.template set<&T::event_sub_type>(event.subtype);
  return image<layouts::eqe>::from_bytes(e.data());
}

}  // namespace

raised_events::raised_events(event_queues& eqs, ports& links, rule_book& rules,
                             command_table& commands, counter_registry& counters)
    : eqs_(eqs), links_(links), rules_(rules) {
  commands.on(layouts::opcode::get_op_req, [this](command& c) {
    return c.opcode_modifier == static_cast<unsigned>(layouts::get_op_req_modifier::get)
               ? get_operation(c)
               : acknowledge(c);
  });
  counters.add("events_raised", raised_);
  counters.add("operations_required", [this] { return required_.size(); });
  counters.add("operations_done", done_);
  counters.add("operations_refused", refused_);
}

bool raised_events::raise(const raised_event& event) {
  if (!eqs_.takes(event.type)) return false;
  ++raised_;
  image<layouts::eqe> e = entry_of(image<layouts::eqe>{}, event);
  switch (event.type) {
    case event_type::port_management_change: {
      infiniband_port* const port = links_.infiniband(event.port);
      const auto what = static_cast<layouts::port_management_subtype>(event.subtype);
      if (port != nullptr && port->raise_management_change(what)) return true;
      // Another subtype, or a port that does not exist.
      using l = layouts::eqe_table_change;
      e = entry_of(image<l>{}.set<&l::port>(event.port), event);
      break;
    }
    case event_type::port_change: {
      using l = layouts::eqe_port_change;
      e = entry_of(image<l>{}.set<&l::port>(event.port & 0xfu), event);
      break;
    }
    case event_type::recoverable_error: {
      using l = layouts::eqe_cable;
      e = entry_of(image<l>{}.set<&l::port>(event.port), event);
      break;
    }
    case event_type::fatal_warning: {
      using l = layouts::eqe_temperature;
      image<l> t;
      if (event.subtype == static_cast<unsigned>(layouts::fatal_warning_subtype::temperature))
        t.set<&l::current_temperature>(current_temperature)
            .set<&l::warning_threshold>(warning_threshold);
      e = entry_of(t, event);
      break;
    }
    case event_type::operation_required: {
      using l = layouts::get_op_req;
      e = {};
      if (++last_token_ == 0) ++last_token_;
      required_.push_back(image<l>{}.set<&l::token>(last_token_).set<&l::type>(event.subtype));
      break;
    }
    default:
      break;
  }
  eqs_.post_asynchronous(event.type, e);
  return true;
}

/// The group of operation_of_multicast has no member: the driver has nothing to do for it. Without
/// a required operation the answer is zeros (no source: chosen).
command_status raised_events::get_operation(command& c) {
  image<operation_answer> out;
  if (!required_.empty()) out.set_bytes<&operation_answer::operation>(required_.front().data());
  return command_checks(rules_).answer(c, out).status();
}

/// Any token is taken: that of Linux is zero on little-endian machines, because it shifts a value
/// that it has turned to big-endian (Linux 6.1 fw.c mlx4_opreq_action).
command_status raised_events::acknowledge(const command& c) {
  command_checks is(rules_);
  is.that(!required_.empty(), rule::input_modifier, command_status::bad_parameter,
          "input modifier 0x%x: no operation is required", c.input_modifier);
  if (is.refused() || required_.empty()) return is.status();
  const auto token =
      static_cast<std::uint32_t>(required_.front().get<&layouts::get_op_req::token>());
  const std::uint32_t named = c.input_modifier >> 16;
  // A status below zero fills the upper half (Linux, as above).
  is.that(named == token || named == 0 || named == 0xffff, rule::input_modifier,
          command_status::bad_parameter, "input modifier 0x%x: token 0x%x is wanted",
          c.input_modifier, token);
  if (is.refused()) return is.status();
  ++((c.input_modifier & 0xffff) == 0 ? done_ : refused_);
  required_.pop_front();
  return command_status::ok;
}

}  // namespace freehca::model
