// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/conformance/answer.hpp>

#include <freehca/texts/names.hpp>

namespace freehca::conformance {

namespace {

const char* words(layouts::qp_state s) {
  using layouts::qp_state;
  switch (s) {
    case qp_state::reset:
      return "reset";
    case qp_state::init:
      return "init";
    case qp_state::rtr:
      return "ready to receive";
    case qp_state::rts:
      return "ready to send";
    case qp_state::sq_error:
      return "send queue error";
    case qp_state::sq_drained:
      return "send queue drained";
    case qp_state::error:
      return "error";
    case qp_state::sq_draining:
      return "send queue draining";
    case qp_state::suspended:
      return "suspended";
  }
  return "unknown";
}

const char* words(layouts::event_type t) {
  using layouts::event_type;
  switch (t) {
    case event_type::path_migrated:
      return "path migrated";
    case event_type::communication_established:
      return "communication established";
    case event_type::sq_drained:
      return "send queue drained";
    case event_type::cq_error:
      return "completion queue error";
    case event_type::wq_catastrophic_error:
      return "work queue catastrophic error";
    case event_type::path_migration_failed:
      return "path migration failed";
    case event_type::wq_invalid_request_error:
      return "work queue invalid request error";
    case event_type::wq_access_violation:
      return "work queue access violation";
    case event_type::srq_catastrophic_error:
      return "shared receive queue catastrophic error";
    case event_type::srq_last_wqe:
      return "last entry of the shared receive queue";
    case event_type::srq_limit:
      return "shared receive queue limit";
    default:
      return "another event";
  }
}

}  // namespace

text_writer& operator<<(text_writer& to, const answer& a) {
  if (!a.is_prepared()) to << "could not be prepared: ";
  switch (a.what()) {
    case answer::kind::nothing:
      return to << "nothing";
    case answer::kind::command: {
      const auto s = static_cast<layouts::command_status>(a.value());
      if (s == layouts::command_status::ok) return to << "taken";
      return (to << "refused: " << name_of(s) << " (").hex(a.value(), 2) << ")";
    }
    case answer::kind::completion: {
      const auto s = static_cast<queues::completion_status>(a.value());
      if (s == queues::completion_status::ok) return to << "completes";
      return to << "completes with " << queues::name_of(s);
    }
    case answer::kind::event:
      return (to << "event: " << words(static_cast<layouts::event_type>(a.value())) << " (")
                 .hex(a.value(), 2)
             << ")";
    case answer::kind::state:
      return to << "state: " << words(static_cast<layouts::qp_state>(a.value()));
    case answer::kind::statement:
      return to << (a.value() != 0 ? "holds" : "does not hold");
    case answer::kind::trouble:
      describe(a.trouble(), to);
      return to;
  }
  return to;
}

}  // namespace freehca::conformance
