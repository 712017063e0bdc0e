// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The objects of libibverbs that programs hold pointers to. Each begins with libibverbs' own
// structure, so that a pointer to one is a pointer to the other.
#pragma once

#include <infiniband/verbs.h>
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <freehca/hca/kinds/extended_completion_queue.hpp>
#include <freehca/hca/kinds/flow_rule.hpp>
#include <freehca/hca/kinds/rss_queue_pair.hpp>

#include "engine.hpp"
#include "event_queue.hpp"
#include "explanation.hpp"

/// The attribute of the functions that programs call.
#define FREEHCA_EXPORT extern "C" __attribute__((visibility("default")))

namespace freehca::ibverbs {

/// An open of the device. Each has its own asynchronous events.
struct open_context {
  verbs_context verbs;
  engine* of;
  event_queue<ibv_async_event>* asynchronous;
  std::atomic<unsigned> queues;  // that name it: queue pairs, CQs, SRQs
};

struct domain {
  ibv_pd verbs;
  pd_handle handle;
};

struct region {
  ibv_mr verbs;
  mr_handle handle;
  std::uint64_t virtual_address;  // of its first byte, for data entries
  unsigned access;
};

struct window {
  ibv_mw verbs;
  mw_handle handle;
};

struct flow {
  ibv_flow verbs;
  flow_rule_handle handle;
};

struct datagram_address {
  ibv_ah verbs;
  ah_handle handle;
  const queues::address* address;
};

struct completion_channel {
  ibv_comp_channel verbs;
  event_queue<struct completions*>* events;
};

/// Each XRC domain of the driver, of which the program may have several opens.
struct shared_domain {
  const engine* made_by;  // a forked child has another one
  xrcd_handle handle;
  // Of the targets of the domain, as in Linux 6.1 hw/mlx4/main.c mlx4_ib_alloc_xrcd.
  pd_handle pd;
  cq_handle cq;
  unsigned opens;
  bool has_file;  // other opens can share it
  std::uint64_t file_device, file_number;
  std::vector<struct pair*> targets;  // one of each queue pair
};

struct extended_domain {
  ibv_xrcd verbs;
  shared_domain* of;
  std::uint32_t users;  // queue pairs and shared receive queues
};

struct completions {
  ibv_cq_ex verbs;  // begins with the same members as ibv_cq
  extended_cq_handle handle;
  extended_completion_queue* object;
  queues::cq* rings;
  std::uint32_t named_queues;            // shared receive queues of XRC that complete here
  std::uint32_t delivered;               // events, by ibv_get_cq_event()
  std::uint32_t asynchronous_delivered;  // events, by ibv_get_async_event()
  bool has_timestamps;
  // Of ibv_start_poll() to ibv_end_poll().
  ibv_wc current;
  std::uint64_t current_time;  // if it has timestamps
  bool is_single_threaded;
  std::atomic_flag polled;  // set meanwhile, unless it is single threaded
};

struct shared_receives {
  ibv_srq verbs;
  srq_handle handle;
  xrc_srq_handle extended;    // in place of `handle`, if it is of an XRC domain
  extended_domain* domain;    // its domain
  completions* completes_in;  // its CQ
  queues::srq* rings;
  ibv_srq_attr attributes;
  std::uint32_t delivered;  // events, by ibv_get_async_event()
};

/// The requests between ibv_wr_start() and ibv_wr_complete().
struct request_list {
  std::vector<ibv_send_wr> requests;
  std::vector<std::vector<ibv_sge>> lists;
  std::vector<std::vector<std::byte>> inline_data;
  int error = 0;
};

/// A queue pair of the driver. The program may have several opens of an XRC target.
struct opened_pair {
  std::vector<struct pair*> opens;
  ibv_qp_attr attributes;          // as given to ibv_modify_qp()
  int later;                       // those of them, as a mask, that the next transition writes
  bool on_ethernet;                // its port is an Ethernet port
  bool has_frames;                 // made as IBV_QPT_RAW_PACKET
  roce_path path;                  // then its path
  struct receive_queue* receives;  // in place of opens, of a receive work queue
};

/// A multicast group that a queue pair is attached to.
struct attached_group {
  ibv_gid gid;
  std::uint16_t lid;
  membership_handle member;
  flow_rule_handle rule;  // in its place, if the device steers by rules
};

/// A receive work queue. It has a port while an RSS queue pair that names it is not in RESET.
struct receive_queue {
  ibv_wq verbs;
  handle<receive_queue_range> range;
  handle<receive_work_queue> queue;
  receive_work_queue* object;
  opened_pair events;
  std::uint32_t delivered;  // events, by ibv_get_async_event()
  std::uint32_t most_entries;
  std::uint32_t running;  // RSS queue pairs that name it and are not in RESET
  std::uint32_t tables;
  std::uint8_t port;
};

struct indirection_table {
  ibv_rwq_ind_table verbs;
  std::vector<receive_queue*> queues;
  std::uint32_t users;  // RSS queue pairs
};

struct pair {
  ibv_qp_ex verbs;  // begins with ibv_qp
  qp_handle handle;
  queue_pair* object;
  opened_pair* shared;
  extended_domain* domain;   // of an XRC target
  indirection_table* table;  // of an RSS queue pair
  ibv_qp_init_attr made_with;
  request_list built;
  bool builds;           // made with send_ops_flags
  bool blocks_loopback;  // made with IBV_QP_CREATE_BLOCK_SELF_MCAST_LB
  std::vector<attached_group> groups;
  std::uint32_t delivered;  // events, by ibv_get_async_event()
};

inline open_context& of(ibv_context* context) {
  return *reinterpret_cast<open_context*>(verbs_get_ctx(context));
}
inline engine& engine_of(ibv_context* context) {
  return *of(context).of;
}
inline domain& of(ibv_pd* p) {
  return *reinterpret_cast<domain*>(p);
}
inline region& of(ibv_mr* p) {
  return *reinterpret_cast<region*>(p);
}
inline window& of(ibv_mw* p) {
  return *reinterpret_cast<window*>(p);
}
inline flow& of(ibv_flow* p) {
  return *reinterpret_cast<flow*>(p);
}
inline extended_domain& of(ibv_xrcd* p) {
  return *reinterpret_cast<extended_domain*>(p);
}
inline datagram_address& of(ibv_ah* p) {
  return *reinterpret_cast<datagram_address*>(p);
}
inline completion_channel& of(ibv_comp_channel* p) {
  return *reinterpret_cast<completion_channel*>(p);
}
inline receive_queue& of(ibv_wq* p) {
  return *reinterpret_cast<receive_queue*>(p);
}
inline indirection_table& of(ibv_rwq_ind_table* p) {
  return *reinterpret_cast<indirection_table*>(p);
}
inline completions& of(ibv_cq* p) {
  return *reinterpret_cast<completions*>(p);
}
inline completions& of(ibv_cq_ex* p) {
  return *reinterpret_cast<completions*>(p);
}
inline shared_receives& of(ibv_srq* p) {
  return *reinterpret_cast<shared_receives*>(p);
}
inline pair& of(ibv_qp* p) {
  return *reinterpret_cast<pair*>(p);
}
inline pair& of(ibv_qp_ex* p) {
  return *reinterpret_cast<pair*>(p);
}
inline ibv_cq* cq_of(completions& c) {
  return ibv_cq_ex_to_cq(&c.verbs);
}
inline ibv_qp* qp_of(pair& p) {
  return &p.verbs.qp_base;
}

/// Sets errno. Returns a null pointer of any type.
inline std::nullptr_t fail(int error) {
  errno = error;
  return nullptr;
}

/// The number of a shared receive queue. With the engine's lock (shared_receive_queues.cpp).
std::uint32_t number_of(engine& here, const shared_receives& queue);

/// The limits of a queue that ibv_query_device() reports (queries.cpp).
struct queue_limits {
  std::uint32_t requests, entries;
};
queue_limits queue_limits_of(engine& here);

// windows.cpp, posting.cpp, polling.cpp: members of ibv_context_ops.
ibv_mw* allocate_window(ibv_pd* pd, ibv_mw_type type);
int bind_window(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* how);
int free_window(ibv_mw* mw);
int post_send(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad);
/// The same in a call of the program that does more.
int post_send(const verbs_call& call, ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad);
int post_receive(ibv_qp* qp, ibv_recv_wr* requests, ibv_recv_wr** bad);
int post_shared_receive(ibv_srq* srq, ibv_recv_wr* requests, ibv_recv_wr** bad);
int poll_completions(ibv_cq* cq, int most, ibv_wc* to);
/// Takes one completion, which becomes the current one. Returns 0, or an errno: ENOENT if there is
/// none.
int take_current(completions& queue);
int request_notification(ibv_cq* cq, int solicited_only);

// completion_queues.cpp, queries.cpp, queue_pairs.cpp, shared_receive_queues.cpp: members of
// verbs_context.
ibv_cq_ex* create_extended_cq(ibv_context* context, ibv_cq_init_attr_ex* how);
int modify_completion_queue(ibv_cq* cq, ibv_modify_cq_attr* how);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* to, std::size_t bytes);
int query_device(ibv_context* context, const ibv_query_device_ex_input* input,
                 ibv_device_attr_ex* to, std::size_t bytes);
int query_clock(ibv_context* context, ibv_values_ex* to);
ibv_qp* create_extended_qp(ibv_context* context, ibv_qp_init_attr_ex* how);
ibv_srq* create_extended_srq(ibv_context* context, ibv_srq_init_attr_ex* how);
int srq_number(ibv_srq* srq, std::uint32_t* to);
ibv_qp* open_target(ibv_context* context, ibv_qp_open_attr* how);

// extended_domains.cpp: members of verbs_context.
ibv_xrcd* open_extended_domain(ibv_context* context, ibv_xrcd_init_attr* how);
int close_extended_domain(ibv_xrcd* xrcd);

// receive_side_scaling.cpp: members of verbs_context.
ibv_wq* create_receive_queue(ibv_context* context, ibv_wq_init_attr* how);
int modify_receive_queue(ibv_wq* wq, ibv_wq_attr* how);
int destroy_receive_queue(ibv_wq* wq);
ibv_rwq_ind_table* create_table(ibv_context* context, ibv_rwq_ind_table_init_attr* how);
int destroy_table(ibv_rwq_ind_table* table);

// flow_rules.cpp: members of verbs_context.
ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* how);
int destroy_flow(ibv_flow* flow);
/// Whether programs can create flow rules. With the engine's lock.
bool has_flow_rules(engine& here);

/// Posts to a receive work queue (posting.cpp).
int post_to_receive_queue(ibv_wq* wq, ibv_recv_wr* requests, ibv_recv_wr** bad);

/// Translates the hash of an RSS queue pair. Returns 0, or an errno.
int hash_of(engine& here, const ibv_rx_hash_conf& from, rss_queue_pair_attributes& to);
/// ibv_modify_qp() of an RSS queue pair. With the engine's lock.
int modify_rss(engine& here, pair& queue, const ibv_qp_attr& how, int mask);
/// Called after an RSS queue pair that was not in RESET was destroyed. With the engine's lock.
void stop_queues(engine& here, indirection_table& table);

/// Fills in the functions of ibv_cq_ex that read these members of a completion
/// (extended_polling.cpp).
void set_polling_functions(ibv_cq_ex& to, std::uint64_t members);

/// Fills in the functions of ibv_qp_ex (request_builder.cpp).
void set_request_functions(ibv_qp_ex& to);

/// The address of `from` on an InfiniBand port, as the driver has it.
address_attributes address_of(const ibv_ah_attr& from);

}  // namespace freehca::ibverbs
