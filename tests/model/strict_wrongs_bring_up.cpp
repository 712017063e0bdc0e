// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the commands of bring-up can have wrong.
#include <freehca/layouts/cmpt.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>

#include "basis/adapter_limits.hpp"
#include "basis/identity.hpp"
#include "strict_wrongs.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

constexpr std::uint64_t nowhere = 0x1000, icm_bytes = std::uint64_t{1} << 40;

template <auto Field, auto Value>
command_status map_entry_with(strict_world& w, call& c) {
  c.change<Field, map_entry>(Value);
  return w.issue(c);
}
template <auto Field, auto Value>
command_status profile_with(strict_world& w, call& c) {
  c.change<Field, init_hca>(Value);
  return w.issue(c);
}
template <std::uint32_t Modifier>
command_status modified(strict_world& w, call& c) {
  return w.issue(c.numbered(Modifier));
}
template <std::uint64_t Value>
command_status immediately(strict_world& w, call& c) {
  return w.issue(c.given(Value));
}
template <stage S>
command_status at(strict_world& w, call& c) {
  w.go_to(S);
  return w.issue(c);
}
/// INIT_HCA when the first page at `Va` has been taken back.
template <std::uint64_t Va>
command_status without(strict_world& w, call& c) {
  EXPECT_EQ(w.driver->command(opcode::unmap_icm, Va, 1).status, command_status::ok);
  return w.issue(c);
}
template <cmpt_type Type>
command_status without_control(strict_world& w, call& c) {
  const std::uint64_t va = test_driver::cmpt + cmpt_offset(Type, 0, entry_bytes::cmpt);
  EXPECT_EQ(w.driver->command(opcode::unmap_icm, va, 1).status, command_status::ok);
  return w.issue(c);
}

void add_maps(std::vector<wrong_call>& to) {
  using e = map_entry;
  for (const opcode o : {opcode::map_fa, opcode::map_icm_aux, opcode::map_icm}) {
    to.push_back({o, "no_chunk", modified<0>});
    to.push_back({o, "more_chunks_than_a_mailbox_holds", modified<257>});
    to.push_back({o, "chunk_above_every_size", map_entry_with<&e::log2size, 25u>});
    to.push_back({o, "chunk_off_its_alignment", [](strict_world& w, call& c) {
                    const std::uint64_t odd = w.host->allocate(4, 16384) + 4096;
                    return w.issue(c.change<&e::pa, e>(odd).change<&e::log2size, e>(1u));
                  }});
    to.push_back({o, "memory_that_the_bus_refuses", map_entry_with<&e::pa, nowhere>});
  }
  const opcode icm = opcode::map_icm;
  to.push_back({icm, "address_off_its_alignment", [](strict_world& w, call& c) {
                  c.change<&e::pa, e>(w.host->allocate(2, 8192));
                  return w.issue(c.change<&e::va, e>(0x2000'1000u).change<&e::log2size, e>(1u));
                }});
  to.push_back({icm, "address_past_the_end", map_entry_with<&e::va, icm_bytes>});
  to.push_back({icm, "page_that_is_lent_already", map_entry_with<&e::va, test_driver::qpc>});
  to.push_back({icm, "pages_around_one_that_is_lent", [](strict_world& w, call& c) {
                  EXPECT_EQ(w.driver->lend(0x3000'3000, 0), command_status::ok);
                  c.change<&e::pa, e>(w.host->allocate(4, 16384));
                  return w.issue(c.change<&e::va, e>(0x3000'0000u).change<&e::log2size, e>(2u));
                }});
  to.push_back({icm, "page_twice_in_one_command",
                [](strict_world& w, call& c) {
                  const auto first = image<e>::from_bytes(c.mailbox.data());
                  w.refused_in_part = true;  // the first stays
                  return w.issue(c.with(first, e::bytes).numbered(2));
                },
                false});
  to.push_back({icm, "without_auxiliary_memory", at<stage::sized>, false});
  to.push_back({icm, "before_its_size_is_told", at<stage::firmware>, false});
  to.push_back({opcode::map_icm_aux, "before_the_size_is_told", at<stage::firmware>, false});
  to.push_back({opcode::map_icm_aux, "while_the_adapter_runs", at<stage::running>, false});
  to.push_back({opcode::map_fa, "after_RUN_FW", at<stage::firmware>, false});
}

void add_unmaps(std::vector<wrong_call>& to) {
  const opcode o = opcode::unmap_icm;
  to.push_back({o, "address_off_its_alignment", immediately<test_driver::qpc + 0x800>});
  to.push_back({o, "no_page", modified<0>});
  to.push_back({o, "nothing_that_is_lent", immediately<0x3000'0000>});
  to.push_back({o, "address_past_the_end", immediately<icm_bytes>});
  to.push_back({o, "more_pages_than_the_address_space", modified<0xffffffff>});
  to.push_back(
      {opcode::unmap_icm_aux, "while_context_memory_is_lent", at<stage::context_memory>, false});
  to.push_back({opcode::unmap_icm_aux, "while_the_adapter_runs", at<stage::running>, false});
  to.push_back(
      {opcode::unmap_fa, "while_context_memory_is_lent", at<stage::context_memory>, false});
  to.push_back({opcode::unmap_fa, "while_the_adapter_runs", at<stage::running>, false});
}

void add_profile(std::vector<wrong_call>& to) {
  using l = init_hca;
  const auto add = [&to](const char* how, auto wrong, bool repairs = true) {
    to.push_back({opcode::init_hca, how, wrong, repairs});
  };
  add("while_the_adapter_runs", at<stage::running>, false);
  add("version", profile_with<&l::version, 1u>);
  add("reserved_bit", [](strict_world& w, call& c) {
    c.mailbox[1] |= std::byte{1};
    return w.issue(c);
  });
  // What QUERY_DEV_CAP does not report.
  add("stride_of_event_entries", profile_with<&l::eqe_stride, 1u>);
  add("stride_of_completion_entries", profile_with<&l::cqe_stride, 1u>);
  add("system_event_queues", profile_with<&l::num_sys_eqs, 1u>);
  add("router", profile_with<&l::ib_router, true>);
  add("counters", profile_with<&l::counters, true>);
  add("hashes_of_fragments", profile_with<&l::rss_ip_fragments, true>);
  add("managed_steering_and_B0_at_once", [](strict_world& w, call& c) {
    return w.issue(c.change<&l::dmfs, l>(true).change<&l::uc_steering, l>(true));
  });
  add("managed_steering_of_high_rates", [](strict_world& w, call& c) {
    c.change<&l::uc_steering, l>(false).change<&l::dmfs_a0, l>(static_cast<dmfs_a0_mode>(1));
    return w.issue(c.change<&l::dmfs, l>(true));
  });
  // Limits.
  add("more_queue_pairs_than_reported", profile_with<&l::log_num_qps, 25u>);
  add("more_shared_receive_queues_than_reported", profile_with<&l::log_num_srqs, 25u>);
  add("more_completion_queues_than_reported", profile_with<&l::log_num_cqs, 25u>);
  add("more_event_queues_than_reported", profile_with<&l::log_num_eqs, 10u>);
  add("more_regions_than_reported", profile_with<&l::log_mpt_sz, 25u>);
  add("more_groups_than_reported", profile_with<&l::log_mc_table_sz, 31u>);
  add("group_entries_above_a_page", profile_with<&l::log_mc_entry_sz, 13u>);
  add("UAR_pages_above_64_KB", profile_with<&l::uar_page_sz, 5u>);
  add("fewer_queue_pairs_than_reserved", profile_with<&l::log_num_qps, 5u>);
  add("fewer_shared_receive_queues_than_reserved", profile_with<&l::log_num_srqs, 5u>);
  add("fewer_completion_queues_than_reserved", profile_with<&l::log_num_cqs, 6u>);
  add("fewer_event_queues_than_reserved", profile_with<&l::log_num_eqs, 1u>);
  add("fewer_regions_than_reserved", profile_with<&l::log_mpt_sz, 7u>);
  add("hash_table_above_the_group_table", profile_with<&l::log_mc_hash_sz, 9u>);
  // Places.
  add("qpc_base_off_its_alignment", profile_with<&l::qpc_base, 0x800u>);
  add("rdmarc_base_off_its_alignment", profile_with<&l::rdmarc_base, test_driver::rdmarc + 0x800>);
  add("altc_base_off_its_alignment", profile_with<&l::altc_base, test_driver::altc + 0x800>);
  add("auxc_base_off_its_alignment", profile_with<&l::auxc_base, test_driver::auxc + 0x800>);
  add("srqc_base_off_its_alignment", profile_with<&l::srqc_base, test_driver::srqc + 0x800>);
  add("cqc_base_off_its_alignment", profile_with<&l::cqc_base, test_driver::cqc + 0x800>);
  add("eqc_base_off_its_alignment", profile_with<&l::eqc_base, test_driver::eqc + 0x800>);
  add("dmpt_base_off_its_alignment", profile_with<&l::dmpt_base, test_driver::dmpt + 0x800>);
  add("mtt_base_off_its_alignment", profile_with<&l::mtt_base, test_driver::mtt + 0x800>);
  add("mc_base_off_its_alignment", profile_with<&l::mc_base, test_driver::mc + 0x800>);
  add("cmpt_base_off_its_alignment", profile_with<&l::cmpt_base, test_driver::cmpt + 0x800>);
  add("table_past_the_end", profile_with<&l::dmpt_base, icm_bytes>);
  add("reserved_queue_pairs_not_lent", without<test_driver::qpc>, false);
  add("reserved_read_resources_not_lent", without<test_driver::rdmarc>, false);
  add("reserved_alternate_paths_not_lent", without<test_driver::altc>, false);
  add("reserved_auxiliary_contexts_not_lent", without<test_driver::auxc>, false);
  add("reserved_shared_receive_queues_not_lent", without<test_driver::srqc>, false);
  add("reserved_completion_queues_not_lent", without<test_driver::cqc>, false);
  add("reserved_event_queues_not_lent", without<test_driver::eqc>, false);
  add("reserved_regions_not_lent", without<test_driver::dmpt>, false);
  add("reserved_translations_not_lent", without<test_driver::mtt>, false);
  add("control_entries_of_queue_pairs_not_lent", without_control<cmpt_type::qp>, false);
  add("control_entries_of_shared_receive_queues_not_lent", without_control<cmpt_type::srq>, false);
  add("control_entries_of_completion_queues_not_lent", without_control<cmpt_type::cq>, false);
  add("control_entries_of_event_queues_not_lent", without_control<cmpt_type::eq>, false);
}

}  // namespace

void add_bring_up_wrongs(std::vector<wrong_call>& to) {
  for (const opcode o : {opcode::query_fw, opcode::query_dev_cap, opcode::query_adapter,
                         opcode::query_hca, opcode::hw_health_check, opcode::nop, opcode::run_fw,
                         opcode::unmap_fa, opcode::set_icm_size, opcode::unmap_icm_aux,
                         opcode::init_hca, opcode::close_hca, opcode::sync_tpt, opcode::mgid_hash,
                         opcode::qp_flow_steering_detach, opcode::flow_steering_ib_uc_qp_range})
    to.push_back({o, "input_modifier_that_it_has_not", modified<0xffffffff>});
  add_maps(to);
  add_unmaps(to);
  add_profile(to);
  to.push_back({opcode::run_fw, "too_little_memory",
                [](strict_world& w, call& c) {
                  w.go_to(stage::cold);
                  const std::uint64_t pages = w.host->allocate(16, 16 * 4096);
                  EXPECT_EQ(w.driver->map(opcode::map_fa, 0, pages, 4), command_status::ok);
                  return w.issue(c);
                },
                false});
  to.push_back({opcode::run_fw, "twice", at<stage::firmware>, false});
  to.push_back({opcode::set_icm_size, "nothing", immediately<0>});
  to.push_back({opcode::set_icm_size, "above_what_is_reported", immediately<2 * icm_bytes>});
  to.push_back(
      {opcode::set_icm_size, "while_context_memory_is_lent", at<stage::context_memory>, false});
  to.push_back({opcode::set_icm_size, "while_the_adapter_runs", at<stage::running>, false});
  const auto of_port = [](std::uint32_t port) {
    return load_be<std::uint32_t>(
        image<mod_stat_cfg_input_modifier>{}.set<&mod_stat_cfg_input_modifier::port>(port).data());
  };
  for (const auto& [port, how] : {std::pair{0u, "port_0"}, {3u, "port_3"}})
    to.push_back({opcode::mod_stat_cfg, how, [of_port, number = port](strict_world& w, call& c) {
                    return w.issue(c.numbered(of_port(number)));
                  }});
  to.push_back({opcode::mod_stat_cfg, "wake_on_LAN", [](strict_world& w, call& c) {
                  return w.issue(c.by(static_cast<unsigned>(mod_stat_cfg_modifier::set_immediate)));
                }});
  to.push_back({opcode::mod_stat_cfg, "smallest_page_above_4_KB", [](strict_world& w, call& c) {
                  using m = mod_stat_cfg;
                  c.with(image<m>{}.set<&m::log_pg_sz_m>(true).set<&m::log_pg_sz>(1u));
                  c.in = w.driver->input;
                  return w.issue(c.by(static_cast<unsigned>(mod_stat_cfg_modifier::set)));
                }});
}

}  // namespace freehca::model::test
