// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests that are right, and what ends them when the other side cannot take them.
#include "posts.hpp"
#include "request_row.hpp"

namespace freehca::conformance {

using namespace layouts;
using completion = queues::completion_status;

namespace rows_of_requests {
namespace {

constexpr char verbs_say[] = "IBTA 11.4.1, 11.6.2: the operation completes with success";
constexpr char rnr[] = "IBTA 11.6.2; Linux mlx4/cq.h MLX4_CQE_SYNDROME_RNR_RETRY_EXC_ERR";
constexpr char retry[] = "IBTA 11.6.2; Linux mlx4/cq.h MLX4_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR";
constexpr char flush[] = "IBTA 11.6.2: WR flushed error";
constexpr scene_plan uc{.service = qp_service::uc};
constexpr scene_plan ud{.service = qp_service::ud};
constexpr scene_plan nobody{.far = qp_state::reset};
constexpr scene_plan shared{.shared = true};

/// Receives that are there when their queue pair comes into the error state.
status receive_and_fail(scene& in) {
  FREEHCA_TRY(in.receive());
  return in.command(scene::far, opcode::to_err_qp);
}
status fail_and_send(scene& in) {
  FREEHCA_TRY(in.command(scene::near, opcode::to_err_qp));
  return posts::send_without_receive(in);
}

constexpr request_row rows[] = {
    {.about = {"rc-send", "RC: a send completes", completion::ok, verbs_say}, .post = posts::send},
    {.about = {"rc-send-received", "RC: a send completes a receive", completion::ok, verbs_say},
     .post = posts::send,
     .at = look::far_completion},
    {.about = {"rc-send-of-nothing", "RC: a send of no bytes completes a receive", completion::ok,
               verbs_say},
     .post = posts::send_nothing,
     .at = look::far_completion},
    {.about = {"rc-write", "RC: a write completes", completion::ok, verbs_say},
     .post = posts::write},
    {.about = {"rc-write-with-immediate", "RC: a write with immediate data completes a receive",
               completion::ok, verbs_say},
     .post = posts::write_with_immediate,
     .at = look::far_completion},
    {.about = {"rc-read", "RC: a read completes", completion::ok, verbs_say}, .post = posts::read},
    {.about = {"rc-fetch-and-add", "RC: an addition completes", completion::ok, verbs_say},
     .post = posts::add,
     .needs = dev_cap_flag::atomic},
    {.about = {"rc-compare-and-swap", "RC: a swap completes", completion::ok, verbs_say},
     .post = posts::swap,
     .needs = dev_cap_flag::atomic},
    {.about = {"rc-nothing", "RC: a NOP completes", completion::ok, "Linux hw/mlx4/qp.c"},
     .post = posts::nothing},
    {.about = {"rc-send-to-a-shared-queue", "RC: a send completes a receive of a shared queue",
               completion::ok, verbs_say},
     .post = posts::send,
     .at = look::far_completion,
     .plan = shared},
    {.about = {"uc-send", "UC: a send completes a receive", completion::ok, verbs_say},
     .post = posts::send,
     .at = look::far_completion,
     .plan = uc},
    {.about = {"uc-write", "UC: a write completes", completion::ok, verbs_say},
     .post = posts::write,
     .plan = uc},
    {.about = {"uc-write-with-immediate", "UC: a write with immediate data completes a receive",
               completion::ok, verbs_say},
     .post = posts::write_with_immediate,
     .at = look::far_completion,
     .plan = uc},
    {.about = {"ud-send", "UD: a datagram completes", completion::ok, verbs_say},
     .post = posts::datagram,
     .plan = ud},
    {.about = {"ud-send-received", "UD: a datagram completes a receive", completion::ok, verbs_say},
     .post = posts::datagram,
     .at = look::far_completion,
     .plan = ud},
    {.about = {"rc-no-receive", "RC: a send that nobody has a receive for",
               completion::rnr_retry_exceeded, rnr},
     .post = posts::send_without_receive},
    {.about = {"rc-no-receive-state", "RC: the sender whose RNR retries are over", qp_state::error,
               rnr},
     .post = posts::send_without_receive,
     .at = look::near_state},
    {.about = {"rc-no-receive-far-state", "RC: who had no receive goes on", qp_state::rts, rnr},
     .post = posts::send_without_receive,
     .at = look::far_state},
    {.about = {"rc-no-receive-in-a-shared-queue", "RC: a send to a shared queue that is empty",
               completion::rnr_retry_exceeded, rnr},
     .post = posts::send_without_receive,
     .plan = shared},
    {.about = {"uc-no-receive", "UC: a send that nobody has a receive for completes",
               completion::ok, "qib_uc.c qib_uc_rcv: it is dropped without an answer"},
     .post = posts::send_without_receive,
     .plan = uc},
    {.about = {"rc-nobody-answers", "RC: a send to a queue pair in RESET",
               completion::transport_retry_exceeded, retry},
     .post = posts::send_without_receive,
     .plan = nobody},
    {.about = {"rc-nobody-answers-write", "RC: a write to a queue pair in RESET",
               completion::transport_retry_exceeded, retry},
     .post = posts::write,
     .plan = nobody},
    {.about = {"rc-nobody-answers-state", "RC: the sender whose transport retries are over",
               qp_state::error, retry},
     .post = posts::send_without_receive,
     .at = look::near_state,
     .plan = nobody},
    {.about = {"rc-flushed-behind", "RC: a request behind one that failed", completion::flushed,
               flush},
     .post = posts::send_without_receive,
     .at = look::second},
    {.about = {"rc-flushed-send", "RC: a send that is posted in ERROR", completion::flushed, flush},
     .post = fail_and_send},
    {.about = {"rc-flushed-receive", "RC: a receive of a queue pair that goes to ERROR",
               completion::flushed, flush},
     .post = receive_and_fail,
     .at = look::far_completion},
    {.about = {"uc-flushed-receive", "UC: a receive of a queue pair that goes to ERROR",
               completion::flushed, flush},
     .post = receive_and_fail,
     .at = look::far_completion,
     .plan = uc},
    {.about = {"ud-flushed-receive", "UD: a receive of a queue pair that goes to ERROR",
               completion::flushed, flush},
     .post = receive_and_fail,
     .at = look::far_completion,
     .plan = ud},
};

}  // namespace
}  // namespace rows_of_requests

extern const row_group requests = group_of<rows_of_requests::rows, run_request_row>(
    "requests", "moves 64 bytes between two queue pairs of the port, or tries to");

}  // namespace freehca::conformance
