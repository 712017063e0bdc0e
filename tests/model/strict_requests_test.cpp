// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Work requests that are wrong in one field. What is found before a packet leaves harms the sender alone.
#include <freehca/layouts/headers.hpp>

#include <vector>

#include "transport_fixture.hpp"
#include "work_request.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

struct wrong_request {
  const char* name;
  qp_service service;
  wqe_opcode opcode;
  void (*change)(std::byte* wqe);
  std::optional<failure> comes;  ///< nothing: it completes as if it were right
  bool at_the_peer = false;      ///< found there
  bool waits = false;            ///< is not taken at all
  bool arrives = false;          ///< as if it were right
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

const wrong_request wrongs[] = {
    {"control_opcode_that_there_is_not", rc, send, control<&c::opcode, wqe_opcode{0x02}>,
     failures::local_qp_operation},
    {"control_opcode_of_segmentation", ud, send, control<&c::opcode, wqe_opcode::lso>,
     failures::local_qp_operation},
    {"control_read_over_UC", uc, read, [](std::byte*) {}, failures::local_qp_operation},
    {"control_atomic_over_UC", uc, fetch, [](std::byte*) {}, failures::local_qp_operation},
    {"control_write_over_UD", ud, write, [](std::byte*) {}, failures::local_qp_operation},
    {"control_owner_of_the_round_before", rc, send, control<&c::owner, true>, {}, false, true},
    {"control_size_0", rc, send, control<&c::ds, 0u>, failures::local_qp_operation},
    {"control_size_that_cuts_the_remote_address", rc, write, control<&c::ds, 1u>,
     failures::local_qp_operation},
    {"control_size_that_cuts_the_operands", rc, fetch, control<&c::ds, 2u>,
     failures::local_qp_operation},
    {"control_size_that_cuts_the_masks", rc, masked_swap, control<&c::ds, 3u>,
     failures::local_qp_operation},
    {"control_size_that_cuts_the_field_boundaries", rc, masked_add, control<&c::ds, 2u>,
     failures::local_qp_operation},
    {"control_reserved_bit", rc, write, bit_30<0>, {}, false, false, true},
    {"control_size_that_cuts_the_datagram", ud, send, control<&c::ds, 3u>,
     failures::local_qp_operation},
    {"remote_address_segments_reserved_bit",
     rc,
     write,
     bit_30<wqe_ctrl::bytes + 12>,
     {},
     false,
     false,
     true},
    {"remote_key", rc, write, remote<&r::rkey, 0x12345678u>, failures::remote_access, true},
    {"remote_address", rc, write, remote<&r::remote_address, 0x1000u>, failures::remote_access,
     true},
    {"remote_address_of_a_read", rc, read, remote<&r::remote_address, 0x1000u>,
     failures::remote_access, true},
    {"remote_address_of_an_atomic_off_its_alignment", rc, fetch,
     remote<&r::remote_address, 0x7000'0010'0004u>, failures::remote_invalid_request, true},
    {"local_key_of_a_send", rc, send, data_behind<&d::lkey, 0x12345678u>,
     failures::local_protection},
    {"local_key_of_a_write", rc, write, data_behind<&d::lkey, 0x12345678u, r>,
     failures::local_protection},
    {"local_key_of_a_read", rc, read, data_behind<&d::lkey, 0x12345678u, r>,
     failures::local_protection},
    {"local_key_of_an_atomic", rc, fetch, data_behind<&d::lkey, 0x12345678u, r, wqe_atomic>,
     failures::local_protection},
    {"local_key_of_a_datagram", ud, send, data_behind<&d::lkey, 0x12345678u, u>,
     failures::local_protection},
    {"local_key_that_is_reserved", rc, write, data_behind<&d::lkey, 0x500u, r>,
     failures::local_protection},
    {"local_address", rc, write, data_behind<&d::address, 0x1000u, r>, failures::local_protection},
    {"local_address_around_the_end", rc, write, data_behind<&d::address, ~std::uint64_t{3}, r>,
     failures::local_protection},
    {"byte_count_above_the_longest_message", rc, write, data_behind<&d::byte_count, 0x40000001u, r>,
     failures::local_length},
    {"byte_count_of_an_atomic", rc, fetch, data_behind<&d::byte_count, 4u, r, wqe_atomic>,
     failures::local_length},
    {"byte_count_of_a_masked_swap", rc, masked_swap,
     data_behind<&d::byte_count, 4u, r, wqe_masked_atomic>, failures::local_length},
    {"byte_count_of_a_masked_addition", rc, masked_add,
     data_behind<&d::byte_count, 16u, r, wqe_atomic>, failures::local_length},
    {"byte_count_of_a_datagram_above_the_MTU", ud, send, data_behind<&d::byte_count, 1025u, u>,
     failures::local_length},
    {"byte_count_0", rc, write, data_behind<&d::byte_count, 0u, r>, {}},
    {"datagram_reserved_bit", ud, send, bit_30<wqe_ctrl::bytes>, {}, false, false, true},
    {"datagram_port_0", ud, send, datagram<&u::port, 0u>, failures::local_qp_operation},
    {"datagram_port_3", ud, send, datagram<&u::port, 3u>, failures::local_qp_operation},
    {"datagram_domain_of_another", ud, send, datagram<&u::pd, 6u>, failures::local_qp_operation},
    {"datagram_queue_pair_that_does_not_exist", ud, send, datagram<&u::dqpn, 0x3f0u>, {}},
    {"datagram_Q_Key", ud, send, datagram<&u::qkey, 0x22u>, {}},
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

TEST_P(strict_requests, complete) {
  const wrong_request& w = GetParam();
  test_send s = transfer(w.opcode, 8, from, to);
  s.dqpn = b.number;
  s.qkey = qkey;
  byte_at(from) = std::byte{0x5a};
  post_send(a, s);
  w.change(driver->bytes_of(a.ring, 0));
  ring(a);
  if (w.waits) {
    EXPECT_TRUE(no_completion());
    EXPECT_EQ(state_of(a), qp_state::rts);
    return;
  }
  if (!w.comes) {
    expect_done(a, true, static_cast<unsigned>(w.opcode));
    const bool received = w.arrives && w.service == ud;
    if (received) expect_done(b, false, static_cast<unsigned>(cqe_opcode::recv_send));
    EXPECT_TRUE(no_completion());
    EXPECT_EQ(state_of(a), qp_state::rts);
    EXPECT_EQ(byte_at(received ? to + grh::bytes : to), w.arrives ? std::byte{0x5a} : std::byte{0});
    return;
  }
  expect_error(a, true, w.comes->syndrome, w.comes->vendor);
  const bool reliable = w.service == rc;
  EXPECT_EQ(state_of(a), reliable ? qp_state::error : qp_state::sq_error);
  EXPECT_EQ(state_of(b), w.at_the_peer ? qp_state::error : qp_state::rts);
  EXPECT_EQ(byte_at(to), std::byte{0});
}

INSTANTIATE_TEST_SUITE_P(every, strict_requests, testing::ValuesIn(wrongs),
                         [](const auto& p) { return std::string(p.param.name); });

namespace {

/// The packet that software makes for QP1 to send: headers, payload, and the word where the ICRC goes.
struct prepared_packet {
  image<lrh> local;
  std::uint32_t headers = lrh::bytes + bth::bytes + deth::bytes, payload = 256;
  std::uint32_t lkey = 0;
};

struct wrong_packet {
  const char* name;
  void (*change)(prepared_packet&);
  std::optional<failure> comes;
};
void PrintTo(const wrong_packet& w, std::ostream* to) {
  *to << w.name;
}

template <std::uint32_t Words>
void announces(prepared_packet& p) {
  p.local.set<&lrh::packet_length>(Words);
}

const wrong_packet wrong_packets[] = {
    {"headers_that_announce_more", announces<73>, failures::local_length},
    {"headers_that_announce_less", announces<71>, failures::local_length},
    {"headers_of_no_InfiniBand_transport",
     [](prepared_packet& p) { p.local.set<&lrh::lnh>(link_next_header::raw); },
     failures::local_length},
    {"without_the_padding_that_the_headers_announce",
     [](prepared_packet& p) { p.payload = 253; },
     {}},
    {"shorter_than_the_least_headers",
     [](prepared_packet& p) {
       p.headers = lrh::bytes + bth::bytes - 1;
       p.payload = 0;
     },
     failures::local_length},
    {"longer_than_the_largest_packet", [](prepared_packet& p) { p.payload = 4096 + 100; },
     failures::local_length},
    {"local_key", [](prepared_packet& p) { p.lkey ^= 1; }, failures::local_protection},
};

class strict_prepared_packets : public transport_fixture,
                                public testing::WithParamInterface<wrong_packet> {
 protected:
  static constexpr std::uint32_t special_base = 0x180;

  strict_prepared_packets()
      : transport_fixture(test_options(), std::make_unique<test_host>(64u << 20)),
        gsi(make_qp(special_base + 2, qp_service::mlx)) {
    EXPECT_EQ(driver->command(opcode::conf_special_qp, 0, special_base).status, command_status::ok);
    to_rts(gsi, 0);
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
  prepared_packet p;
  p.local.set<&lrh::lnh>(link_next_header::iba_local).set<&lrh::dlid>(links().base_lid(1));
  p.local.set<&lrh::packet_length>((p.headers + p.payload + icrc_bytes) / 4);
  p.lkey = key;
  GetParam().change(p);
  post(p);
  ring(gsi);
  const std::optional<failure>& comes = GetParam().comes;
  if (!comes) {
    expect_done(gsi, true, static_cast<unsigned>(wqe_opcode::send));
  } else {
    expect_error(gsi, true, comes->syndrome, comes->vendor);
    EXPECT_EQ(state_of(gsi), qp_state::sq_error);
  }
}

INSTANTIATE_TEST_SUITE_P(every, strict_prepared_packets, testing::ValuesIn(wrong_packets),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace freehca::model::test
