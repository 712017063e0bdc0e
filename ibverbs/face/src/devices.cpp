// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The list of devices, and opens of a device.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <freehca/layouts/layout.hpp>

#include "events.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

/// libmlx5 and libefa look at a pointer behind each ibv_device, which they take for one of
/// libibverbs' own verbs_device (rdma-core providers/mlx5/mlx5.c is_mlx5_dev). It has to be zero.
struct listed_device {
  ibv_device verbs;
  std::byte zeroes[512];
};

listed_device& the_device() {
  static listed_device device = [] {
    listed_device d{};
    d.verbs.node_type = IBV_NODE_CA;
    d.verbs.transport_type = IBV_TRANSPORT_IB;
    std::strcpy(d.verbs.name, "freehca0");
    std::strcpy(d.verbs.dev_name, "uverbs-freehca0");
    std::strcpy(d.verbs.dev_path, "/sys/class/infiniband_verbs/uverbs-freehca0");
    std::strcpy(d.verbs.ibdev_path, "/sys/class/infiniband/freehca0");
    return d;
  }();
  return device;
}

void fill_operations(open_context& made) {
  verbs_context& extended = made.verbs;
  extended.sz = sizeof extended;
  extended.query_port = query_port;
  extended.query_device_ex = query_device;
  extended.query_rt_values = query_clock;
  extended.create_cq_ex = create_extended_cq;
  extended.modify_cq = modify_completion_queue;
  extended.create_qp_ex = create_extended_qp;
  extended.create_srq_ex = create_extended_srq;
  extended.get_srq_num = srq_number;
  extended.open_xrcd = open_extended_domain;
  extended.close_xrcd = close_extended_domain;
  extended.open_qp = open_target;
  extended.create_wq = create_receive_queue;
  extended.modify_wq = modify_receive_queue;
  extended.destroy_wq = destroy_receive_queue;
  extended.create_rwq_ind_table = create_table;
  extended.destroy_rwq_ind_table = destroy_table;
  extended.ibv_create_flow = create_flow;
  extended.ibv_destroy_flow = destroy_flow;
  ibv_context_ops& plain = extended.context.ops;
  plain.alloc_mw = allocate_window;
  plain.bind_mw = bind_window;
  plain.dealloc_mw = free_window;
  plain.poll_cq = poll_completions;
  plain.req_notify_cq = request_notification;
  plain.post_send = post_send;
  plain.post_recv = post_receive;
  plain.post_srq_recv = post_shared_receive;
}

}  // namespace
}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT ibv_device** ibv_get_device_list(int* count) {
  auto** const list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  if (list == nullptr) return fail(ENOMEM);
  list[0] = &the_device().verbs;
  if (count != nullptr) *count = 1;
  return list;
}

FREEHCA_EXPORT void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}

FREEHCA_EXPORT const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

FREEHCA_EXPORT int ibv_get_device_index(ibv_device*) {
  return 0;
}

FREEHCA_EXPORT __be64 ibv_get_device_guid(ibv_device*) {
  std::string why;
  engine* const here = engine::get(why);
  if (here == nullptr) return 0;
  const engine::guard held(here->lock);
  return layouts::swap_be(here->hardware().info().node_guid);
}

FREEHCA_EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  const uncancellable stays;
  std::string why;
  engine* const here = engine::get(why);
  if (here == nullptr) {
    std::fprintf(stderr, "freehca: the device cannot be opened: %s\n", why.c_str());
    return fail(ENODEV);
  }
  auto made = std::make_unique<open_context>();
  made->of = here;
  auto events = std::make_unique<event_queue<ibv_async_event>>();
  if (events->descriptor() < 0) return fail(EMFILE);
  made->asynchronous = events.release();
  fill_operations(*made);
  ibv_context& context = made->verbs.context;
  context.device = device;
  // Programs pass it on or duplicate it, and read nothing from it.
  context.cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  context.async_fd = made->asynchronous->descriptor();
  context.num_comp_vectors = 1;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&context.mutex, nullptr);
  add_context(*made);
  return &made.release()->verbs.context;
}

FREEHCA_EXPORT int ibv_close_device(ibv_context* context) {
  const uncancellable stays;
  open_context& closed = of(context);
  remove_context(closed);
  // Queues that are left keep on working, and the driver's events lead to their context.
  if (closed.queues != 0) return 0;
  close(context->cmd_fd);
  delete closed.asynchronous;
  pthread_mutex_destroy(&context->mutex);
  delete &closed;
  return 0;
}

FREEHCA_EXPORT int ibv_fork_init() {
  return 0;
}

FREEHCA_EXPORT ibv_fork_status ibv_is_fork_initialized() {
  return host::hides_memory_from_children() ? IBV_FORK_ENABLED : IBV_FORK_UNNEEDED;
}
