// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/mpt.hpp>

#include "object_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_regions {
namespace {

constexpr auto no_output = static_cast<unsigned>(hw2sw_modifier::no_output);
constexpr command_status taken = command_status::ok;

constexpr object_row rows[] = {
    {.about = {"sw2hw_mpt", "a region is given to hardware", taken,
               "Linux mlx4/mr.c mlx4_mr_enable"},
     .command = opcode::sw2hw_mpt,
     .input = true},
    {.about = {"sw2hw_mpt-in-hardwares-hands", "SW2HW_MPT of a region that hardware has already",
               command_status::bad_resource_state, source::software_owns},
     .command = opcode::sw2hw_mpt,
     .made = true,
     .input = true},
    {.about = {"sw2hw_mpt-domain-above-those-reported",
               "SW2HW_MPT names a protection domain that is not reported", taken,
               "Linux mlx4/pd.c numbers domains up to 2^17; iPXE hermon.h HERMON_GLOBAL_PD"},
     .command = opcode::sw2hw_mpt,
     .input = true,
     .spoil =
         [](bench& b) {
           b.change<mpt, &mpt::pd>(0x1ffffu);
           return true;
         }},
    {.about = {"query_mpt", "QUERY_MPT of a region that hardware has", taken,
               "Linux mlx4/mr.c mlx4_QUERY_MPT"},
     .command = opcode::query_mpt,
     .made = true,
     .output = true},
    {.about = {"query_mpt-length",
               "QUERY_MPT gives the length and the domain that SW2HW_MPT was given",
               answer::holds(true), "Linux mlx4/mr.c mlx4_mr_hw_get_mpt"},
     .command = opcode::query_mpt,
     .made = true,
     .output = true,
     .check =
         [](const bench& b) {
           const auto m = b.output<mpt>();
           return m.get<&mpt::length>() == dma_arena::page &&
                  m.get<&mpt::pd>() == b.adapter().numbers().pds.first();
         }},
    {.about = {"query_mpt-status", "QUERY_MPT says that hardware has the region",
               answer::holds(true), "Linux mlx4/mr.c mlx4_mr_hw_get_mpt"},
     .command = opcode::query_mpt,
     .made = true,
     .output = true,
     .check =
         [](const bench& b) {
           const auto s = b.output<mpt>().get<&mpt::status>();
           return s != mpt_status::software && s != mpt_status::free;
         }},
    {.about = {"query_mpt-index-past-the-table", "QUERY_MPT of an index past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::query_mpt,
     .made = true,
     .which = named::past_the_table,
     .output = true},
    {.about = {"hw2sw_mpt", "HW2SW_MPT takes a region back", taken,
               "Linux mlx4/mr.c mlx4_HW2SW_MPT"},
     .command = opcode::hw2sw_mpt,
     .made = true,
     .opcode_modifier = no_output},
    {.about = {"hw2sw_mpt-with-output", "HW2SW_MPT takes a region back, and gives its last context",
               taken, "Linux mlx4/mr.c mlx4_HW2SW_MPT"},
     .command = opcode::hw2sw_mpt,
     .made = true,
     .output = true},
    {.about = {"hw2sw_mpt-index-past-the-table", "HW2SW_MPT of an index past the table",
               command_status::bad_index, source::number_in_table},
     .command = opcode::hw2sw_mpt,
     .made = true,
     .which = named::past_the_table,
     .opcode_modifier = no_output},
    {.about = {"hw2sw_mpt-not-in-hardwares-hands", "HW2SW_MPT of a region that hardware has not",
               command_status::bad_resource_state, source::hardware_owns},
     .command = opcode::hw2sw_mpt,
     .opcode_modifier = no_output},
    {.about = {"sync_tpt", "SYNC_TPT, while a region is there", taken,
               "Linux mlx4/mr.c mlx4_SYNC_TPT"},
     .command = opcode::sync_tpt,
     .made = true},
};

}  // namespace
}  // namespace rows_of_regions

extern const row_group regions = group_of<rows_of_regions::rows, run_row_of<object::region>>(
    "regions", "SW2HW_MPT, QUERY_MPT and HW2SW_MPT of one region");

}  // namespace freehca::conformance
