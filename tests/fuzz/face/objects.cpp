// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Objects are made with any attributes, and destroyed in any order. One that another one stands on
// is busy; every other one goes.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "../check.hpp"
#include "program.hpp"

namespace freehca::fuzz {

namespace {

constexpr std::size_t most_objects = 6;  // of a kind

template <class Objects, class Condition>
bool any_of(const Objects& all, Condition condition) {
  return std::any_of(all.begin(), all.end(), condition);
}

// Takes the element out if its object was destroyed, which has to be if it is not used.
template <class Element>
void settle(std::vector<Element>& all, std::size_t which, bool used, int error) {
  check(error == (used ? EBUSY : 0),
        used ? "an object in use is not busy" : "an object that is not in use cannot be destroyed");
  if (!used) all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
}

int random_access(input& from) {
  constexpr int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                      IBV_ACCESS_REMOTE_ATOMIC;
  const int which = from.byte();
  return which < 0x80 ? all : which < 0xf0 ? which % 16 : static_cast<int>(from.word());
}

}  // namespace

void program::create_pd(input& from) {
  ibv_context* const of = context(from);
  if (pds_.size() == most_objects) return;
  ibv_pd* const made = ibv_alloc_pd(of);
  check(made != nullptr, "a domain cannot be made");
  pds_.push_back(made);
}

void program::register_memory(input& from) {
  if (pds_.empty() || regions_.size() == most_objects) return;
  ibv_pd* const pd = pick(pds_, from);
  const unsigned how = from.byte();
  const int access = random_access(from);
  const bool open = how % 4 != 0;
  std::size_t bytes = open ? 1 + from.byte() * 33u : any_number(from);
  auto at = reinterpret_cast<std::uintptr_t>(memory_.open_place(from, open ? bytes : 1));
  if (!open) at = memory_.address(from);
  // Nothing may be allowed by a region that has memory of the others, or of the fuzzer itself.
  const bool is_kept = open || memory_.is_unmapped(at, bytes);
  auto* const first = reinterpret_cast<void*>(at);
  ibv_mr* made = nullptr;
  if (how / 4 % 4 == 0)
    made = (ibv_reg_mr_iova2)(pd, first, bytes, any_number(from), static_cast<unsigned>(access));
  else if (how / 4 % 4 == 1)
    made = (ibv_reg_mr_iova)(pd, first, bytes, at + from.byte() * 8u, access);
  else made = (ibv_reg_mr)(pd, first, bytes, access);
  if (made == nullptr) return;
  if (is_kept) regions_.push_back(made);
  else check(ibv_dereg_mr(made) == 0, "a region cannot be deregistered");
}

void program::create_channel(input& from) {
  ibv_context* const of = context(from);
  if (channels_.size() == most_objects) return;
  ibv_comp_channel* const made = ibv_create_comp_channel(of);
  check(made != nullptr, "a channel cannot be made");
  fcntl(made->fd, F_SETFL, O_NONBLOCK);
  channels_.push_back(made);
}

void program::create_cq(input& from) {
  ibv_context* const of = context(from);
  const unsigned how = from.byte();
  const int entries = how < 0xc0 ? 1 + static_cast<int>(how % 64) : static_cast<int>(amount(from));
  ibv_comp_channel* const channel =
      how % 2 == 0 && !channels_.empty() ? pick(channels_, from) : nullptr;
  const int vector = how % 16 == 15 ? static_cast<int>(any_number(from)) : 0;
  if (cqs_.size() == most_objects) return;
  ibv_cq* const made = ibv_create_cq(of, entries, nullptr, channel, vector);
  if (made == nullptr) return;
  check(vector == 0 && made->cqe >= entries, "a CQ was made that is not possible");
  cqs_.push_back({made, 0});
}

void program::create_srq(input& from) {
  if (pds_.empty() || srqs_.size() == most_objects) return;
  ibv_srq_init_attr how{};
  ibv_pd* const pd = pick(pds_, from);
  how.attr = {amount(from), amount(from), amount(from)};
  const unsigned extended = from.byte();
  ibv_srq* made = nullptr;
  if (extended < 0x80) {
    made = ibv_create_srq(pd, &how);
  } else {
    ibv_srq_init_attr_ex ex{};
    ex.attr = how.attr;
    ex.pd = pd;
    ex.comp_mask = extended < 0xe0 ? unsigned{IBV_SRQ_INIT_ATTR_PD} : from.word();
    ex.srq_type = static_cast<ibv_srq_type>(extended % 4);
    made = ibv_create_srq_ex(pd->context, &ex);
  }
  if (made != nullptr) srqs_.push_back(made);
}

void program::create_ah(input& from) {
  if (pds_.empty() || ahs_.size() == most_objects) return;
  ibv_pd* const pd = pick(pds_, from);
  const unsigned how = from.byte();
  ibv_ah_attr to = how < 0x80 ? ibv_ah_attr{} : any<ibv_ah_attr>(from);
  if (how % 2 == 0) to.port_num = 1;
  if (how % 4 == 0) to.is_global = how / 4 % 2;
  if (how % 8 < 2) to.dlid = static_cast<std::uint16_t>(device_.lid + how % 8);
  if (how % 16 == 0) to.grh.sgid_index = 0;
  if (ibv_ah* const made = ibv_create_ah(pd, &to)) ahs_.push_back(made);
}

void program::create_ah_from_completion(input& from) {
  if (pds_.empty() || ahs_.size() == most_objects) return;
  ibv_wc done = from.byte() % 2 == 0 ? last_ : any<ibv_wc>(from);
  ibv_grh header = any<ibv_grh>(from);
  if (ibv_ah* const made = ibv_create_ah_from_wc(pick(pds_, from), &done, &header, from.byte() % 3))
    ahs_.push_back(made);
}

void program::acknowledge_all(const void* element) {
  std::erase_if(taken_, [element](ibv_async_event& event) {
    const bool same = event.element.qp == element;
    if (same) ibv_ack_async_event(&event);
    return same;
  });
}

void program::destroy_pd(std::size_t which) {
  ibv_pd* const pd = pds_[which];
  const auto of_pd = [pd](const auto* object) { return object->pd == pd; };
  const bool used = (read_only_ != nullptr && read_only_->pd == pd) || any_of(regions_, of_pd) ||
                    any_of(srqs_, of_pd) || any_of(ahs_, of_pd) ||
                    any_of(pairs_, [pd](const held_pair& p) { return p.qp->pd == pd; });
  settle(pds_, which, used, ibv_dealloc_pd(pd));
}

void program::destroy_region(std::size_t which) {
  stale_number_ = regions_[which]->rkey;
  settle(regions_, which, false, ibv_dereg_mr(regions_[which]));
}

void program::destroy_channel(std::size_t which) {
  ibv_comp_channel* const channel = channels_[which];
  const bool used = any_of(cqs_, [channel](const held_cq& c) { return c.cq->channel == channel; });
  settle(channels_, which, used, ibv_destroy_comp_channel(channel));
}

void program::destroy_cq(std::size_t which) {
  auto& [cq, unacknowledged] = cqs_[which];
  const bool used = any_of(pairs_, [held = cq](const held_pair& p) {
    return p.qp->send_cq == held || p.qp->recv_cq == held;
  });
  acknowledge_all(cq);
  ibv_ack_cq_events(cq, unacknowledged);
  unacknowledged = 0;
  settle(cqs_, which, used, ibv_destroy_cq(cq));
}

void program::destroy_srq(std::size_t which) {
  ibv_srq* const srq = srqs_[which];
  acknowledge_all(srq);
  const bool used = any_of(pairs_, [srq](const held_pair& p) { return p.qp->srq == srq; });
  settle(srqs_, which, used, ibv_destroy_srq(srq));
}

void program::destroy_ah(std::size_t which) {
  settle(ahs_, which, false, ibv_destroy_ah(ahs_[which]));
}

void program::destroy_pair(std::size_t which) {
  stale_number_ = pairs_[which].qp->qp_num;
  acknowledge_all(pairs_[which].qp);
  settle(pairs_, which, false, ibv_destroy_qp(pairs_[which].qp));
}

void program::destroy(input& from) {
  const unsigned kind = from.byte() % 8, which = from.byte();
  const auto one = [&](const auto& all, void (program::*function)(std::size_t)) {
    if (!all.empty()) (this->*function)(which % all.size());
  };
  switch (kind) {
    case 0:
      return one(pds_, &program::destroy_pd);
    case 1:
      return one(regions_, &program::destroy_region);
    case 2:
      return one(channels_, &program::destroy_channel);
    case 3:
      return one(cqs_, &program::destroy_cq);
    case 4:
      return one(srqs_, &program::destroy_srq);
    case 5:
      return one(ahs_, &program::destroy_ah);
    default:
      return one(pairs_, &program::destroy_pair);
  }
}

void program::destroy_all() {
  while (!pairs_.empty()) destroy_pair(0);
  while (!cqs_.empty()) destroy_cq(0);
  for (ibv_comp_channel* const channel : channels_) take_completion_event(channel);
  while (!channels_.empty()) destroy_channel(0);
  while (!srqs_.empty()) destroy_srq(0);
  while (!ahs_.empty()) destroy_ah(0);
  while (!regions_.empty()) destroy_region(0);
  check(ibv_dereg_mr(read_only_) == 0 && ibv_dereg_mr(vault_) == 0, "a region is kept");
  read_only_ = vault_ = nullptr;
  check(ibv_dealloc_pd(vault_pd_) == 0, "a domain is kept");
  while (!pds_.empty()) destroy_pd(0);
}

}  // namespace freehca::fuzz
