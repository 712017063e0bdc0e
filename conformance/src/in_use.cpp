// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What is taken back, or made smaller, while something needs it.
#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/srqc.hpp>

#include "groups.hpp"
#include "qp_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_in_use {
namespace {

struct in_use_row {
  row about;
  finding (*ask)(bench& with) = nullptr;
};

finding shared_queue_with_a_queue_pair(bench& with) {
  if (const answer a = with.make(object::completion_queue); !a.is_ok()) return a.unprepared();
  if (const answer a = with.make(object::shared_queue); !a.is_ok()) return a.unprepared();
  with.describe(qp_service::rc, qp_state::init);
  change_context<&qpc::srq>(with, true);
  change_context<&qpc::srqn>(with, with.number(object::shared_queue));
  change_context<&qpc::log_rq_size>(with, 0u);
  if (const answer a = with.transition(opcode::rst2init_qp); !a.is_ok()) return a.unprepared();
  return with.issue({.what = opcode::hw2sw_srq,
                     .modifier = with.number(object::shared_queue),
                     .opcode_modifier = static_cast<unsigned>(hw2sw_modifier::no_output)});
}

constexpr unsigned held = 4;
constexpr unsigned log_too_few = 1;

/// Whether the completion queue has what it should hold, soon.
finding fill_completion_queue(bench& with) {
  if (const answer a = with.bring_to(qp_service::rc, qp_state::rts); !a.is_ok()) return a;
  with.tell_of_receives(held);
  if (const status s = with.transition(opcode::to_err_qp); !s.ok()) return s;
  const std::uint64_t end = clock::after(with.now(), clock::seconds(2));
  do {
    const status s = with.issue({.what = opcode::query_cq,
                                 .modifier = with.number(object::completion_queue),
                                 .output = true});
    if (!s.ok()) return s;
    if (with.output<cqc>().get<&cqc::producer_counter>() >= held) return command_status::ok;
  } while (with.now() < end);
  return answer();
}

finding completion_queue_below_what_it_holds(bench& with) {
  if (const answer a = with.make(object::completion_queue); !a.is_ok()) return a.unprepared();
  if (const finding f = fill_completion_queue(with); !f.got.is_ok()) return f.got.unprepared();
  with.describe(object::completion_queue);
  with.change<cqc, &cqc::log_cq_size>(log_too_few);
  return with.issue({.what = opcode::modify_cq,
                     .modifier = with.number(object::completion_queue),
                     .opcode_modifier = static_cast<unsigned>(modify_cq_modifier::resize),
                     .input = true});
}

constexpr in_use_row rows[] = {
    {.about = {"hw2sw_srq-while-a-queue-pair-uses-it",
               "HW2SW_SRQ of a shared queue that a queue pair takes its receives from",
               expectation::refused(),
               "rule srq-unused: IBTA Destroy SRQ: queue pairs are still associated"},
     .ask = shared_queue_with_a_queue_pair},
    {.about = {"modify_cq-size-below-what-it-holds",
               "MODIFY_CQ gives two entries to a queue that holds four completions",
               command_status::bad_size, "rule cq-room: illumos hermon_cq.c hermon_cq_resize"},
     .ask = completion_queue_below_what_it_holds},
};

finding run(bench& with, const in_use_row& r) {
  const finding f = r.ask(with);
  return with.conclude(f, [&]() -> status {
    FREEHCA_TRY(with.unmake(object::queue_pair));
    with.tell_of_receives(0);
    FREEHCA_TRY(with.unmake(object::completion_queue));
    return with.unmake(object::shared_queue);
  });
}

}  // namespace
}  // namespace rows_of_in_use

extern const row_group in_use = group_of<rows_of_in_use::rows, rows_of_in_use::run>(
    "in-use", "takes back, or makes smaller, what something of the row's own still needs");

}  // namespace freehca::conformance
