// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link_end.hpp"

#include <arpa/inet.h>

namespace {

constexpr std::uint32_t qkey = 0x11111111, first_psn = 0xfffff0;

ibv_context* open(const std::string& name) {
  int count = 0;
  ibv_device** const all = ibv_get_device_list(&count);
  for (int i = 0; i < count; ++i)
    if (name == ibv_get_device_name(all[i]))
      if (ibv_context* const opened = ibv_open_device(all[i])) return opened;
  fail("the device");
}

}  // namespace

link_end::link_end(const std::string& device, ibv_qp_type type, unsigned slots,
                   std::uint32_t bytes_max)
    : type_(type),
      slots_(slots),
      slot_bytes_((bytes_max + grh_bytes + 7) & ~7U),
      memory_(std::size_t{slot_bytes_} * slots),
      device_(open(device)) {
  if (ibv_query_port(device_, 1, &port_) != 0) fail("ibv_query_port");
  domain_ = ibv_alloc_pd(device_);
  if (domain_ == nullptr) fail("ibv_alloc_pd");
  queue_ = ibv_create_cq(device_, static_cast<int>(slots), nullptr, nullptr, 0);
  if (queue_ == nullptr) fail("ibv_create_cq");
  ibv_qp_init_attr a{};
  a.send_cq = a.recv_cq = queue_;
  a.cap = {.max_send_wr = slots,
           .max_recv_wr = slots,
           .max_send_sge = 1,
           .max_recv_sge = 1,
           .max_inline_data = 0};
  a.qp_type = type;
  a.sq_sig_all = 1;
  pair_ = ibv_create_qp(domain_, &a);
  if (pair_ == nullptr) fail("ibv_create_qp");
  region_ = ibv_reg_mr(domain_, memory_.data(), memory_.size(),
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC);
  if (region_ == nullptr) fail("ibv_reg_mr");
}

endpoint link_end::address() const {
  return {pair_->qp_num, first_psn, port_.lid, region_->rkey,
          reinterpret_cast<std::uintptr_t>(memory_.data())};
}

void link_end::to_init() {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qkey = qkey;
  a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (reliable()) a.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  const int own = datagrams() ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  if (ibv_modify_qp(pair_, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | own) != 0)
    fail("to INIT");
}

void link_end::to_rts(const endpoint& peer) {
  peer_ = peer;
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = port_.active_mtu;
  a.dest_qp_num = peer.qpn;
  a.rq_psn = peer.first_psn;
  a.max_dest_rd_atomic = 16;
  a.min_rnr_timer = 12;
  a.ah_attr.dlid = peer.lid;
  a.ah_attr.port_num = 1;
  int mask = IBV_QP_STATE;
  if (!datagrams()) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (reliable()) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (ibv_modify_qp(pair_, &a, mask) != 0) fail("to RTR");
  a.qp_state = IBV_QPS_RTS;
  a.sq_psn = first_psn;
  a.timeout = 14;
  a.retry_cnt = 7;
  a.rnr_retry = 7;
  a.max_rd_atomic = 16;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (reliable())
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  if (ibv_modify_qp(pair_, &a, mask) != 0) fail("to RTS");
  if (!datagrams()) return;
  ibv_ah_attr to{};
  to.dlid = peer.lid;
  to.port_num = 1;
  way_ = ibv_create_ah(domain_, &to);
  if (way_ == nullptr) fail("ibv_create_ah");
}

void link_end::receive_into(std::uint64_t n) {
  ibv_sge piece = {reinterpret_cast<std::uintptr_t>(slot(n)), slot_bytes_, region_->lkey};
  ibv_recv_wr wanted{}, *bad = nullptr;
  wanted.wr_id = n;
  wanted.sg_list = &piece;
  wanted.num_sge = 1;
  if (ibv_post_recv(pair_, &wanted, &bad) != 0) fail("ibv_post_recv");
}

void link_end::request(ibv_wr_opcode operation, std::uint32_t n, std::size_t bytes) {
  ibv_sge piece = {reinterpret_cast<std::uintptr_t>(slot(n % slots_)),
                   static_cast<std::uint32_t>(bytes), region_->lkey};
  ibv_send_wr wanted{}, *bad = nullptr;
  wanted.wr_id = n;
  wanted.sg_list = &piece;
  wanted.num_sge = 1;
  wanted.opcode = operation;
  wanted.imm_data = htonl(n);
  switch (operation) {
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      wanted.wr.atomic = {
          .remote_addr = peer_.memory, .compare_add = 1, .swap = 0, .rkey = peer_.rkey};
      break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_READ:
      wanted.wr.rdma = {.remote_addr = peer_.memory + std::uint64_t{n} * slot_bytes_,
                        .rkey = peer_.rkey};
      break;
    default:
      if (datagrams()) wanted.wr.ud = {way_, peer_.qpn, qkey};
  }
  if (ibv_post_send(pair_, &wanted, &bad) != 0) fail("ibv_post_send");
}

bool link_end::next(ibv_wc& completion, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const int n = ibv_poll_cq(queue_, 1, &completion);
    if (n < 0) fail("ibv_poll_cq");
    if (n == 1) return true;
    if (std::chrono::steady_clock::now() > until) return false;
  }
}
