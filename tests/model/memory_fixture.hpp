// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two connected queue pairs, and the work requests and commands that manage memory.
#pragma once

#include "basis/adapter_limits.hpp"
#include "tables/icm.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

class memory_fixture : public transport_fixture {
 protected:
  using mpt = layouts::mpt;
  static constexpr std::uint32_t window_index = 310, fast_index = 320, other_index = 330;
  /// Where the remote end's bytes stand; what is sent stands at region_start.
  static constexpr std::uint64_t remote = region_start + 0x100000;
  static constexpr unsigned remote_access_vendor = layouts::vendor_syndrome::remote_access;

  memory_fixture() : a(make_qp(0x100)), b(make_qp(0x101)) {
    connect(a, b);
    bindable = make_bindable_region(true);
  }
  void connect(const test_qp& one, const test_qp& other, bool fast_registration = true) {
    for (const test_qp* qp : {&one, &other}) {
      layouts::image<layouts::qpc> first = first_context(*qp);
      first.set<&layouts::qpc::fre>(fast_registration);
      ASSERT_EQ(modify(layouts::opcode::rst2init_qp, qp->number, first),
                layouts::command_status::ok);
      const auto ready = ready_context(*qp, qp == &one ? other.number : one.number);
      ASSERT_EQ(modify(layouts::opcode::init2rtr_qp, qp->number, ready),
                layouts::command_status::ok);
      ASSERT_EQ(modify(layouts::opcode::rtr2rts_qp, qp->number, ready),
                layouts::command_status::ok);
    }
    events(layouts::event_type::none);
  }
  /// Both queue pairs from the beginning, whatever state they are in.
  void reconnect() {
    host->run();
    for (test_qp* qp : {&a, &b}) {
      ASSERT_EQ(driver->command(layouts::opcode::to_rst_qp, 0, qp->number, 2).status,
                layouts::command_status::ok);
      *qp = make_qp(qp->number);
    }
    drop_completions();
    connect(a, b);
  }
  void drop_completions() {
    host->run();
    layouts::image<layouts::cqe> e;
    while (driver->next_completion(cq, e)) driver->tell_consumer(cq);
  }

  layouts::command_status own(std::uint32_t index, const layouts::image<mpt>& e) {
    return driver->command_with(layouts::opcode::sw2hw_mpt, e, index).status;
  }
  layouts::command_status disown(std::uint32_t index) {
    return driver->command(layouts::opcode::hw2sw_mpt, 0, index, 1).status;
  }
  layouts::image<mpt> entry(std::uint32_t index) {
    layouts::image<mpt> e;
    EXPECT_EQ(driver->query(layouts::opcode::query_mpt, e, index).status,
              layouts::command_status::ok);
    return e;
  }
  /// The fixture's memory once more, so that windows may be bound to it.
  std::uint32_t make_bindable_region(bool local_write, std::uint32_t index = other_index) {
    const std::uint32_t made = layouts::key_of_mpt(index);
    auto e = driver->mpt_context(made, pd, data, region_start, region_pages * 4096);
    e.set<&mpt::bind_enable>(true).set<&mpt::local_write>(local_write);
    EXPECT_EQ(own(index, e), layouts::command_status::ok);
    return made;
  }
  static layouts::image<mpt> window_context(bool type_2, std::uint32_t domain = pd) {
    layouts::image<mpt> e;
    e.set<&mpt::mem_key>(window_index).set<&mpt::pd>(domain);
    if (type_2)
      e.set<&mpt::status>(layouts::mpt_status::free)
          .set<&mpt::bqp>(true)
          .set<&mpt::enable_invalidate>(true)
          .set<&mpt::remote_invalidate>(true);
    return e;
  }
  /// Made as Linux makes them (mr.c mlx4_mw_enable); the key whose low byte is `byte`.
  std::uint32_t make_window(bool type_2) {
    EXPECT_EQ(own(window_index, window_context(type_2)), layouts::command_status::ok);
    return window_key(0);
  }
  static std::uint32_t window_key(std::uint8_t byte) { return window_index << 8 | byte; }

  /// A work request of one segment behind the control segment.
  template <class Segment>
  void post_local(test_qp& qp, layouts::wqe_opcode opcode, const layouts::image<Segment>& segment,
                  std::size_t bytes = Segment::bytes) {
    using c = layouts::wqe_ctrl;
    const std::size_t begin = std::size_t{qp.sent % test_qp::entries} * test_qp::stride;
    put(qp, begin + c::bytes, segment);
    layouts::image<c> control;
    control.set<&c::opcode>(opcode)
        .set<&c::ds>((c::bytes + bytes) / layouts::wqe_unit)
        .set<&c::strong_order>(true)
        .set<&c::cq_update>(layouts::wqe_completion::always)
        .set<&c::owner>((qp.sent & test_qp::entries) != 0);
    put(qp, begin, control);
    ++qp.sent;
  }
  layouts::image<layouts::wqe_bind> binding(std::uint32_t rkey, bool type_2,
                                            std::uint64_t address = remote,
                                            std::uint64_t length = 8192) const {
    using w = layouts::wqe_bind;
    layouts::image<w> s;
    s.set<&w::new_rkey>(rkey).set<&w::lkey>(bindable).set<&w::type_2>(type_2);
    s.set<&w::address>(address).set<&w::length>(length);
    s.set<&w::remote_read>(true).set<&w::remote_write>(true).set<&w::atomic>(true);
    return s;
  }
  void bind(test_qp& qp, const layouts::image<layouts::wqe_bind>& s) {
    post_local(qp, layouts::wqe_opcode::bind_mw, s);
    ring(qp);
  }
  void expect_bound(test_qp& qp, const layouts::image<layouts::wqe_bind>& s) {
    bind(qp, s);
    expect_done(qp, true, static_cast<unsigned>(layouts::wqe_opcode::bind_mw));
  }
  void invalidate(test_qp& qp, std::uint32_t which) {
    using w = layouts::wqe_local_invalidate;
    post_local(qp, layouts::wqe_opcode::local_invalidate,
               layouts::image<w>{}.set<&w::mem_key>(which));
    ring(qp);
  }
  void expect_invalidated(test_qp& qp, std::uint32_t which) {
    invalidate(qp, which);
    expect_done(qp, true, static_cast<unsigned>(layouts::wqe_opcode::local_invalidate));
  }
  static std::string text_of(const char* format, unsigned value) {
    char text[60];
    std::snprintf(text, sizeof text, format, value);
    return text;
  }
  /// What was posted since watch().
  void expect_refused(test_qp& qp, const char* says) {
    failed_alone(qp, failures::memory_management, says);
  }
  test_send write(std::uint32_t rkey, std::uint64_t to = remote, std::uint32_t bytes = 64) const {
    test_send s = transfer(layouts::wqe_opcode::rdma_write, bytes, region_start, to);
    s.rkey = rkey;
    return s;
  }
  void expect_written(test_qp& qp, const test_send& s) {
    send(qp, s);
    expect_done(qp, true, static_cast<unsigned>(s.opcode));
  }
  void expect_no_access(test_qp& qp, const test_send& s) {
    send(qp, s);
    expect_error(qp, true, layouts::cqe_syndrome::remote_access, remote_access_vendor);
  }

  test_qp a, b;
  std::uint32_t bindable = 0;
};

}  // namespace freehca::model::test
