// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Datagrams that are wrong: they fail their sender, or nobody.
#include "posts.hpp"
#include "request_row.hpp"

namespace freehca::conformance {

using namespace layouts;
using completion = queues::completion_status;

namespace rows_of_datagrams {
namespace {

constexpr char protection[] = "IBTA 11.6.2; captures: local protection error, vendor byte 0x57";
constexpr char length[] = "IBTA 11.6.2; captures: local length error, vendor byte 0x69";
constexpr char no_port[] = "IBTA 11.2.2.1: invalid port; Linux core/verbs.c rdma_check_ah_attr";
constexpr char one_domain[] = "IBTA 11.4.1.1: address handle and queue pair have one domain";
constexpr char send_queue[] = "IBTA 10.3.1, state SQE: the send queue alone fails";
constexpr scene_plan ud{.service = qp_service::ud};

status by_wrong_key(scene& in) {
  auto d = posts::datagram_of(in);
  d.data.lkey += 1;
  return in.sends().post_and_ring(d);
}
status longer_than_the_mtu(scene& in) {
  const std::uint32_t most = mtu_bytes(in.with().port().active_mtu);
  return posts::spoiled(in, posts::datagram_of(in), [&] {
    in.patch<wqe_data, &wqe_data::byte_count>(posts::behind_datagram, most + 1);
  });
}
status by_port_0(scene& in) {
  return posts::spoiled(in, posts::datagram_of(in), [&] {
    in.patch<wqe_datagram, &wqe_datagram::port>(posts::behind_control, 0u);
  });
}
status by_port_past_the_last(scene& in) {
  return posts::spoiled(in, posts::datagram_of(in), [&] {
    in.patch<wqe_datagram, &wqe_datagram::port>(posts::behind_control, in.with().can().ports + 1);
  });
}
status by_a_way_of_another(scene& in) {
  return posts::spoiled(in, posts::datagram_of(in), [&] {
    const std::uint32_t own = in.pair(scene::near).domain->number;
    in.patch<wqe_datagram, &wqe_datagram::pd>(posts::behind_control, own + 1);
  });
}
status as_a_write(scene& in) {
  return posts::spoiled(in, posts::datagram_of(in), [&] {
    in.patch<wqe_ctrl, &wqe_ctrl::opcode>(posts::control, wqe_opcode::rdma_write);
  });
}
status cut_short(scene& in) {
  return posts::spoiled(in, posts::datagram_of(in),
                        [&] { in.patch<wqe_ctrl, &wqe_ctrl::ds>(posts::control, 3u); });
}
status to_nobody(scene& in) {
  auto d = posts::datagram_of(in);
  // Another number that nobody has made a queue pair of.
  d.to.qpn = in.with().number(object::queue_pair, named::unmade);
  return in.sends().post_and_ring(d);
}
status by_another_qkey(scene& in) {
  FREEHCA_TRY(in.receive());
  auto d = posts::datagram_of(in);
  d.to.qkey += 1;
  return in.sends().post_and_ring(d);
}
answer fail_and_revive(scene& in) {
  if (const answer posted = by_wrong_key(in); !posted.is_ok()) return posted;
  const finding failed = in.completion(scene::near);
  if (failed.got != answer(completion::local_protection)) return failed.got;
  in.with().put(image<qp_mailbox>{});
  queue_pair& pair = in.pair(scene::near);
  const answer revived =
      in.with().issue({.what = opcode::sqerr2rts_qp, .modifier = pair.number, .input = true});
  if (!revived.is_ok()) return revived;
  // The driver does not know of the command: its record still says SQE, where it posts nothing.
  pair.qp_state = qp_state::rts;
  pair.resume();
  return answer(posts::datagram(in));
}

constexpr request_row sent(const char* name, const char* what, posting post, answer expected,
                           const char* source, look at = look::near_completion) {
  return {.about = {name, what, expected, source}, .post = post, .at = at, .plan = ud};
}

constexpr request_row rows[] = {
    sent("local-key", "a datagram by a wrong local key", by_wrong_key, completion::local_protection,
         protection),
    sent("local-key-state", "the sender of a datagram by a wrong local key", by_wrong_key,
         qp_state::sq_error, send_queue, look::near_state),
    sent("longer-than-the-mtu", "a datagram longer than a packet", longer_than_the_mtu,
         completion::local_length, length),
    sent("port-0", "a datagram by port 0", by_port_0, completion::local_qp_operation, no_port),
    sent("port-past-the-last", "a datagram by a port past the last", by_port_past_the_last,
         completion::local_qp_operation, no_port),
    sent("domain-of-another", "a datagram whose address is of another protection domain",
         by_a_way_of_another, completion::local_qp_operation, one_domain),
    sent("as-a-write", "a write by a queue pair of datagrams", as_a_write,
         completion::local_qp_operation, "IBTA 11.6.2: not an operation of the service"),
    sent("cut-short", "a datagram that ends within its address", cut_short,
         completion::local_qp_operation, "IBTA 11.6.2: QP consistency; Linux rxe_req.c"),
    sent("to-nobody", "a datagram to a queue pair that does not exist completes", to_nobody,
         completion::ok, "qib_verbs.c qib_ib_rcv: dropped without an answer"),
    sent("another-qkey", "a datagram by another Q_Key completes", by_another_qkey, completion::ok,
         "qib_ud.c qib_ud_rcv: dropped without an answer"),
    sent("another-qkey-state", "whom a datagram by another Q_Key would have reached",
         by_another_qkey, qp_state::rts, "qib_ud.c qib_ud_rcv: dropped", look::far_state),
    sent("sent-again", "SQERR2RTS_QP lets a queue send again that had failed", fail_and_revive,
         completion::ok, "IBTA 10.3.1, state SQE; Linux mlx4/qp.c mlx4_qp_modify: SQERR2RTS_QP"),
};

}  // namespace
}  // namespace rows_of_datagrams

extern const row_group datagrams = group_of<rows_of_datagrams::rows, run_request_row>(
    "datagrams", "sends datagrams that are wrong in one thing");

}  // namespace freehca::conformance
