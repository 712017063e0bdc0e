// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <arpa/inet.h>

#include <cerrno>
#include <cstring>

#include "checks.hpp"
#include "twin_sides.hpp"

namespace programs {

namespace {

std::uint8_t rnr_retries(fault wrong) {
  return wrong == fault::no_receive ? 0 : wrong == fault::no_receive_retry ? 1 : 7;
}

ibv_wc_opcode completed_as(ibv_wr_opcode o) {
  switch (o) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

class requester {
 public:
  requester(opened_device& device, endpoint& fence, const twin_plan& plan)
      : plan_(plan),
        fence_(fence),
        memory_(plan.requester_seed, plan.memory_bytes),
        there_(pattern(plan.target_seed, plan.memory_bytes)),
        pair_(device,
              {.type = plan.of.type, .access = 0, .rnr_retries = rnr_retries(plan.of.wrong)}) {
    const bool read_only = plan.of.wrong == fault::no_local_write;
    key_ = memory_
               .register_part(device.pd, 0, plan.memory_bytes,
                              read_only ? 0u : unsigned{IBV_ACCESS_LOCAL_WRITE})
               ->lkey;
  }
  ~requester() {
    pair_.destroy();
    if (ah_ != nullptr) expect_equal(ibv_destroy_ah(ah_), 0, "ibv_destroy_ah");
  }

  void run(line& other) {
    remote_ = pair_.connect(other);
    facts_ = other.receive<target_facts>();
    if (plan_.of.type == IBV_QPT_UD) {
      ibv_ah_attr how = path_to(pair_.device, remote_);
      ah_ = ibv_create_ah(pair_.device.pd, &how);
      require(ah_ != nullptr, "ibv_create_ah");
    }
    send_first();
    other.meet();
    other.meet();
    if (plan_.second_arrives()) {
      require(pair_.post(request(2, true)) == 0, "ibv_post_send of the second request");
      expect_end(2, IBV_WC_SUCCESS);
      answer(plan_.second_place, plan_.second_bytes());
    }
    wait_for_fence();
    other.meet();
    memory_.expect_bytes("the requester's memory");
    expect_equal(pair_.state(), plan_.of.ends.requester, "state of the requester's queue pair");
    ibv_wc more{};
    expect_equal(ibv_poll_cq(pair_.send_cq, 1, &more), 0, "more completions of sends");
    expect(!has_event(pair_.device.context), "an asynchronous event at the requester");
  }

 private:
  void send_first() {
    if (plan_.of.wrong == fault::over_mtu) {
      // The driver refuses it before the adapter could end it with a local length error.
      expect_equal(pair_.post(request(1, false)), EINVAL, "ibv_post_send of a long datagram");
      return wait_for_fence();
    }
    require(pair_.post(request(1, false)) == 0, "ibv_post_send of the first request");
    const bool ends = plan_.of.ends.requester != IBV_QPS_RTS;
    constexpr std::uint64_t behind[] = {2, 3};
    if (ends)
      for (const std::uint64_t id : behind)
        require(pair_.post(request(id, true)) == 0, "ibv_post_send behind the first request");
    expect_end(1, plan_.of.ends.request);
    if (ends)
      for (const std::uint64_t id : behind) expect_end(id, IBV_WC_WR_FLUSH_ERR);
    else if (plan_.of.wrong == fault::none) answer(plan_.place, plan_.bytes);
    wait_for_fence();
  }

  ibv_send_wr request(std::uint64_t id, bool second) {
    const std::size_t place = second ? plan_.second_place : plan_.place;
    const std::size_t bytes = second ? plan_.second_bytes() : plan_.bytes;
    list_[second] = {memory_.at(place), static_cast<std::uint32_t>(bytes), key_};
    if (!second && plan_.of.wrong == fault::local_key)
      list_[0].lkey ^= 1u << plan_.requester_seed % 8;
    ibv_send_wr made{};
    made.wr_id = id;
    made.sg_list = &list_[second];
    made.num_sge = 1;
    made.opcode = plan_.of.opcode;
    made.send_flags = IBV_SEND_SIGNALED;
    made.imm_data = htonl(plan_.immediate + second);
    const std::uint64_t to = second ? facts_.second : facts_.first;
    const std::uint32_t key = second ? facts_.second_key : facts_.first_key;
    if (plan_.of.type == IBV_QPT_UD) {
      const bool wrong = !second && plan_.of.wrong == fault::queue_key;
      made.wr.ud = {ah_, remote_.qpn, common_qkey ^ (wrong ? 1u : 0u)};
    } else if (is_atomic(plan_.of.opcode)) {
      std::uint64_t compare;
      std::memcpy(&compare, &there_[place], sizeof compare);
      const bool swaps = plan_.of.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
      made.wr.atomic = {to, swaps ? compare : plan_.swap_or_add, plan_.swap_or_add, key};
    } else {
      made.wr.rdma = {to, key};
    }
    return made;
  }

  void expect_end(std::uint64_t id, ibv_wc_status status) {
    const std::string what = "request " + std::to_string(id);
    const ibv_wc done = pair_.sent(what);
    expect_equal(static_cast<std::int64_t>(done.wr_id), static_cast<std::int64_t>(id), "its wr_id");
    expect_equal(done.status, status, "status of " + what);
    expect_equal(done.qp_num, pair_.qp->qp_num, "queue pair of " + what);
    if (status == IBV_WC_SUCCESS)
      expect_equal(done.opcode, completed_as(plan_.of.opcode), "opcode of " + what);
  }

  /// The bytes that a read or an atomic brings.
  void answer(std::size_t place, std::size_t bytes) {
    if (plan_.of.opcode == IBV_WR_RDMA_READ || is_atomic(plan_.of.opcode))
      std::memcpy(&memory_.expected[place], &there_[place], bytes);
  }

  void wait_for_fence() {
    ibv_send_wr none{};
    none.opcode = IBV_WR_RDMA_WRITE;
    none.send_flags = IBV_SEND_SIGNALED;
    require(fence_.post(none) == 0, "ibv_post_send of a fence");
    expect_equal(fence_.sent("a fence").status, IBV_WC_SUCCESS, "status of a fence");
  }

  const twin_plan& plan_;
  endpoint& fence_;
  buffer memory_;
  const std::vector<unsigned char> there_;
  endpoint pair_;
  std::uint32_t key_ = 0;
  address remote_{};
  target_facts facts_{};
  ibv_ah* ah_ = nullptr;
  ibv_sge list_[2]{};
};

}  // namespace

void run_requester(opened_device& device, line& other, endpoint& fence, const twin& of,
                   std::uint64_t seed) {
  const twin_plan plan(of, seed);
  requester(device, fence, plan).run(other);
}

}  // namespace programs
