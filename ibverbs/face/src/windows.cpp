// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory windows. ibv_alloc_mw(), ibv_bind_mw() and ibv_dealloc_mw() are inline functions of
// libibverbs' header, which call these through the context.
#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

ibv_mw* allocate_window(ibv_pd* pd, ibv_mw_type type) {
  FREEHCA_CALL(call);
  engine& here = engine_of(pd->context);
  if (here.dead()) return fail(ENODEV);
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return fail(EINVAL);
  const uncancellable stays;
  auto made = std::make_unique<window>();
  const engine::guard held(here.lock);
  create_memory_window create;
  const memory_window_attributes how{
      .pd = of(pd).handle,
      .type = type == IBV_MW_TYPE_2 ? queues::window_type::two : queues::window_type::one};
  if (const int error = here.perform(create, how); error != 0) return fail(call.ended(error));
  made->handle = create.made();
  made->verbs = {pd->context, pd, key_of(here.objects(), made->handle), 0, type};
  note_made(named_kind::key, made->verbs.rkey, call.from(), "a memory window");
  return &made.release()->verbs;
}

int free_window(ibv_mw* mw) {
  FREEHCA_CALL(call);
  engine& here = engine_of(mw->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    destroy_memory_window destroy;
    if (const int error = here.perform(destroy, of(mw).handle); error != 0)
      return call.ended(error);
    note_destroyed(named_kind::key, mw->rkey, call.from());
  }
  delete &of(mw);
  return 0;
}

/// The window has a new key, unless the request is refused (rdma-core providers/mlx4/verbs.c
/// mlx4_bind_mw).
int bind_window(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* how) {
  FREEHCA_CALL(call);
  ibv_send_wr request{}, *bad = nullptr;
  request.opcode = IBV_WR_BIND_MW;
  request.wr_id = how->wr_id;
  request.send_flags = how->send_flags;
  request.bind_mw = {mw, ibv_inc_rkey(mw->rkey), how->bind_info};
  if (const int error = post_send(call, qp, &request, &bad); error != 0) return error;
  mw->rkey = request.bind_mw.rkey;
  note_made(named_kind::key, mw->rkey, call.from(), "a memory window");
  return 0;
}

}  // namespace freehca::ibverbs
