// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/eqe.hpp>

#include "posts.hpp"
#include "request_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_events {
namespace {

constexpr char affiliated[] = "IBTA 11.6.3; RDMA Aware Networks Programming, \"Events\"";
constexpr scene_plan waits{.far = qp_state::rtr};
constexpr scene_plan shared{.shared = true};
constexpr scene_plan forbidden{.far_allows = false};
/// Of the input modifier of RTS2SQD_QP: tell when it has drained (Linux mlx4/qp.c
/// __mlx4_qp_modify, sqd_event).
constexpr std::uint32_t tell = 0x8000'0000;

status write_by_wrong_key(scene& in) {
  auto to = in.remote();
  to.rkey += 1;
  return in.sends().post_and_ring(queues::rdma_write{.wr_id = 1, .remote = to, .data = in.local()});
}
status read_by_wrong_key(scene& in) {
  auto from = in.remote();
  from.rkey += 1;
  return in.sends().post_and_ring(
      queues::rdma_read{.wr_id = 1, .remote = from, .data = in.local()});
}
status drain(scene& in) {
  return in.command(scene::near, opcode::rts2sqd_qp, tell);
}
status fall_below_the_limit(scene& in) {
  for (unsigned i = 0; i < 3; ++i) FREEHCA_TRY(in.receive());
  arm_shared_receive_queue arm;
  arm.start(in.with().objects(), in.shared(), 3);
  FREEHCA_TRY(in.with().finish(arm));
  return posts::send_without_receive(in);
}
status fail(scene& in) {
  return in.command(scene::far, opcode::to_err_qp);
}

constexpr request_row rows[] = {
    {.about = {"communication-established", "the first message to a queue pair in RTR",
               event_type::communication_established, affiliated},
     .post = posts::send,
     .at = look::far_event,
     .plan = waits},
    {.about = {"sq-drained", "RTS2SQD_QP that asks for an event", event_type::sq_drained,
               affiliated},
     .post = drain,
     .at = look::near_event},
    {.about = {"access-violation-write", "a write by a wrong remote key, where it comes in",
               event_type::wq_access_violation, affiliated},
     .post = write_by_wrong_key,
     .at = look::far_event},
    {.about = {"access-violation-read", "a read by a wrong remote key, where it comes in",
               event_type::wq_access_violation, affiliated},
     .post = read_by_wrong_key,
     .at = look::far_event},
    {.about = {"invalid-request", "a write that the queue pair does not allow, where it comes in",
               event_type::wq_invalid_request_error, affiliated},
     .post = posts::write,
     .at = look::far_event,
     .plan = forbidden},
    {.about = {"srq-limit", "fewer receives are left than ARM_SRQ named", event_type::srq_limit,
               affiliated},
     .post = fall_below_the_limit,
     .at = look::shared_event,
     .plan = shared},
    {.about = {"srq-last-wqe", "a queue pair with a shared receive queue goes to ERROR",
               event_type::srq_last_wqe, affiliated},
     .post = fail,
     .at = look::far_event,
     .plan = shared},
};

}  // namespace
}  // namespace rows_of_events

extern const row_group events = group_of<rows_of_events::rows, run_request_row>(
    "events", "brings about asynchronous events of queue pairs and shared receive queues");

}  // namespace freehca::conformance
