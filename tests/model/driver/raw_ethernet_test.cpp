// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Raw Ethernet queue pairs: frames out to the cable of an Ethernet port, and frames in from it.
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <freehca/firmware_cmds/raw_command.hpp>
#include <freehca/hca/kinds/queue_pair_changes.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/queues/blueflame.hpp>
#include <freehca/queues/frame_requests.hpp>
#include <freehca/queues/received_frame.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "counts.hpp"

namespace freehca::testing::raw_ethernet_tests {
namespace {

using layouts::qp_state;
using queues::completion_status;
using queues::work_completion;
using queues::work_opcode;
using frame = std::vector<std::byte>;

constexpr std::uint64_t own_mac = 0x0002c9f0ca01, peer_mac = 0x525400000702;
constexpr std::size_t receive_at = 0x8000;

frame from_hex(std::string_view text) {
  frame all;
  int high = -1;
  for (const char c : text) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (high < 0) high = digit;
    else all.push_back(static_cast<std::byte>(high << 4 | digit)), high = -1;
  }
  return all;
}

/// UDP over IPv4 with right checksums, and the headers of a TCP segment: of the model's own tests,
/// whose bytes a script computed (RFC 1071).
const frame udp_frame = from_hex(
    "0002c9f0ca01 525400000702 0800"
    "4500002c00010000401154be0a0009020a000901"
    "1f900035001881b6 000102030405060708090a0b0c0d0e0f");
const frame tcp_headers = from_hex(
    "525400000702 0002c9f0ca01 0800"
    "4500000000074000400600000a0009010a000902"
    "12340050000003e800000001509903e800000000");

frame plain(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  frame f(bytes);
  for (unsigned i = 0; i < 6 && 6 + i < bytes; ++i) {
    f[i] = static_cast<std::byte>(to >> 8 * (5 - i) & 0xff);
    f[6 + i] = static_cast<std::byte>(from >> 8 * (5 - i) & 0xff);
  }
  if (bytes >= 14) f[12] = std::byte{0x88}, f[13] = std::byte{0xb5};
  for (std::size_t i = 14; i < bytes; ++i) f[i] = static_cast<std::byte>(i * 7 + 3);
  return f;
}

class raw_ethernet : public ::testing::Test {
 protected:
  explicit raw_ethernet(std::optional<model::capability> without = {})
      : rig(options_without(without)) {
    rig.machine.on_link_send = [this](unsigned port, const std::byte* from, std::size_t bytes) {
      if (port == 1) sent.emplace_back(from, from + bytes);
      return true;
    };
    port_operation open;
    open.open(rig.adapter, 1);
    EXPECT_TRUE(rig.await(open).ok());
    EXPECT_TRUE(rig.run([&] { return rig.adapter.port(1).active(); }, clock::seconds(10)));
    before = counts(rig);
    domain = rig.objects.create<protection_domain>().value();
    create_completion_queue cq;
    cq.start(rig.objects, {.entries = 63});
    EXPECT_TRUE(rig.await(cq).ok());
    completion = cq.made();
    buffer.emplace(rig, domain, 0x10000, 24, memory_access{.local_write = true});
  }
  ~raw_ethernet() override {
    if (pair) {
      steer(false);
      EXPECT_TRUE(destroy(pair).ok());
    }
    buffer.reset();
    destroy_completion_queue cq;
    cq.start(rig.objects, completion);
    EXPECT_TRUE(rig.await(cq).ok());
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
    EXPECT_EQ(counts(rig), before);
    for (const std::string& c : rig.machine.complaints()) ADD_FAILURE() << c;
  }
  static rig_options options_without(std::optional<model::capability> without) {
    rig_options how = exact();
    how.objects = every_kind().with<raw_ethernet_queue_pair>(200);
    how.machine.model.link[0] = model::link_layer::ethernet;
    how.machine.model.cable[0] = true;
    if (without) how.machine.model.without.add(*without);
    return how;
  }

  raw_ethernet_attributes shape() const {
    return {{.pd = domain,
             .send_cq = completion,
             .receive_cq = completion,
             .sends = 8,
             .receives = 8,
             .gather = 4,
             .scatter = 2,
             .inline_bytes = 200}};
  }
  status create(const raw_ethernet_attributes& a) {
    create_raw_ethernet_queue_pair op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    if (s.ok()) pair = op.made();
    return s;
  }
  status destroy(raw_ethernet_qp_handle& which) {
    destroy_raw_ethernet_queue_pair op;
    op.start(rig.objects, which);
    const status s = rig.await(op);
    if (s.ok()) which = {};
    return s;
  }
  status move(qp_state to, const raw_ethernet_path& path = {}) {
    modify_queue_pair op;
    op.start(rig.objects, pair, to, {.address = path});
    return rig.await(op);
  }
  void make(const raw_ethernet_attributes& a, const raw_ethernet_path& path = {}) {
    const status s = create(a);
    ASSERT_TRUE(s.ok()) << words(s);
    for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
      const status moved = move(to, path);
      ASSERT_TRUE(moved.ok()) << static_cast<unsigned>(to) << ": " << words(moved);
    }
    steer(true);
  }
  /// Frames to addresses that have no entry of their own go to the queue pair: the entries that
  /// Linux writes for a promiscuous port (6.1 mcg.c add_promisc_qp).
  void steer(bool to_the_pair) {
    using layouts::mcg_header;
    std::byte entry[0x200] = {};
    layouts::image<mcg_header> head;
    head.set<&mcg_header::protocol>(layouts::mcg_protocol::ethernet)
        .set<&mcg_header::members_count>(to_the_pair);
    std::memcpy(entry, head.data(), mcg_header::bytes);
    if (to_the_pair) layouts::store_be(entry + mcg_header::bytes, qpn_of(rig.objects, pair));
    for (const auto table : {layouts::mcg_steering::multicast, layouts::mcg_steering::unicast}) {
      command_client user{rig.adapter.commands()};
      raw_command write;
      write.request.opcode = layouts::opcode::write_mcg;
      write.request.opcode_modifier =
          static_cast<std::uint8_t>(layouts::write_mcg_modifier::promiscuous);
      write.request.input_modifier = 1u << 16 | static_cast<unsigned>(table) << 1;
      write.set_input_mailbox(entry, sizeof entry);
      user.submit(write);
      ASSERT_TRUE(rig.await(write).ok());
    }
  }

  queue_pair& object() { return *rig.objects.find(pair); }
  queues::sq& send() { return object().rings.send; }
  queues::data_entry put(const frame& f, std::size_t at = 0) {
    std::memcpy(buffer->at(at), f.data(), f.size());
    return buffer->entry(at, f.size());
  }
  work_completion next() {
    work_completion w;
    w.status = completion_status::unknown_syndrome;
    auto& cq = rig.objects.find(completion)->rings;
    EXPECT_TRUE(rig.run([&] { return cq.poll(&w, 1) == 1; }, clock::seconds(10)));
    return w;
  }
  bool nothing_more() {
    rig.run([] { return false; }, clock::milliseconds(1));
    return !rig.objects.find(completion)->rings.pending();
  }
  void expect_sent(std::size_t frames, const char* where = "") {
    const work_completion w = next();
    EXPECT_TRUE(w.ok()) << where << name_of(w.status);
    EXPECT_EQ(w.opcode, work_opcode::send) << where;
    rig.run([&] { return sent.size() >= frames; }, clock::milliseconds(10));
    ASSERT_EQ(sent.size(), frames) << where;
  }
  void post_receive(std::size_t bytes = 0x2000) {
    const queues::data_entry to = buffer->entry(receive_at, bytes);
    ASSERT_TRUE(object().rings.receive.post_and_ring({.wr_id = 9, .list = &to, .entries = 1}).ok());
  }
  work_completion receive(const frame& f) {
    post_receive();
    rig.machine.adapter().link_receive(1, f.data(), f.size());
    const work_completion w = next();
    EXPECT_TRUE(w.ok()) << name_of(w.status);
    EXPECT_EQ(w.wr_id, 9u);
    return w;
  }
  frame received(std::size_t bytes) {
    return {buffer->at(receive_at), buffer->at(receive_at) + bytes};
  }
  static frame tagged(frame f, std::string_view tag) {
    const frame t = from_hex(tag);
    f.insert(f.begin() + 12, t.begin(), t.end());
    return f;
  }
  layouts::image<layouts::qpc> context() {
    query_queue_pair q;
    q.start(rig.objects, pair);
    EXPECT_TRUE(rig.await(q).ok());
    return q.context();
  }

  std::vector<frame> sent;  ///< by port 1, to its cable
  verbs_rig rig;
  std::vector<std::uint64_t> before;
  pd_handle domain;
  cq_handle completion;
  raw_ethernet_qp_handle pair;
  std::optional<registered_buffer> buffer;
};

TEST_F(raw_ethernet, a_frame_leaves_as_it_was_posted) {
  make(shape());
  for (const std::size_t bytes : {60u, 61u, 1000u, 1514u}) {
    const frame f = plain(peer_mac, own_mac, bytes);
    sent.clear();
    ASSERT_TRUE(send().post_and_ring(queues::send_frame{.wr_id = 1, .data = put(f)}).ok());
    expect_sent(1);
    EXPECT_EQ(sent[0], f) << bytes;
    // Gathered, with an empty entry.
    const queues::data_entry pieces[] = {buffer->entry(0, 14), {}, buffer->entry(14, bytes - 14)};
    ASSERT_TRUE(send().post_and_ring(queues::send_frame_list{.data = {pieces, 3}}).ok());
    expect_sent(2);
    EXPECT_EQ(sent[1], f) << bytes;
  }
  const frame f = plain(peer_mac, own_mac, 150);
  sent.clear();
  ASSERT_TRUE(send().post_and_ring(queues::send_frame_inline{.data = {f.data(), 150}}).ok());
  expect_sent(1);
  EXPECT_EQ(sent[0], f);
}

TEST_F(raw_ethernet, the_context_is_that_of_linux) {
  using layouts::primary_path;
  using layouts::qpc;
  make(shape());
  const auto c = context();
  EXPECT_EQ(c.get<&qpc::service>(), layouts::qp_service::mlx);
  EXPECT_EQ(c.get<&qpc::mtu>(), layouts::ib_mtu::raw_ethernet);
  EXPECT_EQ(c.get<&qpc::msg_max>(), 31u);
  EXPECT_TRUE(c.get<&qpc::vsd>());
  EXPECT_FALSE(c.get<&qpc::scatter_fcs>());
  EXPECT_EQ(c.get<&primary_path::link_type>(), layouts::path_link::ethernet);
  EXPECT_EQ(c.get<&primary_path::sched_queue>(), layouts::sched_queue_ethernet(1, 0));
  EXPECT_FALSE(c.get<&primary_path::feup>());
  EXPECT_FALSE(c.get<&primary_path::grh>());
}

TEST_F(raw_ethernet, frames_of_every_lap_of_the_ring_leave_in_order) {
  make(shape());
  const frame f = plain(peer_mac, own_mac, 64);
  for (unsigned i = 0; i < 200; ++i) {
    frame g = f;
    g[20] = static_cast<std::byte>(i);
    sent.clear();
    ASSERT_TRUE(send().post_and_ring(queues::send_frame{.wr_id = i, .data = put(g)}).ok());
    expect_sent(1);
    ASSERT_EQ(sent[0], g) << i;
  }
}

TEST_F(raw_ethernet, the_ring_holds_what_was_asked_and_no_more) {
  make(shape());
  const queues::data_entry entry = put(plain(peer_mac, own_mac, 64));
  std::vector<queues::send_frame> many(send().most_outstanding() + 1, {.data = entry});
  EXPECT_GE(send().most_outstanding(), 8u);
  const auto posted = send().post_many(many.data(), static_cast<unsigned>(many.size()));
  EXPECT_EQ(posted, send().most_outstanding());
  EXPECT_TRUE(send().post(many[0]).is(driver_error::queue_full));
  send().ring();
  for (unsigned i = 0; i < posted; ++i) EXPECT_TRUE(next().ok());
  EXPECT_EQ(sent.size(), posted);
}

TEST_F(raw_ethernet, checksums_are_put_in_where_the_request_asks_for_them) {
  make(shape());
  frame f = udp_frame;
  f[24] = f[25] = f[40] = f[41] = std::byte{0x55};
  frame whole = udp_frame;
  whole.resize(60);
  const queues::data_entry entry = put(f);
  ASSERT_TRUE(send()
                  .post_and_ring(queues::send_frame{
                      .data = entry, .frame = {.ip_checksum = true, .l4_checksum = true}})
                  .ok());
  expect_sent(1);
  EXPECT_EQ(sent[0], whole);
  ASSERT_TRUE(
      send().post_and_ring(queues::send_frame{.data = entry, .frame = {.ip_checksum = true}}).ok());
  expect_sent(2);
  EXPECT_EQ(sent[1][24], whole[24]);
  EXPECT_EQ(sent[1][40], std::byte{0x55});
  ASSERT_TRUE(send().post_and_ring(queues::send_frame{.data = entry}).ok());
  expect_sent(3);
  EXPECT_EQ(sent[2][24], std::byte{0x55});
}

TEST_F(raw_ethernet, a_tag_is_put_behind_the_source_address) {
  make(shape());
  const frame f = plain(peer_mac, own_mac, 64);
  const queues::data_entry entry = put(f);
  struct {
    queues::frame_options how;
    const char* tag;
  } const cases[] = {{{.vlan = 5, .priority = 3}, "81006005"},
                     {{.vlan = 0}, "81000000"},
                     {{.vlan = 4094, .priority = 7}, "8100effe"},
                     {{.service_tag = true, .vlan = 6}, "88a80006"}};
  for (const auto& c : cases) {
    sent.clear();
    ASSERT_TRUE(send().post_and_ring(queues::send_frame{.data = entry, .frame = c.how}).ok());
    expect_sent(1, c.tag);
    EXPECT_EQ(sent[0], tagged(f, c.tag)) << c.tag;
  }
  for (const queues::frame_options& wrong :
       {queues::frame_options{.vlan = 4095}, queues::frame_options{.vlan = 0xfffe},
        queues::frame_options{.vlan = 1, .priority = 8},
        queues::frame_options{.loopback_mac = std::uint64_t{1} << 48}})
    EXPECT_TRUE(send()
                    .post(queues::send_frame{.data = entry, .frame = wrong})
                    .is(driver_error::bad_argument));
}

TEST_F(raw_ethernet, a_queue_pair_can_force_the_priority_of_its_tags) {
  make(shape(), {.priority = 5});
  const frame f = plain(peer_mac, own_mac, 64);
  ASSERT_TRUE(
      send()
          .post_and_ring(queues::send_frame{.data = put(f), .frame = {.vlan = 7, .priority = 3}})
          .ok());
  expect_sent(1);
  EXPECT_EQ(sent[0], tagged(f, "8100a007"));
}

TEST_F(raw_ethernet, a_large_send_becomes_frames) {
  raw_ethernet_attributes a = shape();
  a.header_bytes = static_cast<std::uint16_t>(tcp_headers.size());
  make(a);
  for (unsigned i = 0; i < 30; ++i) *buffer->at(i) = static_cast<std::byte>(100 + i);
  const char* const wanted[] = {
      "525400000702 0002c9f0ca01 0800 4500003400074000400614bb0a0009010a000902"
      "12340050000003e800000001509003e8f6720000 6465666768696a6b6c6d6e6f",
      "525400000702 0002c9f0ca01 0800 4500003400084000400614ba0a0009010a000902"
      "12340050000003f400000001501003e8ae9e0000 707172737475767778797a7b",
      "525400000702 0002c9f0ca01 0800 4500002e00094000400614bf0a0009010a000902"
      "123400500000040000000001501903e8f3d70000 7c7d7e7f8081"};
  queues::send_large_frame_list r{
      .wr_id = 4,
      .headers = {tcp_headers.data(), static_cast<std::uint16_t>(tcp_headers.size()), 12},
      .frame = {.ip_checksum = true, .l4_checksum = true}};
  const queues::data_entry pieces[] = {buffer->entry(0, 7), {}, buffer->entry(7, 23)};
  r.data = {pieces, 3};
  for (unsigned lap = 0; lap < 70; ++lap) {
    sent.clear();
    ASSERT_TRUE(send().post_and_ring(r).ok());
    expect_sent(3);
    for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(sent[i], from_hex(wanted[i])) << lap << ", " << i;
  }
  EXPECT_TRUE(nothing_more());

  // With a tag, and with one entry.
  sent.clear();
  queues::send_large_frame one{
      .headers = r.headers,
      .data = buffer->entry(0, 30),
      .frame = {.ip_checksum = true, .l4_checksum = true, .vlan = 5, .priority = 3}};
  ASSERT_TRUE(send().post_and_ring(one).ok());
  expect_sent(3);
  EXPECT_EQ(sent[2], tagged(from_hex(wanted[2]), "81006005"));
}

/// Headers of each length that fills a part of the second or of the third block of the WQE.
TEST_F(raw_ethernet, headers_of_all_lengths_reach_every_frame) {
  raw_ethernet_attributes a = shape();
  a.header_bytes = 54 + 40 + 40;
  make(a);
  for (unsigned options = 0; options <= 40; options += 4) {
    for (const bool with_more : {false, true}) {
      // The options of TCP, and those of IPv4.
      frame h = tcp_headers;
      h[14] = std::byte(0x45 + (with_more ? 10 : 0));
      h[46] = std::byte(0x50 + 0x10 * (options / 4));
      if (with_more) h.insert(h.begin() + 34, 40, std::byte{1});
      h.insert(h.end(), options, std::byte{1});
      for (std::size_t i = 0; i < 20; ++i) *buffer->at(i) = static_cast<std::byte>(i);
      sent.clear();
      ASSERT_TRUE(send()
                      .post_and_ring(queues::send_large_frame{
                          .headers = {h.data(), static_cast<std::uint16_t>(h.size()), 10},
                          .data = buffer->entry(0, 20)})
                      .ok());
      expect_sent(2);
      for (unsigned n = 0; n < 2; ++n) {
        ASSERT_GE(sent[n].size(), h.size() + 10);
        // The MAC addresses, the addresses and ports, and the options stay.
        EXPECT_EQ(std::memcmp(sent[n].data(), h.data(), 16), 0);
        EXPECT_EQ(std::memcmp(sent[n].data() + 26, h.data() + 26, with_more ? 52 : 12), 0);
        EXPECT_EQ(std::memcmp(sent[n].data() + h.size() - options, h.data() + h.size() - options,
                              options),
                  0);
        EXPECT_EQ(std::memcmp(sent[n].data() + h.size(), buffer->at(n * 10), 10), 0)
            << options << with_more;
      }
    }
  }
}

TEST_F(raw_ethernet, large_sends_that_cannot_be_are_refused) {
  raw_ethernet_attributes a = shape();
  a.gather = 2;
  a.header_bytes = 60;
  make(a);
  const frame h(2000, std::byte{1});
  const auto post = [&](const std::byte* from, std::size_t bytes, std::uint16_t payload,
                        std::size_t data) {
    return send().post(
        queues::send_large_frame{.headers = {from, static_cast<std::uint16_t>(bytes), payload},
                                 .data = buffer->entry(0, data)});
  };
  EXPECT_TRUE(post(nullptr, 54, 10, 100).is(driver_error::bad_argument));
  EXPECT_TRUE(post(h.data(), 0, 10, 100).is(driver_error::bad_argument));
  EXPECT_TRUE(post(h.data(), 16, 10, 100).is(driver_error::bad_argument));
  EXPECT_TRUE(post(h.data(), 54, 0, 100).is(driver_error::bad_argument));
  EXPECT_TRUE(post(h.data(), 54, 10, 0).is(driver_error::bad_argument));
  EXPECT_TRUE(post(h.data(), 300, 10, 100).is(driver_error::bad_argument));
  EXPECT_TRUE(post(h.data(), 2000, 10, 100).is(driver_error::bad_argument));
  // More than the device cuts, and more entries than the queue has.
  const std::uint64_t most =
      std::uint64_t{1}
      << rig.adapter.capabilities().raw.get<&layouts::query_dev_cap::log_max_gso_sz>();
  EXPECT_TRUE(post(h.data(), 54, 10, most + 1).is(driver_error::bad_argument));
  const queues::data_entry three[3] = {buffer->entry(0, 8), buffer->entry(8, 8),
                                       buffer->entry(16, 8)};
  EXPECT_TRUE(
      send()
          .post(queues::send_large_frame_list{.headers = {h.data(), 54, 10}, .data = {three, 3}})
          .is(driver_error::bad_argument));
  EXPECT_EQ(send().posted(), 0u);

  // Headers that are none of TCP or UDP: the device judges them.
  ASSERT_TRUE(post(h.data(), 54, 10, 100).ok());
  send().ring();
  EXPECT_EQ(next().status, completion_status::local_qp_operation);
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(object().qp_state, qp_state::sq_error);
  EXPECT_TRUE(send()
                  .post(queues::send_frame{.data = put(plain(peer_mac, own_mac, 64))})
                  .is(driver_error::bad_state));

  // The send queue goes on after SQE and SQD.
  const auto change = [&](qp_state to) {
    change_queue_pair op;
    op.start(rig.objects, pair, to, {});
    return rig.await(op);
  };
  const queues::send_frame r{.data = put(plain(peer_mac, own_mac, 64))};
  ASSERT_TRUE(change(qp_state::rts).ok());
  ASSERT_TRUE(send().post_and_ring(r).ok());
  expect_sent(1);
  ASSERT_TRUE(change(qp_state::sq_draining).ok());
  query_queue_pair q;
  q.start(rig.objects, pair);
  ASSERT_TRUE(rig.await(q).ok());
  EXPECT_EQ(object().qp_state, qp_state::sq_drained);
  ASSERT_TRUE(change(qp_state::rts).ok());
  ASSERT_TRUE(send().post_and_ring(r).ok());
  expect_sent(2);
}

TEST_F(raw_ethernet, a_queue_pair_without_room_for_headers_has_no_large_sends) {
  make(shape());
  EXPECT_TRUE(send()
                  .post(queues::send_large_frame{.headers = {tcp_headers.data(), 54, 10},
                                                 .data = buffer->entry(0, 30)})
                  .is(driver_error::unsupported));
  // Nor has it requests of other services.
  EXPECT_TRUE(
      send().post(queues::send{.data = buffer->entry(0, 64)}).is(driver_error::unsupported));
  EXPECT_TRUE(
      send().post(queues::rdma_write{.data = buffer->entry(0, 64)}).is(driver_error::unsupported));
  EXPECT_TRUE(send().post(queues::send_datagram{}).is(driver_error::unsupported));
  ASSERT_TRUE(send().post_and_ring(queues::nop{.wr_id = 3}).ok());
  EXPECT_EQ(next().opcode, work_opcode::nop);
}

TEST_F(raw_ethernet, frames_of_wrong_lengths) {
  make(shape());
  for (const std::size_t bytes : {0u, 1u, 14u, 16u}) {
    EXPECT_TRUE(send()
                    .post(queues::send_frame{.data = buffer->entry(0, bytes)})
                    .is(driver_error::bad_argument))
        << bytes;
    EXPECT_TRUE(send()
                    .post(queues::send_frame_inline{
                        .data = {buffer->at(0), static_cast<std::uint32_t>(bytes)}})
                    .is(driver_error::bad_argument));
  }
  EXPECT_TRUE(send()
                  .post(queues::send_frame_inline{.data = {buffer->at(0), 201}})
                  .is(driver_error::bad_argument));
  EXPECT_EQ(send().posted(), 0u);
  const frame f = plain(peer_mac, own_mac, 17);
  ASSERT_TRUE(send().post_and_ring(queues::send_frame{.data = put(f)}).ok());
  expect_sent(1);
  frame padded = f;
  padded.resize(60);
  EXPECT_EQ(sent[0], padded);
  // The port drops a frame that it does not hold.
  ASSERT_TRUE(send().post_and_ring(queues::send_frame{.data = buffer->entry(0, 20000)}).ok());
  expect_sent(1);
}

TEST_F(raw_ethernet, a_received_frame_has_its_length_and_its_checksums) {
  make(shape());
  const frame f = plain(own_mac, peer_mac, 200);
  work_completion w = receive(f);
  EXPECT_EQ(w.byte_count, 200u);
  EXPECT_EQ(w.opcode, work_opcode::receive);
  EXPECT_EQ(received(200), f);
  EXPECT_FALSE(queues::received_frame(w).is_ipv4());
  frame g = udp_frame;
  for (const bool right : {true, false}) {
    if (!right) g.back() ^= std::byte{1};
    w = receive(g);
    const queues::received_frame got(w);
    EXPECT_TRUE(got.is_ipv4() && got.is_udp() && got.ip_checksum_ok());
    EXPECT_FALSE(got.is_tcp() || got.is_ipv6() || got.is_tagged());
    EXPECT_EQ(got.l4_checksum_ok(), right);
  }
  g = udp_frame;
  g[24] ^= std::byte{1};
  w = receive(g);
  EXPECT_FALSE(queues::received_frame(w).ip_checksum_ok());
}

TEST_F(raw_ethernet, a_tag_stays_in_the_frame_or_goes_to_the_completion) {
  make(shape());
  const frame f = plain(own_mac, peer_mac, 100), with_tag = tagged(f, "81006005");
  work_completion w = receive(with_tag);
  EXPECT_EQ(w.byte_count, 104u);
  EXPECT_EQ(received(104), with_tag);
  EXPECT_TRUE(queues::received_frame(w).is_tagged());
  steer(false);
  ASSERT_TRUE(destroy(pair).ok());

  raw_ethernet_attributes a = shape();
  a.keep_tags = false;
  make(a);
  w = receive(with_tag);
  const queues::received_frame got(w);
  EXPECT_EQ(w.byte_count, 100u);
  EXPECT_EQ(received(100), f);
  EXPECT_TRUE(got.is_tagged());
  EXPECT_FALSE(got.has_service_tag());
  EXPECT_EQ(got.vlan(), 5u);
  EXPECT_EQ(got.priority(), 3u);
}

TEST_F(raw_ethernet, the_frame_check_sequence_is_kept_where_asked) {
  raw_ethernet_attributes a = shape();
  a.keep_check_sequence = true;
  make(a);
  const frame f = plain(own_mac, peer_mac, 100);
  const work_completion w = receive(f);
  EXPECT_EQ(w.byte_count, 104u);
  EXPECT_EQ(received(100), f);
}

TEST_F(raw_ethernet, a_frame_that_is_longer_than_the_receive_fails_it) {
  make(shape());
  post_receive(50);
  const frame f = plain(own_mac, peer_mac, 60);
  rig.machine.adapter().link_receive(1, f.data(), f.size());
  EXPECT_EQ(next().status, completion_status::local_length);
}

TEST_F(raw_ethernet, a_frame_goes_to_the_receivers_of_its_own_port) {
  make(shape());
  const frame f = plain(own_mac, own_mac, 64);
  const queues::data_entry entry = put(f);
  // Without its address in the request it only leaves. With it, it also comes back. Forced, it
  // only comes back.
  post_receive();
  ASSERT_TRUE(send().post_and_ring(queues::send_frame{.data = entry}).ok());
  expect_sent(1);
  EXPECT_TRUE(nothing_more());
  for (const bool forced : {false, true}) {
    sent.clear();
    ASSERT_TRUE(
        send()
            .post_and_ring(queues::send_frame{
                .data = entry, .frame = {.force_loopback = forced, .loopback_mac = own_mac}})
            .ok());
    unsigned receives = 0;
    for (unsigned i = 0; i < 2; ++i) {
      const work_completion w = next();
      EXPECT_TRUE(w.ok());
      receives += w.is_receive();
    }
    EXPECT_EQ(receives, 1u);
    EXPECT_EQ(received(64), f);
    EXPECT_EQ(sent.size(), forced ? 0u : 1u);
    post_receive();
  }
}

TEST_F(raw_ethernet, small_frames_without_a_tag_take_no_doorbell) {
  queues::blueflame by;
  ASSERT_TRUE(by.open(rig.adapter.uar().blueflame_register(
                          0, rig.adapter.capabilities().log_blueflame_bytes))
                  .ok());
  const auto pushed = [&] { return rig.machine.counter("blueflame_writes"); };
  const frame f = plain(peer_mac, own_mac, 64);
  const auto push = [&](const queues::frame_options& how, const frame& wanted) {
    sent.clear();
    const std::uint64_t before_it = pushed();
    EXPECT_TRUE(
        send()
            .post_and_push(by, queues::send_frame_inline{.data = {f.data(), 64}, .frame = how})
            .ok());
    expect_sent(1);
    EXPECT_EQ(sent.at(0), wanted);
    return pushed() != before_it;
  };
  // Numbers with bits 6 or 7 would insert a tag. The device keeps those below 0x40 for itself.
  raw_ethernet_attributes small = shape();
  small.receives = 0;
  std::vector<raw_ethernet_qp_handle> others;
  for (;;) {
    ASSERT_TRUE(create(small).ok());
    if ((qpn_of(rig.objects, pair) & 0xc0) == 0) break;
    others.push_back(pair);
  }
  ASSERT_FALSE(others.empty());
  for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts}) ASSERT_TRUE(move(to).ok());
  EXPECT_TRUE(push({}, f));
  EXPECT_TRUE(push({.ip_checksum = true}, f));
  EXPECT_FALSE(push({.vlan = 5}, tagged(f, "81000005")));
  std::swap(pair, others.front());
  for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts}) ASSERT_TRUE(move(to).ok());
  EXPECT_FALSE(push({}, f));
  for (raw_ethernet_qp_handle each : others) EXPECT_TRUE(destroy(each).ok());
}

TEST_F(raw_ethernet, posts_are_refused_in_the_wrong_state) {
  ASSERT_TRUE(create(shape()).ok());
  const queues::send_frame r{.data = put(plain(peer_mac, own_mac, 64))};
  const queues::data_entry to = buffer->entry(receive_at, 2000);
  const auto post_receive_now = [&] {
    return object().rings.receive.post({.wr_id = 1, .list = &to, .entries = 1});
  };
  EXPECT_TRUE(send().post(r).is(driver_error::bad_state));
  EXPECT_TRUE(post_receive_now().is(driver_error::bad_state));
  EXPECT_TRUE(move(qp_state::rtr).is(driver_error::bad_state));
  ASSERT_TRUE(move(qp_state::init).ok());
  EXPECT_TRUE(post_receive_now().ok());
  EXPECT_TRUE(send().post(r).is(driver_error::bad_state));
  ASSERT_TRUE(move(qp_state::rtr).ok());
  EXPECT_TRUE(send().post(r).is(driver_error::bad_state));
  ASSERT_TRUE(move(qp_state::rts).ok());
  EXPECT_TRUE(move(qp_state::rts).is(driver_error::bad_state));
  ASSERT_TRUE(send().post_and_ring(r).ok());
  EXPECT_TRUE(next().ok());
  object().rings.receive.ring();
  ASSERT_TRUE(move(qp_state::error).ok());
  ASSERT_TRUE(send().post_and_ring(r).ok());
  EXPECT_EQ(next().status, completion_status::flushed);
  EXPECT_EQ(next().status, completion_status::flushed);
  // From the beginning.
  ASSERT_TRUE(move(qp_state::reset).ok());
  for (const auto again : {qp_state::init, qp_state::rtr, qp_state::rts})
    ASSERT_TRUE(move(again).ok());
  sent.clear();
  ASSERT_TRUE(send().post_and_ring(r).ok());
  expect_sent(1);
}

TEST_F(raw_ethernet, paths_that_it_does_not_have_are_refused) {
  ASSERT_TRUE(create(shape()).ok());
  const auto expect = [&](status s, attribute_id what) {
    EXPECT_TRUE(s.is(driver_error::bad_argument)) << words(s);
    EXPECT_EQ(rig.objects.refused().what, what);
  };
  expect(move(qp_state::init, {.port = 0}), attribute_id::port);
  expect(move(qp_state::init, {.port = 3}), attribute_id::port);
  expect(move(qp_state::init, {.port = 2}), attribute_id::link_layer);
  ASSERT_TRUE(move(qp_state::init).ok());
  expect(move(qp_state::rtr, {.priority = 8}), attribute_id::priority);
  ASSERT_TRUE(move(qp_state::rtr).ok());
  // A path to a peer is for other queue pairs.
  modify_queue_pair as_peer;
  as_peer.start(rig.objects, pair, qp_state::rts, {.address = roce_path{}});
  expect(rig.await(as_peer), attribute_id::link_layer);
  // An address handle has no such path.
  const auto made =
      rig.objects.create<address_handle>({.pd = domain, .address = raw_ethernet_path{.port = 1}});
  expect(made.error(), attribute_id::link_layer);
}

TEST_F(raw_ethernet, attributes_that_it_cannot_have_are_refused) {
  const auto refused = [&](auto change, attribute_id what) {
    raw_ethernet_attributes a = shape();
    change(a);
    EXPECT_TRUE(create(a).is(driver_error::bad_argument)) << name_of(rig.objects.refused().what);
    EXPECT_EQ(rig.objects.refused().what, what);
  };
  refused([](auto& a) { a.sends = 0x10000; }, attribute_id::sends);
  refused([](auto& a) { a.receives = 0x10000; }, attribute_id::receives);
  refused([](auto& a) { a.gather = 1000; }, attribute_id::gather);
  refused([](auto& a) { a.scatter = 1000; }, attribute_id::scatter);
  refused([](auto& a) { a.inline_bytes = 2000; }, attribute_id::send_wqe_bytes);
  refused([](auto& a) { a.header_bytes = 1000; }, attribute_id::send_wqe_bytes);
  refused([](auto& a) { a.header_bytes = 0xffff; }, attribute_id::send_wqe_bytes);
  raw_ethernet_attributes a = shape();
  a.send_cq = {};
  EXPECT_TRUE(create(a).is(driver_error::stale_handle));
  // The smallest queue pair, and the longest headers.
  ASSERT_TRUE(create({{.pd = domain, .send_cq = completion, .receive_cq = completion}}).ok());
  ASSERT_TRUE(destroy(pair).ok());
  a = shape();
  a.gather = 1;
  a.header_bytes = 900;
  ASSERT_TRUE(create(a).ok());
  // What it uses stays while it lives. Its handle is one of a queue pair, and not the reverse.
  EXPECT_TRUE(rig.objects.destroy(domain).is(driver_error::busy));
  const qp_handle as_any = pair;
  EXPECT_EQ(rig.objects.find(as_any), &object());
  const raw_ethernet_qp_handle gone = pair;
  ASSERT_TRUE(destroy(pair).ok());
  EXPECT_EQ(rig.objects.find(gone), nullptr);
  pair = gone;
  EXPECT_TRUE(move(qp_state::init).is(driver_error::stale_handle));
  EXPECT_TRUE(destroy(pair).is(driver_error::stale_handle));
  pair = {};
}

TEST_F(raw_ethernet, a_request_with_an_opcode_known_at_run_time) {
  using work_requests::send_opcode;
  raw_ethernet_attributes a = shape();
  a.header_bytes = 54;
  make(a);
  const frame f = plain(peer_mac, own_mac, 64);
  const queues::data_entry entry = put(f);
  const queues::frame_options tag{.vlan = 5};
  work_requests::send_request r{.list = &entry, .entries = 1, .opcode = send_opcode::send_frame};
  ASSERT_TRUE(work_requests::post_and_ring(send(), r).ok());
  expect_sent(1);
  EXPECT_EQ(sent[0], f);
  r.frame = &tag;
  ASSERT_TRUE(work_requests::post_and_ring(send(), r).ok());
  expect_sent(2);
  EXPECT_EQ(sent[1], tagged(f, "81000005"));
  work_requests::send_request in_entry{.inline_bytes = f.data(), .inline_length = 64};
  EXPECT_TRUE(work_requests::post(send(), in_entry).is(driver_error::unsupported));
  in_entry.opcode = send_opcode::send_frame;
  ASSERT_TRUE(work_requests::post_and_ring(send(), in_entry).ok());
  expect_sent(3);
  const queues::frame_headers headers{tcp_headers.data(), 54, 12};
  work_requests::send_request large{
      .list = &entry, .entries = 1, .opcode = send_opcode::send_large_frame};
  EXPECT_TRUE(work_requests::post(send(), large).is(driver_error::bad_argument));
  large.headers = &headers;
  ASSERT_TRUE(work_requests::post_and_ring(send(), large).ok());
  expect_sent(9);
  large.list = nullptr;
  large.entries = 0;
  large.inline_bytes = f.data();
  large.inline_length = 64;
  EXPECT_TRUE(work_requests::post(send(), large).is(driver_error::bad_argument));
}

struct without_large_sends : raw_ethernet {
  without_large_sends() : raw_ethernet(model::capability::large_send) {}
};
TEST_F(without_large_sends, none_is_posted) {
  raw_ethernet_attributes a = shape();
  a.header_bytes = 54;
  EXPECT_TRUE(create(a).is(driver_error::unsupported));
  make(shape());
  EXPECT_TRUE(send()
                  .post(queues::send_large_frame{.headers = {tcp_headers.data(), 54, 10},
                                                 .data = buffer->entry(0, 30)})
                  .is(driver_error::unsupported));
  EXPECT_EQ(send().posted(), 0u);
}

struct without_check_sequences : raw_ethernet {
  without_check_sequences() : raw_ethernet(model::capability::keeps_fcs) {}
};
TEST_F(without_check_sequences, none_is_kept) {
  raw_ethernet_attributes a = shape();
  a.keep_check_sequence = true;
  EXPECT_TRUE(create(a).is(driver_error::unsupported));
  make(shape());
}

}  // namespace
}  // namespace freehca::testing::raw_ethernet_tests
