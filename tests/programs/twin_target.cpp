// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <arpa/inet.h>

#include <cstring>

#include "checks.hpp"
#include "twin_sides.hpp"

namespace programs {

namespace {

class target {
 public:
  target(opened_device& device, const twin_plan& plan)
      : plan_(plan),
        device_(device),
        memory_(plan.target_seed, plan.memory_bytes),
        sent_(pattern(plan.requester_seed, plan.memory_bytes)),
        pair_(device, {.type = plan.of.type, .access = plan.access_of_pair()}) {
    register_memory();
  }
  ~target() {
    pair_.destroy();
    if (foreign_ != nullptr) expect_equal(ibv_dereg_mr(foreign_), 0, "ibv_dereg_mr");
    if (domain_ != nullptr) expect_equal(ibv_dealloc_pd(domain_), 0, "ibv_dealloc_pd");
  }

  void run(line& other) {
    pair_.connect(other);
    const bool late =
        plan_.of.wrong == fault::no_receive || plan_.of.wrong == fault::no_receive_retry;
    if (!late) post_receives();
    other.send(facts_);
    other.meet();
    if (plan_.of.wrong == fault::none) place_first();
    check_first();
    if (late) post_receives();
    other.meet();
    other.meet();
    check_second();
  }

 private:
  void register_memory() {
    constexpr unsigned all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                             IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    const fault wrong = plan_.of.wrong;
    const unsigned access = wrong == fault::region_right ? all & ~right_for(plan_.of.opcode) : all;
    ibv_mr* first;
    if (wrong == fault::other_domain || wrong == fault::deregistered) {
      domain_ = wrong == fault::other_domain ? ibv_alloc_pd(device_.context) : nullptr;
      require(domain_ != nullptr || wrong == fault::deregistered, "ibv_alloc_pd");
      foreign_ = first = (ibv_reg_mr)(domain_ != nullptr ? domain_ : device_.pd,
                                      memory_.bytes.data() + plan_.first, plan_.region_bytes,
                                      static_cast<int>(access));
      require(first != nullptr, "ibv_reg_mr");
    } else {
      first = memory_.register_part(device_.pd, plan_.first, plan_.region_bytes, access);
    }
    const ibv_mr* const second =
        memory_.register_part(device_.pd, plan_.second_place, plan_.second_room, all);
    receive_key_ = first->lkey ^ (wrong == fault::receive_key ? 1u << plan_.target_seed % 8 : 0u);
    second_key_ = second->lkey;
    facts_ = {memory_.at(plan_.place), memory_.at(plan_.second_place), first->rkey, second->rkey};
    if (wrong == fault::remote_key) facts_.first_key ^= 1u << plan_.target_seed % 8;
    if (wrong != fault::deregistered) return;
    expect_equal(ibv_dereg_mr(foreign_), 0, "ibv_dereg_mr");
    foreign_ = nullptr;
  }

  void post_receives() {
    const std::size_t more = plan_.of.type == IBV_QPT_UD ? plan_.grh_bytes : 0;
    const std::size_t less = plan_.of.wrong == fault::long_message ? 1 : 0;
    std::size_t bytes = std::min(plan_.bytes, plan_.region_bytes) + more - less;
    // Receives of requests that bring no data here are in the second region, which is always good.
    const bool data = is_send(plan_.of.opcode);
    first_receive_ = data ? plan_.first : plan_.second_place;
    if (!data) bytes = plan_.second_bytes();
    const ibv_sge to{memory_.at(first_receive_), static_cast<std::uint32_t>(bytes),
                     data ? receive_key_ : second_key_};
    require(pair_.post_receive(1, to) == 0, "the first receive");
    const ibv_sge then{memory_.at(plan_.second_place), plan_.second_room, second_key_};
    require(pair_.post_receive(2, then) == 0, "the second receive");
  }

  /// Puts the message into the bytes that are expected.
  void place(std::size_t to, std::size_t bytes, std::size_t from) {
    if (is_send(plan_.of.opcode) && plan_.of.type == IBV_QPT_UD) {
      // What is in the room for the GRH of a datagram without GRH is not defined.
      std::memcpy(&memory_.expected[to], &memory_.bytes[to], plan_.grh_bytes);
      to += plan_.grh_bytes;
    }
    if (is_send(plan_.of.opcode) || is_write(plan_.of.opcode))
      std::memcpy(&memory_.expected[to], &sent_[from], bytes);
    if (!is_atomic(plan_.of.opcode)) return;
    std::uint64_t value;
    std::memcpy(&value, &memory_.expected[to], sizeof value);
    value = plan_.of.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? plan_.swap_or_add
                                                         : value + plan_.swap_or_add;
    std::memcpy(&memory_.expected[to], &value, sizeof value);
  }

  void place_first() {
    place(is_send(plan_.of.opcode) ? plan_.first : plan_.place, plan_.bytes, plan_.place);
    if (takes_receive(plan_.of.opcode)) expect_receive(1, plan_.bytes, plan_.immediate);
  }

  void expect_receive(std::uint64_t id, std::size_t bytes, std::uint32_t immediate) {
    const ibv_wc done = pair_.received("a receive");
    const bool write = is_write(plan_.of.opcode);
    const std::size_t more = plan_.of.type == IBV_QPT_UD ? plan_.grh_bytes : 0;
    expect_equal(done.status, IBV_WC_SUCCESS, "status of a receive");
    expect_equal(static_cast<std::int64_t>(done.wr_id), static_cast<std::int64_t>(id), "its wr_id");
    expect_equal(done.byte_len, static_cast<std::int64_t>(bytes + more), "its length");
    expect_equal(done.opcode, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV, "its opcode");
    const bool has = plan_.of.opcode != IBV_WR_SEND;
    expect_equal(done.wc_flags & IBV_WC_WITH_IMM, has ? IBV_WC_WITH_IMM : 0, "its immediate");
    if (has) expect_equal(ntohl(done.imm_data), immediate, "its immediate");
  }

  void check_first() {
    if (plan_.of.ends.target == IBV_QPS_ERR) {
      const ibv_wc failed = pair_.received("the first receive");
      expect_equal(failed.status, plan_.of.ends.receive, "status of the first receive");
      expect_equal(static_cast<std::int64_t>(failed.wr_id), 1, "its wr_id");
      const ibv_wc flushed = pair_.received("the second receive");
      expect_equal(flushed.status, IBV_WC_WR_FLUSH_ERR, "status of the second receive");
    }
    if (plan_.of.ends.event >= 0)
      expect_equal(next_event(device_.context, "of the target"), plan_.of.ends.event, "the event");
    expect_equal(pair_.state(), plan_.of.ends.target, "state of the target's queue pair");
    expect(!has_event(device_.context), "an asynchronous event more than expected");
    // A message that is too long may have filled its receive, whose contents are then not defined.
    if (plan_.of.wrong == fault::long_message)
      std::memcpy(&memory_.expected[first_receive_], &memory_.bytes[first_receive_],
                  plan_.bytes - 1 + (plan_.of.type == IBV_QPT_UD ? plan_.grh_bytes : 0));
    if (plan_.memory_is_undefined()) {
      std::memcpy(&memory_.expected[plan_.place], &memory_.bytes[plan_.place], plan_.bytes);
      std::memcpy(&memory_.expected[plan_.second_place], &memory_.bytes[plan_.second_place],
                  plan_.second_bytes());
    }
    memory_.expect_bytes("the target's memory");
  }

  void check_second() {
    ibv_wc more{};
    if (plan_.second_arrives()) {
      const bool first_used = plan_.of.wrong == fault::none;
      const bool send = is_send(plan_.of.opcode);
      place(send && !first_used ? first_receive_ : plan_.second_place, plan_.second_bytes(),
            plan_.second_place);
      if (takes_receive(plan_.of.opcode))
        expect_receive(first_used ? 2 : 1, plan_.second_bytes(), plan_.immediate + 1);
    }
    expect_equal(pair_.state(), plan_.of.ends.target,
                 "state of the target's queue pair at the end");
    expect_equal(ibv_poll_cq(pair_.receive_cq, 1, &more), 0, "more completions of receives");
    expect_equal(ibv_poll_cq(pair_.send_cq, 1, &more), 0, "completions of sends at the target");
    expect(!has_event(device_.context), "an asynchronous event more than expected");
    memory_.expect_bytes("the target's memory at the end");
  }

  const twin_plan& plan_;
  opened_device& device_;
  buffer memory_;
  const std::vector<unsigned char> sent_;
  endpoint pair_;
  ibv_pd* domain_ = nullptr;
  ibv_mr* foreign_ = nullptr;
  target_facts facts_{};
  std::uint32_t receive_key_ = 0, second_key_ = 0;
  std::size_t first_receive_ = 0;
};

}  // namespace

void run_target(opened_device& device, line& other, const twin& of, std::uint64_t seed) {
  const twin_plan plan(of, seed);
  target(device, plan).run(other);
}

}  // namespace programs
