// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The functions of ibv_cq_ex: each completion is taken alone, and its members are read by
// functions. Which of them a completion queue has is as in rdma-core 44 providers/mlx4/cq.c
// mlx4_cq_fill_pfns.
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

void release(completions& queue) {
  queue.polled.clear(std::memory_order_release);
  queue.polled.notify_one();
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* how) {
  if (how->comp_mask != 0) return EINVAL;
  completions& queue = of(cq);
  // Another thread of the parent of a forked child may have been polling.
  if (engine_of(cq->context).dead()) return ENODEV;
  if (!queue.is_single_threaded)
    while (queue.polled.test_and_set(std::memory_order_acquire))
      queue.polled.wait(true, std::memory_order_relaxed);
  const int error = take_current(queue);
  // Without a completion, the program does not call end_poll().
  if (error != 0 && !queue.is_single_threaded) release(queue);
  return error;
}

int next_poll(ibv_cq_ex* cq) {
  return take_current(of(cq));
}

/// Another thread than that of start_poll() may call it. Some programs call it after start_poll()
/// has failed (pyverbs' tests).
void end_poll(ibv_cq_ex* cq) {
  if (!of(cq).is_single_threaded) release(of(cq));
}

template <auto Member>
auto member(ibv_cq_ex* cq) {
  return of(cq).current.*Member;
}

}  // namespace

void set_polling_functions(ibv_cq_ex& to, std::uint64_t members) {
  to.start_poll = start_poll;
  to.next_poll = next_poll;
  to.end_poll = end_poll;
  to.read_opcode = member<&ibv_wc::opcode>;
  to.read_vendor_err = member<&ibv_wc::vendor_err>;
  to.read_wc_flags = member<&ibv_wc::wc_flags>;
  if ((members & IBV_WC_EX_WITH_BYTE_LEN) != 0) to.read_byte_len = member<&ibv_wc::byte_len>;
  // The invalidated key is at the same place (ibv_wc_read_invalidated_rkey).
  if ((members & IBV_WC_EX_WITH_IMM) != 0)
    to.read_imm_data = [](ibv_cq_ex* cq) { return of(cq).current.imm_data; };
  if ((members & IBV_WC_EX_WITH_QP_NUM) != 0) to.read_qp_num = member<&ibv_wc::qp_num>;
  if ((members & IBV_WC_EX_WITH_SRC_QP) != 0) to.read_src_qp = member<&ibv_wc::src_qp>;
  if ((members & IBV_WC_EX_WITH_SLID) != 0)
    to.read_slid = [](ibv_cq_ex* cq) { return std::uint32_t{of(cq).current.slid}; };
  if ((members & IBV_WC_EX_WITH_SL) != 0) to.read_sl = member<&ibv_wc::sl>;
  if ((members & IBV_WC_EX_WITH_DLID_PATH_BITS) != 0)
    to.read_dlid_path_bits = member<&ibv_wc::dlid_path_bits>;
  if ((members & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0)
    to.read_completion_ts = [](ibv_cq_ex* cq) { return of(cq).current_time; };
}

}  // namespace freehca::ibverbs
