// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests that are wrong. A process of a user can write each of them into a ring of its own: a
// card that did not survive one would be no card for several users.
#include "posts.hpp"
#include "request_row.hpp"

namespace freehca::conformance {

using namespace layouts;
using completion = queues::completion_status;

namespace rows_of_request_errors {
namespace {

constexpr char access[] = "qib_rc.c do_rc_ack; captures: remote access error, vendor byte 0x88";
constexpr char invalid[] = "qib_rc.c do_rc_ack; captures: remote invalid request, vendor byte 0x8a";
constexpr char protection[] = "IBTA 11.6.2; captures: local protection error, vendor byte 0x57";
constexpr char length[] = "IBTA 11.6.2; captures: local length error, vendor byte 0x69";
constexpr char consistency[] = "IBTA 11.6.2: QP consistency; Linux rxe_req.c";
constexpr scene_plan uc{.service = qp_service::uc};
constexpr scene_plan forbidden{.far_allows = false};

// The same object with another key.
constexpr std::uint32_t other_key = 1;

status write_with(scene& in, queues::remote_memory to, queues::data_entry from) {
  return in.sends().post_and_ring(queues::rdma_write{.wr_id = 1, .remote = to, .data = from});
}
status write_by_wrong_key(scene& in) {
  auto to = in.remote();
  to.rkey += other_key;
  return write_with(in, to, in.local());
}
status write_past_the_end(scene& in) {
  return write_with(in, in.remote(scene::bytes - 8), in.local());
}
status write_below_the_begin(scene& in) {
  auto to = in.remote();
  to.address -= 8;
  return write_with(in, to, in.local());
}
status read_by_wrong_key(scene& in) {
  auto from = in.remote();
  from.rkey += other_key;
  return in.sends().post_and_ring(
      queues::rdma_read{.wr_id = 1, .remote = from, .data = in.local()});
}
status read_past_the_end(scene& in) {
  return in.sends().post_and_ring(
      queues::rdma_read{.wr_id = 1, .remote = in.remote(scene::bytes - 8), .data = in.local()});
}
status add_by_wrong_key(scene& in) {
  auto r = posts::addition(in);
  r.remote.rkey += other_key;
  return in.sends().post_and_ring(r);
}
status add_off_its_alignment(scene& in) {
  return in.sends().post_and_ring(posts::addition(in, 4));
}

queues::data_entry with_wrong_key(scene& in, std::uint32_t bytes = scene::usual) {
  auto d = in.local(bytes);
  d.lkey += other_key;
  return d;
}
status send_by_wrong_key(scene& in) {
  FREEHCA_TRY(in.receive());
  return in.sends().post_and_ring(queues::send{.wr_id = 1, .data = with_wrong_key(in)});
}
status write_from_wrong_key(scene& in) {
  return write_with(in, in.remote(), with_wrong_key(in));
}
status read_into_wrong_key(scene& in) {
  return in.sends().post_and_ring(
      queues::rdma_read{.wr_id = 1, .remote = in.remote(), .data = with_wrong_key(in)});
}
status add_into_wrong_key(scene& in) {
  auto r = posts::addition(in);
  r.data = with_wrong_key(in, 8);
  return in.sends().post_and_ring(r);
}
status write_from_below(scene& in) {
  auto d = in.local();
  d.address -= 8;
  return write_with(in, in.remote(), d);
}
status write_from_the_end(scene& in) {
  return write_with(in, in.remote(), in.local(scene::usual, scene::bytes - 8));
}
status write_from_around_the_end(scene& in) {
  auto d = in.local();
  d.address = ~std::uint64_t{0} - 8;
  return write_with(in, in.remote(), d);
}

status receive_too_short(scene& in) {
  FREEHCA_TRY(in.receive(scene::usual / 2));
  return posts::send_without_receive(in);
}
status receive_by_wrong_key(scene& in) {
  FREEHCA_TRY(in.receive(scene::usual, other_key));
  return posts::send_without_receive(in);
}

queues::rdma_write plain_write(scene& in) {
  return {.wr_id = 1, .remote = in.remote(), .data = in.local()};
}
status opcode_that_there_is_not(scene& in) {
  return posts::spoiled(in, plain_write(in), [&] {
    in.patch<wqe_ctrl, &wqe_ctrl::opcode>(posts::control, static_cast<wqe_opcode>(0x02));
  });
}
status no_size(scene& in) {
  return posts::spoiled(in, plain_write(in),
                        [&] { in.patch<wqe_ctrl, &wqe_ctrl::ds>(posts::control, 0u); });
}
status size_that_cuts_the_remote_address(scene& in) {
  return posts::spoiled(in, plain_write(in),
                        [&] { in.patch<wqe_ctrl, &wqe_ctrl::ds>(posts::control, 1u); });
}
status size_that_cuts_the_operands(scene& in) {
  return posts::spoiled(in, posts::addition(in),
                        [&] { in.patch<wqe_ctrl, &wqe_ctrl::ds>(posts::control, 2u); });
}
// A length has 31 bits.
bool has_longer_than_the_longest(const bench& b) {
  return b.can().most_message_bytes < wqe_data{}.byte_count.mask();
}
status longer_than_the_longest(scene& in) {
  const auto most = static_cast<std::uint32_t>(in.with().can().most_message_bytes);
  return posts::spoiled(in, plain_write(in), [&] {
    in.patch<wqe_data, &wqe_data::byte_count>(posts::behind_remote, most + 1);
  });
}
status add_of_four_bytes(scene& in) {
  return posts::spoiled(in, posts::addition(in), [&] {
    in.patch<wqe_data, &wqe_data::byte_count>(posts::behind_atomic, 4u);
  });
}
status read_over_uc(scene& in) {
  return posts::spoiled(in, plain_write(in), [&] {
    in.patch<wqe_ctrl, &wqe_ctrl::opcode>(posts::control, wqe_opcode::rdma_read);
  });
}
status atomic_over_uc(scene& in) {
  return posts::spoiled(in, plain_write(in), [&] {
    in.patch<wqe_ctrl, &wqe_ctrl::opcode>(posts::control, wqe_opcode::atomic_fa);
  });
}

constexpr request_row wrong(const char* name, const char* what, status (*post)(scene&),
                            expectation expected, const char* source,
                            look at = look::near_completion, const scene_plan& plan = {}) {
  return {.about = {name, what, expected, source}, .post = post, .at = at, .plan = plan};
}
constexpr request_row wrong_atomic(const char* name, const char* what, status (*post)(scene&),
                                   expectation expected, const char* source,
                                   look at = look::near_completion) {
  request_row r = wrong(name, what, post, expected, source, at);
  r.needs = dev_cap_flag::atomic;
  return r;
}

constexpr request_row wrong_if(bool (*possible)(const bench&), request_row r) {
  r.possible = possible;
  return r;
}

constexpr request_row rows[] = {
    wrong("remote-key-of-a-write", "a write by a remote key that is not the region's",
          write_by_wrong_key, completion::remote_access, access),
    wrong("remote-key-of-a-write-state", "the sender of a write by a wrong remote key",
          write_by_wrong_key, qp_state::error, access, look::near_state),
    wrong("remote-key-of-a-write-far-state", "the receiver of a write by a wrong remote key",
          write_by_wrong_key, qp_state::error, access, look::far_state),
    wrong("remote-key-of-a-read", "a read by a remote key that is not the region's",
          read_by_wrong_key, completion::remote_access, access),
    wrong_atomic("remote-key-of-an-atomic", "an addition by a remote key that is not the region's",
                 add_by_wrong_key, completion::remote_access, access),
    wrong("remote-address-past-the-end", "a write past the end of the peer's region",
          write_past_the_end, completion::remote_access, access),
    wrong("remote-address-below-the-begin", "a write in front of the peer's region",
          write_below_the_begin, completion::remote_access, access),
    wrong("remote-address-of-a-read", "a read past the end of the peer's region", read_past_the_end,
          completion::remote_access, access),
    wrong_atomic("atomic-off-its-alignment", "an addition off its alignment", add_off_its_alignment,
                 completion::remote_invalid_request, "rxe_resp.c, misaligned atomic"),
    wrong("write-that-is-not-allowed", "a write to a queue pair that allows none", posts::write,
          completion::remote_invalid_request, "qib_rc.c qib_rc_rcv, nack_inv",
          look::near_completion, forbidden),
    wrong("read-that-is-not-allowed", "a read from a queue pair that allows none", posts::read,
          completion::remote_invalid_request, "qib_rc.c qib_rc_rcv, nack_inv",
          look::near_completion, forbidden),
    wrong("local-key-of-a-send", "a send by a local key that is not the region's",
          send_by_wrong_key, completion::local_protection, protection),
    wrong("local-key-of-a-send-state", "the sender of a send by a wrong local key",
          send_by_wrong_key, qp_state::error, protection, look::near_state),
    wrong("local-key-of-a-send-far-state", "whom a send by a wrong local key would have reached",
          send_by_wrong_key, qp_state::rts, protection, look::far_state),
    wrong("local-key-of-a-write", "a write by a local key that is not the region's",
          write_from_wrong_key, completion::local_protection, protection),
    wrong("local-key-of-a-read", "a read by a local key that is not the region's",
          read_into_wrong_key, completion::local_protection, protection),
    wrong_atomic("local-key-of-an-atomic", "an addition by a local key that is not the region's",
                 add_into_wrong_key, completion::local_protection, protection),
    wrong("local-address-below-the-begin", "a write from in front of the own region",
          write_from_below, completion::local_protection, protection),
    wrong("local-address-past-the-end", "a write from past the end of the own region",
          write_from_the_end, completion::local_protection, protection),
    wrong("local-address-around-the-end", "a write from around the end of all addresses",
          write_from_around_the_end, completion::local_protection, protection),
    wrong("receive-too-short", "a send that is longer than the receive", receive_too_short,
          completion::remote_invalid_request, invalid),
    wrong("receive-too-short-received", "a receive that is shorter than the send",
          receive_too_short, completion::local_length, length, look::far_completion),
    wrong("receive-too-short-far-state", "whose receive was shorter than the send",
          receive_too_short, qp_state::error, length, look::far_state),
    wrong("local-key-of-a-receive", "a send to a receive by a wrong local key",
          receive_by_wrong_key, completion::remote_operation, "qib_rc.c qib_rc_rcv, nack_op_err"),
    wrong("local-key-of-a-receive-received", "a receive by a wrong local key", receive_by_wrong_key,
          completion::local_protection, protection, look::far_completion),
    wrong("opcode-that-there-is-not", "a request with opcode 2", opcode_that_there_is_not,
          completion::local_qp_operation, consistency),
    wrong("opcode-that-there-is-not-state", "the sender of a request with opcode 2",
          opcode_that_there_is_not, qp_state::error, consistency, look::near_state),
    wrong("no-size", "a request that has no segment", no_size, completion::local_qp_operation,
          consistency),
    wrong("size-that-cuts-the-remote-address", "a write that ends before its remote address",
          size_that_cuts_the_remote_address, completion::local_qp_operation, consistency),
    wrong_atomic("size-that-cuts-the-operands", "an addition that ends before its operand",
                 size_that_cuts_the_operands, completion::local_qp_operation, consistency),
    wrong_if(has_longer_than_the_longest,
             wrong("longer-than-the-longest", "a write of more bytes than a message may have",
                   longer_than_the_longest,
                   expectation::either(completion::local_length, completion::local_protection),
                   "IBTA 11.6.2: it is longer than a message may be, and than its region")),
    wrong_atomic("atomic-of-four-bytes", "an addition into four bytes", add_of_four_bytes,
                 completion::local_length, "IBTA 9.4.5, 11.6.2; rdmamojo.com ibv_poll_cq"),
    wrong("uc-read", "UC: a read", read_over_uc, completion::local_qp_operation,
          "IBTA 11.6.2: not an operation of the service", look::near_completion, uc),
    wrong("uc-atomic", "UC: an addition", atomic_over_uc, completion::local_qp_operation,
          "IBTA 11.6.2: not an operation of the service", look::near_completion, uc),
    wrong("uc-remote-key", "UC: a write by a wrong remote key completes", write_by_wrong_key,
          completion::ok, "qib_uc.c qib_uc_rcv: dropped without an answer", look::near_completion,
          uc),
    wrong("uc-local-key", "UC: a send by a wrong local key", send_by_wrong_key,
          completion::local_protection, protection, look::near_completion, uc),
};

}  // namespace
}  // namespace rows_of_request_errors

extern const row_group request_errors = group_of<rows_of_request_errors::rows, run_request_row>(
    "request-errors", "posts requests that are wrong in one thing, between two queue pairs");

}  // namespace freehca::conformance
