// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/cqc.hpp>

#include "object_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_completion_queues {
namespace {

constexpr auto no_output = static_cast<unsigned>(hw2sw_modifier::no_output);
constexpr auto resize = static_cast<unsigned>(modify_cq_modifier::resize);
constexpr auto moderation = static_cast<unsigned>(modify_cq_modifier::moderation);
constexpr command_status taken = command_status::ok;
constexpr char size[] = "rule cq-size: IBTA Create CQ, Resize CQ: the capacity asked for exceeds";

bool too_large(bench& b) {
  const unsigned most = b.can().log_most_cqes;
  if (most >= cqc{}.log_cq_size.mask()) return false;
  b.change<cqc, &cqc::log_cq_size>(most + 1);
  return true;
}

constexpr object_row rows[] = {
    {.about = {"sw2hw_cq", "a completion queue is given to hardware", taken,
               "Linux mlx4/cq.c mlx4_SW2HW_CQ"},
     .command = opcode::sw2hw_cq,
     .input = true},
    {.about = {"sw2hw_cq-in-hardwares-hands",
               "SW2HW_CQ of a completion queue that hardware has already",
               command_status::bad_resource_state, source::software_owns},
     .command = opcode::sw2hw_cq,
     .made = true,
     .input = true},
    {.about = {"sw2hw_cq-size-above-the-largest",
               "SW2HW_CQ asks for more entries than QUERY_DEV_CAP allows", expectation::refused(),
               size},
     .command = opcode::sw2hw_cq,
     .input = true,
     .spoil = too_large},
    {.about = {"sw2hw_cq-state-fired", "SW2HW_CQ says that the queue has fired", taken,
               "iPXE hermon.c hermon_create_cq"},
     .command = opcode::sw2hw_cq,
     .input = true,
     .spoil =
         [](bench& b) {
           b.change<cqc, &cqc::state>(cq_state::fired);
           return true;
         }},
    {.about = {"query_cq", "QUERY_CQ of a completion queue that hardware has", taken,
               source::queried},
     .command = opcode::query_cq,
     .made = true,
     .output = true},
    {.about = {"query_cq-size",
               "QUERY_CQ gives the size that SW2HW_CQ was given, and no completion",
               answer::holds(true), source::queried},
     .command = opcode::query_cq,
     .made = true,
     .output = true,
     .check =
         [](const bench& b) {
           const auto m = b.output<cqc>();
           return m.get<&cqc::log_cq_size>() == 4 && m.get<&cqc::producer_counter>() == 0;
         }},
    {.about = {"query_cq-number-past-the-table", "QUERY_CQ of a number past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::query_cq,
     .made = true,
     .which = named::past_the_table,
     .output = true},
    {.about = {"query_cq-not-in-hardwares-hands",
               "QUERY_CQ of a completion queue that hardware has not",
               command_status::bad_resource_state, source::hardware_owns},
     .command = opcode::query_cq,
     .which = named::unmade,
     .output = true},
    {.about = {"modify_cq-moderation", "MODIFY_CQ changes when events come", taken,
               "Linux mlx4/cq.c mlx4_cq_modify"},
     .command = opcode::modify_cq,
     .made = true,
     .opcode_modifier = moderation,
     .input = true,
     .spoil =
         [](bench& b) {
           b.change<cqc, &cqc::cq_max_count>(8u);
           b.change<cqc, &cqc::cq_period>(16u);
           return true;
         }},
    {.about = {"modify_cq-resize",
               "MODIFY_CQ gives an empty queue the buffer and the size that it has", taken,
               "Linux mlx4/cq.c mlx4_cq_resize"},
     .command = opcode::modify_cq,
     .made = true,
     .opcode_modifier = resize,
     .input = true},
    {.about = {"modify_cq-size-above-the-largest",
               "MODIFY_CQ asks for more entries than QUERY_DEV_CAP allows", expectation::refused(),
               size},
     .command = opcode::modify_cq,
     .made = true,
     .opcode_modifier = resize,
     .input = true,
     .spoil = too_large},
    {.about = {"modify_cq-unknown-modification", "MODIFY_CQ with opcode modifier 15",
               command_status::bad_operation, source::known_operation},
     .command = opcode::modify_cq,
     .made = true,
     .opcode_modifier = 15,
     .input = true},
    {.about = {"modify_cq-number-past-the-table", "MODIFY_CQ of a number past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::modify_cq,
     .made = true,
     .which = named::past_the_table,
     .opcode_modifier = moderation,
     .input = true},
    {.about = {"modify_cq-not-in-hardwares-hands",
               "MODIFY_CQ of a completion queue that hardware has not",
               command_status::bad_resource_state, source::hardware_owns},
     .command = opcode::modify_cq,
     .which = named::unmade,
     .opcode_modifier = moderation,
     .input = true},
    {.about = {"hw2sw_cq", "HW2SW_CQ takes a completion queue back", taken,
               "Linux mlx4/cq.c mlx4_HW2SW_CQ"},
     .command = opcode::hw2sw_cq,
     .made = true,
     .opcode_modifier = no_output},
    {.about = {"hw2sw_cq-number-past-the-table", "HW2SW_CQ of a number past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::hw2sw_cq,
     .made = true,
     .which = named::past_the_table,
     .opcode_modifier = no_output},
    {.about = {"hw2sw_cq-not-in-hardwares-hands",
               "HW2SW_CQ of a completion queue that hardware has not",
               command_status::bad_resource_state, source::hardware_owns},
     .command = opcode::hw2sw_cq,
     .opcode_modifier = no_output},
};

}  // namespace
}  // namespace rows_of_completion_queues

extern const row_group completion_queues =
    group_of<rows_of_completion_queues::rows, run_row_of<object::completion_queue>>(
        "completion-queues", "SW2HW_CQ, QUERY_CQ, MODIFY_CQ and HW2SW_CQ of one completion queue");

}  // namespace freehca::conformance
