// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Traffic classes of an Ethernet port: which frame of those that wait leaves next, and when.
#include <algorithm>

#include "ethernet_fixture.hpp"
#include "frame_fixture.hpp"
#include "ports/traffic_classes.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

constexpr std::size_t frame_bytes_here = 996;  // 1000 on the link
constexpr unsigned priority_of_voice = 6, priority_of_bulk = 1;

class ets : public ethernet_fixture {
 protected:
  using entry = set_port_scheduler_entry;
  using unit = bandwidth_unit;

  static image<entry> of(unsigned pg, unsigned share, unit u = unit::gbps_1,
                         unsigned rate = no_bandwidth_limit) {
    return image<entry>{}
        .set<&entry::pg>(pg)
        .set<&entry::bw_percentage>(share)
        .set<&entry::max_bw_units>(u)
        .set<&entry::max_bw_value>(rate);
  }
  /// All other classes are as Linux has them before it was told anything.
  status schedule(const std::vector<std::pair<unsigned, image<entry>>>& named) {
    std::vector<std::pair<unsigned, image<entry>>> all;
    for (unsigned i = 0; i < set_port_traffic_classes; ++i) all.emplace_back(i, of(0, 100));
    for (const auto& [i, e] : named) all[i].second = e;
    return set_table<entry>(set_port_selector::scheduler, all);
  }
  void send(unsigned priority, std::size_t size = frame_bytes_here) {
    frame f = frame_to(group, size);
    f.priority = priority;
    f.bytes[20] = static_cast<std::byte>(priority);
    port().transmit(std::move(f));
  }
  /// The cable takes that many frames, one after the other.
  void takes(unsigned frames) {
    const std::size_t before = sent.size();
    host->on_wire = [this, before, frames](unsigned, bytes& b) {
      sent.push_back(b);
      host->wire_full[0] = sent.size() >= before + frames;
    };
    host->wire_full[0] = false;
    hca->link_has_room(1);
    host->run();
  }
  void expect_even_shares() {
    host->wire_full[0] = true;
    for (unsigned n = 0; n < 30; ++n) {
      send(priority_of_bulk);
      send(priority_of_voice);
    }
    sent.clear();
    takes(30);
    EXPECT_NEAR(sent_by(priority_of_bulk), 15, 1);
  }
  unsigned sent_by(unsigned priority) const {
    return static_cast<unsigned>(std::count_if(sent.begin(), sent.end(), [=](const bytes& b) {
      return b[20] == static_cast<std::byte>(priority);
    }));
  }
};

// What holds of an adapter without it, too.
using without_shares = ets;

}  // namespace

TEST_F(without_shares, a_port_that_was_told_nothing_has_a_class_for_each_priority_and_no_limit) {
  EXPECT_FALSE(port().told().has_shares);
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(port().told().class_of_priority[i], i);
    EXPECT_EQ(port().told().classes[i], traffic_class_settings{});
  }
}

TEST_F(ets, the_group_of_the_lower_number_goes_first) {
  ASSERT_EQ(schedule({{1, of(1, 100)}, {6, of(0, 100)}}), status::ok);
  open();
  host->wire_full[0] = true;
  for (unsigned n = 0; n < 10; ++n) {
    send(priority_of_bulk);
    send(priority_of_voice);
  }
  EXPECT_TRUE(sent.empty());
  takes(10);
  EXPECT_EQ(sent_by(priority_of_voice), 10u);
  takes(10);
  EXPECT_EQ(sent_by(priority_of_bulk), 10u);
}

TEST_F(ets, classes_of_one_group_share_the_cable_by_their_percentages) {
  ASSERT_EQ(schedule({{1, of(7, 80)}, {6, of(7, 20)}}), status::ok);
  open();
  host->wire_full[0] = true;
  for (unsigned n = 0; n < 60; ++n) {
    send(priority_of_bulk);
    send(priority_of_voice);
  }
  takes(50);
  EXPECT_NEAR(sent_by(priority_of_bulk), 40, 1);
  EXPECT_NEAR(sent_by(priority_of_voice), 10, 1);
  // What the one leaves, the other has.
  takes(70);
  EXPECT_EQ(sent_by(priority_of_bulk), 60u);
  EXPECT_EQ(sent_by(priority_of_voice), 60u);
}

TEST_F(ets, a_class_that_did_not_send_has_saved_nothing_up) {
  ASSERT_EQ(schedule({{1, of(7, 50)}, {6, of(7, 50)}}), status::ok);
  open();
  host->wire_full[0] = false;
  for (unsigned n = 0; n < 500; ++n) send(priority_of_bulk);
  ASSERT_EQ(sent.size(), 500u);
  expect_even_shares();
}

TEST_F(ets, a_class_has_no_more_than_its_rate_and_others_pass_it) {
  ASSERT_EQ(schedule({{1, of(7, 50, unit::mbps_100, 8)}}), status::ok);  // 100 bytes in 1 us
  open();
  constexpr std::uint64_t us = 1000;
  for (unsigned n = 0; n < 2000; ++n) send(priority_of_bulk);
  host->run();
  // Ten milliseconds that it did not use are 1000 frames.
  EXPECT_NEAR(static_cast<double>(sent.size()), 1000, 2);
  EXPECT_EQ(driver->counter_named("port1_frames_held_to_rate"), 2000 - sent.size());
  send(priority_of_voice);
  EXPECT_EQ(sent_by(priority_of_voice), 1u);
  const std::size_t before = sent.size();
  host->advance(1000 * us);
  EXPECT_NEAR(static_cast<double>(sent.size() - before), 100, 2);
  host->advance(1'000'000 * us);
  EXPECT_EQ(sent_by(priority_of_bulk), 2000u);
}

TEST_F(ets, a_class_whose_rate_held_it_back_has_saved_nothing_up) {
  constexpr unsigned priority_of_late = 3;
  ASSERT_EQ(schedule({{1, of(7, 33, unit::mbps_100, 1)}, {6, of(7, 33)}, {3, of(7, 34)}}),
            status::ok);
  open();
  // The limited class has 12.5 bytes of each microsecond, the other takes a frame in each.
  for (unsigned n = 0; n < 50'000; ++n) {
    host->wire_full[0] = true;
    if (!port().full(priority_of_bulk)) send(priority_of_bulk);
    send(priority_of_voice);
    takes(1);
    host->advance(1000);
  }
  host->wire_full[0] = true;
  for (unsigned n = 0; n < 40; ++n) send(priority_of_voice);
  // One that comes only now, and the limited one without its limit, have their shares and no more.
  for (unsigned n = 0; n < 40; ++n) send(priority_of_late);
  sent.clear();
  takes(30);
  EXPECT_NEAR(sent_by(priority_of_voice), 15, 2);
  EXPECT_NEAR(sent_by(priority_of_late), 15, 2);
  host->wire_full[0] = true;
  ASSERT_EQ(schedule({{1, of(7, 50)}, {6, of(7, 50)}, {3, of(7, 50)}}), status::ok);
  sent.clear();
  takes(30);
  EXPECT_NEAR(sent_by(priority_of_bulk), 10, 2);
  EXPECT_NEAR(sent_by(priority_of_voice), 10, 2);
}

TEST_F(ets, a_class_in_another_group_begins_there_with_the_others) {
  ASSERT_EQ(schedule({{1, of(7, 50)}, {6, of(5, 100)}}), status::ok);
  open();
  host->wire_full[0] = false;
  for (unsigned n = 0; n < 500; ++n) send(priority_of_bulk);
  ASSERT_EQ(schedule({{1, of(5, 50)}, {6, of(5, 50)}}), status::ok);
  expect_even_shares();
}

TEST_F(ets, priorities_share_the_class_that_they_are_mapped_to) {
  using p = set_port_prio2tc;
  ASSERT_EQ(set_port(set_port_selector::prio2tc, image<p>{}.set<&p::prio1>(3).set<&p::prio6>(3)),
            status::ok);
  EXPECT_EQ(port().told().class_of_priority, (std::array<unsigned, 8>{0, 3, 0, 0, 0, 0, 3, 0}));
  ASSERT_EQ(schedule({{3, of(0, 100)}, {0, of(1, 100)}}), status::ok);
  open();
  host->wire_full[0] = true;
  for (const unsigned priority : {0u, 1u, 6u, 1u}) send(priority);
  takes(4);
  std::vector<unsigned> order;
  for (const bytes& b : sent) order.push_back(std::to_integer<unsigned>(b[20]));
  EXPECT_EQ(order, (std::vector<unsigned>{1, 6, 1, 0}));
}

TEST_F(ets, senders_of_a_class_with_a_share_wait_when_its_queue_is_full) {
  ASSERT_EQ(schedule({{1, of(7, 50)}, {6, of(7, 50)}}), status::ok);
  open();
  host->wire_full[0] = true;
  unsigned frames = 0;
  for (; !port().full(priority_of_bulk) && frames < 1000; ++frames) send(priority_of_bulk);
  EXPECT_EQ(frames, 65536 / frame_bytes_here + 1);
  EXPECT_FALSE(port().full(priority_of_voice));
  above.told_of_room = 0;
  takes(1);
  EXPECT_FALSE(port().full(priority_of_bulk));
  EXPECT_EQ(above.told_of_room, 1u);
}

TEST_F(ets, who_waits_for_room_goes_on_when_classes_are_told_anew) {
  open();
  host->wire_full[0] = true;
  send(priority_of_bulk);
  ASSERT_TRUE(port().full(priority_of_bulk)) << "one that waits is enough without shares";
  above.told_of_room = 0;
  ASSERT_EQ(schedule({}), status::ok);
  EXPECT_FALSE(port().full(priority_of_bulk));
  EXPECT_EQ(above.told_of_room, 1u);
  ASSERT_EQ(set_port(set_port_selector::prio2tc, image<set_port_prio2tc>{}), status::ok);
  EXPECT_EQ(above.told_of_room, 2u);
}

TEST_F(ets, a_reset_forgets_shares_rates_and_what_waits_for_them) {
  ASSERT_EQ(schedule({{1, of(7, 50, unit::mbps_100, 1)}}), status::ok);
  open();
  for (unsigned n = 0; n < 200; ++n) send(priority_of_bulk);
  EXPECT_LT(sent.size(), 200u);
  port().clear();
  EXPECT_FALSE(port().told().has_shares);
  EXPECT_FALSE(port().full(priority_of_bulk));
  const std::size_t before = sent.size();
  host->advance(second);
  EXPECT_EQ(sent.size(), before);
}

TEST_F(without_shares, an_adapter_without_it_has_no_such_selectors) {
  options how = ethernet_options();
  how.without.add(capability::traffic_classes);
  start_ethernet(how);
  EXPECT_EQ(schedule({}), status::bad_operation);
  EXPECT_EQ(set_port(set_port_selector::prio2tc, image<set_port_prio2tc>{}), status::bad_operation);
}

namespace {

/// Queue pairs whose schedule queue is one of priority 5, and what else the port sends.
class ets_senders : public frame_fixture {
 protected:
  using of_class = set_port_scheduler_entry;
  static constexpr unsigned limited = 5;
  static constexpr std::size_t size = 1496;  // 1500 on the link: 120 us at 100 Mb/s

  ets_senders() {
    schedule([](unsigned i, image<of_class>& entry) {
      if (i == limited)
        entry.set<&of_class::max_bw_units>(bandwidth_unit::mbps_100)
            .set<&of_class::max_bw_value>(1);
    });
  }
  /// `change` has each class's entry.
  template <class F>
  void schedule(F change) {
    std::memset(host->at(driver->input), 0, 4096);
    for (unsigned i = 0; i < set_port_traffic_classes; ++i) {
      image<of_class> entry;
      entry.set<&of_class::bw_percentage>(100)
          .set<&of_class::max_bw_units>(bandwidth_unit::gbps_1)
          .set<&of_class::max_bw_value>(no_bandwidth_limit);
      change(i, entry);
      host->store(driver->input + i * of_class::bytes, entry);
    }
    EXPECT_EQ(set_port(set_port_selector::scheduler), command_status::ok);
  }
  test_qp raw(std::uint32_t number, unsigned priority) {
    test_qp qp = make_qp(number, qp_service::mlx);
    to_ready(number,
             frame_context(qp).set<&primary_path::sched_queue>(sched_queue_ethernet(1, priority)));
    return qp;
  }
  struct sender {
    test_qp qp;
    unsigned posted = 0, done = 0;
  };
  void take_note(std::vector<sender>& all) {
    image<cqe> done;
    while (driver->next_completion(cq, done)) {
      EXPECT_NE(done.get<&cqe::opcode>(), static_cast<std::uint64_t>(cqe_opcode::error));
      for (sender& s : all) s.done += done.get<&cqe::qpn>() == s.qp.number;
    }
    driver->tell_consumer(cq);
  }
  /// Each sender has so many frames posted. The last byte of the source address says whose a frame
  /// is.
  void top_up(std::vector<sender>& all, unsigned posted) {
    take_note(all);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (sender& s = all[i]; s.posted - s.done < posted; ++s.posted)
        post_frame(s.qp, {.at = region_start + i * 0x1000,
                          .bytes = size,
                          .control = {},
                          .mss = 0,
                          .header = {}});
  }
  /// The same with 24 large sends of 40 frames each.
  void top_up_large(std::vector<sender>& all) {
    take_note(all);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (sender& s = all[i]; s.posted - s.done < 24; ++s.posted)
        post_frame(s.qp, {.at = region_start,
                          .bytes = 40 * 1460,
                          .control = {},
                          .mss = 1460,
                          .header = from_hex(i == 0 ? "525400000702 020000000000 0800"
                                                    : "525400000702 020000000001 0800") +
                                    from_hex("4500000000074000400600000a0009010a000902"
                                             "12340050000003e800000001509903e800000000")});
  }
  void write_frames(std::size_t senders) {
    for (std::size_t i = 0; i < senders; ++i)
      write(region_start + i * 0x1000, plain(peer_mac, 0x020000000000 + i, size));
  }
  test_qp reliable(std::uint32_t number, unsigned priority) {
    return connected(number, qp_service::rc, priority);
  }
  /// One of RoCE, to nobody, that is not answered.
  test_qp unreliable(std::uint32_t number, unsigned priority) {
    return connected(number, qp_service::uc, priority);
  }
  test_qp connected(std::uint32_t number, qp_service service, unsigned priority) {
    using m = set_port_mac_entry;
    using g = set_port_gid_entry;
    std::byte gid[16] = {std::byte{0xfe}, std::byte{0x80}};
    std::memset(host->at(driver->input), 0, 4096);
    host->store(driver->input, image<m>{}.set<&m::valid>(true).set<&m::mac>(mac));
    EXPECT_EQ(set_port(set_port_selector::mac_table), command_status::ok);
    std::memset(host->at(driver->input), 0, 4096);
    host->store(driver->input, image<g>{}.set_bytes<&g::gid>(gid));
    EXPECT_EQ(set_port(set_port_selector::gid_table), command_status::ok);
    test_qp qp = make_qp(number, service);
    gid[15] = std::byte{1};
    to_rts(qp, ready_context(qp, 0x222)
                   .set<&qpc::retry_count>(2)
                   .set<&primary_path::sched_queue>(sched_queue_ethernet(1, priority))
                   .set<&primary_path::rlid>(0)
                   .set<&primary_path::grh>(true)
                   .set<&primary_path::link_type>(path_link::ethernet)
                   .set_bytes<&primary_path::rgid>(gid)
                   .set<&primary_path::dmac>(peer_mac));
    return qp;
  }
};

}  // namespace

TEST_F(ets_senders, frames_wait_in_the_class_of_their_queue_pairs_priority) {
  test_qp slow = raw(0x140, limited), fast = raw(0x141, 0);
  constexpr unsigned frames = 140, at_once = 83;  // in 10 ms
  image<cqe> e;
  unsigned done = 0;
  for (unsigned n = 0; n < frames; ++n) {
    send_frame(slow, plain(peer_mac, mac, size));
    while (driver->next_completion(cq, e)) ++done;
    driver->tell_consumer(cq);
  }
  EXPECT_NEAR(static_cast<double>(sent.size()), at_once, 1);
  // What the queue of the class has no room for waits in the queue pair.
  EXPECT_NEAR(done, at_once + 65536 / size + 1, 1);
  const std::size_t before = sent.size();
  send_frame(fast, plain(peer_mac, mac, 100));
  ASSERT_EQ(sent.size(), before + 1);
  EXPECT_EQ(sent.back().size(), 100u);
  host->advance(1'200'000);
  EXPECT_NEAR(static_cast<double>(sent.size() - before), 11, 1);
  host->advance(10'000'000);
  EXPECT_EQ(sent.size(), frames + 1);
}

TEST_F(ets_senders, packets_of_roce_do_so_too) {
  test_qp slow = unreliable(0x150, limited);
  send(slow, transfer(wqe_opcode::rdma_write, 300'000, region_start, region_start));
  host->run();
  // Packets of 1024 bytes, and some 60 of headers, in the 125,000 bytes of 10 ms.
  EXPECT_NEAR(static_cast<double>(sent.size()), 115, 5);
  EXPECT_TRUE(no_completion());
  host->advance(30'000'000);
  EXPECT_EQ(sent.size(), 293u);
  expect_done(slow, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

TEST_F(ets_senders, all_queue_pairs_of_a_limited_class_have_their_turn) {
  std::vector<sender> all(3);
  for (unsigned i = 0; i < all.size(); ++i) all[i].qp = raw(0x140 + i, limited);
  write_frames(all.size());
  for (unsigned ms = 0; ms < 300; ++ms) {
    top_up(all, 10);
    host->advance(1'000'000);
  }
  // 2500 frames in 300 ms.
  std::array<unsigned, 3> by{};
  for (const frame_bytes& f : sent) ++by[std::to_integer<unsigned>(f[11])];
  for (const unsigned frames : by) EXPECT_NEAR(frames, 2583 / 3, 50);
}

TEST_F(ets_senders, a_queue_pair_that_waited_for_room_may_go) {
  std::vector<sender> all(2);
  for (unsigned i = 0; i < all.size(); ++i) all[i].qp = raw(0x140 + i, limited);
  write_frames(all.size());
  for (unsigned ms = 0; ms < 30; ++ms) {
    top_up(all, 10);
    host->advance(1'000'000);
  }
  ASSERT_EQ(driver
                ->command(opcode::to_rst_qp, 0, 0x140,
                          static_cast<unsigned>(to_rst_qp_modifier::no_output))
                .status,
            command_status::ok);
  std::vector<sender> rest{all[1]};
  sent.clear();
  for (unsigned ms = 0; ms < 30; ++ms) {
    top_up(rest, 10);
    host->advance(1'000'000);
  }
  EXPECT_NEAR(static_cast<double>(sent.size()), 250, 5);
}

TEST_F(ets_senders, a_lost_packet_is_sent_again_while_others_fill_the_class) {
  test_qp rc = reliable(0x13f, limited);
  send(rc, transfer(wqe_opcode::rdma_write, 100, region_start, region_start));
  host->run();
  ASSERT_EQ(sent.size(), 1u);
  std::vector<sender> others(1);
  others[0].qp = raw(0x140, limited);
  write_frames(others.size());
  bool failed = false;
  for (unsigned ms = 0; ms < 30'000 && !failed; ++ms) {
    image<cqe> e;
    while (driver->next_completion(cq, e)) {
      failed = failed || e.get<&cqe::qpn>() == rc.number;
      others[0].done += e.get<&cqe::qpn>() == others[0].qp.number;
    }
    driver->tell_consumer(cq);
    if (!failed) top_up(others, 40);
    host->advance(1'000'000);
  }
  EXPECT_TRUE(failed) << "nobody answers";
  const auto again =
      std::count_if(sent.begin(), sent.end(), [](const frame_bytes& f) { return f.size() < size; });
  EXPECT_EQ(again, 3) << "with retry_count 2";
}

TEST_F(ets_senders, shares_hold_on_a_cable_that_takes_many_frames_at_a_time) {
  const auto share = [this](unsigned bulk_group, unsigned bulk_share, unsigned voice_share) {
    schedule([=](unsigned i, image<of_class>& entry) {
      if (i == priority_of_bulk)
        entry.set<&of_class::pg>(bulk_group).set<&of_class::bw_percentage>(bulk_share);
      if (i == priority_of_voice)
        entry.set<&of_class::pg>(3).set<&of_class::bw_percentage>(voice_share);
    });
  };
  std::vector<sender> all(2);
  all[0].qp = raw(0x140, priority_of_bulk);
  all[1].qp = raw(0x141, priority_of_voice);
  std::array<unsigned, 2> by{};
  unsigned room = 0;
  host->on_wire = [&](unsigned, frame_bytes& f) {
    ++by[std::to_integer<unsigned>(f[11])];
    host->wire_full[0] = --room == 0;
  };
  const auto fill = [&](unsigned times) {
    for (unsigned n = 0; n < times; ++n) {
      room = 512;
      host->wire_full[0] = false;
      hca->link_has_room(1);
      host->run();
      top_up_large(all);
    }
  };
  host->wire_full[0] = true;
  share(3, 80, 20);
  top_up_large(all);
  fill(1);
  by = {};
  fill(40);
  EXPECT_NEAR(by[0], 40 * 512 * 80 / 100, 500);
  EXPECT_NEAR(by[1], 40 * 512 * 20 / 100, 500);
  share(4, 100, 100);
  by = {};
  fill(10);
  EXPECT_EQ(by[0], 0u);
  EXPECT_EQ(by[1], 10 * 512u);
}

}  // namespace freehca::model::test
