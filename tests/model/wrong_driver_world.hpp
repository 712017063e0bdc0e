// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>

#include "queues/completion_queues.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

/// Two connected queue pairs of an adapter that reads ahead, and what wrong drivers do with them.
struct world : transport_fixture {
  static constexpr std::uint64_t from = region_start, to = region_start + 0x100000;
  static constexpr std::uint64_t page = std::uint64_t{test_driver::uar} * 4096;

  using transport_fixture::cq, transport_fixture::driver, transport_fixture::eq,
      transport_fixture::eqn, transport_fixture::events, transport_fixture::first_context,
      transport_fixture::hca, transport_fixture::host, transport_fixture::key,
      transport_fixture::make_qp, transport_fixture::modify, transport_fixture::pd,
      transport_fixture::post_receive, transport_fixture::post_send, transport_fixture::put,
      transport_fixture::qkey, transport_fixture::ready_context, transport_fixture::ring,
      transport_fixture::send, transport_fixture::to_rts, transport_fixture::transfer,
      transport_fixture::data_segment, transport_fixture::byte_at, transport_fixture::reads_ahead,
      transport_fixture::links, transport_fixture::make_srq, transport_fixture::post_shared;

  static options reading_ahead() {
    options how = test_options();
    how.prefetch = true;
    return how;
  }
  explicit world(const options& how = reading_ahead())
      : transport_fixture(how, std::make_unique<test_host>(64u << 20)) {
    a = make_qp(0x100);
    b = make_qp(0x101);
    to_rts(a, b.number);
    to_rts(b, a.number);
  }
  void TestBody() override {}

  test_send small() const { return transfer(wqe_opcode::rdma_write, 64, from, to); }
  // A long write: three pieces, of which the third stands in the second block of its entry.
  static constexpr std::uint32_t piece = 64, third_at = 64;
  void put_third(std::uint32_t n, std::uint64_t third) {
    put(a, std::size_t{n % test_qp::entries} * test_qp::stride + third_at,
        data_segment(third, piece, key));
  }
  void post_pieces(std::uint64_t third) {
    const std::uint32_t n = a.sent;
    put_third(n, third);
    post_send(a, transfer(wqe_opcode::rdma_write, piece, from, to));
    put(a, std::size_t{n % test_qp::entries} * test_qp::stride + 48,
        data_segment(from + piece, piece, key));
    change<&wqe_ctrl::ds>(n, 5u);
  }
  /// The second block of entry `n` as a driver begins it that writes its first word, the byte
  /// count, before the rest: that is from another time.
  void begin_block(std::uint32_t n, std::uint64_t another) { put_third(n, another); }
  /// Entry 1 is begun so, and finished when hardware has read ahead behind entry 0.
  bool write_first_word_first(
      std::uint64_t early, std::uint64_t late, const std::function<void()>& meanwhile = [] {}) {
    begin_block(1, early);
    send_one();
    if (!completed()) return false;
    meanwhile();
    post_pieces(late);
    ring(a);
    return completed();
  }
  /// Entry 1 is given to hardware behind a long one, and changed before its turn comes.
  bool give_away_early(std::uint64_t early, std::uint64_t late) {
    constexpr std::uint32_t whole_window = 512u << 10;
    post_send(a, transfer(wqe_opcode::rdma_write, whole_window, from, to + whole_window));
    test_send s = transfer(wqe_opcode::rdma_write, piece, early, to + 2 * piece);
    post_send(a, s);
    ring(a);
    host->run(1);
    put(a, test_qp::stride + 32, data_segment(late, piece, key));
    ring(a);
    return completed() && completed();
  }
  /// All entries are used, each stamped when it is written and no sooner; then the first one again.
  bool use_every_entry(std::uint64_t before, std::uint64_t then) {
    reads_ahead = false;
    for (std::uint32_t i = 0; i < test_qp::entries; ++i) {
      stamp(a, i);
      post_pieces(before);
      ring(a);
      if (!completed()) return false;
    }
    stamp(a, a.sent);
    post_pieces(then);
    ring(a);
    return completed();
  }
  /// The index of the region that sends are in.
  std::uint32_t region() const { return mpt_key_of(key) & 0xffffff; }
  std::byte* entry(std::uint32_t n) {
    return driver->bytes_of(a.ring, std::size_t{n % test_qp::entries} * test_qp::stride);
  }
  /// Changes a field of the control segment of a's entry n.
  template <auto Field, class Value>
  void change(std::uint32_t n, Value value) {
    auto c = image<wqe_ctrl>::from_bytes(entry(n));
    c.set<Field>(value);
    std::memcpy(entry(n), c.data(), wqe_ctrl::bytes);
  }
  /// One write goes from a to b as it should.
  bool works() {
    send_one();
    return completed();
  }
  void send_one() { transport_fixture::send(a, small()); }
  bool completed() {
    host->run();
    image<cqe> e;
    const bool came = driver->next_completion(cq, e);
    driver->tell_consumer(cq);
    return came && e.get<&cqe::opcode>() != static_cast<std::uint64_t>(cqe_opcode::error);
  }
  void ring_in_page(std::uint32_t number) {
    hca->write_uar(std::uint64_t{number} * 4096 + uar::send_doorbell, send_doorbell_word(a.number),
                   4);
  }
  void cq_doorbell_in_page(std::uint64_t where, cq_arm what, unsigned sn, std::uint32_t ci) {
    hca->write_uar(where + uar::cq_doorbell,
                   std::uint64_t{cq_arm_word(sn, what, cq.number)} << 32 | ci, 8);
  }
  void arm_record(cq_arm what, unsigned sn, std::uint32_t ci) {
    using r = cq_doorbell_record;
    host->store(cq.doorbell_record, host->load<r>(cq.doorbell_record)
                                        .set<&r::cmd_sn>(sn)
                                        .set<&r::cmd>(what)
                                        .set<&r::arm_ci>(ci));
  }
  /// Copies `bytes` bytes of a's entry n to half `half` of the BlueFlame register, with the fields
  /// that it wants.
  void blueflame(std::uint32_t n, unsigned half, std::size_t bytes,
                 const std::function<void(std::byte*)>& alter = {}) {
    auto c = image<wqe_ctrl_blueflame>::from_bytes(entry(n));
    c.set<&wqe_ctrl_blueflame::wqe_index>(n).set<&wqe_ctrl_blueflame::qpn>(a.number);
    std::memcpy(entry(n), c.data(), wqe_ctrl::bytes);
    std::byte copy[256];
    std::memcpy(copy, entry(n), 128);
    if (alter) alter(copy);
    for (std::size_t at = 0; at < bytes; at += 8)
      hca->write_uar((8u << 20) / 2 + page + half * 256 + at, load_be<std::uint64_t>(copy + at), 8);
  }
  test_driver::queue small_cq() {
    test_driver::queue q;
    EXPECT_EQ(driver->make_cq(q, 201, eqn, 6).status, command_status::ok);
    return q;
  }
  bool complete(const test_driver::queue& q) {
    return hca->inside_now().cqs->complete(q.number, image<cqe>{}, false);
  }
  /// An MLX send of QP1: LRH, BTH and DETH inline, 64 bytes of payload and the word of the ICRC, as
  /// Linux has them. `alter` changes its control segment and its LRH. Whether it went well at both
  /// ends.
  bool send_prepared(const std::function<void(image<wqe_ctrl_mlx>&, image<lrh>&)>& alter) {
    constexpr std::uint32_t base = 0x180, payload = 64;
    EXPECT_EQ(driver->command(opcode::conf_special_qp, 0, base).status, command_status::ok);
    test_qp gsi = make_qp(base + 2, qp_service::mlx), taker = make_qp(0x113, qp_service::ud);
    to_rts(gsi, 0);
    to_rts(taker, 0);
    post_receive(taker, to, 40 + payload, key);

    image<lrh> link;
    link.set<&lrh::lnh>(link_next_header::iba_local)
        .set<&lrh::dlid>(links().base_lid(1))
        .set<&lrh::packet_length>((lrh::bytes + bth::bytes + deth::bytes + payload + icrc_bytes) /
                                  4);
    image<wqe_ctrl_mlx> control;
    control.set<&wqe_ctrl_mlx::opcode>(wqe_opcode::send).set<&wqe_ctrl_mlx::ds>(5);
    control.set<&wqe_ctrl_mlx::cq_update>(wqe_completion::always)
        .set<&wqe_ctrl_mlx::rlid>(links().base_lid(1));
    alter(control, link);
    const auto transport = image<bth>{}
                               .set<&bth::opcode>(bth_opcode::ud_send_only)
                               .set<&bth::pkey>(0xffff)
                               .set<&bth::dest_qp>(taker.number);
    const auto datagram = image<deth>{}.set<&deth::qkey>(qkey).set<&deth::source_qp>(1);
    const auto in_line = [](std::uint64_t n) {
      return image<wqe_inline>{}.set<&wqe_inline::inline_data>(true).set<&wqe_inline::byte_count>(
          n);
    };
    put(gsi, 16, in_line(lrh::bytes + bth::bytes + deth::bytes));
    put(gsi, 20, link);
    put(gsi, 28, transport);
    put(gsi, 40, datagram);
    put(gsi, 48, data_segment(from, payload, key));
    put(gsi, 64, in_line(icrc_bytes));
    put(gsi, 0, control);
    ring(gsi);
    host->run();
    unsigned came = 0;
    image<cqe> e;
    for (; driver->next_completion(cq, e); driver->tell_consumer(cq))
      came += e.get<&cqe::opcode>() != static_cast<std::uint64_t>(cqe_opcode::error);
    return came == 2;
  }
  /// b takes its receives from a shared queue whose first entry links to `next`; two messages come
  /// to it.
  bool follow_link(std::uint32_t next) {
    constexpr std::uint32_t srqn = 100;
    test_srq shared = make_srq(srqn);
    put(shared.ring, 0, image<wqe_srq_next>{}.set<&wqe_srq_next::next_wqe_index>(next));
    EXPECT_EQ(driver->command(opcode::to_rst_qp, 0, b.number, 2).status, command_status::ok);
    const auto with = [&](auto context) {
      return context.template set<&qpc::srq>(1u).template set<&qpc::srqn>(srqn);
    };
    EXPECT_EQ(modify(opcode::rst2init_qp, b.number, with(first_context(b))), command_status::ok);
    EXPECT_EQ(modify(opcode::init2rtr_qp, b.number, ready_context(b, a.number)),
              command_status::ok);
    for (int i = 0; i < 2; ++i) post_shared(shared, to, 64);
    unsigned came = 0;
    for (int i = 0; i < 2; ++i) transport_fixture::send(a, transfer(wqe_opcode::send, 64, from, 0));
    host->run();
    image<cqe> e;
    for (; driver->next_completion(cq, e); driver->tell_consumer(cq))
      came += e.get<&cqe::opcode>() != static_cast<std::uint64_t>(cqe_opcode::error);
    return came == 4;
  }
  void write_command(std::uint32_t word, bool toggle) {
    image<hcr> h;
    h.set<&hcr::go>(true).set<&hcr::t>(toggle).set<&hcr::opcode>(opcode::nop);
    for (std::uint32_t at = 0; at < hcr::bytes; at += 4)
      if (at != word) driver->write(bar0::hcr + at, load_be<std::uint32_t>(h.data() + at));
  }
  static constexpr std::uint32_t none = ~0u;

  test_qp a, b;
};

}  // namespace freehca::model::test
