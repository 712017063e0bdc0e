// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <algorithm>
#include <iterator>

#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/layouts/layout.hpp>
#include <freehca/queues/directory.hpp>
#include <freehca/queues/received_frame.hpp>
#include <freehca/queues/work_completion.hpp>

#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

using queues::completion_status;
using queues::work_opcode;

ibv_wc_status status_of(completion_status s) {
  switch (s) {
    case completion_status::ok:
      return IBV_WC_SUCCESS;
    case completion_status::local_length:
      return IBV_WC_LOC_LEN_ERR;
    case completion_status::local_qp_operation:
      return IBV_WC_LOC_QP_OP_ERR;
    case completion_status::local_protection:
      return IBV_WC_LOC_PROT_ERR;
    case completion_status::flushed:
      return IBV_WC_WR_FLUSH_ERR;
    case completion_status::window_bind:
      return IBV_WC_MW_BIND_ERR;
    case completion_status::bad_response:
      return IBV_WC_BAD_RESP_ERR;
    case completion_status::local_access:
      return IBV_WC_LOC_ACCESS_ERR;
    case completion_status::remote_invalid_request:
      return IBV_WC_REM_INV_REQ_ERR;
    case completion_status::remote_access:
      return IBV_WC_REM_ACCESS_ERR;
    case completion_status::remote_operation:
      return IBV_WC_REM_OP_ERR;
    case completion_status::transport_retry_exceeded:
      return IBV_WC_RETRY_EXC_ERR;
    case completion_status::rnr_retry_exceeded:
      return IBV_WC_RNR_RETRY_EXC_ERR;
    case completion_status::remote_aborted:
      return IBV_WC_REM_ABORT_ERR;
    case completion_status::device_reset:
      return IBV_WC_FATAL_ERR;
    case completion_status::unknown_syndrome:
    case completion_status::implausible:
      return IBV_WC_GENERAL_ERR;
  }
  return IBV_WC_GENERAL_ERR;
}

ibv_wc_opcode opcode_of(work_opcode o) {
  switch (o) {
    case work_opcode::rdma_read:
      return IBV_WC_RDMA_READ;
    case work_opcode::compare_and_swap:
    case work_opcode::masked_compare_and_swap:
      return IBV_WC_COMP_SWAP;
    case work_opcode::fetch_and_add:
    case work_opcode::masked_fetch_and_add:
      return IBV_WC_FETCH_ADD;
    case work_opcode::rdma_write:
      return IBV_WC_RDMA_WRITE;
    case work_opcode::local_invalidate:
      return IBV_WC_LOCAL_INV;
    case work_opcode::bind_window:
      return IBV_WC_BIND_MW;
    case work_opcode::receive:
      return IBV_WC_RECV;
    case work_opcode::receive_rdma_with_immediate:
      return IBV_WC_RECV_RDMA_WITH_IMM;
    case work_opcode::send:
    case work_opcode::nop:
    case work_opcode::fast_register:
      return IBV_WC_SEND;
  }
  return IBV_WC_SEND;
}

/// The queue pair of a completion. The engine's lock is held. The queue pair is therefore alive. A
/// receive of XRC names no queue pair, and the result is null.
template <class Completion>
const opened_pair* pair_of(const Completion& from) {
  if ((from.qpn() & layouts::xrc_target_qpn_bit) != 0) return nullptr;
  const auto& object = *static_cast<const queue_object*>(from.queue->owner);
  return static_cast<const opened_pair*>(object.cookie);
}

/// The flag of a frame over IPv4 whose checksums are right (rdma-core providers/mlx4/mlx4dv.h
/// MLX4_CQE_STATUS_IPV4_CSUM_OK).
template <class Completion>
unsigned checksum_flag(const Completion& from) {
  const queues::received_frame frame(from);
  const bool right = frame.is_ipv4() && frame.ip_checksum_ok() && frame.l4_checksum_ok();
  return right ? unsigned{IBV_WC_IP_CSUM_OK} : 0;
}

template <class Completion>
void fill_in_receive(const Completion& from, bool has_timestamp, ibv_wc& to) {
  to.src_qp = from.source_qpn();
  const opened_pair* const at = pair_of(from);
  if (at != nullptr && at->has_frames) to.wc_flags |= checksum_flag(from);
  if (has_timestamp) {
    // The timestamp stands where LID and SL stand else.
  } else if (at != nullptr && at->on_ethernet) {
    // Where the LID stands else, there are bytes of the sender's MAC. Linux leaves them out (6.1
    // hw/mlx4/cq.c mlx4_ib_poll_one). The priority is in the upper three bits.
    to.sl = from.sl() >> 1;
  } else {
    to.slid = from.slid();
    to.sl = from.sl();
  }
  to.dlid_path_bits = static_cast<std::uint8_t>(from.template get<&layouts::cqe::my_lid_path>());
  if (from.has_grh()) to.wc_flags |= IBV_WC_GRH;
  if (from.has_immediate()) {
    to.wc_flags |= IBV_WC_WITH_IMM;
    to.imm_data = layouts::swap_be(from.immediate());
  } else if (from.has_invalidated()) {
    to.wc_flags |= IBV_WC_WITH_INV;
    to.invalidated_rkey = from.immediate();
  }
}

template <class Completion>
void fill_in(const Completion& from, bool has_timestamp, ibv_wc& to) {
  to = {};
  to.wr_id = from.wr_id;
  to.status = status_of(from.status);
  to.opcode = opcode_of(from.opcode);
  to.vendor_err = from.vendor_syndrome;
  to.byte_len = from.byte_count;
  to.qp_num = from.qpn();
  if (!from.ok()) return;
  if (from.is_receive()) fill_in_receive(from, has_timestamp, to);
  else if (from.template get<&layouts::cqe_rows::opcode>() ==
           static_cast<unsigned>(layouts::wqe_opcode::lso))
    to.opcode = IBV_WC_TSO;
}

/// Receives of XRC complete here too.
int take_named(completions& queue, unsigned most, ibv_wc* to) {
  queues::work_completion done[16];
  unsigned taken = 0;
  while (taken < most) {
    const unsigned room = std::min<unsigned>(most - taken, std::size(done));
    const unsigned got = queue.object->take(done, room);
    for (unsigned i = 0; i < got; ++i) fill_in(done[i], queue.has_timestamps, to[taken++]);
    if (got < room) break;
  }
  return static_cast<int>(taken);
}

int take(completions& queue, int most, ibv_wc* to) {
  if (queue.named_queues != 0) return take_named(queue, static_cast<unsigned>(most), to);
  const unsigned taken = queue.rings->look(
      static_cast<unsigned>(most),
      [&](const queues::completion_view& done) { fill_in(done, queue.has_timestamps, *to++); });
  if (taken != 0) queue.rings->release();
  return static_cast<int>(taken);
}

}  // namespace

int poll_completions(ibv_cq* cq, int most, ibv_wc* to) {
  if (most <= 0) return 0;
  engine& here = engine_of(cq->context);
  if (here.dead()) return -ENODEV;
  completions& queue = of(cq);
  const engine::guard held(here.lock);
  if (const int got = take(queue, most, to); got != 0) return got;
  here.host().work_while_polling();
  here.poll_events_if_any();
  return take(queue, most, to);
}

int take_current(completions& queue) {
  engine& here = engine_of(queue.verbs.context);
  if (here.dead()) return ENODEV;
  const engine::guard held(here.lock);
  queues::work_completion done;
  const auto take_one = [&] {
    return (queue.named_queues != 0 ? queue.object->take(&done, 1) : queue.rings->poll(&done, 1)) ==
           1;
  };
  if (!take_one()) {
    here.host().work_while_polling();
    here.poll_events_if_any();
    if (!take_one()) return ENOENT;
  }
  fill_in(done, queue.has_timestamps, queue.current);
  queue.verbs.wr_id = queue.current.wr_id;
  queue.verbs.status = queue.current.status;
  queue.current_time = queue.has_timestamps ? timestamp_of(done) : 0;
  return 0;
}

int request_notification(ibv_cq* cq, int solicited_only) {
  engine& here = engine_of(cq->context);
  if (here.dead()) return ENODEV;
  const engine::guard held(here.lock);
  of(cq).rings->arm(solicited_only != 0);
  here.host().work();
  here.poll_events_if_any();
  return 0;
}

}  // namespace freehca::ibverbs
