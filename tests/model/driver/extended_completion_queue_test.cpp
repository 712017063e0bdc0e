// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Timestamps of completions, the clock that they are of, and completion queues that ignore an
// overrun.
#include <cstring>
#include <vector>

#include <freehca/firmware_cmds/firmware.hpp>
#include <freehca/firmware_cmds/query.hpp>
#include <freehca/hca/device_clock.hpp>
#include <freehca/hca/kinds/extended_completion_queue.hpp>
#include <freehca/hca/kinds/resizable_completion_queue.hpp>

#include "counts.hpp"
#include "rc_pair.hpp"

namespace freehca::testing::extended_queues {
namespace {

using layouts::opcode;
using layouts::qp_state;

constexpr std::uint64_t clock_mask = (std::uint64_t{1} << timestamp_bits) - 1;

rig_options of_variant(model::variant kind) {
  rig_options o = exact();
  o.machine.model.kind = kind;
  return o;
}

/// Asks for the place and the rate of the clock, and finds it.
status find(device_clock& clock_of, verbs_rig& rig) {
  firmware_command<commands::query_fw> place;
  firmware_command<commands::query_hca> rate;
  rig.adapter.commands().submit(place);
  FREEHCA_TRY(rig.await(place));
  rig.adapter.commands().submit(rate);
  FREEHCA_TRY(rig.await(rate));
  return clock_of.find(rig.adapter, place.output, rate.output);
}

/// Two connected queue pairs, whose completions go to one extended completion queue.
struct connected {
  explicit connected(rig_options how, const extended_completion_queue_attributes& shape)
      : rig(how), before(counts(rig)) {
    domain = rig.objects.create<protection_domain>().value();
    create_extended_completion_queue cq;
    cq.start(rig.objects, shape);
    EXPECT_TRUE(rig.await(cq).ok());
    queue = cq.made();
    for (qp_handle& q : pair) {
      create_queue_pair qp;
      qp.start(rig.objects,
               {.pd = domain, .send_cq = queue, .receive_cq = queue, .sends = 16, .receives = 16});
      const status s = rig.await(qp);
      EXPECT_TRUE(s.ok()) << words(s);
      q = qp.made();
    }
    for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts})
      for (unsigned i = 0; i < 2; ++i) EXPECT_TRUE(move(i, to).ok());
  }
  ~connected() {
    for (const qp_handle q : pair) {
      destroy_queue_pair qp;
      qp.start(rig.objects, q);
      EXPECT_TRUE(rig.await(qp).ok());
    }
    EXPECT_TRUE(destroy().ok());
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
    EXPECT_EQ(counts(rig), before);
  }
  connected(const connected&) = delete;
  connected& operator=(const connected&) = delete;

  status destroy() {
    destroy_extended_completion_queue cq;
    cq.start(rig.objects, queue);
    return rig.await(cq);
  }
  status move(unsigned i, qp_state to) {
    connection_attributes a;
    a.remote_qpn = qpn_of(rig.objects, pair[1 - i]);
    a.address = infiniband_path{.dlid = rig.adapter.port(1).lid};
    modify_queue_pair m;
    m.start(rig.objects, pair[i], to, a);
    return rig.await(m);
  }
  /// Sends a message without data, and takes both of its completions.
  std::vector<queues::work_completion> exchange() {
    EXPECT_TRUE(rig.objects.find(pair[1])->rings.receive.post_and_ring({}).ok());
    EXPECT_TRUE(rig.objects.find(pair[0])->rings.send.post_and_ring(queues::send_list{}).ok());
    std::vector<queues::work_completion> done;
    queues::work_completion one;
    EXPECT_TRUE(rig.run([&] {
      if (rig.objects.find(queue)->take(&one, 1) == 1) done.push_back(one);
      return done.size() == 2;
    }));
    for (const queues::work_completion& c : done) EXPECT_TRUE(c.ok());
    return done;
  }
  void expect_no_complaint() {
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u)
        << (rig.machine.complaints().empty() ? "" : rig.machine.complaints().front());
  }

  verbs_rig rig;
  std::vector<std::uint64_t> before;
  pd_handle domain;
  extended_cq_handle queue;
  qp_handle pair[2];
};

TEST(extended_queue_test, timestamps_are_times_of_the_clock) {
  for (const model::variant kind : {model::variant::connectx3_pro, model::variant::connectx3}) {
    connected c(of_variant(kind), {{.entries = 63}, true});
    device_clock clock_of;
    ASSERT_TRUE(find(clock_of, c.rig).ok());
    std::uint64_t last = clock_of.read() & clock_mask;
    for (unsigned i = 0; i < 8; ++i) {
      c.rig.machine.advance(clock::milliseconds(3));
      const std::uint64_t sent = clock_of.read() & clock_mask;
      EXPECT_GT(sent, last);
      std::uint64_t latest = 0;
      for (const queues::work_completion& done : c.exchange()) {
        EXPECT_GE(timestamp_of(done), sent);
        latest = std::max(latest, timestamp_of(done));
      }
      last = clock_of.read() & clock_mask;
      EXPECT_LE(latest, last);
    }
    c.expect_no_complaint();
  }
}

TEST(extended_queue_test, a_low_part_of_zero_means_one_more_in_the_upper_part) {
  using rows = layouts::cqe_timestamp;
  const auto time_of = [](std::uint32_t high, std::uint16_t low) {
    layouts::image<rows> e;
    e.set<&rows::timestamp_47_16>(high).set<&rows::timestamp_15_0>(low);
    queues::work_completion c;
    std::memcpy(c.entry, e.data(), rows::bytes);
    return timestamp_of(c);
  };
  EXPECT_EQ(time_of(0, 0), 0x10000u);
  EXPECT_EQ(time_of(0, 1), 1u);
  EXPECT_EQ(time_of(0x12345678, 0), 0x123456790000u);
  EXPECT_EQ(time_of(0x12345678, 0xffff), 0x12345678ffffu);
  EXPECT_EQ(time_of(0xffffffff, 0), 0u);
  EXPECT_EQ(time_of(0xffffffff, 0xffff), clock_mask);
}

TEST(extended_queue_test, without_timestamps_an_entry_has_the_lid) {
  connected c(exact(), {{.entries = 63}});
  for (const queues::work_completion& done : c.exchange()) {
    if (!done.is_receive()) continue;
    EXPECT_EQ(done.slid(), c.rig.adapter.port(1).lid);
    EXPECT_EQ(done.sl(), 0u);
  }
  c.expect_no_complaint();
}

TEST(extended_queue_test, a_resized_queue_keeps_its_timestamps) {
  connected c(exact(), {{.entries = 15}, true});
  std::uint64_t last = 0;
  for (const std::uint32_t entries : {63u, 7u}) {
    create_completion_ring ring;
    ring.start(c.rig.objects, {.entries = entries});
    ASSERT_TRUE(c.rig.await(ring).ok());
    resize_completion_queue resize;
    resize.start(c.rig.objects, c.queue, ring.made());
    ASSERT_TRUE(c.rig.await(resize).ok());
    destroy_completion_ring gone;
    gone.start(c.rig.objects, ring.made());
    ASSERT_TRUE(c.rig.await(gone).ok());
    for (const queues::work_completion& done : c.exchange()) {
      EXPECT_GE(timestamp_of(done), last);
      last = timestamp_of(done);
    }
  }
  EXPECT_NE(last, 0u);
  c.expect_no_complaint();
}

TEST(extended_queue_test, one_in_use_stays_and_a_destroyed_one_has_no_handle) {
  connected c(exact(), {{.entries = 63}, true});
  EXPECT_TRUE(c.destroy().is(driver_error::busy));
  EXPECT_EQ(c.exchange().size(), 2u);
  create_extended_completion_queue other;
  other.start(c.rig.objects, {{.entries = 1}, true});
  ASSERT_TRUE(c.rig.await(other).ok());
  for (const bool first : {true, false}) {
    destroy_extended_completion_queue gone;
    gone.start(c.rig.objects, other.made());
    EXPECT_EQ(c.rig.await(gone).ok(), first);
    if (!first) {
      EXPECT_TRUE(gone.outcome().is(driver_error::stale_handle));
    }
  }
  // A completion queue of another kind does not stand in for it.
  create_completion_queue plain;
  plain.start(c.rig.objects, {.entries = 1});
  ASSERT_TRUE(c.rig.await(plain).ok());
  const extended_cq_handle forged{plain.made().index, plain.made().generation};
  EXPECT_EQ(c.rig.objects.find(forged), nullptr);
  destroy_completion_queue gone;
  gone.start(c.rig.objects, plain.made());
  EXPECT_TRUE(c.rig.await(gone).ok());
  c.expect_no_complaint();
}

TEST(extended_queue_test, sizes_beyond_the_limits_are_refused) {
  verbs_rig rig(exact());
  const unsigned most = (1u << std::min(rig.adapter.capabilities().log_most_cqes, 22u)) - 1;
  for (const std::uint32_t entries : {0u, most + 1}) {
    create_extended_completion_queue cq;
    cq.start(rig.objects, {{.entries = entries}, true});
    EXPECT_TRUE(rig.await(cq).is(driver_error::bad_argument));
    EXPECT_EQ(rig.objects.refused().what, attribute_id::completion_entries);
    EXPECT_EQ(rig.objects.refused().value, entries);
  }
  EXPECT_TRUE(rig.objects.holdings().none());
}

TEST(extended_queue_test, an_ignored_overrun_has_no_event) {
  for (const bool ignored : {true, false}) {
    unsigned overruns = 0;
    rig_options how = exact();
    how.events.context = &overruns;
    how.events.cq_error = [](void* context, cq_handle, void*, layouts::cq_error_syndrome) noexcept {
      ++*static_cast<unsigned*>(context);
    };
    connected c(how, {{.entries = 1}, false, ignored});
    queues::sq& send = c.rig.objects.find(c.pair[0])->rings.send;
    for (unsigned i = 0; i < 4; ++i) EXPECT_TRUE(send.post(queues::send_list{}).ok());
    send.ring();
    EXPECT_TRUE(c.move(0, qp_state::error).ok());
    c.rig.run([&] { return overruns != 0; }, clock::seconds(1));
    EXPECT_EQ(overruns, ignored ? 0u : 1u);
  }
}

TEST(device_clock_test, runs_at_the_rate_that_it_names) {
  verbs_rig rig(exact());
  device_clock clock_of;
  ASSERT_TRUE(find(clock_of, rig).ok());
  EXPECT_EQ(clock_of.megahertz(), 427u);
  // The lower word wraps around meanwhile.
  for (const std::uint64_t seconds : {1u, 20u}) {
    const std::uint64_t from = clock_of.read();
    rig.machine.advance(clock::seconds(seconds));
    EXPECT_NEAR(static_cast<double>(clock_of.read() - from), static_cast<double>(seconds) * 427e6,
                427e3);
  }
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
}

TEST(device_clock_test, an_adapter_without_a_clock_refuses_clock_and_timestamps) {
  rig_options without = exact();
  without.machine.model.without.add(model::capability::clock);
  for (const rig_options& how : {without, of_variant(model::variant::connectx2)}) {
    verbs_rig rig(how);
    device_clock clock_of;
    EXPECT_TRUE(find(clock_of, rig).is(driver_error::unsupported));
    for (const bool timestamps : {true, false}) {
      create_extended_completion_queue cq;
      cq.start(rig.objects, {{.entries = 1}, timestamps});
      const status s = rig.await(cq);
      EXPECT_EQ(s.ok(), !timestamps);
      if (timestamps) {
        EXPECT_TRUE(s.is(driver_error::unsupported));
        EXPECT_EQ(s.where(), extended_completion_queue::facts.item);
        continue;
      }
      destroy_extended_completion_queue gone;
      gone.start(rig.objects, cq.made());
      EXPECT_TRUE(rig.await(gone).ok());
    }
    EXPECT_TRUE(rig.objects.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
  }
}

/// The firmware says that the clock is at another place, or has another rate.
TEST(device_clock_test, a_place_that_is_not_mapped_is_a_bad_answer) {
  using fw = layouts::query_fw;
  struct answer {
    std::uint64_t bar, at;
    bool good;
  };
  const std::uint64_t end = 0x100000;  // of BAR 0
  for (const answer a : {answer{0, end - 8, true}, answer{0, end - 4, false}, answer{0, end, false},
                         answer{0, ~std::uint64_t{0}, false}, answer{0, 2, false},
                         answer{1, 0x1000, true}, answer{2, 0, false}, answer{3, 0, false}}) {
    verbs_rig rig(exact());
    opcode last{};
    rig.machine.adapter().judge_commands([&last](opcode code, std::uint32_t) {
      last = code;
      return model::command_verdict{};
    });
    rig.machine.alter_adapter_write = [&](std::uint64_t, std::byte* to, std::size_t count) {
      if (last != opcode::query_fw || count < fw::bytes) return;
      auto image = layouts::image<fw>::from_bytes(to);
      image.set<&fw::clock_bar>(a.bar).set<&fw::clock_offset>(a.at);
      std::memcpy(to, image.data(), fw::bytes);
    };
    device_clock clock_of;
    const status s = find(clock_of, rig);
    EXPECT_EQ(s.ok(), a.good) << a.bar << ", " << a.at;
    if (!a.good) {
      EXPECT_TRUE(s.is(transport_error::bad_reply));
    }
    rig.machine.alter_adapter_write = {};
    rig.machine.adapter().judge_commands({});
  }
}

TEST(device_clock_test, a_rate_of_zero_means_that_there_is_no_clock) {
  using hca = layouts::init_hca;
  verbs_rig rig(exact());
  opcode last{};
  rig.machine.adapter().judge_commands([&last](opcode code, std::uint32_t) {
    last = code;
    return model::command_verdict{};
  });
  rig.machine.alter_adapter_write = [&](std::uint64_t, std::byte* to, std::size_t count) {
    if (last != opcode::query_hca || count < hca::bytes) return;
    auto image = layouts::image<hca>::from_bytes(to);
    image.set<&hca::hca_core_clock>(0);
    std::memcpy(to, image.data(), hca::bytes);
  };
  device_clock clock_of;
  EXPECT_TRUE(find(clock_of, rig).is(driver_error::unsupported));
  rig.machine.alter_adapter_write = {};
  rig.machine.adapter().judge_commands({});
}

}  // namespace
}  // namespace freehca::testing::extended_queues
