// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Commands about the whole adapter, and one that no adapter has.
#include <freehca/layouts/diag_rprt.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/query_adapter.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_fw.hpp>

#include "groups.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace {

struct query_row {
  row about;
  call command;
  bool (*check)(const bench& with) = nullptr;
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
};

finding ask(bench& with, const query_row& r) {
  const status s = with.issue(r.command);
  if (r.check == nullptr || !s.ok()) return s;
  return answer::holds(r.check(with));
}

}  // namespace

extern const row_group queries =
    group_of<rows, ask>("queries", "asks for firmware, capabilities, counters, and for nothing");

}  // namespace freehca::conformance
