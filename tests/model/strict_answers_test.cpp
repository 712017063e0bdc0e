// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Answers that are wrong. One that is ignored leaves the request waiting, and the good answer
// behind it completes it.
#include "peer_fixture.hpp"
#include "whole_answer.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

struct wrong_answer {
  const char* name;
  const char* says;  ///< in the explanation: the field and its value
  wqe_opcode request;
  crafted (*make)(peer_fixture&);
  std::optional<cqe_syndrome> comes;  ///< nothing: ignored
  unsigned vendor = 0;
  std::uint32_t bytes = 8;  ///< of the request
  /// Beside the packet that came.
  std::map<std::string, std::int64_t> counted{};
};
void PrintTo(const wrong_answer& w, std::ostream* to) {
  *to << w.name;
}

using p = peer_fixture;
constexpr std::uint32_t bytes_asked = 8, mtu = 1024;
constexpr auto write = wqe_opcode::rdma_write, read = wqe_opcode::rdma_read,
               fetch = wqe_opcode::atomic_fa;

image<aeth> header(aeth_type type, unsigned value) {
  return image<aeth>{}.set<&aeth::type>(type).set<&aeth::value>(value);
}
crafted nak(p& x, unsigned code) {
  return x.of(op::acknowledge).add(header(aeth_type::nak, code));
}
crafted nak(p& x, nak_code code) {
  return nak(x, static_cast<unsigned>(code));
}
crafted acknowledge(p& x) {
  return x.of(op::acknowledge).add(header(aeth_type::ack, 31));
}
crafted response(p& x, std::size_t bytes) {
  return x.of(op::rdma_read_response_only).add(header(aeth_type::ack, 31)).payload(bytes);
}
/// Packet `n` of a response.
crafted part(p& x, std::uint32_t n, op operation, std::size_t bytes = mtu) {
  auto c = x.of(operation).in_base<&bth::psn>(psn_add(p::first_psn, n));
  if (operation != op::rdma_read_response_middle) c.add(header(aeth_type::ack, 31));
  return c.payload(bytes);
}
crafted after_the_first(p& x, op operation) {
  x.deliver(part(x, 0, op::rdma_read_response_first));
  return part(x, 1, operation);
}
crafted atomic_response(p& x) {
  return x.of(op::atomic_acknowledge).add(header(aeth_type::ack, 31)).add(image<atomic_ack_eth>{});
}
crafted good_answer(p& x, wqe_opcode to) {
  return to == read ? response(x, bytes_asked) : to == fetch ? atomic_response(x) : acknowledge(x);
}

const wrong_answer wrongs[] = {
    {"AETH_cut_short", nullptr, write, [](p& x) { return x.of(op::acknowledge); }, {}},
    {"AETH_type_reserved",
     nullptr,
     write,
     [](p& x) { return x.of(op::acknowledge).add(header(aeth_type::reserved, 0)); },
     {}},
    {"AETH_code_reserved", nullptr, write, [](p& x) { return nak(x, 9); }, {}},
    {"AETH_code_of_reliable_datagrams",
     nullptr,
     write,
     [](p& x) { return nak(x, nak_code::invalid_rd_request); },
     {}},
    {"AETH_invalid_request", "NAK: invalid request", write,
     [](p& x) { return nak(x, nak_code::invalid_request); }, cqe_syndrome::remote_invalid_request,
     vendor_syndrome::remote_invalid_request},
    {"AETH_remote_access", "NAK: remote access error", write,
     [](p& x) { return nak(x, nak_code::remote_access_error); }, cqe_syndrome::remote_access,
     vendor_syndrome::remote_access},
    {"AETH_remote_operation", "NAK: remote operational error", write,
     [](p& x) { return nak(x, nak_code::remote_operational_error); }, cqe_syndrome::remote_op},
    {"PSN_of_no_request",
     "an answer to PSN 0xfffff1, which was not sent",
     write,
     [](p& x) { return acknowledge(x).in_base<&bth::psn>(psn_add(p::first_psn, 1)); },
     {},
     0,
     bytes_asked,
     {{"transport_packets_dropped", 1}, {"transport_unsent_answered", 1}}},
    {"PSN_before_all_requests",
     nullptr,
     write,
     [](p& x) { return nak(x, nak_code::invalid_request).in_base<&bth::psn>(p::first_psn - 1); },
     {}},
    {"source_of_another_port",
     "source LID 0x56",
     write,
     [](p& x) {
       auto c = nak(x, nak_code::invalid_request);
       c.link.set<&lrh::slid>(p::far_lid + 1);
       return c;
     },
     {},
     0,
     bytes_asked,
     {{"transport_packets_dropped", 1}}},
    {"response_to_a_write", nullptr, write, [](p& x) { return response(x, bytes_asked); }, {}},
    {"acknowledgement_of_a_read",
     nullptr,
     read,
     acknowledge,
     {},
     0,
     bytes_asked,
     {{"rc_read_requests", 1},
      {"port1_packets_sent", 1},
      {"transport_packets_sent", 1},
      {"transport_retries", 1}}},
    {"acknowledgement_of_an_atomic",
     nullptr,
     fetch,
     acknowledge,
     {},
     0,
     bytes_asked,
     {{"port1_packets_sent", 1}, {"transport_packets_sent", 1}, {"transport_retries", 1}}},
    {"response_without_AETH",
     nullptr,
     read,
     [](p& x) { return x.of(op::rdma_read_response_only); },
     {}},
    {"response_above_what_was_asked", "12 bytes of payload", read,
     [](p& x) { return response(x, bytes_asked + 4); }, cqe_syndrome::local_length,
     vendor_syndrome::length_requester},
    {"response_below_what_was_asked", "4 bytes of payload", read,
     [](p& x) { return response(x, bytes_asked - 4); }, cqe_syndrome::local_length,
     vendor_syndrome::length_requester},
    {"response_first_of_one", "operation 0xd", read,
     [](p& x) { return part(x, 0, op::rdma_read_response_first, bytes_asked); },
     cqe_syndrome::bad_response},
    {"response_last_of_one", "operation 0xf", read,
     [](p& x) { return part(x, 0, op::rdma_read_response_last, bytes_asked); },
     cqe_syndrome::bad_response},
    {"response_only_of_more", "packet 0 with operation 0x10", read,
     [](p& x) { return part(x, 0, op::rdma_read_response_only); }, cqe_syndrome::bad_response, 0,
     3 * mtu},
    {"response_middle_without_first", "packet 0 with operation 0xe", read,
     [](p& x) { return part(x, 0, op::rdma_read_response_middle); }, cqe_syndrome::bad_response, 0,
     3 * mtu},
    {"response_first_twice", "packet 1 with operation 0xd", read,
     [](p& x) { return after_the_first(x, op::rdma_read_response_first); },
     cqe_syndrome::bad_response, 0, 3 * mtu},
    {"response_last_in_the_middle", "packet 1 with operation 0xf", read,
     [](p& x) { return after_the_first(x, op::rdma_read_response_last); },
     cqe_syndrome::bad_response, 0, 3 * mtu},
    {"response_middle_at_the_end", "packet 1 with operation 0xe", read,
     [](p& x) { return after_the_first(x, op::rdma_read_response_middle); },
     cqe_syndrome::bad_response, 0, 2 * mtu},
    {"response_only_at_the_end", "packet 1 with operation 0x10", read,
     [](p& x) { return after_the_first(x, op::rdma_read_response_only); },
     cqe_syndrome::bad_response, 0, 2 * mtu},
    {"atomic_response_cut_short",
     nullptr,
     fetch,
     [](p& x) {
       auto c = atomic_response(x);
       c.rest.resize(8);
       return c;
     },
     {}},
};

class strict_answers : public peer_fixture, public testing::WithParamInterface<wrong_answer> {
 protected:
  strict_answers() : peer_fixture(qp_service::rc) {}
};

class answers_asked_again : public peer_fixture {
 protected:
  answers_asked_again() : peer_fixture(qp_service::rc) {
    peer_fixture::transport_fixture::send(
        b, transfer(wqe_opcode::rdma_read, 3 * mtu, region_start, to));
    host->run();
    deliver(part(*this, 0, op::rdma_read_response_first));
    // The second is missing.
    deliver(part(*this, 2, op::rdma_read_response_last));
    EXPECT_EQ(driver->counter_named("transport_retries"), 1u);
  }
  void ends_with(op second) {
    deliver(part(*this, 1, second));
    deliver(part(*this, 2, op::rdma_read_response_last));
    expect_done(b, true, static_cast<unsigned>(wqe_opcode::rdma_read));
  }
};

}  // namespace

TEST_P(strict_answers, bring_about) {
  const wrong_answer& w = GetParam();
  peer_fixture::transport_fixture::send(b, transfer(w.request, w.bytes, region_start, to));
  host->run();
  const crafted wrong = w.make(*this);
  watch();
  deliver(wrong);
  const whole_answer came = looks->look();

  wanted_answer wanted;
  wanted.says = w.says;
  wanted.counted = w.counted;
  ++wanted.counted["port1_packets_received"];
  ++wanted.counted["transport_packets_received"];
  if (w.comes) {
    --wanted.counted["send_requests_held"];
    const failure why{*w.comes, static_cast<std::uint8_t>(w.vendor)};
    wanted.completions.push_back({b.number, true, why});
    for (unsigned i = 0; i < receives; ++i)
      wanted.completions.push_back({b.number, false, failures::flush_receive});
  }
  EXPECT_EQ(state_of(b), w.comes ? qp_state::error : qp_state::rts);
  expect(wanted, came, w.comes ? "the error state" : "the request waits on");
  if (w.comes) return;
  deliver(good_answer(*this, w.request));
  expect_done(b, true, static_cast<unsigned>(w.request));
}

TEST_F(answers_asked_again, begin_anew) {
  ends_with(op::rdma_read_response_first);
}

TEST_F(answers_asked_again, may_be_the_late_ones) {
  ends_with(op::rdma_read_response_middle);
}

INSTANTIATE_TEST_SUITE_P(every, strict_answers, testing::ValuesIn(wrongs),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace freehca::model::test
