// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/eqc.hpp>

#include "object_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_event_queues {
namespace {

constexpr auto no_output = static_cast<unsigned>(hw2sw_modifier::no_output);
constexpr command_status taken = command_status::ok;

constexpr object_row rows[] = {
    {.about = {"sw2hw_eq", "an event queue that no event goes to is given to hardware", taken,
               "Linux mlx4/eq.c mlx4_SW2HW_EQ"},
     .command = opcode::sw2hw_eq,
     .input = true},
    {.about = {"sw2hw_eq-in-hardwares-hands",
               "SW2HW_EQ of an event queue that hardware has already",
               command_status::bad_resource_state, source::software_owns},
     .command = opcode::sw2hw_eq,
     .made = true,
     .input = true},
    {.about = {"query_eq", "QUERY_EQ of an event queue that hardware has", taken, source::queried},
     .command = opcode::query_eq,
     .made = true,
     .output = true},
    {.about = {"query_eq-size", "QUERY_EQ gives the size that SW2HW_EQ was given",
               answer::holds(true), source::queried},
     .command = opcode::query_eq,
     .made = true,
     .output = true,
     .check = [](const bench& b) { return b.output<eqc>().get<&eqc::log_eq_size>() == 4; }},
    {.about = {"query_eq-number-past-the-table", "QUERY_EQ of a number past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::query_eq,
     .made = true,
     .which = named::past_the_table,
     .output = true},
    {.about = {"query_eq-not-in-hardwares-hands",
               "QUERY_EQ of an event queue that hardware has not",
               command_status::bad_resource_state, source::hardware_owns},
     .command = opcode::query_eq,
     .which = named::unmade,
     .output = true},
    {.about = {"hw2sw_eq", "HW2SW_EQ takes an event queue back", taken,
               "Linux mlx4/eq.c mlx4_HW2SW_EQ"},
     .command = opcode::hw2sw_eq,
     .made = true,
     .opcode_modifier = no_output},
    {.about = {"hw2sw_eq-number-past-the-table", "HW2SW_EQ of a number past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::hw2sw_eq,
     .made = true,
     .which = named::past_the_table,
     .opcode_modifier = no_output},
    {.about = {"hw2sw_eq-not-in-hardwares-hands",
               "HW2SW_EQ of an event queue that hardware has not",
               command_status::bad_resource_state, source::hardware_owns},
     .command = opcode::hw2sw_eq,
     .opcode_modifier = no_output},
};

}  // namespace
}  // namespace rows_of_event_queues

extern const row_group event_queues =
    group_of<rows_of_event_queues::rows, run_row_of<object::event_queue>>(
        "event-queues", "SW2HW_EQ, QUERY_EQ and HW2SW_EQ of one event queue, which is polled");

}  // namespace freehca::conformance
