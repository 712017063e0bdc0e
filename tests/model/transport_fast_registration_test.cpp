// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Regions that are registered and invalidated by work requests, and the reserved L_Key.
#include "memory_fixture.hpp"

namespace freehca::model::test {

using layouts::mpt;
using layouts::mpt_status;
using layouts::opcode;
using layouts::wqe_fast_register;

namespace {

using registration = layouts::image<wqe_fast_register>;

class fast_registration : public memory_fixture {
 protected:
  static constexpr std::uint32_t pages_max = 16;
  static constexpr std::uint64_t start = 0x5500'0000'0200;

  fast_registration() : list(host->allocate()), translations(driver->make_buffer(pages_max).mtt) {
    EXPECT_EQ(own(fast_index, free_region()), command_status::ok);
  }
  /// As Linux makes one (mr.c mlx4_mr_enable).
  layouts::image<mpt> free_region() const {
    layouts::image<mpt> e;
    e.set<&mpt::status>(mpt_status::free).set<&mpt::mio>(true).set<&mpt::region>(true);
    e.set<&mpt::mem_key>(fast_index).set<&mpt::pd>(pd).set<&mpt::enable_invalidate>(true);
    e.set<&mpt::remote_invalidate>(true)
        .set<&mpt::fast_register_enable>(true)
        .set<&mpt::remote_access_enable>(true);
    e.set<&mpt::mtt_addr>(translations).set<&mpt::mtt_size>(pages_max);
    return e;
  }
  static std::uint32_t fast_key(std::uint8_t byte) { return fast_index << 8 | byte; }

  /// `bytes` bytes from `start` on: they stand from offset start % 4096 of `pages` on.
  registration request(std::uint8_t byte, const std::vector<std::uint64_t>& pages,
                       std::uint64_t bytes) {
    for (std::size_t i = 0; i < pages.size(); ++i) {
      layouts::image<layouts::mtt> m;
      m.set<&layouts::mtt::ptag>(pages[i]).set<&layouts::mtt::present>(true);
      host->store(list + i * layouts::mtt::bytes, m);
    }
    registration s;
    s.set<&wqe_fast_register::mem_key>(fast_key(byte))
        .set<&wqe_fast_register::page_list>(list)
        .set<&wqe_fast_register::start_address>(start)
        .set<&wqe_fast_register::length>(bytes)
        .set<&wqe_fast_register::log_page_size>(12);
    s.set<&wqe_fast_register::local_read>(true)
        .set<&wqe_fast_register::local_write>(true)
        .set<&wqe_fast_register::remote_read>(true)
        .set<&wqe_fast_register::remote_write>(true)
        .set<&wqe_fast_register::atomic>(true);
    return s;
  }
  void post(test_qp& qp, const registration& s) {
    post_local(qp, wqe_opcode::fast_register, s);
    ring(qp);
  }
  void expect_registered(test_qp& qp, const registration& s) {
    post(qp, s);
    expect_done(qp, true, static_cast<unsigned>(wqe_opcode::fast_register));
  }
  void expect_registration_refused(const registration& s) {
    watch();
    post(b, s);
    const auto named = static_cast<unsigned>(s.get<&wqe_fast_register::mem_key>());
    expect_refused(b, text_of("FMR of key 0x%x: ", named).c_str());
    EXPECT_EQ(entry(fast_index).get<&mpt::status>(), mpt_status::free);
    reconnect();
  }
  test_send with_invalidate(std::uint32_t rkey) const {
    test_send s = transfer(wqe_opcode::send_inval, 8, region_start, 0);
    s.immediate = rkey;
    return s;
  }

  std::uint64_t list, translations;
};

}  // namespace

TEST_F(fast_registration, pages_in_any_order_become_a_region) {
  fill(region_start, 6000, 3);
  const std::vector<std::uint64_t> pages = {data.pages[300], data.pages[17], data.pages[512]};
  expect_registered(b, request(1, pages, 3 * 4096 - 0x200));
  expect_written(a, write(fast_key(1), start + 1000, 6000));
  for (std::size_t i = 0; i < 6000; ++i) {
    const std::size_t at = 0x200 + 1000 + i;
    ASSERT_EQ(*host->at(pages[at / 4096] + at % 4096), pattern(i, 3)) << i;
  }
  expect_no_access(a, write(fast_key(1), start + 3 * 4096 - 0x200 - 63));
}

TEST_F(fast_registration, a_free_region_opens_nothing) {
  expect_no_access(a, write(fast_key(0), start));
  reconnect();
  test_send s = write(key);
  s.lkey = fast_key(0);
  send(a, s);
  expect_error(a, true, cqe_syndrome::local_protection,
               layouts::vendor_syndrome::protection_transmit);
}

TEST_F(fast_registration, a_region_is_invalidated_and_registered_anew_under_another_key) {
  expect_registered(b, request(1, {data.pages[256]}, 100));
  expect_invalidated(b, fast_key(1));
  expect_registered(b, request(2, {data.pages[700]}, 100));
  fill(region_start, 64, 4);
  expect_written(a, write(fast_key(2), start));
  EXPECT_EQ(*host->at(data.pages[700] + 0x200 + 5), pattern(5, 4));
  expect_no_access(a, write(fast_key(1), start));
  reconnect();
  expect_invalidated(b, fast_key(2));
  expect_invalidated(b, fast_key(2));  // free is no error
  expect_no_access(a, write(fast_key(2), start));
  reconnect();
  EXPECT_EQ(disown(fast_index), command_status::ok);
}

TEST_F(fast_registration, the_peer_invalidates_with_its_message) {
  expect_registered(b, request(1, {data.pages[256]}, 100));
  post_receive(b, remote, 64, key);
  send(a, with_invalidate(fast_key(1)));
  const auto received = completion();
  EXPECT_EQ(received.get<&layouts::cqe::opcode>(),
            static_cast<unsigned>(cqe_opcode::recv_send_inval));
  EXPECT_EQ(received.get<&layouts::cqe::immediate>(), fast_key(1));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send_inval));
  EXPECT_EQ(entry(fast_index).get<&mpt::status>(), mpt_status::free);
}

TEST_F(fast_registration, invalidation_needs_the_entrys_permission) {
  // The fixture's first region may be invalidated here, not by a peer.
  post_receive(b, remote, 64, key);
  send(a, with_invalidate(bindable));
  expect_error(b, false, cqe_syndrome::remote_invalid_request,
               layouts::vendor_syndrome::remote_invalid_request);
  reconnect();
  const std::uint32_t fixed = layouts::key_of_mpt(340);
  auto e = driver->mpt_context(fixed, pd, data, region_start, 4096);
  e.set<&mpt::enable_invalidate>(false);
  ASSERT_EQ(own(340, e), command_status::ok);
  watch();
  invalidate(b, fixed);
  expect_refused(b, text_of("LOCAL_INVAL of key 0x%x: ", fixed).c_str());
}

TEST_F(fast_registration, keys_that_nobody_may_invalidate) {
  for (const std::uint32_t wrong : {key ^ 1u, 0x5u, layouts::key_of_mpt(341), 0x500u}) {
    watch();
    invalidate(b, wrong);
    expect_refused(b, text_of("LOCAL_INVAL of key 0x%x: ", wrong).c_str());
    reconnect();
  }
  auto e = free_region();
  e.set<&mpt::mem_key>(342).set<&mpt::pd>(pd + 1);
  ASSERT_EQ(own(342, e), command_status::ok);
  watch();
  invalidate(b, layouts::key_of_mpt(342));
  expect_refused(b, text_of("LOCAL_INVAL of key 0x%x: ", layouts::key_of_mpt(342)).c_str());
}

TEST_F(fast_registration, rights_are_those_of_the_request) {
  auto s = request(1, {data.pages[256]}, 100);
  s.set<&wqe_fast_register::remote_write>(false);
  expect_registered(b, s);
  test_send read = transfer(wqe_opcode::rdma_read, 8, region_start, start);
  read.rkey = fast_key(1);
  expect_written(a, read);
  expect_no_access(a, write(fast_key(1), start));
}

TEST_F(fast_registration, requests_that_break_a_rule) {
  using w = wqe_fast_register;
  const std::vector<std::uint64_t> pages(pages_max + 1, data.pages[256]);
  const auto good = [&] { return request(1, pages, 4096); };
  expect_registration_refused(good().set<&w::mem_key>(fast_key(1) + 0x100));  // no such entry
  expect_registration_refused(good().set<&w::mem_key>(key));                  // a common region
  expect_registration_refused(good().set<&w::length>(0));
  expect_registration_refused(good().set<&w::length>(pages_max * 4096 - 0x200 + 1));
  expect_registration_refused(good().set<&w::length>(~std::uint64_t{0}));
  expect_registration_refused(good().set<&w::log_page_size>(8));
  expect_registration_refused(good().set<&w::first_byte_offset>(8));
  expect_registration_refused(good().set<&w::local_write>(false));
  expect_registered(b, good().set<&w::length>(pages_max * 4096 - 0x200));
  watch();
  post(b, good());  // registered already
  expect_refused(b, "FMR of key 0x");
}

TEST_F(fast_registration, entries_that_do_not_allow_it) {
  auto e = free_region();
  e.set<&mpt::mem_key>(343).set<&mpt::remote_access_enable>(false);
  ASSERT_EQ(own(343, e), command_status::ok);
  auto s = request(0, {data.pages[256]}, 100);
  s.set<&wqe_fast_register::mem_key>(layouts::key_of_mpt(343));
  expect_registration_refused(s);
  e.set<&mpt::mem_key>(344).set<&mpt::pd>(pd + 1);
  ASSERT_EQ(own(344, e), command_status::ok);
  s.set<&wqe_fast_register::mem_key>(layouts::key_of_mpt(344));
  expect_registration_refused(s);
  // A region without it cannot begin free.
  e.set<&mpt::mem_key>(345).set<&mpt::fast_register_enable>(false);
  EXPECT_EQ(own(345, e), command_status::bad_parameter);
}

TEST_F(fast_registration, only_queue_pairs_that_the_driver_trusts) {
  test_qp c = make_qp(0x110), d = make_qp(0x111);
  connect(c, d, false);
  watch();
  post(c, request(1, {data.pages[256]}, 100));
  expect_refused(c, "FMR of key 0x");
  EXPECT_EQ(entry(fast_index).get<&mpt::status>(), mpt_status::free);
}

TEST_F(fast_registration, a_page_list_that_cannot_be_read) {
  auto s = request(1, {data.pages[256]}, 100);
  s.set<&wqe_fast_register::page_list>(0x40);  // outside of the host's memory
  watch();
  post(b, s);
  failed_alone(b, failures::local_protection, "the bus refuses the address");
}

TEST_F(fast_registration, a_long_page_list_lets_another_queue_pass) {
  constexpr std::uint32_t pages = 16384;
  list = host->allocate(pages * layouts::mtt::bytes / 4096);
  ASSERT_EQ(disown(fast_index), command_status::ok);
  ASSERT_EQ(own(fast_index, free_region().set<&mpt::mtt_addr>(0x10000).set<&mpt::mtt_size>(pages)),
            command_status::ok);
  constexpr std::uint64_t bytes = std::uint64_t{pages} * 4096 - 0x200;
  post_local(b, wqe_opcode::fast_register, request(1, {}, bytes));
  using w = layouts::wqe_local_invalidate;
  post_local(b, wqe_opcode::local_invalidate, layouts::image<w>{}.set<&w::mem_key>(fast_key(1)));
  post_local(b, wqe_opcode::fast_register, request(2, {}, bytes));
  test_send nop;
  nop.opcode = wqe_opcode::nop;
  post_send(a, nop);
  ring(b);
  ring(a);
  expect_done(b, true, static_cast<unsigned>(wqe_opcode::fast_register));
  expect_done(b, true, static_cast<unsigned>(wqe_opcode::local_invalidate));
  // The slice ends in the second list.
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::nop));
  expect_done(b, true, static_cast<unsigned>(wqe_opcode::fast_register));
}

TEST_F(fast_registration, pages_that_are_not_present_are_found_when_they_are_used) {
  auto s = request(1, {data.pages[256], data.pages[257]}, 8000);
  host->store(list + 8, layouts::image<layouts::mtt>{});
  expect_registered(b, s);
  expect_written(a, write(fast_key(1), start, 1024));
  expect_no_access(a, write(fast_key(1), start + 4096));
}

TEST_F(fast_registration, request_use_and_invalidation_follow_each_other_in_one_queue) {
  // As storage drivers chain them; the send under the key comes after the registration, and before
  // its end.
  fill(region_start, 64, 6);
  std::memcpy(host->at(data.pages[256] + 0x200), &byte_at(region_start), 64);
  post_receive(b, remote, 64, key);
  post_local(a, wqe_opcode::fast_register, request(1, {data.pages[256]}, 64));
  test_send s = transfer(wqe_opcode::send, 64, start, 0);
  s.lkey = fast_key(1);
  post_send(a, s);
  invalidate(a, fast_key(1));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::fast_register));
  expect_done(b, false, static_cast<unsigned>(cqe_opcode::recv_send));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::local_invalidate));
  expect_pattern(remote, 64, 6);
}

TEST_F(fast_registration, the_reserved_key_serves_queue_pairs_that_may_use_it) {
  const std::uint64_t page = host->allocate();
  *host->at(page) = std::byte{0x42};
  test_send s = write(key, remote, 1);
  s.address = page;
  s.lkey = limits_connectx3_pro.reserved_lkey;
  send(a, s);
  expect_error(a, true, cqe_syndrome::local_protection,
               layouts::vendor_syndrome::protection_transmit);
  test_qp c = make_qp(0x110), d = make_qp(0x111);
  layouts::image<layouts::qpc> first = first_context(c);
  first.set<&layouts::qpc::reserved_lkey>(true);
  ASSERT_EQ(modify(opcode::rst2init_qp, c.number, first), command_status::ok);
  const auto ready = ready_context(c, d.number);
  ASSERT_EQ(modify(opcode::init2rtr_qp, c.number, ready), command_status::ok);
  ASSERT_EQ(modify(opcode::rtr2rts_qp, c.number, ready), command_status::ok);
  to_rts(d, c.number);
  expect_written(c, s);
  EXPECT_EQ(byte_at(remote), std::byte{0x42});
  // It is nobody's R_Key.
  s.rkey = limits_connectx3_pro.reserved_lkey;
  expect_no_access(c, s);
}

}  // namespace freehca::model::test
