// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "endpoint.hpp"

#include <poll.h>

#include "checks.hpp"

namespace programs {

opened_device::opened_device() {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  require(list != nullptr && count == 1, "a list with one device");
  context = ibv_open_device(list[0]);
  require(context != nullptr, "ibv_open_device");
  ibv_free_device_list(list);
  pd = ibv_alloc_pd(context);
  require(pd != nullptr, "ibv_alloc_pd");
  ibv_port_attr port{};
  require(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");
  expect_equal(port.state, IBV_PORT_ACTIVE, "state of the port");
  lid = port.lid;
  ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
  choose_gid(0);
}

void opened_device::choose_gid(std::uint8_t index) {
  gid_index = index;
  require(ibv_query_gid(context, 1, index, &gid) == 0, "ibv_query_gid");
}

opened_device::~opened_device() {
  if (pd != nullptr) expect_equal(ibv_dealloc_pd(pd), 0, "ibv_dealloc_pd");
  expect_equal(ibv_close_device(context), 0, "ibv_close_device");
}

ibv_ah_attr path_to(const opened_device& from, const address& to) {
  ibv_ah_attr path{};
  path.port_num = 1;
  if (from.ethernet) {
    path.is_global = 1;
    path.grh.dgid = to.gid;
    path.grh.sgid_index = from.gid_index;
    path.grh.hop_limit = 1;
  } else {
    path.dlid = to.lid;
  }
  return path;
}

endpoint::endpoint(opened_device& of, const pair_options& options) : device(of), how(options) {
  // A send queue may take more requests than were asked for.
  const int entries = static_cast<int>(4 * how.depth);
  send_cq = ibv_create_cq(device.context, entries, this, how.channel, 0);
  receive_cq = ibv_create_cq(device.context, entries, this, how.channel, 0);
  require(send_cq != nullptr && receive_cq != nullptr, "ibv_create_cq");
  ibv_qp_init_attr made{};
  made.send_cq = send_cq;
  made.recv_cq = receive_cq;
  made.cap = {how.depth, how.depth, 2, 2, 64};
  made.qp_type = how.type;
  qp = ibv_create_qp(device.pd, &made);
  require(qp != nullptr, "ibv_create_qp");
}

void endpoint::destroy() {
  if (qp != nullptr) expect_equal(ibv_destroy_qp(qp), 0, "ibv_destroy_qp");
  if (send_cq != nullptr) expect_equal(ibv_destroy_cq(send_cq), 0, "ibv_destroy_cq");
  if (receive_cq != nullptr) expect_equal(ibv_destroy_cq(receive_cq), 0, "ibv_destroy_cq");
  qp = nullptr;
  send_cq = receive_cq = nullptr;
}

address endpoint::connect(line& other) {
  other.send(own());
  const auto remote = other.receive<address>();
  connect(remote);
  return remote;
}

void endpoint::connect(const address& other) {
  const bool rc = how.type == IBV_QPT_RC, ud = how.type == IBV_QPT_UD;
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  to.qkey = common_qkey;
  to.qp_access_flags = how.access;
  const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  require(ibv_modify_qp(qp, &to, init | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)) == 0, "to INIT");
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = IBV_MTU_1024;
  to.dest_qp_num = other.qpn;
  to.rq_psn = other.psn;
  to.max_dest_rd_atomic = to.max_rd_atomic = 4;
  to.min_rnr_timer = 1;
  to.ah_attr = path_to(device, other);
  int mask = IBV_QP_STATE;
  if (!ud) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (rc) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  require(ibv_modify_qp(qp, &to, mask) == 0, "to RTR");
  to.qp_state = IBV_QPS_RTS;
  to.sq_psn = own().psn;
  to.timeout = how.timeout;
  to.retry_cnt = how.retries;
  to.rnr_retry = how.rnr_retries;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (rc) mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  require(ibv_modify_qp(qp, &to, mask) == 0, "to RTS");
}

int endpoint::post_receive(std::uint64_t id, const ibv_sge& to) {
  ibv_sge list = to;
  ibv_recv_wr request{};
  request.wr_id = id;
  request.sg_list = &list;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &request, &bad);
}

int endpoint::post(ibv_send_wr request) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &request, &bad);
}

ibv_wc endpoint::completion(ibv_cq* cq, const std::string& what) {
  ibv_wc done{};
  wait_until(
      [&] {
        const int count = ibv_poll_cq(cq, 1, &done);
        require(count >= 0, "ibv_poll_cq");
        return count == 1;
      },
      "a completion of " + what);
  return done;
}

ibv_qp_state endpoint::state() {
  ibv_qp_attr found{};
  ibv_qp_init_attr made{};
  require(ibv_query_qp(qp, &found, IBV_QP_STATE, &made) == 0, "ibv_query_qp");
  return found.qp_state;
}

buffer::buffer(std::uint64_t seed, std::size_t count)
    : bytes(pattern(seed, count)), expected(bytes) {}

buffer::~buffer() {
  for (ibv_mr* const region : regions) expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr");
}

ibv_mr* buffer::register_part(ibv_pd* pd, std::size_t first, std::size_t count, unsigned access) {
  ibv_mr* const made = (ibv_reg_mr)(pd, bytes.data() + first, count, static_cast<int>(access));
  require(made != nullptr, "ibv_reg_mr");
  regions.push_back(made);
  return made;
}

void buffer::expect_bytes(const std::string& what) const {
  std::size_t different = 0, first = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    if (bytes[i] != expected[i]) ++different, first = i;
  expect(different == 0, what + ": " + std::to_string(different) +
                             " bytes differ, the first at offset " + std::to_string(first));
}

bool has_event(ibv_context* context) {
  pollfd looked{context->async_fd, POLLIN, 0};
  return poll(&looked, 1, 0) == 1;
}

ibv_event_type next_event(ibv_context* context, const std::string& what) {
  wait_until([context] { return has_event(context); }, "an asynchronous event: " + what);
  ibv_async_event event{};
  require(ibv_get_async_event(context, &event) == 0, "ibv_get_async_event");
  ibv_ack_async_event(&event);
  return event.event_type;
}

}  // namespace programs
