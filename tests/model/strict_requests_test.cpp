// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Work requests that are wrong in one field. What is found before a packet leaves harms the sender alone.
#include <freehca/layouts/headers.hpp>

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
/// The data segment behind Segments.
template <auto Field, auto Value, class... Segments>
void data_behind(std::byte* wqe) {
  put<wqe_data, Field, Value>(wqe, (wqe_ctrl::bytes + ... + Segments::bytes));
}

constexpr auto rc = qp_service::rc, uc = qp_service::uc, ud = qp_service::ud;
constexpr auto send = wqe_opcode::send, write = wqe_opcode::rdma_write,
               read = wqe_opcode::rdma_read, fetch = wqe_opcode::atomic_fa;
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
    {"control_size_that_cuts_the_datagram", ud, send, control<&c::ds, 3u>,
     failures::local_qp_operation},
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
    {"byte_count_of_a_datagram_above_the_MTU", ud, send, data_behind<&d::byte_count, 1025u, u>,
     failures::local_length},
    {"byte_count_0", rc, write, data_behind<&d::byte_count, 0u, r>, {}},
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
    EXPECT_TRUE(no_completion());
    EXPECT_EQ(state_of(a), qp_state::rts);
    EXPECT_EQ(byte_at(to), std::byte{0});
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

}  // namespace freehca::model::test
