// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory windows of both types: made, bound, used, invalidated, taken back; and what is refused.
#include "memory_fixture.hpp"

#include <freehca/layouts/query_dev_cap.hpp>

namespace freehca::model::test {

using layouts::mpt;
using layouts::mpt_status;
using layouts::opcode;
using layouts::wqe_bind;

namespace {

class memory_windows : public memory_fixture {
 protected:
  test_send with_invalidate(std::uint32_t rkey, std::uint32_t bytes) const {
    test_send s = transfer(wqe_opcode::send_inval, bytes, region_start, 0);
    s.immediate = rkey;
    return s;
  }
  /// Binds refused one after the other, each on fresh queue pairs; the window stays as it was.
  void expect_bind_refused(const layouts::image<wqe_bind>& s) {
    const auto before = entry(window_index);
    const auto binds = driver->counter_named("window_binds");
    watch();
    bind(b, s);
    const auto named = static_cast<unsigned>(s.get<&wqe_bind::new_rkey>());
    expect_refused(b, text_of("BIND_MW of key 0x%x: ", named).c_str());
    const auto after = entry(window_index);
    EXPECT_EQ(std::memcmp(before.data(), after.data(), mpt::bytes), 0);
    EXPECT_EQ(driver->counter_named("window_binds"), binds);
    reconnect();
  }
};

}  // namespace

TEST_F(memory_windows, a_window_of_type_1_opens_its_part_of_a_region_and_no_more) {
  fill(region_start, 8192, 3);
  make_window(false);
  expect_bound(b, binding(window_key(0x21), false));
  EXPECT_EQ(entry(other_index).get<&mpt::win_cnt>(), 1u);
  EXPECT_EQ(driver->counter_named("window_binds"), 1u);
  expect_written(a, write(window_key(0x21), remote, 8192));
  expect_pattern(remote, 8192, 3);
  test_send read = transfer(wqe_opcode::rdma_read, 4096, region_start + 0x10000, remote);
  read.rkey = window_key(0x21);
  expect_written(a, read);
  expect_pattern(region_start + 0x10000, 4096, 3);
  expect_no_access(a, write(window_key(0x21), remote + 8192 - 63));
  reconnect();
  expect_no_access(a, write(window_key(0x21), remote - 1));
  reconnect();
  expect_no_access(a, write(window_key(0x20)));
}

TEST_F(memory_windows, a_window_of_type_1_serves_every_queue_pair_of_its_domain) {
  make_window(false);
  expect_bound(a, binding(window_key(1), false));
  expect_written(a, write(window_key(1)));
  expect_written(b, write(window_key(1)));
}

TEST_F(memory_windows, the_host_may_take_a_region_back_without_a_command) {
  make_window(false);
  expect_bound(b, binding(window_key(1), false));
  expect_written(a, write(window_key(1)));
  icm& m = *hca->inside().context_memory;
  const std::uint64_t at = driver->dmpt + other_index * entry_bytes::dmpt;
  auto e = m.load<mpt>(at);
  ASSERT_TRUE(e);
  ASSERT_TRUE(m.store(at, e->set<&mpt::status>(mpt_status::software)));
  bind(b, binding(window_key(2), false, 0, 0));
  host->run();
  e = m.load<mpt>(at);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->get<&mpt::status>(), mpt_status::software);
  EXPECT_EQ(e->get<&mpt::win_cnt>(), 1u);
}

TEST_F(memory_windows, rights_are_those_of_the_binding) {
  struct right {
    wqe_opcode uses;
    bool read, write, atomic;
  };
  make_window(false);
  std::uint8_t byte = 0;
  for (const right& only : {right{wqe_opcode::rdma_read, true, false, false},
                            right{wqe_opcode::rdma_write, false, true, false},
                            right{wqe_opcode::atomic_fa, false, false, true}})
    for (const wqe_opcode used :
         {wqe_opcode::rdma_read, wqe_opcode::rdma_write, wqe_opcode::atomic_fa}) {
      auto s = binding(window_key(++byte), false);
      s.set<&wqe_bind::remote_read>(only.read)
          .set<&wqe_bind::remote_write>(only.write)
          .set<&wqe_bind::atomic>(only.atomic);
      expect_bound(b, s);
      test_send request = transfer(used, 8, region_start, remote);
      request.rkey = window_key(byte);
      if (used == only.uses) {
        expect_written(a, request);
      } else {
        expect_no_access(a, request);
        reconnect();
      }
    }
  EXPECT_EQ(entry(other_index).get<&mpt::win_cnt>(), 1u);
}

TEST_F(memory_windows, type_1_is_bound_anew_and_unbound_by_a_bind_of_no_length) {
  make_window(false);
  expect_bound(b, binding(window_key(1), false));
  expect_bound(b, binding(window_key(2), false, remote + 4096, 4096));
  EXPECT_EQ(entry(other_index).get<&mpt::win_cnt>(), 1u);
  expect_written(a, write(window_key(2), remote + 4096));
  expect_no_access(a, write(window_key(1), remote + 4096));
  reconnect();
  expect_bound(b, binding(window_key(3), false, 0, 0));
  EXPECT_EQ(entry(other_index).get<&mpt::win_cnt>(), 0u);
  expect_no_access(a, write(window_key(3)));
}

TEST_F(memory_windows, a_window_of_type_2_is_its_queue_pairs_alone) {
  make_window(true);
  expect_bound(b, binding(window_key(7), true));
  expect_written(a, write(window_key(7)));
  // The same domain, but another queue pair.
  expect_no_access(b, write(window_key(7)));
}

TEST_F(memory_windows, type_2_is_invalidated_here_and_bound_again_under_another_key) {
  make_window(true);
  expect_bound(b, binding(window_key(7), true));
  expect_invalidated(b, window_key(7));
  EXPECT_EQ(entry(window_index).get<&mpt::status>(), mpt_status::free);
  EXPECT_EQ(entry(other_index).get<&mpt::win_cnt>(), 0u);
  expect_bound(b, binding(window_key(8), true));
  expect_written(a, write(window_key(8)));
  expect_no_access(a, write(window_key(7)));
}

TEST_F(memory_windows, type_2_is_invalidated_by_the_peers_message) {
  make_window(true);
  expect_bound(b, binding(window_key(7), true));
  fill(region_start, 3000, 5);
  post_receive(b, remote + 0x10000, 4096, key);
  send(a, with_invalidate(window_key(7), 3000));
  const auto received = completion();
  EXPECT_FALSE(received.get<&layouts::cqe::is_send>());
  EXPECT_EQ(received.get<&layouts::cqe::opcode>(),
            static_cast<unsigned>(cqe_opcode::recv_send_inval));
  EXPECT_EQ(received.get<&layouts::cqe::immediate>(), window_key(7));
  EXPECT_EQ(received.get<&layouts::cqe::byte_count>(), 3000u);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send_inval));
  expect_pattern(remote + 0x10000, 3000, 5);
  EXPECT_EQ(entry(window_index).get<&mpt::status>(), mpt_status::free);
  expect_no_access(a, write(window_key(7)));
}

TEST_F(memory_windows, a_message_that_may_not_invalidate_fails_the_receive_and_is_not_answered) {
  make_window(true);
  expect_bound(a, binding(window_key(7), true));  // a's, not b's
  post_receive(b, remote + 0x10000, 4096, key);
  watch();
  send(a, with_invalidate(window_key(7), 8));
  came({{{b.number, false, failures::remote_invalid_request}},
        {},
        {{"port1_packets_looped_back", 1},
         {"port1_packets_received", 1},
         {"port1_packets_sent", 1},
         {"rc_send_packets", 1},
         {"send_requests_held", 1},
         {"transport_packets_received", 1},
         {"transport_packets_sent", 1}},
        {},
        text_of("it invalidates key 0x%x", window_key(7)).c_str()},
       "the error state; not answered: the sender's retries run out");
  EXPECT_EQ(state_of(b), qp_state::error);
  EXPECT_EQ(entry(window_index).get<&mpt::status>(), mpt_status::hardware);
  for (unsigned i = 0; i < 100 && state_of(a) != qp_state::error; ++i) host->advance(200'000'000);
  expect_error(a, true, cqe_syndrome::transport_retry_exceeded,
               layouts::vendor_syndrome::retry_exceeded);
}

TEST_F(memory_windows, type_1_is_invalidated_by_nobody) {
  make_window(false);
  expect_bound(b, binding(window_key(7), false));
  watch();
  invalidate(b, window_key(7));
  expect_refused(b, "LOCAL_INVAL of key 0x");
}

TEST_F(memory_windows, only_the_binding_queue_pair_invalidates) {
  make_window(true);
  expect_bound(b, binding(window_key(7), true));
  watch();
  invalidate(a, window_key(7));
  expect_refused(a, "LOCAL_INVAL of key 0x");
  EXPECT_EQ(entry(window_index).get<&mpt::status>(), mpt_status::hardware);
}

TEST_F(memory_windows, binds_of_type_1_that_break_a_rule) {
  make_window(false);
  auto s = binding(window_key(1), false);
  expect_bind_refused(binding(window_key(1), true));                        // the other type
  expect_bind_refused(binding(window_key(1) + 0x100, false));               // no such window
  expect_bind_refused(binding(bindable, false));                            // a region
  expect_bind_refused(binding(window_key(1), false, region_start - 1, 8));  // outside
  expect_bind_refused(binding(window_key(1), false, region_start + region_pages * 4096 - 7, 8));
  expect_bind_refused(binding(window_key(1), false, remote, ~std::uint64_t{0}));
  expect_bind_refused(s.set<&wqe_bind::lkey>(bindable ^ 1));
  expect_bind_refused(s.set<&wqe_bind::lkey>(key));  // no right to bind
  expect_bind_refused(s.set<&wqe_bind::lkey>(bindable).set<&wqe_bind::zero_based>(true));
  const std::uint32_t constant = make_bindable_region(false, 331);
  s = binding(window_key(1), false);
  s.set<&wqe_bind::lkey>(constant);
  expect_bind_refused(s);
  s.set<&wqe_bind::remote_write>(false);
  expect_bind_refused(s);  // atomics write too
  s.set<&wqe_bind::atomic>(false);
  expect_bound(b, s);
}

TEST_F(memory_windows, binds_of_type_2_that_break_a_rule) {
  make_window(true);
  expect_bind_refused(binding(window_key(1), false));
  expect_bind_refused(binding(window_key(1), true, remote, 0));
  expect_bound(b, binding(window_key(1), true));
  expect_bind_refused(binding(window_key(2), true));  // bound already
}

TEST_F(memory_windows, of_another_domain) {
  ASSERT_EQ(own(window_index, window_context(false, pd + 1)), command_status::ok);
  expect_bind_refused(binding(window_key(1), false));
}

TEST_F(memory_windows, a_region_with_windows_is_not_taken_back) {
  make_window(true);
  expect_bound(b, binding(window_key(1), true));
  EXPECT_EQ(disown(other_index), command_status::region_bound);
  watch();
  invalidate(b, bindable);
  expect_refused(b, "LOCAL_INVAL of key 0x");
  // A window that is taken back lets its region go.
  EXPECT_EQ(disown(window_index), command_status::ok);
  EXPECT_EQ(disown(other_index), command_status::ok);
}

TEST_F(memory_windows, a_window_is_no_local_key) {
  make_window(false);
  expect_bound(a, binding(window_key(1), false));
  test_send s = write(key);
  s.lkey = window_key(1);
  s.address = remote;
  send(a, s);
  expect_error(a, true, cqe_syndrome::local_protection,
               layouts::vendor_syndrome::protection_transmit);
}

TEST_F(memory_windows, a_window_shows_nothing_of_a_region_that_the_driver_has_changed) {
  make_window(false);
  expect_bound(b, binding(window_key(1), false));
  // As a driver may that writes entries itself.
  const std::uint64_t at = driver->dmpt + other_index * entry_bytes::dmpt;
  auto e = *hca->inside_now().context_memory->load<mpt>(at);
  e.set<&mpt::length>(0x1000);
  ASSERT_TRUE(hca->inside().context_memory->store(at, e));
  expect_no_access(a, write(window_key(1)));
  reconnect();
  e.set<&mpt::status>(mpt_status::software);
  ASSERT_TRUE(hca->inside().context_memory->store(at, e));
  expect_no_access(a, write(window_key(1)));
  EXPECT_EQ(disown(window_index), command_status::ok);
}

TEST_F(memory_windows, entries_that_are_no_fresh_window) {
  const auto refused = [&](bool type_2, auto&& change) {
    auto e = window_context(type_2);
    change(e);
    return own(window_index, e) == command_status::bad_parameter;
  };
  using e = layouts::image<mpt>&;
  EXPECT_TRUE(refused(false, [](e w) { w.template set<&mpt::status>(mpt_status::free); }));
  EXPECT_TRUE(refused(true, [](e w) { w.template set<&mpt::status>(mpt_status::hardware); }));
  EXPECT_TRUE(refused(true, [](e w) { w.template set<&mpt::qpn>(0x100); }));
  EXPECT_TRUE(refused(false, [](e w) { w.template set<&mpt::lkey>(0x14a00); }));
  EXPECT_TRUE(refused(false, [](e w) { w.template set<&mpt::physical>(true); }));
  EXPECT_TRUE(refused(true, [](e w) { w.template set<&mpt::fast_register_enable>(true); }));
  EXPECT_TRUE(refused(false, [](e w) { w.template set<&mpt::win_cnt>(1); }));
  EXPECT_FALSE(refused(true, [](e) {}));
}

TEST_F(memory_windows, services_without_them_refuse_the_work_request) {
  make_window(false);
  test_qp datagrams = make_qp(0x110, qp_service::ud);
  to_rts(datagrams, ready_context(datagrams, 0));
  watch();
  bind(datagrams, binding(window_key(1), false));
  failed_alone(datagrams, failures::local_qp_operation, "opcode 0x18 (BIND_MW)");
  test_qp unreliable = make_qp(0x111, qp_service::uc);
  to_rts(unreliable, ready_context(unreliable, 0x112));
  expect_bound(unreliable, binding(window_key(1), false));
  watch();
  send(unreliable, with_invalidate(window_key(1), 8));
  failed_alone(unreliable, failures::local_qp_operation, "opcode 0x1 (SEND_INVAL)");
}

TEST_F(memory_windows, a_segment_that_is_cut_short_or_followed_by_more) {
  make_window(false);
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{48}}) {
    post_local(b, wqe_opcode::bind_mw, binding(window_key(1), false), bytes);
    watch();
    ring(b);
    failed_alone(b, failures::local_qp_operation, bytes == 16 ? "ds 2," : "ds 4,");
    reconnect();
  }
}

TEST_F(memory_windows, a_request_behind_a_bind_finds_the_window_bound) {
  make_window(false);
  fill(region_start, 64, 9);
  post_local(a, wqe_opcode::bind_mw, binding(window_key(1), false));
  post_send(a, write(window_key(1)));
  ring(a);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::bind_mw));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  expect_pattern(remote, 64, 9);
}

TEST(memory_window_variants, ConnectX_2_reports_and_makes_none) {
  test_host host;
  options how = test_options();
  how.kind = variant::connectx2;
  device hca(host, how);
  test_driver driver(host, hca);
  ASSERT_TRUE(driver.start_firmware());
  ASSERT_TRUE(driver.prepare_context_memory());
  driver.windows = true;
  EXPECT_EQ(driver.command_with(opcode::init_hca, driver.profile()).status,
            command_status::bad_parameter);
  driver.windows = false;
  ASSERT_EQ(driver.command_with(opcode::init_hca, driver.profile()).status, command_status::ok);
  using cap = layouts::query_dev_cap;
  layouts::image<cap> c;
  ASSERT_EQ(driver.query(opcode::query_dev_cap, c).status, command_status::ok);
  EXPECT_EQ(c.get<&cap::flags>() & static_cast<std::uint64_t>(layouts::dev_cap_flag::memory_window),
            0u);
  EXPECT_EQ(c.get<&cap::bmme_flags>(), 0xcc0u);
}

TEST(memory_window_variants, without_a_word_in_INIT_HCA_there_are_none) {
  test_host host;
  const options how = test_options();
  device hca(host, how);
  test_driver driver(host, hca);
  driver.windows = false;
  ASSERT_TRUE(driver.bring_up());
  layouts::image<mpt> window;
  window.set<&mpt::mem_key>(310);
  EXPECT_EQ(driver.command_with(opcode::sw2hw_mpt, window, 310).status,
            command_status::bad_parameter);
}

}  // namespace freehca::model::test
