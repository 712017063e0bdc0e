// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <array>
#include <string>

#include "linux_program.hpp"

namespace freehca::bench {
namespace {

constexpr unsigned at_a_time = 8;  // calls of the smaller of two rounds
constexpr unsigned small = 16;

void need(int error, const char* what) {
  if (error != 0) fail(what);
}

class object_rows {
 public:
  object_rows(const device& in, const idler& idle) : in_(in), idle_(idle) {}

  void measure() {
    kind(
        "UC queue pair", [&] { return make(in_, small, 0, nullptr, IBV_QPT_UC); }, ibv_destroy_qp);
    kind(
        "UD queue pair", [&] { return make(in_, small, 0, nullptr, IBV_QPT_UD); }, ibv_destroy_qp);
    ibv_srq_init_attr shape{};
    shape.attr = {.max_wr = small, .max_sge = 1, .srq_limit = 0};
    const auto shared = [&] { return ibv_create_srq(in_.domain, &shape); };
    kind("shared receive queue", shared, ibv_destroy_srq);
    kind(
        "memory window", [&] { return ibv_alloc_mw(in_.domain, IBV_MW_TYPE_1); }, ibv_dealloc_mw);
    ibv_ah_attr way{};
    way.dlid = in_.port.lid;
    way.port_num = 1;
    kind(
        "address handle", [&] { return ibv_create_ah(in_.domain, &way); }, ibv_destroy_ah);
    extended_connections();
    completion_queues();
    regions();
    groups();
    queries(shared());
  }

 private:
  template <class Make, class End>
  request_cost measured(Make make, End end) {
    return for_each_call(idle_, at_a_time, make, end);
  }
  template <class Call>
  void tell_call(const char* row, Call call) {
    tell(row, measured(call, [](unsigned) {}).post);
  }

  template <class Make, class End>
  void kind(const std::string& what, Make make, End end) {
    std::array<decltype(make()), 2 * 2 * at_a_time> made;
    const request_cost c = measured(
        [&](unsigned i) {
          made[i] = make();
          if (made[i] == nullptr) fail(what.c_str());
        },
        [&](unsigned i) { need(end(made[i]), what.c_str()); });
    tell(("create: " + what).c_str(), c.post);
    tell(("destroy: " + what).c_str(), c.poll);
  }

  void extended_connections() {
    kind(
        "XRC domain", [&] { return extended_domain::open(in_); }, ibv_close_xrcd);
    const extended_domain shared(in_);
    kind(
        "XRC initiator", [&] { return make(in_, small, 0, nullptr, IBV_QPT_XRC_SEND); },
        ibv_destroy_qp);
    kind(
        "XRC target", [&] { return shared.target(in_); }, ibv_destroy_qp);
    kind(
        "XRC receive queue", [&] { return shared.receive_queue(in_, small); }, ibv_destroy_srq);
  }

  void completion_queues() {
    ibv_cq* const queue = ibv_create_cq(in_.context, 2 * ring - 1, nullptr, nullptr, 0);
    if (queue == nullptr) fail("ibv_create_cq");
    tell_call("resize a completion queue", [&](unsigned i) {
      need(ibv_resize_cq(queue, i % 2 == 0 ? 4 * ring - 1 : 2 * ring - 1), "ibv_resize_cq");
    });
    tell_call("moderate a completion queue", [&](unsigned i) {
      ibv_modify_cq_attr a{};
      a.attr_mask = IBV_CQ_ATTR_MODERATE;
      a.moderate = {.cq_count = static_cast<std::uint16_t>(1 + i % 2), .cq_period = 1};
      need(ibv_modify_cq(queue, &a), "ibv_modify_cq");
    });
    need(ibv_destroy_cq(queue), "ibv_destroy_cq");
  }

  void regions() {
    alignas(4096) static std::byte page[4096];
    ibv_mr* const region = ibv_reg_mr(in_.domain, page, sizeof page, IBV_ACCESS_LOCAL_WRITE);
    if (region == nullptr) fail("ibv_reg_mr");
    tell_call("change a region's rights", [&](unsigned i) {
      const int more = i % 2 == 0 ? IBV_ACCESS_REMOTE_WRITE : 0;
      need(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                        IBV_ACCESS_LOCAL_WRITE | more),
           "ibv_rereg_mr");
    });
    tell_call("replace a region's memory", [&](unsigned) {
      need(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, page, sizeof page, 0),
           "ibv_rereg_mr");
    });
    need(ibv_dereg_mr(region), "ibv_dereg_mr");
  }

  void groups() {
    ibv_qp* const q = datagram_queue(in_);
    const auto group = [](unsigned i) {
      ibv_gid g{};
      g.raw[0] = 0xff;
      g.raw[1] = 0x12;
      g.raw[15] = static_cast<std::uint8_t>(i);
      return g;
    };
    constexpr std::uint16_t first_of_groups = 0xc000;
    const request_cost c = measured(
        [&](unsigned i) {
          const ibv_gid to = group(i);
          need(ibv_attach_mcast(q, &to, first_of_groups), "ibv_attach_mcast");
        },
        [&](unsigned i) {
          const ibv_gid to = group(i);
          need(ibv_detach_mcast(q, &to, first_of_groups), "ibv_detach_mcast");
        });
    tell("join a multicast group", c.post);
    tell("leave a multicast group", c.poll);
    destroy(q);
  }

  void queries(ibv_srq* shared) {
    if (shared == nullptr) fail("ibv_create_srq");
    ibv_qp* const q = connected(in_, make(in_, small, 0));
    tell_call("query a queue pair", [&](unsigned) {
      ibv_qp_attr a{};
      ibv_qp_init_attr made{};
      need(ibv_query_qp(q, &a, IBV_QP_STATE, &made), "ibv_query_qp");
      if (a.qp_state != IBV_QPS_RTS) fail("a state");
    });
    tell_call("query a shared receive queue", [&](unsigned) {
      ibv_srq_attr a{};
      need(ibv_query_srq(shared, &a), "ibv_query_srq");
    });
    tell_call("arm a shared receive queue", [&](unsigned) {
      ibv_srq_attr a{.max_wr = 0, .max_sge = 0, .srq_limit = 0};
      need(ibv_modify_srq(shared, &a, IBV_SRQ_LIMIT), "ibv_modify_srq");
    });
    destroy(q);
    need(ibv_destroy_srq(shared), "ibv_destroy_srq");
  }

  const device& in_;
  const idler& idle_;
};

}  // namespace

void measure_objects(const device& in, const idler& idle) {
  object_rows(in, idle).measure();
}

}  // namespace freehca::bench
