// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/conformance/list.hpp>

#include "bench.hpp"

namespace freehca::conformance {

extern const row_group limits, queries, ports, management;
extern const row_group regions, event_queues, completion_queues, shared_receive_queues;
extern const row_group transitions, transition_mailboxes, transition_ports, queue_pair_states;
extern const row_group in_use;
extern const row_group requests, request_errors, datagrams, events;

/// A table of rows of one shape as a group; `Run` is given the bench and a row of it.
template <auto& Table, auto Run>
constexpr row_group group_of(const char* name, const char* about) {
  return {name, about, static_cast<unsigned>(sizeof Table / sizeof Table[0]),
          [](unsigned i) -> const row& { return Table[i].about; },
          [](bench& with, unsigned i) { return Run(with, Table[i]); }};
}

/// Who says so. The rules are those of docs/strictness.md.
namespace source {
inline constexpr char number_in_table[] =
    "rule number-in-table: thh tcqm.c THH_cqm_resize_cq, tqpm.c THH_modify_cmdrc2rc: BAD_INDEX";
inline constexpr char port_number[] =
    "rule port-number: thh tqpm.c THH_qpm_process_local_mad: BAD_INDEX is a wrong port";
inline constexpr char software_owns[] =
    "rule software-owns: Linux mlx4/resource_tracker.c *_res_start_move_to";
inline constexpr char hardware_owns[] =
    "rule hardware-owns: thh tcqm.c THH_cqm_resize_cq: BAD_RES_STATE";
inline constexpr char known_operation[] =
    "rule known-operation: thh tcqm.c THH_cqm_resize_cq: BAD_OP is firmware that has not got it";
inline constexpr char qp_state[] =
    "rule qp-state: illumos hermon_qpmod.c: BAD_QP_STATE; thh tqpm.c THH_modify_cmdrc2rc";
inline constexpr char high_bits[] = "captures: bits above the table mean nothing";
inline constexpr char queried[] =
    "Linux mlx4/resource_tracker.c passes it on; iPXE hermon.c hermon_dump_cqctx, _eqctx";
inline constexpr char quiet_fields[] = "iPXE hermon.c hermon_modify_qp leaves it empty";
}  // namespace source

}  // namespace freehca::conformance
