// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A started adapter with an active port, a region, and queue pairs for tests of the transport.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>

#include <gtest/gtest.h>

#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/smp.hpp>
#include <freehca/layouts/srqc.hpp>
#include <freehca/layouts/wqe.hpp>

#include "basis/adapter.hpp"
#include "ports/ports.hpp"
#include "test_driver.hpp"
#include "whole_answer.hpp"

namespace freehca::model::test {

using layouts::command_status;
using layouts::cqe_opcode;
using layouts::cqe_syndrome;
using layouts::event_type;
using layouts::qp_service;
using layouts::qp_state;
using layouts::wqe_opcode;

/// A queue pair as a driver sees it: 64 sends of 128 bytes, behind them 64 receives of 64 bytes.
struct test_qp {
  static constexpr std::uint32_t log_entries = 6, entries = 1u << log_entries, stride = 128,
                                 receive_stride = 64;
  static constexpr std::uint32_t spare = 2048 / stride + 1;  ///< entries of headroom
  std::uint32_t number = 0;
  layouts::qp_service service = layouts::qp_service::rc;
  test_driver::buffer ring;
  std::uint64_t record = 0;
  std::uint16_t sent = 0, received = 0;
};

/// A shared receive queue of 16 entries of 32 bytes, each linked to the next.
struct test_srq {
  static constexpr std::uint32_t log_entries = 4, entries = 1u << log_entries, stride = 32;
  std::uint32_t number = 0;
  test_driver::buffer ring;
  std::uint64_t record = 0;
  std::uint16_t posted = 0;
};

/// One send as a test wants it.
struct test_send {
  layouts::wqe_opcode opcode = layouts::wqe_opcode::send;
  std::uint64_t address = 0;
  std::uint32_t bytes = 0, lkey = 0;
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0, immediate = 0;
  std::uint64_t swap_add = 0, compare = 0, swap_mask = 0, compare_mask = 0;
  std::uint32_t dqpn = 0, qkey = 0;  ///< UD
  unsigned port = 1;                 ///< UD
  std::uint16_t dlid = 0;            ///< UD; 0: the port's own
  bool signaled = true, fence = false, solicited = false, global = false;
};

class transport_fixture : public testing::Test {
 protected:
  static constexpr std::uint32_t pd = 5, eqn = 35, cqn = 200, qkey = 0x11111111;
  static constexpr std::uint64_t region_start = 0x7000'0000'0000;
  static constexpr std::size_t region_pages = 1024;
  static constexpr std::uint16_t pkey_index = 0;

  transport_fixture() { start(test_options()); }
  explicit transport_fixture(const options& how, std::unique_ptr<test_host> on = nullptr,
                             steering multicast = steering::by_groups) {
    start(how, std::move(on), multicast);
  }
  explicit transport_fixture(steering how) { start(test_options(), nullptr, how); }
  explicit transport_fixture(std::endian of_the_host) {
    start(test_options(), nullptr, steering::by_groups, of_the_host);
  }

  void start(options how, std::unique_ptr<test_host> on = nullptr,
             steering multicast = steering::by_groups,
             std::endian of_the_host = std::endian::little) {
    how.capture[0] = how.capture[0] || (capture_wanted() && how.link[0] == link_layer::infiniband);
    reads_ahead = how.prefetch;
    host = on != nullptr ? std::move(on) : std::make_unique<test_host>(192u << 20);
    hca = std::make_unique<device>(*host, how);
    driver = std::make_unique<test_driver>(*host, *hca);
    driver->multicast = multicast;
    driver->big_endian = of_the_host == std::endian::big;
    ASSERT_TRUE(driver->bring_up());
    ASSERT_EQ(driver->make_eq(eq, eqn, 1).status, layouts::command_status::ok);
    // All asynchronous events to the one queue.
    ASSERT_EQ(driver->command(layouts::opcode::map_eq, ~std::uint64_t{1 << 10}, eqn).status,
              layouts::command_status::ok);
    ASSERT_EQ(driver->make_cq(cq, cqn, eqn, 13).status, layouts::command_status::ok);
    data = make_large_buffer(region_pages);
    key = driver->make_region(300, pd, data, region_start, region_pages * 4096);
    // What hangs on a cable has no manager of its own.
    if (!how.cable[0]) activate_port(1);
  }

  /// The HCR's mailbox holds 510 MTTs at a time.
  test_driver::buffer make_large_buffer(std::size_t pages) {
    test_driver::buffer all;
    while (all.pages.size() < pages) {
      const auto part = driver->make_buffer(std::min<std::size_t>(pages - all.pages.size(), 256));
      if (all.pages.empty()) all.mtt = part.mtt;
      all.pages.insert(all.pages.end(), part.pages.begin(), part.pages.end());
    }
    return all;
  }

  void activate_port(unsigned port) {
    ASSERT_EQ(driver->command(layouts::opcode::init_port, 0, port).status,
              layouts::command_status::ok);
    for (unsigned i = 0; i < 1000 && !links().active(port); ++i) host->advance(1'000'000);
    ASSERT_TRUE(links().active(port));
  }
  ports& links() { return *hca->inside_now().links; }

  // subnet management of the own ports
  /// MAD_IFC with keys ignored; `m` becomes the answer.
  void local(layouts::image<layouts::smp>& m, unsigned port = 1) {
    std::memset(host->at(driver->input), 0, 4096);
    host->store(driver->input, m);
    ASSERT_EQ(
        driver->command(layouts::opcode::mad_ifc, driver->input, port, 3, driver->output).status,
        layouts::command_status::ok);
    m = host->load<layouts::smp>(driver->output);
  }
  static layouts::image<layouts::smp> port_info_request(layouts::mad_method method, unsigned port) {
    return layouts::image<layouts::smp>{}
        .set<&layouts::smp::base_version>(1)
        .set<&layouts::smp::mgmt_class>(layouts::mad_class::subnet_lid_routed)
        .set<&layouts::smp::class_version>(1)
        .set<&layouts::smp::method>(method)
        .set<&layouts::smp::attribute_id>(static_cast<unsigned>(layouts::smp_attribute::port_info))
        .set<&layouts::smp::attribute_modifier>(port);
  }
  layouts::image<layouts::port_info> info(unsigned port = 1) {
    auto m = port_info_request(layouts::mad_method::get, port);
    local(m, port);
    return layouts::attribute<&layouts::smp::data, layouts::port_info>(m);
  }
  /// What port 1 is, so that Set of it changes nothing.
  layouts::image<layouts::port_info> unchanging() {
    return info()
        .set<&layouts::port_info::state>(layouts::port_state::no_change)
        .set<&layouts::port_info::physical_state>(layouts::port_physical_state::no_change);
  }
  void set_info(const layouts::image<layouts::port_info>& wanted, unsigned port = 1) {
    auto m = port_info_request(layouts::mad_method::set, port);
    layouts::set_attribute<&layouts::smp::data>(m, wanted);
    local(m, port);
    EXPECT_EQ(m.get<&layouts::smp::status>(), layouts::mad_status::success);
  }

  // queue pairs
  layouts::image<layouts::qpc> first_context(const test_qp& qp) {
    using q = layouts::qpc;
    layouts::image<q> c;
    c.set<&q::service>(qp.service)
        .set<&q::pm_state>(layouts::path_migration::migrated)
        .set<&q::pd>(pd);
    c.set<&q::mtu>(layouts::ib_mtu::mtu_1024).set<&q::msg_max>(30);
    c.set<&q::log_rq_size>(test_qp::log_entries).set<&q::log_rq_stride>(2);
    c.set<&q::log_sq_size>(test_qp::log_entries).set<&q::log_sq_stride>(3);
    c.set<&q::usr_page>(test_driver::uar).set<&q::local_qpn>(qp.number);
    c.set<&q::cqn_send>(cqn)
        .set<&q::cqn_recv>(cqn)
        .set<&q::db_rec_addr>(qp.record)
        .set<&q::mtt_base>(qp.ring.mtt);
    c.set<&q::qkey>(qkey).set<&q::rre>(1).set<&q::rwe>(1).set<&q::rae>(1);
    return c;
  }
  layouts::command_status modify(layouts::opcode o, std::uint32_t qpn,
                                 const layouts::image<layouts::qpc>& context,
                                 std::uint32_t optional = 0) {
    layouts::image<layouts::qp_mailbox> m;
    m.set<&layouts::qp_mailbox::opt_param_mask>(optional).set_bytes<&layouts::qp_mailbox::context>(
        context.data());
    return driver->command_with(o, m, qpn).status;
  }
  test_qp make_qp(std::uint32_t number, layouts::qp_service service = layouts::qp_service::rc) {
    test_qp qp;
    qp.number = number;
    qp.service = service;
    qp.ring = driver->make_buffer(3);
    qp.record = host->allocate();
    for (std::uint32_t i = 0; i < test_qp::entries; ++i) {
      layouts::image<layouts::wqe_ctrl> empty;
      empty.set<&layouts::wqe_ctrl::owner>(true).set<&layouts::wqe_ctrl::ds>(test_qp::stride / 16);
      put(qp, i * test_qp::stride, empty);
      stamp(qp, i);
    }
    return qp;
  }
  /// Makes the entry at counter `n` invalid for who reads ahead, but for its first block, whose
  /// owner bit says so.
  void stamp(const test_qp& qp, std::uint32_t n) {
    const std::size_t begin = std::size_t{n % test_qp::entries} * test_qp::stride;
    const auto before =
        layouts::image<layouts::wqe_ctrl>::from_bytes(driver->bytes_of(qp.ring, begin));
    const std::size_t bytes = before.get<&layouts::wqe_ctrl::ds>() * layouts::wqe_unit;
    for (std::size_t at = layouts::wqe_basic_block; at < std::min<std::size_t>(bytes, qp.stride);
         at += layouts::wqe_basic_block)
      layouts::store_be(driver->bytes_of(qp.ring, begin + at), layouts::wqe_stamp);
  }
  layouts::image<layouts::qpc> ready_context(const test_qp& qp, std::uint32_t remote) {
    using q = layouts::qpc;
    layouts::image<q> c = first_context(qp);
    c.set<&q::remote_qpn>(remote).set<&q::next_rcv_psn>(0xfffff0).set<&q::next_send_psn>(0xfffff0);
    c.set<&q::rra_max>(2)
        .set<&q::sra_max>(2)
        .set<&q::min_rnr_nak>(12)
        .set<&q::retry_count>(7)
        .set<&q::rnr_retry>(7);
    c.set<&q::ack_req_freq>(8);
    c.set<&layouts::primary_path::sched_queue>(layouts::sched_queue_ib(1, 0));
    c.set<&layouts::primary_path::rlid>(links().base_lid(1))
        .set<&layouts::primary_path::ack_timeout>(14);
    return c;
  }
  void to_rts(const test_qp& qp, std::uint32_t remote) { to_rts(qp, ready_context(qp, remote)); }
  void to_rts(const test_qp& qp, const layouts::image<layouts::qpc>& context) {
    ASSERT_EQ(modify(layouts::opcode::rst2init_qp, qp.number, first_context(qp)),
              layouts::command_status::ok);
    ASSERT_EQ(modify(layouts::opcode::init2rtr_qp, qp.number, context),
              layouts::command_status::ok);
    ASSERT_EQ(modify(layouts::opcode::rtr2rts_qp, qp.number, context), layouts::command_status::ok);
  }
  layouts::qp_state state_of(const test_qp& qp) {
    return context_of(qp).get<&layouts::qpc::state>();
  }
  layouts::image<layouts::qpc> context_of(const test_qp& qp) {
    layouts::image<layouts::qp_mailbox> m;
    EXPECT_EQ(driver->query(layouts::opcode::query_qp, m, qp.number).status,
              layouts::command_status::ok);
    return layouts::context_of(m);
  }

  // shared receive queues
  test_srq make_srq_buffer(std::uint32_t number) {
    test_srq s;
    s.number = number;
    s.ring = driver->make_buffer(1);
    s.record = host->allocate();
    using next = layouts::wqe_srq_next;
    for (std::uint32_t i = 0; i < test_srq::entries; ++i)
      put(s.ring, i * test_srq::stride,
          layouts::image<next>{}.set<&next::next_wqe_index>((i + 1) % test_srq::entries));
    return s;
  }
  layouts::image<layouts::srqc> srq_context(const test_srq& s) const {
    using c = layouts::srqc;
    layouts::image<c> context;
    context.set<&c::log_srq_size>(test_srq::log_entries).set<&c::srqn>(s.number);
    context.set<&c::log_srq_stride>(1).set<&c::pd>(pd);
    return context.set<&c::db_rec_addr>(s.record).set<&c::mtt_base_addr>(s.ring.mtt);
  }
  test_srq make_srq(std::uint32_t number) {
    test_srq s = make_srq_buffer(number);
    EXPECT_EQ(driver->command_with(layouts::opcode::sw2hw_srq, srq_context(s), number).status,
              layouts::command_status::ok);
    return s;
  }
  void post_shared(test_srq& s, std::uint64_t address, std::uint32_t bytes) {
    put(s.ring, s.posted % test_srq::entries * test_srq::stride + 16,
        data_segment(address, bytes, key));
    ++s.posted;
    host->store(s.record, layouts::image<layouts::rq_doorbell_record>{}
                              .set<&layouts::rq_doorbell_record::wqe_counter>(s.posted));
  }

  // work requests
  /// A request under the region's key for `bytes` bytes at `from`, to or from `to` of the other
  /// side.
  test_send transfer(layouts::wqe_opcode opcode, std::uint32_t bytes, std::uint64_t from,
                     std::uint64_t to) const {
    test_send s;
    s.opcode = opcode;
    s.address = from;
    s.bytes = bytes;
    s.lkey = key;
    s.remote_address = to;
    s.rkey = key;
    return s;
  }
  template <class T>
  void put(const test_driver::buffer& where, std::size_t at, const layouts::image<T>& part) {
    std::memcpy(driver->bytes_of(where, at), part.data(), T::bytes);
  }
  template <class T>
  void put(const test_qp& qp, std::size_t at, const layouts::image<T>& part) {
    put(qp.ring, at, part);
  }
  /// Writes a send into the queue; ring() starts it. What hardware may read ahead of it is stamped,
  /// if this one does: then `entries - spare` may be under way, and otherwise all entries.
  void post_send(test_qp& qp, const test_send& s) {
    using c = layouts::wqe_ctrl;
    if (reads_ahead) stamp(qp, qp.sent + test_qp::spare);
    const std::size_t begin = std::size_t{qp.sent % test_qp::entries} * test_qp::stride;
    std::size_t at = begin + c::bytes;
    if (qp.service == layouts::qp_service::ud) {
      put_datagram(qp, at, s);
      at += layouts::wqe_datagram::bytes;
    }
    const bool masked_swap = s.opcode == layouts::wqe_opcode::masked_atomic_cs;
    const bool atomic = s.opcode == layouts::wqe_opcode::atomic_cs ||
                        s.opcode == layouts::wqe_opcode::atomic_fa ||
                        s.opcode == layouts::wqe_opcode::masked_atomic_fa || masked_swap;
    if (atomic || s.opcode == layouts::wqe_opcode::rdma_write ||
        s.opcode == layouts::wqe_opcode::rdma_write_imm ||
        s.opcode == layouts::wqe_opcode::rdma_read) {
      using r = layouts::wqe_remote_address;
      put(qp, at,
          layouts::image<r>{}.set<&r::remote_address>(s.remote_address).set<&r::rkey>(s.rkey));
      at += r::bytes;
    }
    if (masked_swap) {
      using m = layouts::wqe_masked_atomic;
      layouts::image<m> operands;
      operands.set<&m::swap_add>(s.swap_add).set<&m::compare>(s.compare);
      operands.set<&m::swap_add_mask>(s.swap_mask).set<&m::compare_mask>(s.compare_mask);
      put(qp, at, operands);
      at += m::bytes;
    } else if (atomic) {
      using a = layouts::wqe_atomic;
      put(qp, at, layouts::image<a>{}.set<&a::swap_add>(s.swap_add).set<&a::compare>(s.compare));
      at += a::bytes;
    }
    if (s.bytes != 0) {
      put(qp, at, data_segment(s.address, s.bytes, s.lkey));
      at += layouts::wqe_data::bytes;
    }
    layouts::image<c> control;
    control.set<&c::opcode>(s.opcode)
        .set<&c::ds>((at - begin) / layouts::wqe_unit)
        .set<&c::fence>(s.fence);
    control.set<&c::cq_update>(s.signaled ? layouts::wqe_completion::always
                                          : layouts::wqe_completion::none);
    control.set<&c::solicited>(s.solicited).set<&c::immediate>(s.immediate);
    control.set<&c::owner>((qp.sent & test_qp::entries) != 0);
    put(qp, begin, control);
    ++qp.sent;
  }
  void put_datagram(const test_qp& qp, std::size_t at, const test_send& s) {
    using d = layouts::wqe_datagram;
    layouts::image<d> segment;
    segment.set<&d::port>(s.port)
        .set<&d::pd>(pd)
        .set<&d::rlid>(s.dlid != 0 ? s.dlid : links().base_lid(s.port))
        .set<&d::sl>(3);
    segment.set<&d::dqpn>(s.dqpn).set<&d::qkey>(s.qkey);
    if (s.global) {
      std::byte gid[16];
      links().gid(s.port, 0, gid);
      segment.set<&d::grh>(true)
          .set<&d::hop_limit>(64)
          .set<&d::tclass>(7)
          .set<&d::flow_label>(0x12345)
          .set_bytes<&d::dgid>(gid);
    }
    put(qp, at, segment);
  }
  static layouts::image<layouts::wqe_data> data_segment(std::uint64_t address, std::uint32_t bytes,
                                                        std::uint32_t lkey) {
    using w = layouts::wqe_data;
    return layouts::image<w>{}.set<&w::byte_count>(bytes).set<&w::lkey>(lkey).set<&w::address>(
        address);
  }
  void ring(const test_qp& qp) {
    hca->write_uar(std::uint64_t{test_driver::uar} * 4096 + layouts::uar::send_doorbell,
                   layouts::send_doorbell_word(qp.number), 4);
  }
  void send(test_qp& qp, const test_send& s) {
    post_send(qp, s);
    ring(qp);
  }
  void post_receive(test_qp& qp, std::uint64_t address, std::uint32_t bytes, std::uint32_t lkey) {
    const std::size_t begin = std::size_t{test_qp::entries} * test_qp::stride +
                              std::size_t{qp.received % test_qp::entries} * test_qp::receive_stride;
    put(qp, begin, data_segment(address, bytes, lkey));
    put(qp, begin + 16, data_segment(0, 0, layouts::invalid_lkey));
    ++qp.received;
    layouts::image<layouts::rq_doorbell_record> r;
    r.set<&layouts::rq_doorbell_record::wqe_counter>(qp.received);
    host->store(qp.record, r);
  }

  // data
  std::byte& byte_at(std::uint64_t address) {
    return *driver->bytes_of(data, address - region_start);
  }
  void fill(std::uint64_t address, std::size_t bytes, unsigned seed) {
    for (std::size_t i = 0; i < bytes; ++i) byte_at(address + i) = pattern(i, seed);
  }
  static std::byte pattern(std::size_t i, unsigned seed) {
    return static_cast<std::byte>((i * 7 + i / 251 + seed) & 0xff);
  }
  void expect_pattern(std::uint64_t address, std::size_t bytes, unsigned seed) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; ++i) wrong += byte_at(address + i) != pattern(i, seed);
    EXPECT_EQ(wrong, 0u) << bytes << " bytes";
  }

  // completions and events
  layouts::image<layouts::cqe> completion() {
    host->run();
    layouts::image<layouts::cqe> e;
    EXPECT_TRUE(driver->next_completion(cq, e)) << "no completion";
    driver->tell_consumer(cq);
    return e;
  }
  bool no_completion() {
    host->run();
    layouts::image<layouts::cqe> e;
    return !driver->next_completion(cq, e);
  }
  void expect_error(const test_qp& qp, bool is_send, layouts::cqe_syndrome syndrome,
                    unsigned vendor) {
    const auto e = layouts::image<layouts::cqe_error>::from_bytes(completion().data());
    EXPECT_EQ(e.get<&layouts::cqe_error::opcode>(), layouts::cqe_opcode::error);
    EXPECT_EQ(e.get<&layouts::cqe_error::qpn>(), qp.number);
    EXPECT_EQ(e.get<&layouts::cqe_error::is_send>(), is_send);
    EXPECT_EQ(e.get<&layouts::cqe_error::syndrome>(), syndrome);
    EXPECT_EQ(e.get<&layouts::cqe_error::vendor_syndrome>(), vendor);
  }
  void expect_done(const test_qp& qp, bool is_send, unsigned opcode) {
    const auto e = completion();
    EXPECT_EQ(e.get<&layouts::cqe::qpn>(), qp.number);
    EXPECT_EQ(e.get<&layouts::cqe::is_send>(), is_send);
    EXPECT_EQ(e.get<&layouts::cqe::opcode>(), opcode);
  }
  /// Events of `type` among those waiting; takes all.
  unsigned events(layouts::event_type type) {
    host->run();
    unsigned found = 0;
    layouts::image<layouts::eqe> e;
    while (driver->next_event(eq, e)) found += e.get<&layouts::eqe::event_type>() == type;
    driver->ring_eq(eq, true);
    return found;
  }

  // all that comes of something wrong
  /// From now on everything is looked at.
  void watch() { looks.emplace(*driver, eq, cq); }
  void came(const wanted_answer& wanted, const std::string& more = "") {
    expect(wanted, looks->look(), more);
  }
  /// Since watch() one request has failed where it was posted, and nothing else has changed.
  void failed_alone(const test_qp& qp, failure why, const char* says) {
    const bool reliable = qp.service != qp_service::uc && qp.service != qp_service::ud;
    came({{{qp.number, true, why}}, {}, {}, {}, says},
         reliable ? "the error state" : "the send queue's error state");
    EXPECT_EQ(state_of(qp), reliable ? qp_state::error : qp_state::sq_error);
  }

  std::optional<onlooker> looks;
  std::unique_ptr<test_host> host;
  std::unique_ptr<device> hca;
  std::unique_ptr<test_driver> driver;
  test_driver::queue eq, cq;
  test_driver::buffer data;
  std::uint32_t key = 0;
  bool reads_ahead = false;  ///< options::prefetch
};

}  // namespace freehca::model::test
