// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Commands about the whole adapter, one that no adapter has, and what reads past its tables.
#include <freehca/layouts/diag_rprt.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/query_adapter.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_fw.hpp>

#include "groups.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_queries {
namespace {

struct query_row {
  row about;
  call command;
  bool (*check)(const bench& with) = nullptr;
  /// Null, or gives the command what it has besides.
  void (*prepare)(bench& with, call& command) = nullptr;
};

constexpr answer yes = answer::holds(true);
constexpr command_status taken = command_status::ok;
constexpr call query(opcode o) {
  return {.what = o, .output = true};
}

template <auto Field>
std::uint64_t given_at_start(const bench& b) {
  return b.output<init_hca>().get<Field>();
}
unsigned log_objects(const bench& b, context_group g) {
  return b.adapter().contexts().layout().log_objects[static_cast<unsigned>(g)];
}

/// A card that took the command for the one that configures the agent would leave it as it is after
/// INIT_HCA. One that has no MAD_DEMUX does not know the operation either.
void all_for_the_agent(bench& b, call&) {
  using l = mad_demux;
  constexpr std::uint32_t all = 0xffff'ffff;
  image<l> m;
  m.set<&l::get_attr_mask>(all).set<&l::set_attr_mask>(all).set<&l::getresp_attr_mask>(all);
  m.set<&l::send_attr_mask>(all).set<&l::trap_attr_mask>(all).set<&l::report_attr_mask>(all);
  m.set<&l::report_resp_attr_mask>(all).set<&l::trap_repress_attr_mask>(all);
  b.put(m);
}

constexpr query_row rows[] = {
    {{"query_fw", "QUERY_FW of an adapter that runs", taken, "Linux mlx4/fw.c mlx4_QUERY_FW"},
     query(opcode::query_fw)},
    {{"query_fw-version", "QUERY_FW gives the version that it gave during bring-up", yes,
      "Linux mlx4/fw.c mlx4_QUERY_FW"},
     query(opcode::query_fw),
     [](const bench& b) {
       const auto fw = b.output<query_fw>();
       const device_info i = b.adapter().info();
       return fw.get<&query_fw::fw_rev_major>() == i.firmware_major &&
              fw.get<&query_fw::fw_rev_minor>() == i.firmware_minor &&
              fw.get<&query_fw::fw_rev_subminor>() == i.firmware_subminor;
     }},
    {{"query_fw-pages", "QUERY_FW asks for memory", yes, "Linux mlx4/main.c mlx4_load_fw"},
     query(opcode::query_fw),
     [](const bench& b) { return b.output<query_fw>().get<&query_fw::fw_pages>() != 0; }},
    {{"query_dev_cap", "QUERY_DEV_CAP of an adapter that runs", taken,
      "Linux mlx4/fw.c mlx4_QUERY_DEV_CAP"},
     query(opcode::query_dev_cap)},
    {{"query_dev_cap-again", "QUERY_DEV_CAP gives what it gave during bring-up", yes,
      "Linux hw/mlx4 and mlx4_en rely on what mlx4_core read once"},
     query(opcode::query_dev_cap),
     [](const bench& b) { return b.output<query_dev_cap>() == b.can().raw; }},
    {{"query_adapter", "QUERY_ADAPTER", taken, "Linux mlx4/fw.c mlx4_QUERY_ADAPTER"},
     query(opcode::query_adapter)},
    {{"query_hca", "QUERY_HCA of an adapter that runs", taken, "Linux mlx4/fw.c mlx4_QUERY_HCA"},
     query(opcode::query_hca)},
    {{"query_hca-queue-pairs", "QUERY_HCA gives the number of queue pairs that INIT_HCA was given",
      yes, "Linux mlx4/fw.c mlx4_QUERY_HCA"},
     query(opcode::query_hca),
     [](const bench& b) {
       return given_at_start<&init_hca::log_num_qps>(b) == log_objects(b, context_group::qp);
     }},
    {{"query_hca-completion-queues",
      "QUERY_HCA gives the number of completion queues that INIT_HCA was given", yes,
      "Linux mlx4/fw.c mlx4_QUERY_HCA"},
     query(opcode::query_hca),
     [](const bench& b) {
       return given_at_start<&init_hca::log_num_cqs>(b) == log_objects(b, context_group::cq);
     }},
    {{"query_hca-shared-queues",
      "QUERY_HCA gives the number of shared receive queues that INIT_HCA was given", yes,
      "Linux mlx4/fw.c mlx4_QUERY_HCA"},
     query(opcode::query_hca),
     [](const bench& b) {
       return given_at_start<&init_hca::log_num_srqs>(b) == log_objects(b, context_group::srq);
     }},
    {{"hw_health_check", "HW_HEALTH_CHECK", taken,
      "Linux mlx4/en_selftest.c mlx4_en_test_registers"},
     {.what = opcode::hw_health_check}},
    {{"nop", "NOP", taken, "Linux mlx4/fw.c mlx4_NOP"}, {.what = opcode::nop}},
    {{"nop-modifier", "NOP with an input modifier of 0x1f", taken,
      "Linux mlx4/fw.c mlx4_NOP gives it 0x1f"},
     {.what = opcode::nop, .modifier = 0x1f}},
    {{"diag_rprt", "DIAG_RPRT of counters", taken, "Linux mlx4/fw.c mlx4_query_diag_counters"},
     {.what = opcode::diag_rprt,
      .opcode_modifier = static_cast<unsigned>(diag_rprt_modifier::query_transport_ci_errors),
      .output = true}},
    {{"unknown-opcode", "a command that no adapter has, 0x7ef", command_status::bad_operation,
      source::known_operation},
     {.what = static_cast<opcode>(0x7ef)}},
    {.about = {"mad_demux-unknown-operation", "MAD_DEMUX with opcode modifier 15",
               command_status::bad_operation, source::known_operation},
     .command = {.what = opcode::mad_demux,
                 .modifier = mad_demux_subnet_management,
                 .opcode_modifier = 15,
                 .input = true,
                 .output = true},
     .prepare = all_for_the_agent},
    {.about = {"read_mcg-index-past-the-table", "READ_MCG of an index past the table",
               command_status::bad_index, source::number_in_table},
     .command = query(opcode::read_mcg),
     .prepare = [](bench& b, call& c) { c.modifier = b.group_past_the_table(); }},
};

finding ask(bench& with, const query_row& r) {
  call command = r.command;
  if (r.prepare != nullptr) r.prepare(with, command);
  const status s = with.issue(command);
  if (r.check == nullptr || !s.ok()) return s;
  return answer::holds(r.check(with));
}

}  // namespace
}  // namespace rows_of_queries

extern const row_group queries = group_of<rows_of_queries::rows, rows_of_queries::ask>(
    "queries", "asks for firmware, capabilities, counters, and for nothing");

}  // namespace freehca::conformance
