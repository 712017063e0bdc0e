// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What QUERY_DEV_CAP and QUERY_PORT report fits itself, and what the driver builds on it.
#include <freehca/layouts/bit_operations.hpp>

#include "groups.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_limits {
namespace {

using caps = query_dev_cap;

struct limit_row {
  row about;
  bool (*fits)(const bench& with);
};

template <auto Field>
std::uint64_t reported(const bench& b) {
  return b.can().raw.get<Field>();
}

/// A logarithm of how many are reserved, and of how many there are.
template <auto Reserved, auto All>
bool leaves_some(const bench& b) {
  return reported<Reserved>(b) < reported<All>(b);
}

template <auto Field>
bool is_power_of_two(const bench& b) {
  const std::uint64_t n = reported<Field>(b);
  return n != 0 && (n & (n - 1)) == 0;
}

template <dev_cap_flag Flag>
bool has_flag(const bench& b) {
  return b.can().has(Flag);
}

constexpr answer yes = answer::holds(true);
constexpr char services[] = "Linux hw/mlx4/qp.c create_qp_common makes them without asking";
constexpr char plan[] = "Linux mlx4/main.c mlx4_init_icm: tables are sized and indexed by it";
constexpr char reserves[] =
    "Linux mlx4/fw.c mlx4_QUERY_DEV_CAP, main.c: numbers begin behind these";

constexpr limit_row rows[] = {
    {{"reserved-qps", "fewer queue pairs are reserved than there are", yes, reserves},
     leaves_some<&caps::log_rsvd_qps, &caps::log_max_qps>},
    {{"reserved-srqs", "fewer shared receive queues are reserved than there are", yes, reserves},
     leaves_some<&caps::log_rsvd_srqs, &caps::log_max_srqs>},
    {{"reserved-cqs", "fewer completion queues are reserved than there are", yes, reserves},
     leaves_some<&caps::log_rsvd_cqs, &caps::log_max_cqs>},
    {{"reserved-mpts", "fewer regions are reserved than there are", yes, reserves},
     leaves_some<&caps::log_rsvd_mrws, &caps::log_max_mpts>},
    {{"reserved-pds", "fewer protection domains are reserved than there are", yes, reserves},
     [](const bench& b) {
       return reported<&caps::num_rsvd_pds>(b) >> reported<&caps::log_max_pds>(b) == 0;
     }},
    {{"entry-qpc", "the entry of a queue pair is a power of two of bytes", yes, plan},
     is_power_of_two<&caps::qpc_entry_sz>},
    {{"entry-auxc", "the auxiliary entry of a queue pair is a power of two of bytes", yes, plan},
     is_power_of_two<&caps::aux_entry_sz>},
    {{"entry-altc", "the entry of alternate paths is a power of two of bytes", yes, plan},
     is_power_of_two<&caps::altc_entry_sz>},
    {{"entry-rdmarc", "the entry of a read that is answered is a power of two of bytes", yes, plan},
     is_power_of_two<&caps::rdmarc_entry_sz>},
    {{"entry-srqc", "the entry of a shared receive queue is a power of two of bytes", yes, plan},
     is_power_of_two<&caps::srq_entry_sz>},
    {{"entry-cqc", "the entry of a completion queue is a power of two of bytes", yes, plan},
     is_power_of_two<&caps::cqc_entry_sz>},
    {{"entry-eqc", "the entry of an event queue is a power of two of bytes", yes, plan},
     is_power_of_two<&caps::eqc_entry_sz>},
    {{"entry-cmpt", "a control entry is a power of two of bytes", yes, plan},
     is_power_of_two<&caps::c_mpt_entry_sz>},
    {{"entry-dmpt", "the entry of a region is a power of two of bytes", yes, plan},
     is_power_of_two<&caps::d_mpt_entry_sz>},
    {{"entry-mtt", "a translation is 8 bytes", yes, "Linux mlx4/mr.c mlx4_write_mtt_chunk: __be64"},
     [](const bench& b) { return reported<&caps::mtt_entry_sz>(b) == 8; }},
    {{"service-rc", "reliable connections are served", yes, services}, has_flag<dev_cap_flag::rc>},
    {{"service-uc", "unreliable connections are served", yes, services},
     has_flag<dev_cap_flag::uc>},
    {{"service-ud", "unreliable datagrams are served", yes, services}, has_flag<dev_cap_flag::ud>},
    {{"shared-receive-queues", "there are shared receive queues", yes,
      "Linux hw/mlx4/main.c offers them without asking"},
     has_flag<dev_cap_flag::srq>},
    {{"send-descriptor", "a send request has room for a control and a data segment", yes,
      "Linux hw/mlx4/qp.c set_kernel_sq_size"},
     [](const bench& b) { return reported<&caps::max_desc_sz_sq>(b) >= 64; }},
    {{"send-entries", "the entries that a send request may have fit its largest size", yes,
      "Linux mlx4/fw.c mlx4_QUERY_DEV_CAP: max_sq_sg beside max_sq_desc_sz"},
     [](const bench& b) {
       return reported<&caps::max_sg_sq>(b) >= 1 &&
              reported<&caps::max_sg_sq>(b) * 16 <= reported<&caps::max_desc_sz_sq>(b);
     }},
    {{"receive-entries", "the entries that a receive may have fit its largest size", yes,
      "Linux mlx4/fw.c mlx4_QUERY_DEV_CAP: max_rq_sg beside max_rq_desc_sz"},
     [](const bench& b) {
       return reported<&caps::max_sg_rq>(b) >= 1 &&
              reported<&caps::max_sg_rq>(b) * 16 <= reported<&caps::max_desc_sz_rq>(b);
     }},
    {{"longest-message", "a message may be longer than a packet, and its length fits 31 bits", yes,
      "Linux mlx4/fw.c mlx4_QUERY_DEV_CAP: max_msg_sz; IBTA has messages of up to 2^31 bytes"},
     [](const bench& b) {
       return reported<&caps::log_max_msg_sz>(b) > 12 && reported<&caps::log_max_msg_sz>(b) <= 31;
     }},
    {{"completion-queue-size", "the largest completion queue fits its counters of 24 bits", yes,
      "Linux hw/mlx4/cq.c: consumer index of 24 bits"},
     [](const bench& b) { return reported<&caps::log_max_cq_sz>(b) < 24; }},
    {{"work-queue-size", "the largest work queue fits its counter of 16 bits", yes,
      "Linux hw/mlx4/qp.c: WQE index of 16 bits in a completion"},
     [](const bench& b) { return reported<&caps::log_max_qp_sz>(b) <= 15; }},
    {{"port-mtu", "the MTU in use is no larger than the port's largest", yes,
      "IBTA 14.2.5.6 PortInfo: NeighborMTU, MTUCap"},
     [](const bench& b) { return b.port().active_mtu <= b.port().max_mtu; }},
    {{"port-tables", "the tables of GIDs and P_Keys have an entry at least", yes,
      "Linux hw/mlx4/main.c mlx4_ib_query_port: gid_tbl_len, pkey_tbl_len"},
     [](const bench& b) {
       return b.port().gid_table_length >= 1 && b.port().pkey_table_length >= 1;
     }},
};

finding judge(bench& with, const limit_row& r) {
  return answer::holds(r.fits(with));
}

}  // namespace
}  // namespace rows_of_limits

extern const row_group limits = group_of<rows_of_limits::rows, rows_of_limits::judge>(
    "limits", "looks at what QUERY_DEV_CAP and QUERY_PORT reported during bring-up");

}  // namespace freehca::conformance
