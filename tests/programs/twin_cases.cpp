// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The statuses of requests that are refused, as the IBTA specification has them (vol. 1, 9.9.2
// requester, 9.9.3 responder, 11.6.2 completion return status) and as tests/model checks them.
#include "twin_cases.hpp"

namespace programs {

namespace {

struct kind {
  const char* name;
  ibv_qp_type type;
  ibv_wr_opcode opcode;
};

constexpr kind kinds[] = {
    {"rc_send", IBV_QPT_RC, IBV_WR_SEND},
    {"rc_send_with_immediate", IBV_QPT_RC, IBV_WR_SEND_WITH_IMM},
    {"rc_write", IBV_QPT_RC, IBV_WR_RDMA_WRITE},
    {"rc_write_with_immediate", IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM},
    {"rc_read", IBV_QPT_RC, IBV_WR_RDMA_READ},
    {"rc_compare_and_swap", IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP},
    {"rc_fetch_and_add", IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD},
    {"uc_send", IBV_QPT_UC, IBV_WR_SEND},
    {"uc_send_with_immediate", IBV_QPT_UC, IBV_WR_SEND_WITH_IMM},
    {"uc_write", IBV_QPT_UC, IBV_WR_RDMA_WRITE},
    {"uc_write_with_immediate", IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM},
    {"ud_send", IBV_QPT_UD, IBV_WR_SEND},
    {"ud_send_with_immediate", IBV_QPT_UD, IBV_WR_SEND_WITH_IMM},
};

struct named_fault {
  const char* name;
  fault wrong;
};

constexpr named_fault remote_memory[] = {
    {"wrong_remote_key", fault::remote_key},         {"region_without_right", fault::region_right},
    {"region_of_other_domain", fault::other_domain}, {"deregistered_region", fault::deregistered},
    {"one_byte_past_the_end", fault::past_end},
};

class table {
 public:
  std::vector<twin> rows;

  void begin(const kind& of) {
    of_ = of;
    add("arrives", fault::none, {});
  }
  void add(const char* name, fault wrong, const outcome& ends) {
    rows.push_back({std::string(of_.name) + "." + name, of_.type, of_.opcode, wrong, ends});
  }

  void add_rc() {
    constexpr outcome access{IBV_WC_REM_ACCESS_ERR, IBV_QPS_ERR, IBV_QPS_ERR, IBV_WC_WR_FLUSH_ERR,
                             IBV_EVENT_QP_ACCESS_ERR};
    constexpr outcome local{IBV_WC_LOC_PROT_ERR, IBV_QPS_ERR, IBV_QPS_RTS, IBV_WC_SUCCESS, -1};
    add("wrong_local_key", fault::local_key, local);
    if (right_for(of_.opcode) != 0) {
      for (const named_fault& f : remote_memory) add(f.name, f.wrong, access);
      outcome refused = access;
      refused.request = IBV_WC_REM_INV_REQ_ERR;
      if (is_atomic(of_.opcode)) add("wrong_alignment", fault::alignment, refused);
      refused.event = IBV_EVENT_QP_REQ_ERR;
      add("queue_pair_without_right", fault::pair_right, refused);
      if (!is_write(of_.opcode)) add("memory_without_local_write", fault::no_local_write, local);
    }
    if (!takes_receive(of_.opcode)) return;
    constexpr outcome not_ready{IBV_WC_RNR_RETRY_EXC_ERR, IBV_QPS_ERR, IBV_QPS_RTS, IBV_WC_SUCCESS,
                                -1};
    add("no_receive", fault::no_receive, not_ready);
    add("no_receive_and_one_retry", fault::no_receive_retry, not_ready);
    if (!is_send(of_.opcode)) return;
    add("longer_than_the_receive", fault::long_message,
        {IBV_WC_REM_INV_REQ_ERR, IBV_QPS_ERR, IBV_QPS_ERR, IBV_WC_LOC_LEN_ERR, -1});
    add("receive_with_wrong_key", fault::receive_key,
        {IBV_WC_REM_OP_ERR, IBV_QPS_ERR, IBV_QPS_ERR, IBV_WC_LOC_PROT_ERR, -1});
  }

  /// The requester is never told. A message that cannot be placed ends the target's queue pair if
  /// a receive was taken for it, and is dropped otherwise.
  void add_uc() {
    add("wrong_local_key", fault::local_key, {IBV_WC_LOC_PROT_ERR, IBV_QPS_SQE});
    if (right_for(of_.opcode) != 0) {
      for (const named_fault& f : remote_memory) add(f.name, f.wrong, {});
      add("queue_pair_without_right", fault::pair_right, {});
    }
    if (takes_receive(of_.opcode)) add("no_receive", fault::no_receive, {});
    if (!is_send(of_.opcode)) return;
    add("longer_than_the_receive", fault::long_message,
        {IBV_WC_SUCCESS, IBV_QPS_RTS, IBV_QPS_ERR, IBV_WC_LOC_LEN_ERR, -1});
    add("receive_with_wrong_key", fault::receive_key,
        {IBV_WC_SUCCESS, IBV_QPS_RTS, IBV_QPS_ERR, IBV_WC_LOC_PROT_ERR, -1});
  }

  void add_ud() {
    add("wrong_queue_key", fault::queue_key, {});
    add("no_receive", fault::no_receive, {});
    add("wrong_local_key", fault::local_key, {IBV_WC_LOC_PROT_ERR, IBV_QPS_SQE});
    add("longer_than_the_mtu", fault::over_mtu, {});
    add("longer_than_the_receive", fault::long_message,
        {IBV_WC_SUCCESS, IBV_QPS_RTS, IBV_QPS_ERR, IBV_WC_LOC_LEN_ERR, -1});
  }

 private:
  kind of_{};
};

}  // namespace

std::vector<twin> twins() {
  table made;
  for (const kind& k : kinds) {
    made.begin(k);
    if (k.type == IBV_QPT_RC) made.add_rc();
    if (k.type == IBV_QPT_UC) made.add_uc();
    if (k.type == IBV_QPT_UD) made.add_ud();
  }
  return made.rows;
}

}  // namespace programs
