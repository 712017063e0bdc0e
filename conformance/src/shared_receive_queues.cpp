// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/srqc.hpp>

#include "object_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_shared_receive_queues {
namespace {

constexpr auto no_output = static_cast<unsigned>(hw2sw_modifier::no_output);
constexpr command_status taken = command_status::ok;

std::uint64_t three(const bench&) {
  return 3;
}

constexpr object_row rows[] = {
    {.about = {"sw2hw_srq", "a shared receive queue is given to hardware", taken,
               "Linux mlx4/srq.c mlx4_SW2HW_SRQ"},
     .command = opcode::sw2hw_srq,
     .input = true},
    {.about = {"sw2hw_srq-in-hardwares-hands",
               "SW2HW_SRQ of a shared queue that hardware has already",
               command_status::bad_resource_state, source::software_owns},
     .command = opcode::sw2hw_srq,
     .made = true,
     .input = true},
    {.about = {"sw2hw_srq-size-above-the-largest",
               "SW2HW_SRQ asks for more entries than QUERY_DEV_CAP allows", expectation::refused(),
               "rule srq-size: IBTA Create SRQ: the requests asked for exceed the capacity"},
     .command = opcode::sw2hw_srq,
     .input = true,
     .spoil =
         [](bench& b) {
           const unsigned most = b.can().log_most_srq_wqes;
           if (most >= srqc{}.log_srq_size.mask()) return false;
           b.change<srqc, &srqc::log_srq_size>(most + 1);
           return true;
         }},
    {.about = {"sw2hw_srq-domain-above-those-reported",
               "SW2HW_SRQ names a protection domain that is not reported", taken,
               "Linux mlx4/pd.c numbers domains up to 2^17"},
     .command = opcode::sw2hw_srq,
     .input = true,
     .spoil =
         [](bench& b) {
           b.change<srqc, &srqc::pd>(0x1ffffu);
           return true;
         }},
    {.about = {"query_srq", "QUERY_SRQ of a shared queue that hardware has", taken,
               "Linux mlx4/srq.c mlx4_srq_query"},
     .command = opcode::query_srq,
     .made = true,
     .output = true},
    {.about = {"query_srq-limit", "QUERY_SRQ of a queue that was never armed gives a limit of 0",
               answer::holds(true), "Linux mlx4/srq.c mlx4_srq_query"},
     .command = opcode::query_srq,
     .made = true,
     .output = true,
     .check = [](const bench& b) { return b.output<srqc>().get<&srqc::limit_watermark>() == 0; }},
    {.about = {"query_srq-number-past-the-table", "QUERY_SRQ of a number past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::query_srq,
     .made = true,
     .which = named::past_the_table,
     .output = true},
    {.about = {"query_srq-not-in-hardwares-hands",
               "QUERY_SRQ of a shared queue that hardware has not",
               command_status::bad_resource_state, source::hardware_owns},
     .command = opcode::query_srq,
     .which = named::unmade,
     .output = true},
    {.about = {"arm_srq", "ARM_SRQ asks for an event at a limit of 3", taken,
               "Linux mlx4/srq.c mlx4_srq_arm"},
     .command = opcode::arm_srq,
     .made = true,
     .immediate = true,
     .value = three},
    {.about = {"arm_srq-limit-above-the-queue",
               "ARM_SRQ with a limit that the queue has no room for", expectation::refused(),
               "rule srq-limit: IBTA Modify SRQ: the limit exceeds the SRQ's requests"},
     .command = opcode::arm_srq,
     .made = true,
     .immediate = true,
     .value = [](const bench&) { return std::uint64_t{16}; }},
    {.about = {"arm_srq-number-past-the-table", "ARM_SRQ of a number past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::arm_srq,
     .made = true,
     .which = named::past_the_table,
     .immediate = true,
     .value = three},
    {.about = {"arm_srq-not-in-hardwares-hands", "ARM_SRQ of a shared queue that hardware has not",
               command_status::bad_resource_state, source::hardware_owns},
     .command = opcode::arm_srq,
     .which = named::unmade,
     .immediate = true,
     .value = three},
    {.about = {"hw2sw_srq", "HW2SW_SRQ takes a shared queue back", taken,
               "Linux mlx4/srq.c mlx4_HW2SW_SRQ"},
     .command = opcode::hw2sw_srq,
     .made = true,
     .opcode_modifier = no_output},
    {.about = {"hw2sw_srq-number-past-the-table", "HW2SW_SRQ of a number past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::hw2sw_srq,
     .made = true,
     .which = named::past_the_table,
     .opcode_modifier = no_output},
    {.about = {"hw2sw_srq-not-in-hardwares-hands",
               "HW2SW_SRQ of a shared queue that hardware has not",
               command_status::bad_resource_state, source::hardware_owns},
     .command = opcode::hw2sw_srq,
     .opcode_modifier = no_output},
};

}  // namespace
}  // namespace rows_of_shared_receive_queues

extern const row_group shared_receive_queues =
    group_of<rows_of_shared_receive_queues::rows, run_row_of<object::shared_queue>>(
        "shared-receive-queues", "SW2HW_SRQ, QUERY_SRQ, ARM_SRQ and HW2SW_SRQ of one shared queue");

}  // namespace freehca::conformance
