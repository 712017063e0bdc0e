// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

#include "choices.hpp"
#include "memory.hpp"

namespace freehca::fuzz {

/// The device, opened twice. Stays open for all inputs: to bring the adapter up takes longer than
/// most of them.
struct opened_device {
  static opened_device& get();
  /// Traps unless no object is left and the model has nothing to complain about.
  void check_at_rest();

  ibv_context* contexts[2];
  std::uint16_t lid;

 private:
  opened_device();
  void leave_out_rules_for_programs();
};

/// What a program of libibverbs does in one input, and what it has to find. Its calls have wrong
/// numbers, attributes and objects, but no pointer that a C program could not expect to survive:
/// - to an object that was destroyed, or to none where libibverbs' inline functions follow it;
/// - to lists, completions and inline data that are not there (addresses of other data are checked
///   by the device, and may be anything);
/// - nor more acknowledgements than events, nor an object destroyed whose events were taken and not
///   acknowledged: libibverbs waits for them.
class program {
 public:
  explicit program(input& from);
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  /// One thing that a program does.
  void act(input& from);
  /// Polls for what is under way, destroys everything and checks what is left.
  void end();

 private:
  struct held_cq {
    ibv_cq* cq;
    unsigned unacknowledged;
  };
  struct held_pair {
    ibv_qp* qp;
    ibv_qp_ex* builder;  // null: it has none
  };
  /// An address, and a key that most often is that of a region there.
  struct place {
    std::uint64_t address;
    std::uint32_t key;
  };
  /// A request, by its wr_id.
  struct posted {
    bool accepted, completed;
    bool has_to_fail;
  };

  // objects.cpp
  ibv_context* context(input& from) { return device_.contexts[from.byte() % 2]; }
  void create_pd(input& from);
  void register_memory(input& from);
  void create_channel(input& from);
  void create_cq(input& from);
  void create_srq(input& from);
  void create_ah(input& from);
  void create_ah_from_completion(input& from);
  void destroy(input& from);
  void destroy_pd(std::size_t which);
  void destroy_region(std::size_t which);
  void destroy_channel(std::size_t which);
  void destroy_cq(std::size_t which);
  void destroy_srq(std::size_t which);
  void destroy_ah(std::size_t which);
  void destroy_pair(std::size_t which);
  void destroy_all();
  void acknowledge_all(const void* element);

  // queue_pairs.cpp
  void create_pair(input& from);
  void create_extended_pair(input& from);
  ibv_qp_init_attr pair_attributes(input& from);
  void keep(ibv_qp* made);
  void connect(ibv_qp* a, ibv_qp* b);
  void move_on(ibv_qp* qp, std::uint32_t remote);
  void modify(input& from);
  void modify_at_random(input& from);
  void begin_with_pairs(input& from, ibv_qp_type type, bool shared);

  // requests.cpp
  std::uint32_t key(input& from);
  place anywhere(input& from);
  std::vector<ibv_sge> list(input& from);
  std::uint64_t new_id(bool has_to_fail);
  void fill_in(ibv_send_wr& to, ibv_qp* qp, input& from, std::vector<ibv_sge>& list);
  void post_sends(input& from);
  void post_receives(input& from);
  void build_sends(input& from);
  void build_one(ibv_qp_ex* qp, input& from);
  void poll(ibv_cq* cq, int most);
  void poll_all();

  // queries.cpp
  void query(input& from);
  void query_device(input& from);
  void query_objects(input& from);
  void modify_srq(input& from);
  void notify(input& from);
  void take_completion_event(ibv_comp_channel* channel);
  void acknowledge_completion_events(input& from);
  void take_asynchronous_event(ibv_context* context);
  void acknowledge_asynchronous_event(input& from);
  void call_unsupported(input& from);

  opened_device& device_ = opened_device::get();
  program_memory& memory_ = program_memory::get();
  ibv_pd* vault_pd_;
  ibv_mr *vault_, *read_only_;
  std::uint32_t stale_key_, stale_number_ = 0;

  std::vector<ibv_pd*> pds_;
  std::vector<ibv_mr*> regions_;
  std::vector<ibv_comp_channel*> channels_;
  std::vector<held_cq> cqs_;
  std::vector<ibv_srq*> srqs_;
  std::vector<ibv_ah*> ahs_;
  std::vector<held_pair> pairs_;
  std::vector<ibv_async_event> taken_;  // not acknowledged
  std::vector<posted> requests_;
  ibv_wc last_{};
};

}  // namespace freehca::fuzz
