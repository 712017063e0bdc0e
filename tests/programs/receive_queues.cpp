// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Receive work queues, indirection tables and RSS queue pairs: what a program can make of them on
// each link layer. Frames are not sent here.
#include <cerrno>
#include <vector>

#include "face.hpp"

namespace programs {

namespace {

constexpr std::uint32_t receives = 8;

/// Eight receive work queues. An indirection table of the first four.
struct distribution {
  explicit distribution(opened_device& device) : of(device) {
    cq = ibv_create_cq(of.context, 64, nullptr, nullptr, 0);
    require(cq != nullptr, "ibv_create_cq");
    for (ibv_wq*& queue : queues) {
      ibv_wq_init_attr how{};
      how.wq_type = IBV_WQT_RQ;
      how.max_wr = receives;
      how.max_sge = 1;
      how.pd = of.pd;
      how.cq = cq;
      queue = ibv_create_wq(of.context, &how);
      require(queue != nullptr, "ibv_create_wq");
      expect(how.max_wr >= receives && how.max_sge >= 1, "a queue has room for what was asked for");
    }
    // An adapter without Ethernet ports has tables of one queue.
    table = make_table(of.ethernet ? 2 : 0, queues);
    require(table != nullptr, "ibv_create_rwq_ind_table");
    for (unsigned i = 0; i < sizeof key; ++i) key[i] = static_cast<std::uint8_t>(i + 1);
  }
  ~distribution() {
    expect_equal(ibv_destroy_rwq_ind_table(table), 0, "ibv_destroy_rwq_ind_table");
    for (ibv_wq* queue : queues) expect_equal(ibv_destroy_wq(queue), 0, "ibv_destroy_wq");
    expect_equal(ibv_destroy_cq(cq), 0, "ibv_destroy_cq");
  }
  distribution(const distribution&) = delete;
  distribution& operator=(const distribution&) = delete;

  ibv_rwq_ind_table* make_table(std::uint32_t log_size, ibv_wq** first) {
    ibv_rwq_ind_table_init_attr how{};
    how.log_ind_tbl_size = log_size;
    how.ind_tbl = first;
    return ibv_create_rwq_ind_table(of.context, &how);
  }
  ibv_qp_init_attr_ex attributes(std::uint64_t fields) {
    ibv_qp_init_attr_ex how{};
    how.qp_type = IBV_QPT_RAW_PACKET;
    how.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;
    how.pd = of.pd;
    how.rwq_ind_tbl = table;
    how.rx_hash_conf.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
    how.rx_hash_conf.rx_hash_key_len = sizeof key;
    how.rx_hash_conf.rx_hash_key = key;
    how.rx_hash_conf.rx_hash_fields_mask = fields;
    return how;
  }
  ibv_qp* make(ibv_qp_init_attr_ex how) { return ibv_create_qp_ex(of.context, &how); }
  void refused(const ibv_qp_init_attr_ex& how, int error, const std::string& what) {
    errno = 0;
    expect(make(how) == nullptr, what + " is refused");
    expect_equal(errno, error, what);
  }

  opened_device& of;
  ibv_cq* cq = nullptr;
  ibv_wq* queues[8] = {};
  ibv_rwq_ind_table* table = nullptr;
  std::uint8_t key[40];
};

constexpr std::uint64_t ipv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4,
                        tcp = IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP;

int modify(ibv_wq* queue, ibv_wq_state to) {
  ibv_wq_attr how{};
  how.attr_mask = IBV_WQ_ATTR_STATE;
  how.wq_state = to;
  return ibv_modify_wq(queue, &how);
}

void receive_queues_are_distributed_to(std::uint64_t) {
  opened_device device;
  ibv_device_attr_ex can{};
  require(ibv_query_device_ex(device.context, nullptr, &can) == 0, "ibv_query_device_ex");
  expect_equal(can.rss_caps.supported_qpts, device.ethernet ? 1 << IBV_QPT_RAW_PACKET : 0,
               "the types of RSS queue pairs");
  expect_equal(can.rss_caps.max_rwq_indirection_table_size != 0, device.ethernet,
               "indirection tables");
  distribution all(device);
  expect_equal(ibv_destroy_wq(all.queues[0]), EBUSY, "a queue in a table is not destroyed");
  ibv_wq* const reversed[] = {all.queues[1], all.queues[0]};
  ibv_wq* const both[] = {all.queues[0], all.queues[2]};
  for (ibv_wq* const* order : {reversed, both})
    expect(all.make_table(1, const_cast<ibv_wq**>(order)) == nullptr, "an order of queues");
  expect(all.make_table(1, all.queues + 1) == nullptr, "a table that is not aligned");
  expect(all.make_table(30, all.queues) == nullptr, "a table that is too large");

  all.refused(all.attributes(IBV_RX_HASH_SRC_IPV4), EOPNOTSUPP, "a source without destination");
  all.refused(all.attributes(tcp), EOPNOTSUPP, "TCP without IP");
  all.refused(all.attributes(IBV_RX_HASH_IPSEC_SPI), EOPNOTSUPP, "another header");
  ibv_qp_init_attr_ex how = all.attributes(ipv4);
  how.rx_hash_conf.rx_hash_key_len = 39;
  all.refused(how, EOPNOTSUPP, "a short key");
  how = all.attributes(ipv4);
  how.qp_type = IBV_QPT_UD;
  all.refused(how, EINVAL, "an RSS queue pair of datagrams");
  how = all.attributes(ipv4);
  how.comp_mask &= ~std::uint32_t{IBV_QP_INIT_ATTR_IND_TABLE};
  all.refused(how, EINVAL, "no table");
  how = all.attributes(ipv4);
  how.send_cq = all.cq;
  all.refused(how, EOPNOTSUPP, "an RSS queue pair that sends");

  expect_equal(modify(all.queues[0], IBV_WQS_ERR), EINVAL, "RESET to ERR");
  for (unsigned i = 0; i < 3; ++i)
    expect_equal(modify(all.queues[i], IBV_WQS_RDY), 0, "RESET to RDY");
  std::vector<unsigned char> bytes(4096);
  ibv_mr* const region = ibv_reg_mr(device.pd, bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE);
  require(region != nullptr, "ibv_reg_mr");
  ibv_sge list{reinterpret_cast<std::uintptr_t>(bytes.data()), 4096, region->lkey};
  const auto post = [&](unsigned which, std::uint64_t id) {
    ibv_recv_wr request{}, *bad = nullptr;
    request.wr_id = id;
    request.sg_list = &list;
    request.num_sge = 1;
    return ibv_post_wq_recv(all.queues[which], &request, &bad);
  };
  // The usual order of a program: receives first, then the port.
  expect_equal(post(0, 76), 0, "a receive in RDY before a queue pair runs");
  expect_equal(post(1, 1), 0, "a receive in RDY");
  expect_equal(modify(all.queues[1], IBV_WQS_RESET), 0, "RDY to RESET");
  expect(post(1, 2) != 0, "a receive in RESET is refused");
  expect_equal(modify(all.queues[1], IBV_WQS_RDY), 0, "RESET to RDY again");
  for (std::uint32_t i = 0; i < receives; ++i)
    expect_equal(post(1, 100 + i), 0, "a receive of a queue that RESET has emptied");
  if (!device.ethernet) {
    all.refused(all.attributes(ipv4 | tcp), EOPNOTSUPP, "an RSS queue pair without Ethernet port");
    expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr");
    return;
  }
  ibv_qp* qp = all.make(all.attributes(ipv4 | tcp));
  require(qp != nullptr, "ibv_create_qp_ex of an RSS queue pair");
  expect_equal(ibv_destroy_rwq_ind_table(all.table), EBUSY, "a table in use is not destroyed");
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTR;
  expect_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE), EOPNOTSUPP, "RESET to RTR");
  to.qp_state = IBV_QPS_INIT;
  expect_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE), EINVAL, "INIT without a port");
  to.port_num = 1;
  expect_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PORT), 0, "RESET to INIT");
  to.qp_state = IBV_QPS_RTR;
  expect_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE), 0, "INIT to RTR");
  to.qp_state = IBV_QPS_RTS;
  expect_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE), EOPNOTSUPP, "RTR to RTS");
  expect_equal(post(0, 77), 0, "a receive");
  expect(post(3, 77) != 0, "a receive in RESET is refused");
  expect_equal(modify(all.queues[3], IBV_WQS_RDY), 0, "RDY while the queue pair runs");
  expect_equal(post(3, 77), 0, "a receive then");
  const auto flushes = [&](unsigned which, std::uint64_t id) {
    ibv_wc done{};
    wait_until([&] { return ibv_poll_cq(all.cq, 1, &done) != 0; }, "a flushed receive");
    expect_equal(done.status, IBV_WC_WR_FLUSH_ERR, "its status");
    expect_equal(static_cast<std::int64_t>(done.wr_id), static_cast<std::int64_t>(id),
                 "its request");
    expect_equal(done.qp_num, all.queues[which]->wq_num, "its queue");
  };
  expect_equal(modify(all.queues[0], IBV_WQS_ERR), 0, "RDY to ERR");
  flushes(0, 76);
  flushes(0, 77);
  expect_equal(modify(all.queues[0], IBV_WQS_RDY), EINVAL, "ERR to RDY");
  expect_equal(modify(all.queues[0], IBV_WQS_RESET), 0, "ERR to RESET");

  // Without a queue pair, a queue in ERR can still be polled and reset, and one in RDY takes
  // receives for the next queue pair.
  expect_equal(modify(all.queues[1], IBV_WQS_ERR), 0, "RDY to ERR of another queue");
  expect_equal(ibv_destroy_qp(qp), 0, "ibv_destroy_qp");
  for (std::uint32_t i = 0; i < receives; ++i) flushes(1, 100 + i);
  expect_equal(modify(all.queues[1], IBV_WQS_RESET), 0, "ERR to RESET without a queue pair");
  expect_equal(modify(all.queues[1], IBV_WQS_RDY), 0, "RESET to RDY");
  expect_equal(post(1, 78), 0, "a receive then");
  expect_equal(post(2, 79), 0, "a receive of a queue that stayed in RDY");
  qp = all.make(all.attributes(ipv4));
  require(qp != nullptr, "another RSS queue pair");
  to.qp_state = IBV_QPS_INIT;
  expect_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PORT), 0, "RESET to INIT again");
  for (const unsigned i : {1u, 2u}) {
    expect_equal(modify(all.queues[i], IBV_WQS_ERR), 0, "RDY to ERR again");
    flushes(i, 77 + i);
  }
  expect_equal(ibv_destroy_qp(qp), 0, "ibv_destroy_qp");
  expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr");
}

void flags_of_frame_queues_are_those_of_mlx4(std::uint64_t) {
  opened_device device;
  if (!device.ethernet) return;
  ibv_cq* const cq = ibv_create_cq(device.context, 4, nullptr, nullptr, 0);
  require(cq != nullptr, "ibv_create_cq");
  ibv_qp_init_attr_ex how{};
  how.qp_type = IBV_QPT_RAW_PACKET;
  how.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  how.pd = device.pd;
  how.send_cq = how.recv_cq = cq;
  how.cap = {4, 4, 1, 1, 0};
  how.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SCATTER_FCS;
  ibv_qp* const qp = ibv_create_qp_ex(device.context, &how);
  require(qp != nullptr, "ibv_create_qp_ex with both flags");
  expect_equal(ibv_destroy_qp(qp), 0, "ibv_destroy_qp");
  for (const std::uint32_t flag : {IBV_QP_CREATE_CVLAN_STRIPPING, IBV_QP_CREATE_SOURCE_QPN,
                                   IBV_QP_CREATE_PCI_WRITE_END_PADDING}) {
    how.create_flags = flag;
    errno = 0;
    expect(ibv_create_qp_ex(device.context, &how) == nullptr, "a flag that mlx4 does not have");
    expect_equal(errno, EOPNOTSUPP, "errno of a flag that mlx4 does not have");
  }
  expect_equal(ibv_destroy_cq(cq), 0, "ibv_destroy_cq");
}

}  // namespace

std::vector<test> receive_queue_tests() {
  return {{"receive_queues_are_distributed_to", receive_queues_are_distributed_to},
          {"flags_of_frame_queues_are_those_of_mlx4", flags_of_frame_queues_are_those_of_mlx4}};
}

}  // namespace programs
