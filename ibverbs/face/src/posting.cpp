// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <algorithm>
#include <cstring>
#include <optional>

#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/qp_names.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

using queues::data_entry;
using work_requests::send_opcode;
using work_requests::send_request;

// A list of libibverbs' entries is a list of the driver's.
static_assert(sizeof(ibv_sge) == sizeof(data_entry) &&
              offsetof(ibv_sge, addr) == offsetof(data_entry, address) &&
              offsetof(ibv_sge, length) == offsetof(data_entry, length) &&
              offsetof(ibv_sge, lkey) == offsetof(data_entry, lkey));
const data_entry* entries_of(const ibv_sge* list) {
  return reinterpret_cast<const data_entry*>(list);
}

constexpr std::uint32_t most_inline = 1024;

std::optional<send_opcode> opcode_of(ibv_wr_opcode o) {
  switch (o) {
    case IBV_WR_RDMA_WRITE:
      return send_opcode::rdma_write;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return send_opcode::rdma_write_with_immediate;
    case IBV_WR_SEND:
      return send_opcode::send;
    case IBV_WR_SEND_WITH_IMM:
      return send_opcode::send_with_immediate;
    case IBV_WR_RDMA_READ:
      return send_opcode::rdma_read;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return send_opcode::compare_and_swap;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return send_opcode::fetch_and_add;
    case IBV_WR_LOCAL_INV:
      return send_opcode::local_invalidate;
    case IBV_WR_SEND_WITH_INV:
      return send_opcode::send_with_invalidate;
    case IBV_WR_BIND_MW:
      return send_opcode::bind_window;
    case IBV_WR_TSO:
      return send_opcode::send_large_frame;
    default:
      return {};
  }
}

bool is_atomic(ibv_wr_opcode o) {
  return o == IBV_WR_ATOMIC_CMP_AND_SWP || o == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/// Gathers inline data of several pieces, as the driver takes one.
class inline_pieces {
 public:
  bool gather(const ibv_send_wr& from, send_request& to) {
    if (from.num_sge == 1) {
      to.inline_bytes = reinterpret_cast<const std::byte*>(from.sg_list->addr);
      to.inline_length = from.sg_list->length;
      return true;
    }
    std::uint32_t bytes = 0;
    for (int i = 0; i < from.num_sge; ++i) {
      const ibv_sge& piece = from.sg_list[i];
      if (piece.length > most_inline - bytes) return false;
      std::memcpy(together_ + bytes, reinterpret_cast<const void*>(piece.addr), piece.length);
      bytes += piece.length;
    }
    to.inline_bytes = together_;
    to.inline_length = bytes;
    return true;
  }

 private:
  std::byte together_[most_inline];
};

/// Returns 0, or an errno. Without a region, the request unbinds the window. rdma-core
/// providers/mlx4/qp.c set_bind_seg reads the same members.
int translate_binding(const ibv_send_wr& from, queues::window_binding& to) {
  constexpr unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  using rights = queues::window_rights;
  const ibv_mw* const mw = from.bind_mw.mw;
  const ibv_mw_bind_info& how = from.bind_mw.bind_info;
  if (mw == nullptr || (how.mr == nullptr && how.length != 0)) return EINVAL;
  // The adapter has no windows whose addresses begin at 0.
  if ((how.mw_access_flags & ~known) != 0) return EINVAL;
  const auto right = [&how](unsigned flag, rights r) {
    return (how.mw_access_flags & flag) != 0 ? r : rights::none;
  };
  to = {.key = from.bind_mw.rkey,
        .region = how.mr != nullptr ? how.mr->lkey : 0,
        .address = how.addr,
        .length = how.length,
        .rights = right(IBV_ACCESS_REMOTE_READ, rights::remote_read) |
                  right(IBV_ACCESS_REMOTE_WRITE, rights::remote_write) |
                  right(IBV_ACCESS_REMOTE_ATOMIC, rights::remote_atomic),
        .type = mw->type == IBV_MW_TYPE_2 ? queues::window_type::two : queues::window_type::one};
  return 0;
}

/// The parts of a frame's request to which the driver's request points.
struct frame_parts {
  queues::frame_options options;
  queues::frame_headers headers;
};

/// Returns 0, or an errno. The destination of the frame is read from its first bytes, for the
/// receivers of the same port (rdma-core providers/mlx4/qp.c mlx4_post_send).
int translate_frame(const ibv_send_wr& from, send_request& to, frame_parts& parts) {
  if (from.opcode != IBV_WR_SEND && from.opcode != IBV_WR_TSO) return EINVAL;
  const bool large = from.opcode == IBV_WR_TSO, sums = (from.send_flags & IBV_SEND_IP_CSUM) != 0;
  parts = {.options = {.ip_checksum = sums, .l4_checksum = sums}, .headers = {}};
  const std::byte* first = to.inline_bytes;
  std::size_t bytes = to.inline_length;
  if (large) {
    first = static_cast<const std::byte*>(from.tso.hdr);
    bytes = from.tso.hdr_sz;
    parts.headers = {first, from.tso.hdr_sz, from.tso.mss};
  } else if (first == nullptr && to.entries != 0) {
    first = reinterpret_cast<const std::byte*>(to.list->address);
    bytes = to.list->length;
  }
  constexpr std::size_t mac_bytes = 6;
  if (first != nullptr && bytes >= mac_bytes)
    for (std::size_t i = 0; i < mac_bytes; ++i)
      parts.options.loopback_mac =
          parts.options.loopback_mac << 8 | static_cast<std::uint8_t>(first[i]);
  to.opcode = large ? send_opcode::send_large_frame : send_opcode::send_frame;
  to.frame = &parts.options;
  to.headers = &parts.headers;
  return 0;
}

const char* name_of(ibv_wr_opcode o) {
  constexpr const char* names[]{"RDMA_WRITE",
                                "RDMA_WRITE_WITH_IMM",
                                "SEND",
                                "SEND_WITH_IMM",
                                "RDMA_READ",
                                "ATOMIC_CMP_AND_SWP",
                                "ATOMIC_FETCH_AND_ADD",
                                "LOCAL_INV",
                                "BIND_MW",
                                "SEND_WITH_INV",
                                "TSO"};
  const auto n = static_cast<std::size_t>(o);
  return n < std::size(names) ? names[n] : "unknown";
}

/// A queue pair that was made for no entries takes one. A negative count is too large as well.
bool has_more_entries(int entries, std::uint32_t most) {
  return static_cast<std::uint32_t>(entries) > std::max(1u, most);
}

/// Returns 0, or an errno.
int translate(const pair& queue, const ibv_send_wr& from, send_request& to, inline_pieces& pieces,
              queues::window_binding& binding, frame_parts& parts) {
  const std::optional<send_opcode> opcode = opcode_of(from.opcode);
  if (!opcode) return because(EINVAL, "opcode %d is none of this queue pair", from.opcode);
  const ibv_qp_cap& most = queue.made_with.cap;
  if (has_more_entries(from.num_sge, most.max_send_sge))
    return because(ENOMEM, "num_sge %d; at most %u, as the queue pair was made", from.num_sge,
                   most.max_send_sge);
  to.opcode = *opcode;
  to.wr_id = from.wr_id;
  to.signaled = queue.made_with.sq_sig_all != 0 || (from.send_flags & IBV_SEND_SIGNALED) != 0;
  to.solicited = (from.send_flags & IBV_SEND_SOLICITED) != 0;
  to.fence = (from.send_flags & IBV_SEND_FENCE) != 0;
  to.immediate = layouts::swap_be(from.imm_data);
  if ((from.send_flags & IBV_SEND_INLINE) != 0 && from.num_sge > 0) {
    if (!pieces.gather(from, to) || to.inline_length > most.max_inline_data)
      return because(ENOMEM, "%u bytes of inline data; at most %u (max_inline_data)",
                     to.inline_length, most.max_inline_data);
  } else {
    to.list = entries_of(from.sg_list);
    to.entries = static_cast<unsigned>(from.num_sge);
  }
  if (queue.shared->has_frames) return translate_frame(from, to, parts);
  if (queue.made_with.qp_type == IBV_QPT_XRC_SEND) to.remote_srqn = from.qp_type.xrc.remote_srqn;
  if (queue.made_with.qp_type == IBV_QPT_UD) {
    // Those of other opcodes have something else where datagrams have their address handle.
    if (from.opcode != IBV_WR_SEND && from.opcode != IBV_WR_SEND_WITH_IMM)
      return because(EINVAL, "opcode %s; a UD queue pair sends datagrams alone",
                     name_of(from.opcode));
    if (from.wr.ud.ah == nullptr) return because(EINVAL, "no address handle");
    to.to = of(from.wr.ud.ah).address;
    to.remote_qpn = from.wr.ud.remote_qpn;
    to.qkey = from.wr.ud.remote_qkey;
  } else if (is_atomic(from.opcode)) {
    to.remote_address = from.wr.atomic.remote_addr;
    to.rkey = from.wr.atomic.rkey;
    to.compare = from.wr.atomic.compare_add;
    to.swap_or_add =
        from.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? from.wr.atomic.swap : from.wr.atomic.compare_add;
  } else if (from.opcode == IBV_WR_BIND_MW) {
    to.binding = &binding;
    return translate_binding(from, binding);
  } else if (from.opcode == IBV_WR_LOCAL_INV || from.opcode == IBV_WR_SEND_WITH_INV) {
    to.rkey = from.invalidate_rkey;
  } else {
    to.remote_address = from.wr.rdma.remote_addr;
    to.rkey = from.wr.rdma.rkey;
  }
  return 0;
}

/// A full queue is ENOMEM. So are too many entries of a send, as libmlx4 has them (rdma-core
/// providers/mlx4/qp.c mlx4_post_send). The rest is EINVAL. So are too many entries of a receive,
/// as the tests of pyverbs expect of every provider (tests/utils.py
/// create_rq_with_larger_sgl_bad_flow).
int error_of_post(status s) {
  return s.is(driver_error::queue_full) ? ENOMEM : EINVAL;
}

/// The same, with a reason for explanations.
int explained_post(status s, const pair& queue, const ibv_send_wr& request) {
  const int error = error_of_post(s);
  if (!explains_failures) return error;
  const queue_pair& object = *queue.object;
  if (s.is(driver_error::queue_full))
    return because(error,
                   "the send queue is full: its %u requests wait until the program polls their "
                   "completions (max_send_wr)",
                   object.rings.send.outstanding());
  if (object.qp_state != layouts::qp_state::rts && object.qp_state != layouts::qp_state::error)
    return because(error, "the queue pair is in state %s; wanted: RTS", name_of(object.qp_state));
  std::uint64_t bytes = 0;
  for (int i = 0; i < request.num_sge; ++i) bytes += request.sg_list[i].length;
  return because(error,
                 "%s of %llu bytes: %s. A datagram has at most the MTU of its port, 4096 bytes at "
                 "most, and an unreliable queue pair has neither RDMA reads nor atomics",
                 name_of(request.opcode), static_cast<unsigned long long>(bytes), words(s).c_str());
}

template <class Queue>
int post_receives(const verbs_call& call, std::uint32_t qpn, Queue& queue,
                  std::uint32_t most_entries, ibv_recv_wr* request, ibv_recv_wr** bad) {
  int error = 0;
  for (; request != nullptr; request = request->next) {
    if (has_more_entries(request->num_sge, most_entries)) {
      error = because(EINVAL, "num_sge %d; at most %u", request->num_sge, most_entries);
    } else if (const status posted = queue.post({request->wr_id, entries_of(request->sg_list),
                                                 static_cast<unsigned>(request->num_sge)});
               !posted.ok()) {
      error = error_of_post(posted);
      if (explains_failures)
        because(error, "%s",
                posted.is(driver_error::queue_full) ? "the receive queue is full (max_recv_wr)"
                                                    : words(posted).c_str());
    } else if (explains_failures && qpn != 0) [[unlikely]] {
      note_receive(qpn, call.from());
    }
    if (error != 0) {
      if (bad != nullptr) *bad = request;
      break;
    }
  }
  queue.ring();
  if (error != 0 && qpn != 0) because_of(error, named_kind::queue_pair, qpn);
  return call.ended(error);
}

/// Remembers a request for explanations, and what it does to keys.
void note_post(const ibv_qp& qp, const ibv_send_wr& request, std::uint32_t index,
               const program_place& from) {
  note_send(qp.qp_num, index, from);
  if (qp.qp_type == IBV_QPT_UD) note_destination(qp.qp_num, request.wr.ud.ah);
  if (request.opcode == IBV_WR_LOCAL_INV)
    note_destroyed(named_kind::key, request.invalidate_rkey, from);
  if (request.opcode != IBV_WR_BIND_MW || request.bind_mw.mw == nullptr) return;
  const ibv_mw_bind_info& how = request.bind_mw.bind_info;
  const std::uint32_t key = request.bind_mw.rkey;
  note_made(named_kind::key, key, from,
            "a memory window of " + std::to_string(how.length) + " bytes");
  if (how.mr != nullptr) note_use(named_kind::key, key, named_kind::key, how.mr->lkey);
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  const verbs_call call("ibv_post_send", __builtin_return_address(0));
  return post_send(call, qp, request, bad);
}

int post_send(const verbs_call& call, ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  pair& queue = of(qp);
  engine& here = engine_of(qp->context);
  if (here.dead()) {
    if (bad != nullptr) *bad = request;
    return ENODEV;
  }
  int error = 0;
  inline_pieces pieces;
  queues::window_binding binding;
  frame_parts parts;
  const engine::guard held(here.lock);
  queues::sq& ring = queue.object->rings.send;
  for (; request != nullptr; request = request->next) {
    send_request translated;
    error = translate(queue, *request, translated, pieces, binding, parts);
    if (explains_failures) [[unlikely]]
      note_post(*qp, *request, ring.posted() & 0xffff, call.from());
    if (error == 0)
      if (const status posted = work_requests::post(ring, translated); !posted.ok())
        error = explained_post(posted, queue, *request);
    if (error != 0) {
      if (bad != nullptr) *bad = request;
      break;
    }
  }
  ring.ring();
  here.host().polls_after_doorbell();
  here.poll_events_if_any();
  if (error != 0) because_of(error, named_kind::queue_pair, qp->qp_num);
  return call.ended(error);
}

int post_receive(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad) {
  const verbs_call call("ibv_post_recv", __builtin_return_address(0));
  engine& here = engine_of(qp->context);
  if (here.dead()) {
    if (bad != nullptr) *bad = request;
    return ENODEV;
  }
  const engine::guard held(here.lock);
  return post_receives(call, qp->qp_num, of(qp).object->rings.receive,
                       of(qp).made_with.cap.max_recv_sge, request, bad);
}

int post_to_receive_queue(ibv_wq* wq, ibv_recv_wr* request, ibv_recv_wr** bad) {
  const verbs_call call("ibv_post_wq_recv", __builtin_return_address(0));
  engine& here = engine_of(wq->context);
  if (here.dead()) {
    if (bad != nullptr) *bad = request;
    return ENODEV;
  }
  const engine::guard held(here.lock);
  return post_receives(call, 0, of(wq).object->rings.receive, of(wq).most_entries, request, bad);
}

int post_shared_receive(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad) {
  const verbs_call call("ibv_post_srq_recv", __builtin_return_address(0));
  engine& here = engine_of(srq->context);
  if (here.dead()) {
    if (bad != nullptr) *bad = request;
    return ENODEV;
  }
  const engine::guard held(here.lock);
  return post_receives(call, 0, *of(srq).rings, of(srq).attributes.max_sge, request, bad);
}

}  // namespace freehca::ibverbs
