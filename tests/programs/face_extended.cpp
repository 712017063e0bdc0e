// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Extended completion queues, timestamps and the clock.
#include <cerrno>
#include <string>
#include <thread>

#include "face.hpp"

namespace programs {

namespace {

ibv_cq_ex* make(ibv_context* context, std::uint64_t members, std::uint32_t flags = 0,
                std::uint32_t mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, std::uint32_t entries = 15) {
  ibv_cq_init_attr_ex how{};
  how.cqe = entries;
  how.wc_flags = members;
  how.comp_mask = mask;
  how.flags = flags;
  return ibv_create_cq_ex(context, &how);
}

std::uint64_t clock_of(ibv_context* context) {
  ibv_values_ex now{};
  now.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  require(ibv_query_rt_values_ex(context, &now) == 0, "ibv_query_rt_values_ex");
  expect_equal(now.comp_mask, std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK}, "the values that came");
  return static_cast<std::uint64_t>(now.raw_clock.tv_nsec);
}

/// A queue pair in the error state flushes its receives, one completion each.
struct flushed {
  flushed(opened_device& device, ibv_cq_ex* to, unsigned count) {
    ibv_qp_init_attr how{};
    how.send_cq = how.recv_cq = ibv_cq_ex_to_cq(to);
    how.cap = {1, count, 1, 1, 0};
    how.qp_type = IBV_QPT_RC;
    qp = ibv_create_qp(device.pd, &how);
    require(qp != nullptr, "ibv_create_qp");
    ibv_qp_attr next{};
    next.qp_state = IBV_QPS_INIT;
    next.port_num = 1;
    require(
        ibv_modify_qp(qp, &next,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
        "to INIT");
    next.qp_state = IBV_QPS_ERR;
    require(ibv_modify_qp(qp, &next, IBV_QP_STATE) == 0, "to ERR");
    for (unsigned i = 0; i < count; ++i) {
      ibv_recv_wr request{}, *bad = nullptr;
      request.wr_id = 100 + i;
      require(ibv_post_recv(qp, &request, &bad) == 0, "ibv_post_recv");
    }
  }
  ~flushed() { expect_equal(ibv_destroy_qp(qp), 0, "ibv_destroy_qp"); }
  flushed(const flushed&) = delete;
  flushed& operator=(const flushed&) = delete;
  ibv_qp* qp;
};

void completions_are_polled_one_by_one(std::uint64_t) {
  opened_device device;
  for (const std::uint32_t flags : {0u, std::uint32_t{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}}) {
    ibv_cq_ex* const cq = make(device.context, IBV_WC_STANDARD_FLAGS, flags);
    require(cq != nullptr, "ibv_create_cq_ex");
    ibv_poll_cq_attr none{}, wrong{};
    wrong.comp_mask = 1;
    expect_equal(ibv_start_poll(cq, &wrong), EINVAL, "a poll with an unknown attribute");
    expect_equal(ibv_start_poll(cq, &none), ENOENT, "a poll of an empty queue");
    ibv_end_poll(cq);  // some programs call it even so
    {
      flushed pair(device, cq, 3);
      wait_until([&] { return ibv_start_poll(cq, &none) == 0; }, "a completion");
      for (unsigned i = 0; i < 3; ++i) {
        if (i != 0) wait_until([&] { return ibv_next_poll(cq) == 0; }, "the next completion");
        expect(cq->wr_id == 100 + i, "wr_id");
        expect_equal(cq->status, IBV_WC_WR_FLUSH_ERR, "status");
        expect_equal(ibv_wc_read_qp_num(cq), pair.qp->qp_num, "qp_num");
      }
      expect_equal(ibv_next_poll(cq), ENOENT, "the end of the queue");
      std::thread([cq] { ibv_end_poll(cq); }).join();
      expect_equal(ibv_start_poll(cq, &none), ENOENT, "a poll after one that another thread ended");
    }
    expect_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0, "ibv_destroy_cq");
  }
}

void timestamps_are_times_of_the_clock(std::uint64_t) {
  opened_device device;
  ibv_device_attr_ex can{};
  require(ibv_query_device_ex(device.context, nullptr, &can) == 0, "ibv_query_device_ex");
  expect(can.completion_timestamp_mask == (std::uint64_t{1} << 48) - 1, "the mask of times");
  expect(can.hca_core_clock >= 1000, "the rate of the clock");
  ibv_cq_ex* const cq = make(device.context, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
  require(cq != nullptr, "ibv_create_cq_ex");
  {
    const std::uint64_t before = clock_of(device.context) & can.completion_timestamp_mask;
    flushed pair(device, cq, 1);
    ibv_poll_cq_attr none{};
    wait_until([&] { return ibv_start_poll(cq, &none) == 0; }, "a completion");
    const std::uint64_t at = ibv_wc_read_completion_ts(cq);
    ibv_end_poll(cq);
    const std::uint64_t after = clock_of(device.context) & can.completion_timestamp_mask;
    expect(before <= at && at <= after, "a time between two times of the clock");
  }
  expect_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0, "ibv_destroy_cq");
}

void what_libmlx4_refuses_is_refused(std::uint64_t) {
  opened_device device;
  const auto refused = [&](const ibv_cq_ex* made, int error, const std::string& what) {
    expect(made == nullptr, what);
    expect_equal(errno, error, "errno of " + what);
  };
  ibv_context* const context = device.context;
  constexpr std::uint64_t timestamp = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  refused(make(context, 0, 0, IBV_CQ_INIT_ATTR_MASK_PD), EINVAL, "a parent domain");
  refused(make(context, 0, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN), EOPNOTSUPP, "an ignored overrun");
  refused(make(context, IBV_WC_EX_WITH_CVLAN), EOPNOTSUPP, "the VLAN");
  refused(make(context, timestamp | IBV_WC_EX_WITH_SL), EOPNOTSUPP, "a timestamp and the SL");
  refused(make(context, timestamp | IBV_WC_EX_WITH_SLID), EOPNOTSUPP, "a timestamp and the LID");
  refused(make(context, 0, 0, 0, 0), EINVAL, "no entries");
  refused(make(context, 0, 0, 0, ~0u), EINVAL, "too many entries");
  ibv_values_ex values{};
  expect_equal(ibv_query_rt_values_ex(context, &values), 0, "no values");
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK | IBV_VALUES_MASK_RESERVED;
  expect_equal(ibv_query_rt_values_ex(context, &values), EINVAL, "an unknown value");
}

}  // namespace

std::vector<test> extended_tests() {
  return {{"completions_are_polled_one_by_one", completions_are_polled_one_by_one},
          {"timestamps_are_times_of_the_clock", timestamps_are_times_of_the_clock},
          {"what_libmlx4_refuses_is_refused", what_libmlx4_refuses_is_refused}};
}

}  // namespace programs
