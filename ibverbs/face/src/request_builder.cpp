// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The functions ibv_wr_*: a list of requests is built, and posted by ibv_wr_complete().
#include <cerrno>
#include <utility>

#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

ibv_send_wr& last(ibv_qp_ex* qp) {
  return of(qp).built.requests.back();
}

ibv_send_wr& begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
  request_list& built = of(qp).built;
  ibv_send_wr& made = built.requests.emplace_back();
  made = {};
  made.wr_id = qp->wr_id;
  made.send_flags = qp->wr_flags;
  made.opcode = opcode;
  built.lists.emplace_back();
  return made;
}

void begin_remote(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t key, std::uint64_t address) {
  ibv_send_wr& made = begin(qp, opcode);
  made.wr.rdma.rkey = key;
  made.wr.rdma.remote_addr = address;
}

void set_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
  of(qp).built.lists.back().assign(list, list + count);
}

/// Takes inline data that is given in pieces. If it is more than the queue pair has room for, it is
/// not read, and the list is not posted.
void set_inline(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* pieces) {
  request_list& built = of(qp).built;
  const std::size_t most = of(qp).made_with.cap.max_inline_data;
  std::vector<std::byte> data;
  for (std::size_t i = 0; i < count; ++i) {
    if (pieces[i].length > most - data.size()) {
      built.error = ENOMEM;
      return;
    }
    const auto* const from = static_cast<const std::byte*>(pieces[i].addr);
    data.insert(data.end(), from, from + pieces[i].length);
  }
  // Buffers of vectors stay where they are when the vector of vectors grows.
  const std::vector<std::byte>& kept = built.inline_data.emplace_back(std::move(data));
  const ibv_sge piece{reinterpret_cast<std::uintptr_t>(kept.data()),
                      static_cast<std::uint32_t>(kept.size()), 0};
  built.lists.back().assign(1, piece);
  last(qp).send_flags |= IBV_SEND_INLINE;
}

void start(ibv_qp_ex* qp) {
  of(qp).built = {};
}

int complete(ibv_qp_ex* qp) {
  request_list built = std::exchange(of(qp).built, {});
  if (built.error != 0) return built.error;
  if (built.requests.empty()) return 0;
  for (std::size_t i = 0; i < built.requests.size(); ++i) {
    ibv_send_wr& request = built.requests[i];
    request.sg_list = built.lists[i].data();
    request.num_sge = static_cast<int>(built.lists[i].size());
    request.next = i + 1 < built.requests.size() ? &built.requests[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  return post_send(&qp->qp_base, built.requests.data(), &bad);
}

}  // namespace

void set_request_functions(ibv_qp_ex& to) {
  to.wr_start = start;
  to.wr_complete = complete;
  to.wr_abort = start;
  to.wr_send = [](ibv_qp_ex* qp) { begin(qp, IBV_WR_SEND); };
  to.wr_send_imm = [](ibv_qp_ex* qp, __be32 immediate) {
    begin(qp, IBV_WR_SEND_WITH_IMM).imm_data = immediate;
  };
  to.wr_send_inv = [](ibv_qp_ex* qp, std::uint32_t key) {
    begin(qp, IBV_WR_SEND_WITH_INV).invalidate_rkey = key;
  };
  to.wr_bind_mw = [](ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t key, const ibv_mw_bind_info* how) {
    begin(qp, IBV_WR_BIND_MW).bind_mw = {mw, key, *how};
  };
  to.wr_local_inv = [](ibv_qp_ex* qp, std::uint32_t key) {
    begin(qp, IBV_WR_LOCAL_INV).invalidate_rkey = key;
  };
  to.wr_rdma_write = [](ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address) {
    begin_remote(qp, IBV_WR_RDMA_WRITE, key, address);
  };
  to.wr_rdma_write_imm = [](ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address,
                            __be32 immediate) {
    begin_remote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, key, address);
    last(qp).imm_data = immediate;
  };
  to.wr_rdma_read = [](ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address) {
    begin_remote(qp, IBV_WR_RDMA_READ, key, address);
  };
  to.wr_atomic_cmp_swp = [](ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address,
                            std::uint64_t compare, std::uint64_t swap) {
    begin(qp, IBV_WR_ATOMIC_CMP_AND_SWP).wr.atomic = {address, compare, swap, key};
  };
  to.wr_atomic_fetch_add = [](ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address,
                              std::uint64_t add) {
    begin(qp, IBV_WR_ATOMIC_FETCH_AND_ADD).wr.atomic = {address, add, 0, key};
  };
  to.wr_send_tso = [](ibv_qp_ex* qp, void* header, std::uint16_t bytes, std::uint16_t payload) {
    begin(qp, IBV_WR_TSO).tso = {header, bytes, payload};
  };
  to.wr_set_xrc_srqn = [](ibv_qp_ex* qp, std::uint32_t queue) {
    last(qp).qp_type.xrc.remote_srqn = queue;
  };
  to.wr_set_ud_addr = [](ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
    last(qp).wr.ud = {ah, qpn, qkey};
  };
  to.wr_set_sge = [](ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, std::uint32_t bytes) {
    const ibv_sge piece{address, bytes, key};
    set_list(qp, 1, &piece);
  };
  to.wr_set_sge_list = [](ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
    set_list(qp, count, list);
  };
  to.wr_set_inline_data = [](ibv_qp_ex* qp, void* at, std::size_t bytes) {
    const ibv_data_buf piece{at, bytes};
    set_inline(qp, 1, &piece);
  };
  to.wr_set_inline_data_list = [](ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* pieces) {
    set_inline(qp, count, pieces);
  };
}

}  // namespace freehca::ibverbs
