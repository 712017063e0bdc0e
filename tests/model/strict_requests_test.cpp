// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Work requests that are wrong in one field. What is found before a packet leaves harms the sender
// alone.
#include <freehca/layouts/headers.hpp>

#include <vector>

#include "queues/work_request.hpp"
#include "transport_fixture.hpp"
#include "whole_answer.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

struct wrong_request {
  const char* name;
  const char* says;  ///< in the explanation: the field and its value
  qp_service service;
  wqe_opcode opcode;
  void (*change)(std::byte* wqe);
  std::optional<failure> comes;  ///< nothing: it completes as if it were right
  bool at_the_peer = false;      ///< found there
  bool waits = false;            ///< is not taken at all
  bool arrives = false;          ///< as if it were right
  /// Beside the packets of the request and its answer, and the completions.
  std::map<std::string, std::int64_t> counted{};
  std::vector<std::string> complaints{};
};
void PrintTo(const wrong_request& w, std::ostream* to) {
  *to << w.name;
}

/// Changes fields of segment T, which begins `at` bytes into the request.
template <class T, auto Field, auto Value>
void put(std::byte* wqe, std::size_t at) {
  auto s = image<T>::from_bytes(wqe + at);
  s.template set<Field>(Value);
  std::memcpy(wqe + at, s.data(), T::bytes);
}
template <auto Field, auto Value>
void control(std::byte* wqe) {
  put<wqe_ctrl, Field, Value>(wqe, 0);
}
template <auto Field, auto Value>
void remote(std::byte* wqe) {
  put<wqe_remote_address, Field, Value>(wqe, wqe_ctrl::bytes);
}
template <auto Field, auto Value>
void datagram(std::byte* wqe) {
  put<wqe_datagram, Field, Value>(wqe, wqe_ctrl::bytes);
}
/// Bit 30 of the first word of the segment that begins `At` bytes into the request.
template <std::size_t At>
void bit_30(std::byte* wqe) {
  wqe[At] |= std::byte{0x40};
}
/// The data segment behind Segments.
template <auto Field, auto Value, class... Segments>
void data_behind(std::byte* wqe) {
  put<wqe_data, Field, Value>(wqe, (wqe_ctrl::bytes + ... + Segments::bytes));
}

constexpr auto rc = qp_service::rc, uc = qp_service::uc, ud = qp_service::ud;
constexpr auto send = wqe_opcode::send, write = wqe_opcode::rdma_write,
               read = wqe_opcode::rdma_read, fetch = wqe_opcode::atomic_fa,
               masked_swap = wqe_opcode::masked_atomic_cs,
               masked_add = wqe_opcode::masked_atomic_fa;
using c = wqe_ctrl;
using r = wqe_remote_address;
using d = wqe_data;
using u = wqe_datagram;

using counts = std::map<std::string, std::int64_t>;
/// What a request and its answer count when the answer finds no place.
const counts answer_to_an_atomic{{"port1_packets_looped_back", 2},
                                 {"port1_packets_received", 2},
                                 {"port1_packets_sent", 2},
                                 {"transport_packets_received", 2},
                                 {"transport_packets_sent", 2}};
const counts answer_to_a_read = [] {
  counts all = answer_to_an_atomic;
  all.insert({{"rc_read_requests", 1}, {"rc_read_responses", 1}});
  return all;
}();
/// A trap, and what the subnet manager and its port have to say about it: six packets each way.
const counts bad_qkey{{"PortInfo1 qkey_violations", 1},
                      {"transport_packets_dropped", 1},
                      {"port1_packets_received", 6},
                      {"port1_packets_sent", 6}};

const wrong_request wrongs[] = {
    {"control_opcode_that_there_is_not", "opcode 0x2 ", rc, send,
     control<&c::opcode, wqe_opcode{0x02}>, failures::local_qp_operation},
    {"control_opcode_of_segmentation", "opcode 0xe (LSO)", rc, send,
     control<&c::opcode, wqe_opcode::lso>, failures::local_qp_operation},
    {"control_read_over_UC", "opcode 0x10 (RDMA_READ)", uc, read, [](std::byte*) {},
     failures::local_qp_operation},
    {"control_atomic_over_UC", "opcode 0x12 (ATOMIC_FA)", uc, fetch, [](std::byte*) {},
     failures::local_qp_operation},
    {"control_write_over_UD", "opcode 0x8 (RDMA_WRITE)", ud, write, [](std::byte*) {},
     failures::local_qp_operation},
    {"control_owner_of_the_round_before",
     "software's owner bit, 1",
     rc,
     send,
     control<&c::owner, true>,
     {},
     false,
     true,
     false,
     {},
     {"send-doorbell-entry"}},
    {"control_size_0", "ds 0;", rc, send, control<&c::ds, 0u>, failures::local_qp_operation},
    {"control_size_that_cuts_the_remote_address", "ds 1,", rc, write, control<&c::ds, 1u>,
     failures::local_qp_operation},
    {"control_size_that_cuts_the_operands", "ds 2,", rc, fetch, control<&c::ds, 2u>,
     failures::local_qp_operation},
    {"control_size_that_cuts_the_masks", "ds 3,", rc, masked_swap, control<&c::ds, 3u>,
     failures::local_qp_operation},
    {"control_size_that_cuts_the_field_boundaries", "ds 2,", rc, masked_add, control<&c::ds, 2u>,
     failures::local_qp_operation},
    {"control_reserved_bit", nullptr, rc, write, bit_30<0>, {}, false, false, true},
    {"control_size_that_cuts_the_datagram", "ds 3,", ud, send, control<&c::ds, 3u>,
     failures::local_qp_operation},
    {"remote_address_segments_reserved_bit",
     nullptr,
     rc,
     write,
     bit_30<wqe_ctrl::bytes + 12>,
     {},
     false,
     false,
     true},
    {"remote_key", "remote write of 8 bytes at 0x700000100000 under key 0x12345678", rc, write,
     remote<&r::rkey, 0x12345678u>, failures::remote_access, true},
    {"remote_address", "remote write of 8 bytes at 0x1000 ", rc, write,
     remote<&r::remote_address, 0x1000u>, failures::remote_access, true},
    {"remote_address_of_a_read", "remote read of 8 bytes at 0x1000 ", rc, read,
     remote<&r::remote_address, 0x1000u>, failures::remote_access, true},
    {"remote_address_of_an_atomic_off_its_alignment", "atomic at 0x700000100004", rc, fetch,
     remote<&r::remote_address, 0x7000'0010'0004u>, failures::remote_invalid_request, true},
    {"local_key_of_a_send", "under key 0x12345678", rc, send, data_behind<&d::lkey, 0x12345678u>,
     failures::local_protection},
    {"local_key_of_a_write", "under key 0x12345678", rc, write,
     data_behind<&d::lkey, 0x12345678u, r>, failures::local_protection},
    {"local_key_of_a_read", "under key 0x12345678", rc, read, data_behind<&d::lkey, 0x12345678u, r>,
     failures::local_protection, false, false, false, answer_to_a_read},
    {"local_key_of_an_atomic", "under key 0x12345678", rc, fetch,
     data_behind<&d::lkey, 0x12345678u, r, wqe_atomic>, failures::local_protection, false, false,
     false, answer_to_an_atomic},
    {"local_key_of_a_datagram", "under key 0x12345678", ud, send,
     data_behind<&d::lkey, 0x12345678u, u>, failures::local_protection},
    {"local_key_that_is_reserved", "under key 0x500", rc, write, data_behind<&d::lkey, 0x500u, r>,
     failures::local_protection},
    {"local_address", "8 bytes at 0x1000 ", rc, write, data_behind<&d::address, 0x1000u, r>,
     failures::local_protection},
    {"local_address_around_the_end", "8 bytes at 0xfffffffffffffffc ", rc, write,
     data_behind<&d::address, ~std::uint64_t{3}, r>, failures::local_protection},
    {"byte_count_above_the_longest_message", "1073741825 bytes", rc, write,
     data_behind<&d::byte_count, 0x40000001u, r>, failures::local_length},
    {"byte_count_of_an_atomic", ": 4 bytes", rc, fetch,
     data_behind<&d::byte_count, 4u, r, wqe_atomic>, failures::local_length},
    {"byte_count_of_a_masked_swap", ": 4 bytes", rc, masked_swap,
     data_behind<&d::byte_count, 4u, r, wqe_masked_atomic>, failures::local_length},
    {"byte_count_of_a_masked_addition", ": 16 bytes", rc, masked_add,
     data_behind<&d::byte_count, 16u, r, wqe_atomic>, failures::local_length},
    {"byte_count_of_a_datagram_above_the_MTU", ": 1025 bytes", ud, send,
     data_behind<&d::byte_count, 1025u, u>, failures::local_length},
    {"byte_count_0", nullptr, rc, write, data_behind<&d::byte_count, 0u, r>, {}},
    {"datagram_reserved_bit", nullptr, ud, send, bit_30<wqe_ctrl::bytes>, {}, false, false, true},
    {"datagram_port_0", "port 0 in the address vector", ud, send, datagram<&u::port, 0u>,
     failures::local_qp_operation},
    {"datagram_port_3", "port 3 in the address vector", ud, send, datagram<&u::port, 3u>,
     failures::local_qp_operation},
    {"datagram_domain_of_another", "protection domain 6 ", ud, send, datagram<&u::pd, 6u>,
     failures::local_qp_operation},
    {"datagram_queue_pair_that_does_not_exist",
     "to QP 0x0003f0",
     ud,
     send,
     datagram<&u::dqpn, 0x3f0u>,
     {},
     false,
     false,
     false,
     {{"transport_packets_dropped", 1}}},
    {"datagram_Q_Key",
     "Q_Key 0x00000022",
     ud,
     send,
     datagram<&u::qkey, 0x22u>,
     {},
     false,
     false,
     false,
     bad_qkey},
};

class strict_requests : public transport_fixture,
                        public testing::WithParamInterface<wrong_request> {
 protected:
  static constexpr std::uint64_t from = region_start, to = region_start + 0x100000;

  strict_requests() : transport_fixture(test_options(), std::make_unique<test_host>(64u << 20)) {
    for (test_qp* qp : {&a, &b}) *qp = make_qp(qp == &a ? 0x100 : 0x101, GetParam().service);
    to_rts(a, b.number);
    to_rts(b, a.number);
    post_receive(b, to, 2048, key);
    events(event_type::none);
  }
  test_qp a, b;
};

}  // namespace

/// What stays of a request that leaves: the counters of its packets, there and back.
std::map<std::string, std::int64_t> packets_of(const wrong_request& w) {
  if (w.waits || (w.comes && !w.at_the_peer)) return w.counted;
  const bool answered = w.service == rc;
  const std::int64_t packets = answered ? 2 : 1;
  std::map<std::string, std::int64_t> counted{{"port1_packets_looped_back", packets},
                                              {"port1_packets_received", packets},
                                              {"port1_packets_sent", packets},
                                              {"transport_packets_received", packets},
                                              {"transport_packets_sent", packets}};
  if (answered) counted["rc_acknowledges"] = 1;
  if (w.opcode == write) counted["rc_write_packets"] = 1;
  if (w.opcode == read) counted["rc_read_requests"] = 1;
  for (const auto& [name, more] : w.counted) counted[name] += more;
  return counted;
}

TEST_P(strict_requests, complete) {
  const wrong_request& w = GetParam();
  test_send s = transfer(w.opcode, 8, from, to);
  s.dqpn = b.number;
  s.qkey = qkey;
  byte_at(from) = std::byte{0x5a};
  post_send(a, s);
  w.change(driver->bytes_of(a.ring, 0));
  watch();
  ring(a);

  const bool received = w.arrives && w.service == ud;
  wanted_answer wanted;
  wanted.counted = packets_of(w);
  wanted.complaints = w.complaints;
  wanted.says = w.says;
  if (!w.waits) wanted.completions.push_back({a.number, true, w.comes});
  if (received) wanted.completions.push_back({b.number, false, {}});
  if (w.at_the_peer) {
    wanted.completions.push_back({b.number, false, failures::flush_receive});
    wanted.events = {event_type::wq_access_violation};
  }
  const whole_answer came = looks->look();
  const bool reliable = w.service == rc;
  EXPECT_EQ(state_of(a), !w.comes   ? qp_state::rts
                         : reliable ? qp_state::error
                                    : qp_state::sq_error);
  EXPECT_EQ(state_of(b), w.at_the_peer ? qp_state::error : qp_state::rts);
  EXPECT_EQ(byte_at(received ? to + grh::bytes : to), w.arrives ? std::byte{0x5a} : std::byte{0});
  expect(wanted, came,
         !w.comes        ? ""
         : w.at_the_peer ? "NAK, and the error state at both ends"
         : reliable      ? "the error state"
                         : "the send queue's error state");
}

INSTANTIATE_TEST_SUITE_P(every, strict_requests, testing::ValuesIn(wrongs),
                         [](const auto& p) { return std::string(p.param.name); });

namespace {

/// The packet that software makes for QP1 to send: headers, payload, and the word where the ICRC
/// goes.
struct prepared_packet {
  image<lrh> local;
  std::uint32_t headers = lrh::bytes + bth::bytes + deth::bytes, payload = 256;
  std::uint32_t lkey = 0;
};

struct wrong_packet {
  const char* name;
  const char* says;  ///< in the explanation: the field and its value
  void (*change)(prepared_packet&);
  std::optional<failure> comes;
  bool hardware_takes = false;  ///< it is complained of, and refused where the adapter is strict
};
void PrintTo(const wrong_packet& w, std::ostream* to) {
  *to << w.name;
}

template <std::uint32_t Words>
void announces(prepared_packet& p) {
  p.local.set<&lrh::packet_length>(Words);
}

const wrong_packet wrong_packets[] = {
    {"headers_that_announce_more", "LRH length of 73 words", announces<73>, failures::local_length,
     true},
    {"headers_that_announce_less", "LRH length of 71 words", announces<71>, failures::local_length,
     true},
    {"headers_of_no_InfiniBand_transport", "LRH next header 0",
     [](prepared_packet& p) { p.local.set<&lrh::lnh>(link_next_header::raw); },
     failures::local_length, true},
    {"without_the_padding_that_the_headers_announce",
     "to QP 0x0003f0",
     [](prepared_packet& p) { p.payload = 253; },
     {}},
    {"shorter_than_the_least_headers", "wanted: an LRH and a BTH",
     [](prepared_packet& p) {
       p.headers = lrh::bytes + bth::bytes - 1;
       p.payload = 0;
     },
     failures::local_length, true},
    {"longer_than_the_largest_packet", "packet of 4228 bytes",
     [](prepared_packet& p) { p.payload = 4096 + 100; }, failures::local_length},
    {"local_key", "local read of 256 bytes", [](prepared_packet& p) { p.lkey ^= 1; },
     failures::local_protection},
};

class strict_prepared_packets : public transport_fixture,
                                public testing::WithParamInterface<wrong_packet> {
 protected:
  static constexpr std::uint32_t special_base = 0x180;

  strict_prepared_packets() : transport_fixture(by_default(), small_host()) {}

  static options by_default() {
    options how = test_options();
    how.strict = false;
    return how;
  }
  static std::unique_ptr<test_host> small_host() { return std::make_unique<test_host>(64u << 20); }

  whole_answer send_wrong() {
    gsi = make_qp(special_base + 2, qp_service::mlx);
    EXPECT_EQ(driver->command(opcode::conf_special_qp, 0, special_base).status, command_status::ok);
    to_rts(gsi, 0);
    prepared_packet p;
    p.local.set<&lrh::lnh>(link_next_header::iba_local).set<&lrh::dlid>(links().base_lid(1));
    p.local.set<&lrh::packet_length>((p.headers + p.payload + icrc_bytes) / 4);
    p.lkey = key;
    GetParam().change(p);
    post(p);
    watch();
    ring(gsi);
    return looks->look();
  }
  void expect_whole(bool strict) {
    const wrong_packet& w = GetParam();
    const whole_answer came = send_wrong();
    const bool refused = w.comes && (strict || !w.hardware_takes);
    wanted_answer wanted;
    wanted.says = w.says;
    wanted.completions = {{gsi.number, true, refused ? w.comes : std::optional<failure>()}};
    if (!refused) wanted.counted["transport_packets_dropped"] = 1;
    if (!w.comes)
      for (const char* name :
           {"port1_packets_looped_back", "port1_packets_received", "port1_packets_sent",
            "transport_packets_received", "transport_packets_sent"})
        wanted.counted[name] = 1;
    if (w.hardware_takes && !strict) wanted.complaints = {"mlx-headers"};
    EXPECT_EQ(state_of(gsi), refused ? qp_state::sq_error : qp_state::rts);
    expect(wanted, came, refused ? "the send queue's error state" : "");
  }

  /// As Linux builds it: headers inline, the payload gathered, the last word inline.
  void post(const prepared_packet& p) {
    std::byte headers[lrh::bytes + bth::bytes + deth::bytes]{};
    std::memcpy(headers, p.local.data(), lrh::bytes);
    image<bth> transport;
    transport.set<&bth::opcode>(bth_opcode::ud_send_only).set<&bth::pkey>(0xffff);
    transport.set<&bth::dest_qp>(0x3f0);
    std::memcpy(headers + lrh::bytes, transport.data(), bth::bytes);
    put(gsi, wqe_ctrl::bytes, inline_head(p.headers));
    std::memcpy(driver->bytes_of(gsi.ring, wqe_ctrl::bytes + wqe_inline::bytes), headers,
                p.headers);
    put(gsi, 48, data_segment(region_start, p.payload, p.lkey));
    put(gsi, 64, inline_head(icrc_bytes));
    using m = wqe_ctrl_mlx;
    image<m> control;
    control.set<&m::opcode>(wqe_opcode::send).set<&m::ds>(5).set<&m::rlid>(links().base_lid(1));
    put(gsi, 0, control.set<&m::cq_update>(wqe_completion::always));
  }
  static image<wqe_inline> inline_head(std::uint32_t bytes) {
    using i = wqe_inline;
    return image<i>{}.set<&i::inline_data>(true).set<&i::byte_count>(bytes);
  }
  test_qp gsi;
};

}  // namespace

TEST_P(strict_prepared_packets, complete) {
  {
    SCOPED_TRACE("strict");
    options strict = test_options();
    strict.strict = true;
    start(strict, small_host());
    expect_whole(true);
  }
  SCOPED_TRACE("by default");
  start(by_default(), small_host());
  expect_whole(false);
}

INSTANTIATE_TEST_SUITE_P(every, strict_prepared_packets, testing::ValuesIn(wrong_packets),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace freehca::model::test
