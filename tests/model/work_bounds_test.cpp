// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What one call from outside costs has a bound, whatever a guest asks for: the dearest requests,
// one by one.
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/wqe.hpp>

#include "basis/command.hpp"
#include "basis/limits.hpp"
#include "basis/work_account.hpp"
#include "memory_fixture.hpp"
#include "transport/error_watch.hpp"

namespace freehca::model::test {
namespace {

using layouts::opcode;

class work_bounds : public memory_fixture {
 protected:
  static constexpr work_account::units most_at_once =
      options::default_turn_units + work_account::step;

  work_account& account() { return hca->inside().account; }

  /// Runs `dear`, which costs `least` units or more, and looks at what it cost at once.
  template <class Dear>
  void expect_bounded(work_account::units least, Dear&& dear) {
    host->run();
    const work_account::units before = account().used();
    account().forget_greatest();
    dear();
    host->run();
    EXPECT_GE(account().used() - before, least) << "not dear enough to show anything";
    EXPECT_LE(account().greatest(), most_at_once);
    EXPECT_EQ(hca->complaints(), 0u);
  }

  static constexpr std::byte mgid[16] = {std::byte{0xff}, std::byte{0x12}};

  /// Each entry of the table leads to the next, and none is that of `mgid`.
  void make_circle() {
    constexpr std::uint32_t entries = 1u << test_driver::log_mc_table;
    for (std::uint32_t i = 0; i < entries; ++i) {
      layouts::image<layouts::mcg_header> head;
      head.set<&layouts::mcg_header::members_count>(1).set<&layouts::mcg_header::next_gid_index>(
          i + 1 < entries ? i + 1 : 1);
      ASSERT_EQ(driver->command_with(opcode::write_mcg, head, i).status, command_status::ok);
    }
  }
  /// The group of `mgid` has every queue pair of `all`.
  void make_group(const std::vector<test_qp>& all) {
    std::memcpy(host->at(driver->input), mgid, sizeof mgid);
    const auto index =
        static_cast<std::uint32_t>(driver->command(opcode::mgid_hash, driver->input).output);
    layouts::image<layouts::mcg_header> head;
    head.set<&layouts::mcg_header::members_count>(all.size())
        .set_bytes<&layouts::mcg_header::gid>(mgid);
    host->store(driver->input, head);
    for (std::size_t i = 0; i < all.size(); ++i)
      host->store(
          driver->input + layouts::mcg_header::bytes + i * layouts::mcg_member::bytes,
          layouts::image<layouts::mcg_member>{}.set<&layouts::mcg_member::qpn>(all[i].number));
    ASSERT_EQ(driver->command(opcode::write_mcg, driver->input, index).status, command_status::ok);
  }
  test_qp make_ud(std::uint32_t number, unsigned port = 1) {
    test_qp qp = make_qp(number, qp_service::ud);
    to_rts(qp, ready_context(qp, 0).set<&layouts::primary_path::sched_queue>(
                   layouts::sched_queue_ib(port, 0)));
    return qp;
  }
  void post_to_group(test_qp& from) {
    test_send s;
    s.address = region_start;
    s.bytes = 512;
    s.lkey = key;
    s.qkey = qkey;
    s.dqpn = layouts::multicast_qpn;
    s.dlid = 0xc001;
    s.global = true;
    s.signaled = false;
    const std::size_t at = std::size_t{from.sent % test_qp::entries} * test_qp::stride + 16;
    post_send(from, s);
    auto segment =
        layouts::image<layouts::wqe_datagram>::from_bytes(driver->bytes_of(from.ring, at));
    put(from, at, segment.set_bytes<&layouts::wqe_datagram::dgid>(mgid));
  }
  /// 64 packets whose group is looked for along 4,096 entries each.
  void ring_the_circle(test_qp& from) {
    for (std::uint32_t i = 0; i < test_qp::entries; ++i) post_to_group(from);
    ring(from);
  }
  static constexpr work_account::units circle_cost = 64u * 4096 * work_account::access;

  /// A queue whose number and size are given, with a buffer that takes many slices to write.
  test_driver::queue large_queue(std::uint32_t number, std::uint32_t log_entries) {
    test_driver::queue q;
    q.number = number;
    q.log_entries = log_entries;
    q.where = make_large_buffer((std::size_t{32} << log_entries) / 4096);
    q.doorbell_record = host->allocate();
    return q;
  }
  /// Runs a command with `in` in its mailbox, by its handler and its continuation. Only the fields
  /// of the HCR and the bytes of the progress are kept between two slices. The command must take
  /// more than one slice.
  template <class T>
  void run_from_saved_bytes(opcode o, std::uint8_t modifier_of_opcode, std::uint32_t modifier,
                            const layouts::image<T>& in) {
    adapter& inside = hca->inside();
    command posted{};
    posted.opcode = o;
    posted.opcode_modifier = modifier_of_opcode;
    posted.input_modifier = modifier;
    posted.input_parameter = driver->input;
    posted.memory = &inside.memory;
    std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
    host->store(driver->input, in);
    const auto slice = [this](const command_table::handler& run, command& c) {
      account().begin_call();
      const slice_result s = run(c);
      account().end_call();
      return s;
    };
    command first = posted;
    slice_result s = slice(inside.commands.find(static_cast<std::uint16_t>(o)), first);
    EXPECT_FALSE(s) << "too short to show anything";
    std::array<std::byte, sizeof(command_progress)> saved;
    std::memcpy(saved.data(), &first.progress, saved.size());
    while (!s) {
      command next = posted;
      std::memcpy(&next.progress, saved.data(), saved.size());
      s = slice(*inside.commands.continuation_of(o), next);
      std::memcpy(saved.data(), &next.progress, saved.size());
    }
    EXPECT_EQ(*s, command_status::ok) << layouts::name_of(o);
  }
};

TEST_F(work_bounds, a_gibibyte_is_lent_and_taken_back) {
  constexpr unsigned log_chunk = 10;
  constexpr std::uint64_t chunks = limits::pages_per_map >> log_chunk;
  constexpr std::uint64_t at = 0x40'0000'0000, chunk_bytes = std::uint64_t{4096} << log_chunk;
  // All of it is the same pages of the host.
  const std::uint64_t pages = host->allocate(1u << log_chunk, chunk_bytes);
  for (std::uint64_t i = 0; i < chunks; ++i)
    host->store(driver->input + i * layouts::map_entry::bytes,
                layouts::image<layouts::map_entry>{}
                    .set<&layouts::map_entry::va>(at + i * chunk_bytes)
                    .set<&layouts::map_entry::pa>(pages)
                    .set<&layouts::map_entry::log2size>(log_chunk));
  const std::uint64_t written = host->bytes_written;
  expect_bounded(chunks * chunk_bytes / work_account::bytes_per_unit, [&] {
    EXPECT_EQ(driver->command(opcode::map_icm, driver->input, chunks).status, command_status::ok);
  });
  EXPECT_EQ(host->bytes_written - written, std::uint64_t{1} << 30);
  expect_bounded(chunks, [&] {
    EXPECT_EQ(driver->command(opcode::unmap_icm, at, limits::pages_per_map).status,
              command_status::ok);
  });
  EXPECT_EQ(driver->command(opcode::unmap_icm, at, 1).status, command_status::bad_parameter);
}

TEST_F(work_bounds, a_large_event_queue) {
  using l = layouts::eqc;
  constexpr std::uint32_t log_entries = 18, number = 41;
  test_driver::queue q;
  q.number = number;
  q.log_entries = log_entries;
  q.where = make_large_buffer((std::size_t{32} << log_entries) / 4096);
  expect_bounded((std::uint64_t{32} << log_entries) / work_account::bytes_per_unit, [&] {
    EXPECT_EQ(driver->command_with(opcode::sw2hw_eq, driver->eq_context(q, 0), number).status,
              command_status::ok);
  });
  layouts::image<l> now;
  ASSERT_EQ(driver->query(opcode::query_eq, now, number).status, command_status::ok);
  EXPECT_EQ(now.get<&l::log_eq_size>(), log_entries);
}

TEST_F(work_bounds, a_command_of_many_slices_keeps_its_object_and_lets_others_pass) {
  test_driver::queue q;
  q.number = 41;
  q.log_entries = 18;
  q.where = make_large_buffer((std::size_t{32} << q.log_entries) / 4096);
  ASSERT_EQ(driver->command(opcode::map_eq, 1u << 10, eqn).status, command_status::ok);
  std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
  host->store(driver->input, driver->eq_context(q, 0));
  const std::uint64_t cut = driver->counter_named("turns_cut");
  driver->post(opcode::sw2hw_eq, driver->input, q.number, 0, 0, 0x1111, true);
  EXPECT_EQ(driver->counter_named("commands_in_flight"), 1u);
  hca->on_timer();
  EXPECT_EQ(driver->counter_named("turns_cut"), cut + 1);
  EXPECT_EQ(driver->counter_named("commands_in_flight"), 1u);
  driver->post(opcode::query_eq, 0, q.number, 0, driver->output, 0x2222, true);
  driver->post(opcode::query_fw, 0, 0, 0, driver->output, 0x3333, true);
  layouts::image<layouts::eqe> e;
  std::vector<std::pair<unsigned, command_status>> ended;
  host->run();
  while (driver->next_event(eq, e)) {
    if (e.get<&layouts::eqe::event_type>() != event_type::command_completion) continue;
    const auto c = layouts::image<layouts::eqe_command>::from_bytes(e.data());
    ended.emplace_back(static_cast<unsigned>(c.get<&layouts::eqe_command::token>()),
                       c.get<&layouts::eqe_command::status>());
  }
  const std::vector<std::pair<unsigned, command_status>> wanted = {
      {0x2222, command_status::resource_busy},
      {0x3333, command_status::ok},
      {0x1111, command_status::ok}};
  EXPECT_EQ(ended, wanted);
}

TEST_F(work_bounds, a_command_in_slices_holds_back_those_that_come_one_after_the_other) {
  constexpr std::uint64_t latency = 50'000;
  test_driver::queue q;
  q.number = 41;
  q.log_entries = 18;
  q.where = make_large_buffer((std::size_t{32} << q.log_entries) / 4096);
  std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
  host->store(driver->input, driver->eq_context(q, 0));
  fault_options one_by_one;
  one_by_one.command_latency_ns = latency;
  one_by_one.commands_side_by_side = false;
  hca->set_faults(one_by_one);
  const std::uint64_t before = driver->counter_named("commands");
  driver->post(opcode::sw2hw_eq, driver->input, q.number, 0, 0, 0x1111, true);
  driver->post(opcode::query_fw, 0, 0, 0, driver->output, 0x2222, true);
  driver->post(opcode::nop, 0, 0, 0, 0, 0x3333, true);
  // Each turn takes so long that the latencies of both others are over before the first has ended.
  unsigned turns = 0;
  for (; driver->counter_named("commands_in_flight") == 3; ++turns) {
    ASSERT_LT(turns, 100'000u) << "the first does not end";
    host->clock += latency;
    hca->on_timer();
    EXPECT_LE(driver->counter_named("commands") - before, 1u) << "one has begun in its middle";
  }
  EXPECT_GT(turns, 3u) << "too short to show anything";
  // From its end on the next has its latency, and the last has its own behind it.
  for (const std::uint64_t left : {1u, 0u}) {
    host->advance(latency - 1);
    EXPECT_EQ(driver->counter_named("commands_in_flight"), left + 1);
    host->advance(1);
    EXPECT_EQ(driver->counter_named("commands_in_flight"), left);
  }
  EXPECT_EQ(driver->counter_named("commands_failed"), 0u);
}

TEST_F(work_bounds, a_command_in_slices_ends_with_the_hca_that_it_began_in) {
  test_driver::queue q;
  q.number = 41;
  q.log_entries = 18;
  q.where = make_large_buffer((std::size_t{32} << q.log_entries) / 4096);
  host->store(driver->input, driver->eq_context(q, 0));
  driver->post(opcode::sw2hw_eq, driver->input, q.number, 0, 0, 0x1111, true);
  hca->on_timer();
  ASSERT_EQ(driver->counter_named("commands_in_flight"), 1u);
  // Both are accepted before the next slice.
  host->store(driver->input, driver->profile());
  driver->post(opcode::close_hca, 0, 0, 0, 0, 0x2222, true);
  driver->post(opcode::init_hca, driver->input, 0, 0, 0, 0x3333, true);
  host->run();
  EXPECT_EQ(driver->counter_named("commands_in_flight"), 0u);
  layouts::image<layouts::eqc> now;
  EXPECT_EQ(driver->query(opcode::query_eq, now, q.number).status,
            command_status::bad_resource_state);
}

TEST_F(work_bounds, a_command_in_slices_reads_its_context_once) {
  using l = layouts::eqc;
  const test_driver::queue q = large_queue(41, 18);
  const layouts::image<l> context = driver->eq_context(q, 0);
  ASSERT_EQ(driver->command(opcode::map_eq, 1u << 10, eqn).status, command_status::ok);
  std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
  host->store(driver->input, context);
  driver->post(opcode::sw2hw_eq, driver->input, q.number, 0, 0, 0x1111, true);
  hca->on_timer();
  ASSERT_EQ(driver->counter_named("commands_in_flight"), 1u);
  std::memset(host->at(driver->input), 0xff, layouts::mailbox_bytes);
  host->run();
  layouts::image<l> now;
  ASSERT_EQ(driver->query(opcode::query_eq, now, q.number).status, command_status::ok);
  EXPECT_EQ(now.get<&l::log_eq_size>(), q.log_entries);
  EXPECT_EQ(now.get<&l::mtt_base_addr>(), context.get<&l::mtt_base_addr>());
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(work_bounds, a_command_between_two_slices_can_be_saved_as_bytes) {
  const test_driver::queue events = large_queue(41, 18), small = large_queue(210, 16);
  test_driver::queue large = large_queue(210, 17);
  large.doorbell_record = small.doorbell_record;
  run_from_saved_bytes(opcode::sw2hw_eq, 0, events.number, driver->eq_context(events, 0));
  constexpr auto fills =
      static_cast<std::uint8_t>(layouts::sw2hw_cq_modifier::hardware_initializes);
  run_from_saved_bytes(opcode::sw2hw_cq, fills, small.number, driver->cq_context(small, eqn));
  constexpr auto resizes = static_cast<std::uint8_t>(layouts::modify_cq_modifier::resize);
  run_from_saved_bytes(opcode::modify_cq, resizes, large.number, driver->cq_context(large, eqn));
  constexpr unsigned log_pages = 10;
  constexpr std::uint64_t at = 0x40'0000'0000;
  layouts::image<layouts::map_entry> chunk;
  chunk.set<&layouts::map_entry::va>(at).set<&layouts::map_entry::log2size>(log_pages);
  chunk.set<&layouts::map_entry::pa>(host->allocate(1u << log_pages, 4096u << log_pages));
  run_from_saved_bytes(opcode::map_icm, 0, 1, chunk);

  layouts::image<layouts::eqc> eq_now;
  ASSERT_EQ(driver->query(opcode::query_eq, eq_now, events.number).status, command_status::ok);
  EXPECT_EQ(eq_now.get<&layouts::eqc::log_eq_size>(), events.log_entries);
  layouts::image<layouts::cqc> cq_now;
  ASSERT_EQ(driver->query(opcode::query_cq, cq_now, large.number).status, command_status::ok);
  EXPECT_EQ(cq_now.get<&layouts::cqc::log_cq_size>(), large.log_entries);
  EXPECT_EQ(driver->command(opcode::unmap_icm, at, 1u << log_pages).status, command_status::ok);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(work_bounds, closing_forgets_the_packets_that_wait_for_a_group) {
  std::vector<test_qp> members;
  for (std::uint32_t i = 0; i < 100; ++i) members.push_back(make_ud(0x180 + i));
  make_group(members);
  test_qp from = make_ud(0x140);
  for (std::uint32_t i = 0; i < test_qp::entries; ++i) post_to_group(from);
  ring(from);
  for (unsigned turn = 0; turn < 1000 && hca->inside().work.aside() == 0; ++turn) hca->on_timer();
  ASSERT_GT(hca->inside().work.aside(), 0u);
  driver->post(opcode::close_hca, 0, 0, 0, 0, 0x2222, true);
  host->run();
  EXPECT_EQ(hca->inside().work.aside(), 0u);
}

TEST_F(work_bounds, a_queue_pair_that_goes_takes_its_copies_to_blueflame_registers_along) {
  const test_qp gone = make_ud(0x140), stays = make_ud(0x141);
  layouts::image<layouts::wqe_ctrl_blueflame> head;
  head.set<&layouts::wqe_ctrl_blueflame::qpn>(stays.number)
      .set<&layouts::wqe_ctrl_blueflame::ds>(4);
  // The head of a copy, and no more of it, to every register of the BAR.
  const std::uint64_t half = options{}.uar_bar_bytes / 2;
  for (std::uint64_t at = half; at < 2 * half; at += 512)
    hca->write_uar(at, layouts::load_be<std::uint64_t>(head.data()), 8);
  host->run();
  const work_account::units before = account().used();
  ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, gone.number, 2).status,
            layouts::command_status::ok);
  const work_account::units cost = account().used() - before;
  EXPECT_GE(cost, 400u) << "not charged";
  EXPECT_LE(cost, 1000u);
}

TEST(lent_memory, that_was_given_back_counts_no_more) {
  test_host host{std::size_t{256} << 20};
  device hca{host, test_options()};
  test_driver driver{host, hca};
  host.attach(hca);
  constexpr unsigned log_pages = 14;
  const std::uint64_t at =
      host.allocate(std::size_t{1} << log_pages, std::size_t{4096} << log_pages);
  ASSERT_EQ(driver.map(opcode::map_fa, 0, host.allocate(), 0), command_status::ok);
  layouts::image<layouts::map_entry> chunk;
  chunk.set<&layouts::map_entry::pa>(at).set<&layouts::map_entry::log2size>(log_pages);
  host.store(driver.input, chunk);
  driver.post(opcode::map_fa, driver.input, 1, 0, 0, 0x1111, true);
  hca.on_timer();
  ASSERT_EQ(driver.counter_named("commands_in_flight"), 1u);
  driver.post(opcode::unmap_fa, 0, 0, 0, 0, 0x2222, true);
  host.run();
  EXPECT_EQ(driver.counter_named("commands_in_flight"), 0u);
  EXPECT_EQ(driver.command(opcode::run_fw).status, command_status::bad_system_state);
}

TEST(unmapped_auxiliary_memory, ends_the_init_hca_that_is_at_work) {
  test_host host{std::size_t{256} << 20};
  options how = test_options();
  // It is taken, and complained of.
  how.strict = false;
  device hca{host, how};
  test_driver driver{host, hca};
  host.attach(hca);
  ASSERT_TRUE(driver.start_firmware() && driver.read_capabilities() &&
              driver.prepare_context_memory());
  // A table of groups that takes many slices to empty, behind all that is lent.
  constexpr std::uint64_t table = std::uint64_t{1} << 38;
  constexpr unsigned log_pages = 13;
  ASSERT_EQ(driver.lend(table, log_pages), command_status::ok);
  using l = layouts::init_hca;
  layouts::image<l> p = driver.profile();
  const unsigned log_entries = 12 + log_pages - test_driver::log_mc_entry;
  p.set<&l::mc_base>(table).set<&l::log_mc_table_sz>(log_entries);
  p.set<&l::log_mc_hash_sz>(log_entries - 1);
  host.store(driver.input, p);
  driver.post(opcode::init_hca, driver.input, 0, 0, 0, 0x1111, true);
  hca.on_timer();
  ASSERT_EQ(driver.counter_named("commands_in_flight"), 1u);
  driver.post(opcode::unmap_icm_aux, 0, 0, 0, 0, 0x2222, true);
  host.run();
  EXPECT_EQ(driver.counter_named("commands_in_flight"), 0u);
  // No half of a start is left: the adapter is as before INIT_HCA.
  const std::uint64_t before = hca.complaints();
  EXPECT_EQ(driver.command_with(opcode::init_hca, driver.profile()).status, command_status::ok);
  EXPECT_EQ(hca.complaints(), before);
}

TEST_F(work_bounds, chains_of_the_multicast_table) {
  make_circle();
  test_qp from = make_ud(0x140);
  expect_bounded(circle_cost, [&] { ring_the_circle(from); });
  EXPECT_EQ(driver->counter_named("transport_packets_received"), test_qp::entries);
}

TEST_F(work_bounds, a_copy_for_each_member_in_the_order_of_the_packets) {
  std::vector<test_qp> members;
  for (std::uint32_t i = 0; i < 100; ++i) {
    members.push_back(make_ud(0x180 + i));
    for (std::uint32_t n = 0; n < test_qp::entries; ++n)
      post_receive(members.back(), region_start + 0x10000, 1024, key);
  }
  make_group(members);
  test_qp from = make_ud(0x140);
  expect_bounded(100 * test_qp::entries * work_account::packet, [&] {
    for (std::uint32_t i = 0; i < test_qp::entries; ++i) {
      byte_at(region_start) = static_cast<std::byte>(i);
      post_to_group(from);
    }
    ring(from);
  });
  EXPECT_EQ(driver->counter_named("datagrams_without_receive"), 0u);
  for (const test_qp& qp : members)
    ASSERT_EQ(context_of(qp).get<&layouts::qpc::rq_wqe_counter>(), test_qp::entries);
}

TEST_F(work_bounds, a_page_list_of_the_greatest_length) {
  constexpr std::uint64_t room = 0x100000, pages = limits::fast_register_pages;
  ASSERT_EQ(driver->lend(test_driver::mtt + room, 7), command_status::ok);
  layouts::image<mpt> region;
  region.set<&mpt::status>(layouts::mpt_status::free).set<&mpt::mio>(true).set<&mpt::region>(true);
  region.set<&mpt::mem_key>(fast_index).set<&mpt::pd>(pd).set<&mpt::fast_register_enable>(true);
  region.set<&mpt::mtt_addr>(room).set<&mpt::mtt_size>(pages);
  ASSERT_EQ(own(fast_index, region), command_status::ok);
  const std::uint64_t list = host->allocate(pages * layouts::mtt::bytes / 4096);
  for (std::uint64_t i = 0; i < pages; ++i)
    host->store(list + i * layouts::mtt::bytes, layouts::image<layouts::mtt>{}
                                                    .set<&layouts::mtt::ptag>(data.pages[0])
                                                    .set<&layouts::mtt::present>(true));
  using w = layouts::wqe_fast_register;
  layouts::image<w> s;
  s.set<&w::mem_key>(fast_index << 8 | 1).set<&w::page_list>(list).set<&w::start_address>(0);
  s.set<&w::length>(pages * 4096).set<&w::log_page_size>(12).set<&w::local_read>(true);
  expect_bounded(2 * pages * layouts::mtt::bytes / work_account::bytes_per_unit, [&] {
    post_local(a, wqe_opcode::fast_register, s);
    ring(a);
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::fast_register));
  });
  EXPECT_EQ(driver->counter_named("fast_registrations"), 1u);
  std::vector<std::byte> there(pages * layouts::mtt::bytes);
  ASSERT_TRUE(
      hca->inside().context_memory->read(test_driver::mtt + room, there.data(), there.size()));
  EXPECT_EQ(std::memcmp(there.data(), host->at(list), there.size()), 0);
}

TEST_F(work_bounds, queues_that_are_flushed) {
  std::vector<test_qp> all;
  for (std::uint32_t i = 0; i < 64; ++i) {
    all.push_back(make_qp(0x180 + i));
    // The peer is not there, and nobody asks whether it answers.
    to_rts(all.back(),
           ready_context(all.back(), 0x300).set<&layouts::primary_path::ack_timeout>(0));
    for (std::uint32_t n = 0; n < test_qp::entries; ++n) {
      post_send(all.back(), transfer(wqe_opcode::rdma_write, 0, 0, 0));
      post_receive(all.back(), region_start, 8, key);
    }
    ring(all.back());
  }
  const std::uint64_t before = driver->counter_named("cqes");
  expect_bounded(64 * 2 * test_qp::entries * work_account::access, [&] {
    for (const test_qp& qp : all)
      ASSERT_EQ(driver->command(opcode::to_err_qp, 0, qp.number).status, command_status::ok);
  });
  EXPECT_EQ(driver->counter_named("cqes") - before, 64u * 2 * test_qp::entries);
  host->advance(100'000'000);
  EXPECT_EQ(driver->counter_named("send_requests_held"), 0u);
}

TEST_F(work_bounds, a_reset_gives_back_later_what_was_held) {
  for (std::uint32_t i = 0; i < 256; ++i) {
    test_qp qp = make_qp(0x180 + i);
    to_rts(qp, ready_context(qp, 0x140).set<&layouts::primary_path::ack_timeout>(0));
    for (std::uint32_t n = 0; n < test_qp::entries; ++n)
      post_send(qp, transfer(wqe_opcode::rdma_write, 0, 0, 0));
    ring(qp);
  }
  host->run();
  const std::uint64_t held = driver->counter_named("send_requests_held");
  expect_bounded(held * work_account::entry, [&] {
    hca->reset();
    EXPECT_EQ(driver->counter_named("queue_pairs"), 0u);
    EXPECT_EQ(driver->counter_named("send_requests_held"), 0u);
  });
  EXPECT_TRUE(host->idle());
}

TEST_F(work_bounds, a_command_and_the_other_port_pass_dear_work) {
  activate_port(2);
  make_circle();
  test_qp from = make_ud(0x140), there = make_ud(0x141, 2), other = make_ud(0x142, 2);
  post_receive(other, region_start + 0x10000, 1024, key);
  ring_the_circle(from);
  for (unsigned i = 0; i < 8; ++i) hca->on_timer();

  driver->post(opcode::nop, 0, 0, 0, 0, layouts::polled_token, false);
  hca->on_timer();
  EXPECT_FALSE(driver->go()) << "a command waits for the chains";

  test_send s;
  s.address = region_start;
  s.bytes = 8;
  s.lkey = key;
  s.qkey = qkey;
  s.dqpn = other.number;
  s.port = 2;
  s.signaled = false;
  send(there, s);
  layouts::image<layouts::cqe> e;
  for (unsigned i = 0; i < 4; ++i) hca->on_timer();
  EXPECT_TRUE(driver->next_completion(cq, e)) << "port 2 waits for the chains of port 1";
  EXPECT_EQ(e.get<&layouts::cqe::qpn>(), other.number);
  const std::uint64_t cut = driver->counter_named("turns_cut");
  host->run();
  EXPECT_GT(driver->counter_named("turns_cut"), cut + 8)
      << "the chains were not under way any more";
}

class errors_at_rest : public transport_fixture {
 protected:
  std::vector<test_qp> make_failed(std::uint32_t how_many) {
    std::vector<test_qp> all;
    for (std::uint32_t i = 0; i < how_many; ++i) {
      all.push_back(make_qp(0x80 + i));
      EXPECT_EQ(modify(opcode::rst2init_qp, all.back().number, first_context(all.back())),
                command_status::ok);
      EXPECT_EQ(driver->command(opcode::to_err_qp, 0, all.back().number).status,
                command_status::ok);
    }
    return all;
  }
  struct cost {
    std::uint64_t looks, timers;
  };
  /// Of one second in which nobody does anything.
  cost of_a_second() {
    host->advance(1'000'000'000);
    const cost before{driver->counter_named("error_state_looks"), host->timer_calls};
    host->advance(1'000'000'000);
    return {driver->counter_named("error_state_looks") - before.looks,
            host->timer_calls - before.timers};
  }
  static constexpr std::uint64_t rounds = 1'000'000'000 / error_watch::last_ns;
};

TEST_F(errors_at_rest, many_cost_no_more_than_some) {
  ASSERT_EQ(driver->command(opcode::close_port, 0, 1).status, command_status::ok);
  make_failed(error_watch::at_a_time);
  const cost some = of_a_second();
  EXPECT_EQ(some.looks, rounds * error_watch::at_a_time);
  EXPECT_LE(some.timers, rounds);
  for (std::uint32_t i = 0; i < error_watch::at_a_time; ++i)
    ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, 0x80 + i, 2).status, command_status::ok);
  make_failed(600);
  const cost many = of_a_second();
  EXPECT_EQ(many.looks, some.looks);
  EXPECT_LE(many.timers, rounds);
}

TEST_F(errors_at_rest, a_receive_is_flushed_soon_after_the_transition_and_in_its_round_long_after) {
  std::vector<test_qp> all = make_failed(600);
  host->advance(1'000'000'000);
  EXPECT_TRUE(no_completion());
  // As ib_drain_rq does it: to the error state again, then the receive.
  ASSERT_EQ(driver->command(opcode::to_err_qp, 0, all[77].number).status, command_status::ok);
  post_receive(all[77], region_start, 8, key);
  host->advance(2 * error_watch::first_ns);
  expect_error(all[77], false, cqe_syndrome::wr_flush, layouts::vendor_syndrome::flush_receive);
  // No word goes before this one.
  post_receive(all[333], region_start, 8, key);
  host->advance((600 / error_watch::at_a_time + 1) * error_watch::last_ns);
  expect_error(all[333], false, cqe_syndrome::wr_flush, layouts::vendor_syndrome::flush_receive);
}

}  // namespace
}  // namespace freehca::model::test
