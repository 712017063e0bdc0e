// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Firmware whose answers make no sense: it asks for memory that nobody has, or names registers that
// are not there.
#include <cstring>

#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_fw.hpp>
#include <freehca/layouts/register_map.hpp>

#include "device_rig.hpp"

namespace freehca {
namespace {

using layouts::opcode;
using testing::device_rig;

class lying_device : public ::testing::Test {
 protected:
  explicit lying_device(const freehca::budget& b = {}, bool function_level_reset = true)
      : rig(roomy(function_level_reset), b), made_with(b) {
    rig.setup.port_wait = clock::milliseconds(5);
    operations_ = *rig.setup.platform.operations;
    operations_.log = [](void*, const log_record& record) {
      char line[200];
      describe(record, line, sizeof line);
      logged().emplace_back(line);
    };
    rig.setup.platform.operations = &operations_;
    logged().clear();
  }
  void SetUp() override { ASSERT_TRUE(rig.adapter.open(rig.setup).ok()); }
  void TearDown() override {
    if (rig.adapter.up()) {
      EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    }
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
    rig.adapter.close();
  }
  static in_process::machine_options roomy(bool function_level_reset) {
    in_process::machine_options how;
    how.function_level_reset = function_level_reset;
    how.dma_limit = std::size_t{1} << 30;
    return how;
  }
  static std::vector<std::string>& logged() {
    static std::vector<std::string> lines;
    return lines;
  }
  bool was_logged(const std::string& part) {
    for (const std::string& line : logged())
      if (line.find(part) != std::string::npos) return true;
    return false;
  }

  /// The answer to the command `asked` goes through `change`.
  template <class Layout>
  void change_answer(opcode asked, const std::function<void(layouts::image<Layout>&)>& change) {
    note_commands();
    rig.machine.alter_adapter_write = [this, asked, change](std::uint64_t, std::byte* to,
                                                            std::size_t count) {
      if (last != asked || count < Layout::bytes) return;
      auto answer = layouts::image<Layout>::from_bytes(to);
      change(answer);
      std::memcpy(to, answer.data(), Layout::bytes);
    };
  }
  void change_query_fw(const std::function<void(layouts::image<layouts::query_fw>&)>& change) {
    change_answer<layouts::query_fw>(opcode::query_fw, change);
  }
  /// The immediate answer to SET_ICM_SIZE is `pages`.
  void answer_set_icm_size(std::uint64_t pages) {
    note_commands();
    rig.machine.alter_register_read = [this, pages](unsigned bar, std::size_t offset,
                                                    std::uint32_t value) {
      constexpr std::size_t at = layouts::bar0::hcr + layouts::hcr{}.out_param.offset;
      if (last != opcode::set_icm_size || bar != 0) return value;
      if (offset == at) return static_cast<std::uint32_t>(pages >> 32);
      return offset == at + 4 ? static_cast<std::uint32_t>(pages) : value;
    };
  }
  void note_commands() {
    rig.machine.adapter().judge_commands([this](opcode code, std::uint32_t) {
      last = code;
      maps += code == opcode::map_fa ? 1 : 0;
      return model::command_verdict{};
    });
  }
  void tell_the_truth() {
    rig.machine.alter_adapter_write = {};
    rig.machine.alter_register_read = {};
  }
  void expect_exceeds(budget::item what, std::uint64_t asked, bring_up_step step) {
    const status s = rig.bring_up();
    EXPECT_TRUE(s.is(driver_error::exceeds_limits)) << testing::words(s);
    const sequence_failure& f = rig.adapter.failure();
    EXPECT_EQ(f.step, step);
    EXPECT_EQ(f.cause.where(), static_cast<unsigned>(what));
    EXPECT_EQ(f.asked, asked);
    EXPECT_LT(f.bound, asked);
    EXPECT_GT(f.bound, 0u);
    EXPECT_TRUE(was_logged(name_of(what)));
    EXPECT_TRUE(was_logged(std::to_string(asked)));
    EXPECT_TRUE(was_logged(std::to_string(f.bound)));
    EXPECT_EQ(rig.adapter.state(), device_state::down);
    EXPECT_TRUE(rig.adapter.holdings().none());
    tell_the_truth();
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  }

  device_rig rig;
  freehca::budget made_with;
  opcode last{};
  unsigned maps = 0;

 private:
  platform_operations operations_;
};

/// Their doorbells stand in UAR pages that are reserved, so they cannot be used (Linux fw.c
/// mlx4_QUERY_DEV_CAP).
TEST_F(lying_device, keeps_uar_pages_but_not_the_event_queues_of_their_doorbells) {
  using l = layouts::query_dev_cap;
  change_answer<l>(opcode::query_dev_cap, [](layouts::image<l>& a) {
    a.set<&l::log_rsvd_eqs>(2).set<&l::num_rsvd_eqs>(4).set<&l::num_rsvd_uars>(8);
  });
  // The model, which keeps them, would refuse a lower number.
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  EXPECT_EQ(rig.adapter.capabilities().reserved_eqs, 32u);
}

TEST_F(lying_device, asks_for_more_firmware_pages_than_there_are) {
  change_query_fw([](auto& answer) { answer.template set<&layouts::query_fw::fw_pages>(0xffff); });
  expect_exceeds(budget::item::firmware_area, 0xffff, bring_up_step::query_fw);
}

TEST_F(lying_device, asks_for_no_firmware_pages) {
  change_query_fw([](auto& answer) { answer.template set<&layouts::query_fw::fw_pages>(0); });
  const status s = rig.bring_up();
  EXPECT_TRUE(s.is(transport_error::bad_reply)) << testing::words(s);
  EXPECT_EQ(rig.adapter.failure().step, bring_up_step::query_fw);
  EXPECT_EQ(rig.adapter.state(), device_state::down);
  EXPECT_TRUE(rig.adapter.holdings().none());
  EXPECT_EQ(maps, 0u);
  tell_the_truth();
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
}

TEST_F(lying_device, asks_for_more_auxiliary_pages_than_there_are) {
  answer_set_icm_size(std::uint64_t{1} << 63 | 7);
  expect_exceeds(budget::item::auxiliary_area, std::uint64_t{1} << 63 | 7,
                 bring_up_step::set_icm_size);
}

TEST_F(lying_device, asks_for_auxiliary_pages_that_the_firmware_area_has_taken) {
  const device_plan plan(made_with);
  const std::uint64_t pages = (plan.context_memory - plan.areas) / dma_arena::page;
  answer_set_icm_size(pages);
  expect_exceeds(budget::item::auxiliary_area, pages, bring_up_step::set_icm_size);
}

TEST_F(lying_device, keeps_more_objects_for_itself_than_the_tables_have) {
  using l = layouts::query_dev_cap;
  using image = layouts::image<l>;
  const struct {
    budget::item what;
    std::function<void(image&)> change;
  } lies[] = {
      {budget::item::qps, [](image& a) { a.set<&l::log_rsvd_qps>(15); }},
      {budget::item::srqs, [](image& a) { a.set<&l::log_rsvd_srqs>(15); }},
      {budget::item::cqs, [](image& a) { a.set<&l::log_rsvd_cqs>(15); }},
      {budget::item::eqs, [](image& a) { a.set<&l::log_rsvd_eqs>(15); }},
      {budget::item::mpts, [](image& a) { a.set<&l::log_rsvd_mrws>(15); }},
      // And tables that are larger than it can have.
      {budget::item::multicast_groups, [](image& a) { a.set<&l::log_max_mcgs>(6); }},
      {budget::item::reads_per_qp, [](image& a) { a.set<&l::log_max_ra_res_qp>(3); }},
  };
  for (const auto& lie : lies) {
    change_answer<l>(opcode::query_dev_cap, lie.change);
    EXPECT_TRUE(rig.bring_up().is(driver_error::bad_argument)) << name_of(lie.what);
    EXPECT_EQ(rig.adapter.failure().step, bring_up_step::plan_context) << name_of(lie.what);
    EXPECT_EQ(rig.adapter.failure().cause.where(), static_cast<unsigned>(lie.what));
    EXPECT_TRUE(rig.adapter.holdings().none()) << name_of(lie.what);
  }
  tell_the_truth();
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
}

TEST_F(lying_device, the_multicast_groups_that_it_keeps_have_memory) {
  using l = layouts::query_dev_cap;
  const auto bytes = [this](unsigned kept) {
    change_answer<l>(opcode::query_dev_cap,
                     [kept](auto& a) { a.template set<&l::num_rsvd_mcgs>(kept); });
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
    const std::uint64_t lent = rig.adapter.contexts().bytes_lent(context_table::mcg);
    EXPECT_EQ(lent != 0, rig.adapter.contexts().mapped(context_group::mcg, 0));
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    return lent;
  };
  EXPECT_EQ(bytes(0), 0u);
  EXPECT_EQ(bytes(1), 4096u);
  tell_the_truth();
}

TEST_F(lying_device, has_a_multicast_table_of_another_shape_than_it_was_told) {
  using l = layouts::init_hca;
  using image = layouts::image<l>;
  const std::function<void(image&)> lies[] = {
      [](image& a) { a.set<&l::log_mc_entry_sz>(a.get<&l::log_mc_entry_sz>() + 1); },
      [](image& a) { a.set<&l::log_mc_hash_sz>(a.get<&l::log_mc_hash_sz>() + 1); },
      [](image& a) { a.set<&l::log_mc_table_sz>(a.get<&l::log_mc_table_sz>() + 1); },
      [](image& a) { a.set<&l::uc_steering>(!a.get<&l::uc_steering>()); },
  };
  for (const auto& lie : lies) {
    change_answer<l>(opcode::query_hca, lie);
    EXPECT_TRUE(rig.bring_up().is(transport_error::bad_reply)) << rig.failure();
    EXPECT_EQ(rig.adapter.failure().step, bring_up_step::query_hca);
    EXPECT_TRUE(rig.adapter.holdings().none());
  }
  tell_the_truth();
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
}

/// The modelled adapter does not report the capability, but it has the command.
TEST_F(lying_device, may_say_that_subnet_management_is_restricted) {
  using l = layouts::query_dev_cap;
  using m = layouts::mad_demux;
  for (const bool restricted : {false, true}) {
    note_commands();
    unsigned asked = 0;
    rig.machine.alter_adapter_write = [&](std::uint64_t, std::byte* to, std::size_t count) {
      if (last == opcode::query_dev_cap && count >= l::bytes) {
        auto answer = layouts::image<l>::from_bytes(to);
        answer.set<&l::mad_demux>(true);
        std::memcpy(to, answer.data(), l::bytes);
      } else if (last == opcode::mad_demux && count >= m::bytes) {
        ++asked;
        layouts::image<m> answer;
        if (restricted)
          answer.set<&m::set_attr_mask>(1)
              .set<&m::getresp_attr_mask>(1)
              .set<&m::trap_attr_mask>(1)
              .set<&m::trap_repress_attr_mask>(1);
        std::memcpy(to, answer.data(), m::bytes);
      }
    };
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
    EXPECT_EQ(asked, 1u);
    EXPECT_EQ(rig.adapter.info().secure_host, restricted);
    tell_the_truth();
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
  }
}

TEST_F(lying_device, has_entries_that_no_command_could_lend_memory_for) {
  using l = layouts::query_dev_cap;
  using image = layouts::image<l>;
  const std::function<void(image&)> lies[] = {
      [](image& a) { a.set<&l::qpc_entry_sz>(300); },
      [](image& a) { a.set<&l::mtt_entry_sz>(0x8000); },
      [](image& a) { a.set<&l::mtt_entry_sz>(0); },
  };
  for (const auto& lie : lies) {
    change_answer<l>(opcode::query_dev_cap, lie);
    EXPECT_TRUE(rig.bring_up().is(transport_error::bad_reply)) << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none());
  }
  tell_the_truth();
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
}

struct lying_device_in_single_pages : lying_device {
  static freehca::budget large() {
    freehca::budget b;
    b.firmware_bytes = std::size_t{256} << 20;
    b.log_largest_lent_run = 0;
    return b;
  }
  lying_device_in_single_pages() : lying_device(large()) {}
};

TEST_F(lying_device_in_single_pages, a_large_area_is_lent_in_slices_and_cancel_is_heard_between) {
  constexpr std::uint32_t pages = 0xf000;
  change_query_fw([](auto& answer) { answer.template set<&layouts::query_fw::fw_pages>(pages); });
  operation up;
  rig.adapter.bring_up(up);
  unsigned before = 0;
  EXPECT_TRUE(rig.run([&] {
    EXPECT_LE(maps - before, 1u) << "commands between two polls";
    before = maps;
    return maps == 3;
  }));
  EXPECT_EQ(rig.adapter.step(), bring_up_step::map_fa);
  EXPECT_EQ(rig.adapter.holdings().pages, pages);
  // One command names as many pages as its mailbox has room for.
  EXPECT_LE(rig.machine.counter("firmware_pages"), 3u * layouts::map_entries_per_mailbox);
  EXPECT_GE(rig.machine.counter("firmware_pages"), 2u * layouts::map_entries_per_mailbox);
  up.cancel();
  EXPECT_TRUE(rig.await(up).is(driver_error::cancelled));
  // The command that the firmware has is answered first.
  EXPECT_TRUE(rig.adapter.state() == device_state::in_doubt ||
              rig.adapter.state() == device_state::down);
  EXPECT_TRUE(
      rig.run([&] { return rig.adapter.state() == device_state::down; }, clock::seconds(1)));
  EXPECT_EQ(maps, 3u) << "nothing more was lent";
  EXPECT_EQ(rig.machine.counter("firmware_pages"), 0u);
}

struct lying_device_without_spares : lying_device {
  lying_device_without_spares() : lying_device(testing::without_spares()) {}
};

/// Of entries that are larger than those of the known cards.
TEST_F(lying_device_without_spares, has_blocks_of_several_pages) {
  using l = layouts::query_dev_cap;
  change_answer<l>(opcode::query_dev_cap,
                   [](layouts::image<l>& a) { a.set<&l::qpc_entry_sz>(1024); });
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  context_tables& t = rig.adapter.contexts();
  ASSERT_EQ(t.layout().block_pages(context_table::qpc), 4u);
  const std::uint32_t tables = context_layout::shape(context_group::qp).tables;
  const std::uint32_t number = (1u << made_with.log_qps) - 1;
  ASSERT_FALSE(t.mapped(context_group::qp, number));
  const auto ask = [&](bool map) {
    context_request r;
    if (map) t.map(r, {context_group::qp, number, 1});
    else t.unmap(r, {context_group::qp, number, 1});
    return rig.await(r);
  };
  const std::uint64_t before = rig.machine.counter("icm_pages"),
                      lent = t.bytes_lent(context_table::qpc);
  const std::size_t out = t.arena().bytes_out();
  const auto as_before = [&] {
    return rig.run(
        [&] {
          return rig.machine.counter("icm_pages") == before &&
                 t.bytes_lent(context_table::qpc) == lent && t.arena().bytes_out() == out;
        },
        clock::seconds(1));
  };
  ASSERT_TRUE(ask(true).ok());
  EXPECT_EQ(t.bytes_lent(context_table::qpc), lent + 4 * dma_arena::page);
  EXPECT_EQ(rig.machine.counter("icm_pages"), before + 4 + tables - 1);
  EXPECT_EQ(t.memory(context_table::qpc, number).device_address % (4 * dma_arena::page),
            4 * dma_arena::page - 1024);
  ASSERT_TRUE(ask(false).ok());
  EXPECT_TRUE(as_before());

  // No two pages that are free are neighbours.
  std::vector<dma_region> taken;
  for (auto page = t.arena().allocate(dma_arena::page); page.ok();
       page = t.arena().allocate(dma_arena::page))
    taken.push_back(page.value());
  for (std::size_t i = 0; i < taken.size(); i += 3) t.arena().free(taken[i]);
  const std::size_t kept = t.arena().bytes_out();
  const status s = ask(true);
  EXPECT_TRUE(s.is(driver_error::no_memory)) << testing::words(s);
  EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::lent_pages));
  EXPECT_TRUE(rig.run(
      [&] { return rig.machine.counter("icm_pages") == before && t.arena().bytes_out() == kept; },
      clock::seconds(1)));
  EXPECT_EQ(t.bytes_lent(context_table::qpc), lent);
  EXPECT_FALSE(t.mapped(context_group::qp, number));
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (i % 3 != 0) t.arena().free(taken[i]);
  EXPECT_TRUE(ask(true).ok());
  EXPECT_TRUE(ask(false).ok());
  EXPECT_TRUE(as_before());
}

TEST_F(lying_device, a_command_interface_of_another_revision_is_refused) {
  using l = layouts::query_fw;
  for (const unsigned revision : {1u, 2u, 4u, 0xffffu}) {
    change_query_fw([=](auto& answer) { answer.template set<&l::cmd_interface_rev>(revision); });
    EXPECT_TRUE(rig.bring_up().is(driver_error::unsupported)) << revision;
    EXPECT_EQ(rig.adapter.failure().step, bring_up_step::query_fw);
    EXPECT_EQ(rig.adapter.info().command_interface, revision);
    EXPECT_EQ(rig.adapter.state(), device_state::down);
  }
  tell_the_truth();
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
}

TEST_F(lying_device, an_error_buffer_that_cannot_be_read_is_told_at_bring_up) {
  using l = layouts::query_fw;
  const std::function<void(layouts::image<l>&)> places[] = {
      [](auto& answer) { answer.template set<&l::error_buf_bar>(2); },
      [](auto& answer) { answer.template set<&l::error_buf_offset>(std::uint64_t{1} << 40); },
      [](auto& answer) { answer.template set<&l::error_buf_offset>(2); },
      [](auto& answer) { answer.template set<&l::error_buf_size>(0); },
      [](auto& answer) { answer.template set<&l::error_buf_size>(~0u); },
  };
  for (const auto& place : places) {
    logged().clear();
    change_query_fw(place);
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
    EXPECT_FALSE(rig.adapter.info().internal_errors_show);
    EXPECT_EQ(rig.adapter.info().error_buffer_words, 0u);
    EXPECT_TRUE(was_logged("error buffer"));
    rig.run_for(clock::milliseconds(1));
    EXPECT_GT(rig.adapter.next_deadline(), rig.machine.time()) << "a host that may not sleep";
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
  }
  logged().clear();
  tell_the_truth();
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  EXPECT_TRUE(rig.adapter.info().internal_errors_show);
  EXPECT_FALSE(was_logged("error buffer"));
}

TEST_F(lying_device, the_error_buffer_is_found_in_either_bar) {
  constexpr std::size_t at = 0x1000;
  for (const unsigned bar : {0u, 1u}) {
    change_query_fw([bar](auto& answer) {
      answer.template set<&layouts::query_fw::error_buf_bar>(bar)
          .template set<&layouts::query_fw::error_buf_offset>(at);
    });
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
    EXPECT_TRUE(rig.adapter.info().internal_errors_show);
    EXPECT_EQ(rig.adapter.info().error_buffer_bar, 2 * bar);
    EXPECT_EQ(rig.adapter.info().error_buffer, at);
    EXPECT_NE(rig.adapter.info().error_buffer_words, 0u);
    bool broken = false;
    rig.machine.alter_register_read = [&broken, bar](unsigned in, std::size_t offset,
                                                     std::uint32_t value) {
      if (in != bar * 2 || offset != at) return value;
      return broken ? 0xdeadu : 0u;
    };
    rig.run_for(clock::seconds(1));
    EXPECT_EQ(rig.adapter.state(), device_state::up) << "BAR " << bar * 2;
    broken = true;
    EXPECT_TRUE(
        rig.run([&] { return rig.adapter.state() == device_state::failed; }, clock::seconds(1)))
        << "BAR " << bar * 2;
    tell_the_truth();
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
  }
}

/// The answer to QUERY_FW comes, and from then on the register says that it is taken.
TEST_F(lying_device, whose_command_register_stays_taken_behind_an_answer_is_given_up) {
  using l = layouts::hcr;
  note_commands();
  unsigned looks = 0;
  rig.machine.alter_register_read = [&](unsigned bar, std::size_t offset, std::uint32_t value) {
    if (bar != 0 || offset != layouts::bar0::hcr_status || last != opcode::query_fw) return value;
    layouts::image<l> seen;
    std::byte* const word = seen.data() + l{}.go.offset;
    layouts::store_be(word, value);
    if (seen.get<&l::go>() || ++looks == 1) return value;
    seen.set<&l::go>(true);
    return layouts::load_be<std::uint32_t>(word);
  };
  EXPECT_TRUE(rig.bring_up().is(transport_error::timeout)) << rig.failure();
  EXPECT_EQ(rig.adapter.failure().step, bring_up_step::map_fa);
  EXPECT_LT(rig.machine.time(), clock::seconds(11)) << "the end of the command woke nobody";
  tell_the_truth();
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
}

struct lying_device_without_flr : lying_device {
  lying_device_without_flr() : lying_device({}, false) {}
};

TEST_F(lying_device_without_flr,
       with_deaf_registers_is_kept_from_the_bus_before_anything_is_reused) {
  struct observer {
    in_process::machine* machine;
    unsigned resets = 0;
    bool could_master = false;
  } seen{&rig.machine};
  event_sinks sinks;
  sinks.context = &seen;
  sinks.was_reset = [](void* context) noexcept {
    auto& o = *static_cast<observer*>(context);
    ++o.resets;
    o.could_master |= o.machine->configuration().bus_master();
  };
  rig.adapter.set_sinks(sinks);
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  EXPECT_TRUE(rig.machine.configuration().bus_master());
  rig.machine.alter_register_read = [](unsigned, std::size_t, std::uint32_t) { return ~0u; };
  EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::failed; }));
  operation down;
  rig.adapter.tear_down(down);
  static_cast<void>(rig.await(down));
  EXPECT_EQ(seen.resets, 1u);
  EXPECT_FALSE(seen.could_master) << "what it was lent was given back while it could still write";
  EXPECT_FALSE(rig.machine.configuration().bus_master());
  EXPECT_EQ(rig.adapter.state(), device_state::down);
  tell_the_truth();
  rig.adapter.set_sinks({});
}

}  // namespace
}  // namespace freehca
