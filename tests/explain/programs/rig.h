// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the programs of this folder have in common. Each program is compiled twice: as it is, and
// with -DHEALTHY as its healthy twin. A program prints one line `fact NAME NUMBER` for each number
// that an explanation should name, and one last line with what the verbs API has shown. It returns
// 0 if that is what the broken program provokes, or, in the healthy twin, if the data has arrived.
#pragma once

#include <errno.h>
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef HEALTHY
#define WRONG_OR_RIGHT(wrong, right) (right)
#define IS_HEALTHY 1
#else
#define WRONG_OR_RIGHT(wrong, right) (wrong)
#define IS_HEALTHY 0
#endif

enum { BLOCK = 256, BUFFER = 16384, GRH = 40, QKEY = 0x11223344, FIRST_PSN = 0x123456 };
enum {
  ALL_RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
               IBV_ACCESS_REMOTE_ATOMIC
};

extern struct ibv_context* device;
extern struct ibv_pd* domain;
extern struct ibv_cq *requester_cq, *responder_cq;
extern struct ibv_qp *requester, *responder;
extern int is_ethernet;
// Page-aligned. The source has a pattern, the target has zeros.
extern unsigned char source[BUFFER], target[BUFFER];

// Opens the first device with a protection domain and two completion queues.
void open_rig(void);
// Ends the program with exit status 2 if the condition does not hold.
void must(int holds, const char* what);
void fact(const char* name, unsigned long long number);

// 16 requests, 2 entries and 64 inline bytes in each direction.
struct ibv_qp_init_attr queue_pair_plan(enum ibv_qp_type type, struct ibv_cq* cq);
// Creates both queue pairs by queue_pair_plan().
void create_queue_pairs(enum ibv_qp_type type);
// Path to this port: by LID, or on Ethernet by GID.
struct ibv_ah_attr path_to_own_port(void);
// All attributes of a connection with the peer. The timeout is 4 ms, with one retry.
struct ibv_qp_attr attributes_towards(const struct ibv_qp* peer);
// The attributes that the transition to the state needs.
int needed_attributes(enum ibv_qp_type type, enum ibv_qp_state state);
// Moves the queue pair from RESET through INIT and RTR up to the state.
void bring_up(struct ibv_qp* qp, struct ibv_qp_attr how, enum ibv_qp_state last);
// Brings both queue pairs to RTS, connected with each other.
void connect_queue_pairs(void);
enum ibv_qp_state state_of(struct ibv_qp* qp);

struct ibv_sge piece(const void* at, uint32_t bytes, uint32_t lkey);
// A signaled request with one entry.
struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge* entry);
struct ibv_send_wr remote_request(enum ibv_wr_opcode opcode, struct ibv_sge* entry, const void* at,
                                  uint32_t rkey);
struct ibv_send_wr datagram(struct ibv_sge* entry, struct ibv_ah* ah, uint32_t qpn, uint32_t qkey);
struct ibv_recv_wr receive_request(struct ibv_sge* entry);

// The next completion or event, which has to come within 5 seconds.
struct ibv_wc completion_of(struct ibv_cq* cq);
struct ibv_async_event event_of_device(void);
// Whether a completion comes within 100 ms.
int has_completion(struct ibv_cq* cq);
int has_event(void);
// Registers both buffers with other keys and writes a block. True if it arrives.
int writes_block(void);

// The last line, and the exit status of the program. The healthy twin expects success and
// `verified`.
int show_status(struct ibv_wc done, enum ibv_wc_status provoked, int verified);
int show_error(int error, int provoked, int verified);
int show_event(enum ibv_event_type provoked, int verified);
// Waits for a completion. The healthy twin verifies that the first bytes of the source are there.
int show_completion(struct ibv_cq* cq, enum ibv_wc_status provoked, const void* at, size_t bytes);
// The broken program expects no completion on the queue, the healthy twin a good one.
int show_arrival(struct ibv_cq* cq, const void* at, size_t bytes);
