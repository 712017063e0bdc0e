// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Lists of requests, and their ends: each accepted request ends once at most, and none succeeds
// that uses what its queue pair has no right to.
#include <algorithm>
#include <array>

#include "../check.hpp"
#include "program.hpp"

namespace freehca::fuzz {

namespace {

constexpr std::size_t most_entries = 64;  // more than any queue has
constexpr int most_polled = 64;

ibv_wr_opcode opcode(input& from) {
  const unsigned which = from.byte();
  return static_cast<ibv_wr_opcode>(which < 0xe0 ? which % 8 : which - 0xe0);
}

bool writes_or_reads(ibv_wr_opcode o) {
  return o == IBV_WR_RDMA_WRITE || o == IBV_WR_RDMA_WRITE_WITH_IMM || o == IBV_WR_RDMA_READ ||
         o == IBV_WR_ATOMIC_CMP_AND_SWP || o == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

int entries(input& from, std::size_t listed) {
  const unsigned which = from.byte();
  if (which < 0xf0) return static_cast<int>(std::min<std::size_t>(which % 4, listed));
  constexpr std::array<int, 4> wrong{-1, -0x7fff'ffff - 1, 0x7fff'ffff, 33};
  return wrong[which % wrong.size()];
}

}  // namespace

std::uint32_t program::key(input& from) {
  const unsigned which = from.byte();
  const bool any = !regions_.empty();
  switch (which % 16) {
    case 0:
      return vault_->lkey;
    case 1:
      return read_only_->lkey;
    case 2:
      return stale_key_;
    case 3:
      return stale_number_;
    case 4:
      return from.word();
    case 5:
      return any ? pick(regions_, from)->rkey ^ 1u << which / 16 : 0;
    default:
      return any ? pick(regions_, from)->rkey : 0;
  }
}

program::place program::anywhere(input& from) {
  const unsigned which = from.byte();
  const auto in = [&](const std::byte* area, std::uint32_t key_of_area) {
    return place{reinterpret_cast<std::uintptr_t>(area) + which / 8 * 8, key_of_area};
  };
  switch (which % 8) {
    case 0:
      return in(memory_.vault(), vault_->lkey);
    case 1:
      return in(memory_.read_only(), read_only_->lkey);
    case 2:
      return in(memory_.stale(), stale_key_);
    case 3: {
      const std::uint64_t address = memory_.address(from);
      return {address, key(from)};
    }
    case 4:
      if (!regions_.empty()) return in(memory_.narrow(), regions_[0]->lkey);
      [[fallthrough]];
    default: {
      if (regions_.empty()) return in(memory_.open(), 0);
      const ibv_mr* const region = pick(regions_, from);
      return in(static_cast<std::byte*>(region->addr), region->lkey);
    }
  }
}

std::vector<ibv_sge> program::list(input& from) {
  std::vector<ibv_sge> made(most_entries);
  const unsigned filled = from.byte() % 4;
  for (unsigned i = 0; i < filled; ++i) {
    const place at = anywhere(from);
    made[i] = {at.address, amount(from), at.key};
  }
  return made;
}

std::uint64_t program::new_id(bool has_to_fail) {
  requests_.push_back({true, false, has_to_fail});
  return requests_.size() - 1;
}

void program::fill_in(ibv_send_wr& to, ibv_qp* qp, input& from, std::vector<ibv_sge>& listed) {
  to.opcode = opcode(from);
  to.send_flags = from.byte() % 32;
  if (from.byte() % 4 != 0) to.send_flags &= ~unsigned{IBV_SEND_INLINE};
  to.num_sge = entries(from, listed.size());
  to.sg_list = to.num_sge > 0 && from.byte() == 0xff ? nullptr : listed.data();
  bool fails = false;
  if ((to.send_flags & IBV_SEND_INLINE) != 0) {
    // The program itself reads these bytes, so that they have to be there. A length that no queue
    // pair takes has not.
    if (to.sg_list == nullptr) to.num_sge = 0;
    for (ibv_sge& piece : listed)
      piece.addr = reinterpret_cast<std::uintptr_t>(memory_.open()) + piece.addr % 1024;
  } else {
    for (int i = 0; to.sg_list != nullptr && i < to.num_sge && i < int{most_entries}; ++i)
      fails |= listed[static_cast<std::size_t>(i)].lkey == vault_->lkey &&
               listed[static_cast<std::size_t>(i)].length != 0;
  }
  if (qp->qp_type == IBV_QPT_UD) {
    ibv_ah* const ah = ahs_.empty() || from.byte() == 0xff ? nullptr : pick(ahs_, from);
    fails |= ah != nullptr && ah->pd != qp->pd;
    const unsigned which = from.byte();
    const std::uint32_t number = pairs_[which % pairs_.size()].qp->qp_num;
    to.wr.ud = {ah,
                which < 0xe0   ? number
                : which < 0xf0 ? stale_number_
                               : from.word(),
                which % 16 != 15 ? 0x1234u : from.word()};
  } else if (to.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || to.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    const place at = anywhere(from);
    to.wr.atomic = {at.address, from.byte(), from.byte(), at.key};
    fails |= qp->qp_type == IBV_QPT_RC && to.wr.atomic.rkey == vault_->rkey;
  } else if (writes_or_reads(to.opcode)) {
    const place at = anywhere(from);
    to.wr.rdma = {at.address, at.key};
    std::uint64_t bytes = 0;
    for (int i = 0; to.sg_list != nullptr && i < to.num_sge && i < int{most_entries}; ++i)
      bytes += listed[static_cast<std::size_t>(i)].length;
    fails |= qp->qp_type == IBV_QPT_RC && bytes != 0 && to.wr.rdma.rkey == vault_->rkey;
  } else if (to.opcode == IBV_WR_LOCAL_INV || to.opcode == IBV_WR_SEND_WITH_INV) {
    to.invalidate_rkey = key(from);
    // A region that was invalidated is no witness any more.
    if (to.invalidate_rkey == vault_->rkey) to.invalidate_rkey = 0;
  } else {
    to.imm_data = from.byte();
  }
  to.wr_id = new_id(fails);
}

void program::post_sends(input& from) {
  if (pairs_.empty()) return;
  ibv_qp* const qp = pick(pairs_, from).qp;
  const unsigned how = from.byte(), count = 1 + how % 4;
  std::vector<std::vector<ibv_sge>> lists;
  std::vector<ibv_send_wr> requests(count);
  for (unsigned i = 0; i < count; ++i) {
    fill_in(requests[i], qp, from, lists.emplace_back(list(from)));
    if (i > 0) requests[i - 1].next = &requests[i];
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(qp, &requests[0], how >= 0xf0 ? nullptr : &bad);
  if (error == 0) return;
  if (how >= 0xf0) {
    // How many were taken is not known.
    return;
  }
  check(bad >= requests.data() && bad < requests.data() + count, "no request is named as bad");
  for (ibv_send_wr* r = bad; r != nullptr; r = r->next) requests_[r->wr_id].accepted = false;
}

void program::post_receives(input& from) {
  const unsigned how = from.byte();
  const bool shared = how % 2 != 0 && !srqs_.empty();
  if (!shared && pairs_.empty()) return;
  const unsigned count = 1 + how / 2 % 4;
  std::vector<std::vector<ibv_sge>> lists;
  std::vector<ibv_recv_wr> requests(count);
  for (unsigned i = 0; i < count; ++i) {
    std::vector<ibv_sge>& own = lists.emplace_back(list(from));
    requests[i].num_sge = entries(from, own.size());
    requests[i].sg_list = own.data();
    requests[i].wr_id = new_id(false);
    if (i > 0) requests[i - 1].next = &requests[i];
  }
  ibv_recv_wr* bad = nullptr;
  const int error = shared ? ibv_post_srq_recv(pick(srqs_, from), &requests[0], &bad)
                           : ibv_post_recv(pick(pairs_, from).qp, &requests[0], &bad);
  if (error == 0) return;
  check(bad >= requests.data() && bad < requests.data() + count, "no receive is named as bad");
  for (ibv_recv_wr* r = bad; r != nullptr; r = r->next) requests_[r->wr_id].accepted = false;
}

// One request by the functions of ibv_qp_ex. Those that describe data follow one that begins it.
void program::build_one(ibv_qp_ex* qp, input& from) {
  const unsigned how = from.byte();
  qp->wr_id = new_id(false);
  qp->wr_flags = from.byte() % 32 & ~unsigned{IBV_SEND_INLINE};
  const auto remote = [&](auto begin) {
    const place at = anywhere(from);
    begin(at.key, at.address);
  };
  switch (how % 8) {
    case 0:
      ibv_wr_send_imm(qp, how);
      break;
    case 1:
      ibv_wr_send_inv(qp, how < 0x80 ? from.word() : 0);
      break;
    case 2:
      remote([qp](std::uint32_t k, std::uint64_t at) { ibv_wr_rdma_write(qp, k, at); });
      break;
    case 3:
      remote([qp](std::uint32_t k, std::uint64_t at) { ibv_wr_rdma_write_imm(qp, k, at, 7); });
      break;
    case 4:
      remote([qp](std::uint32_t k, std::uint64_t at) { ibv_wr_rdma_read(qp, k, at); });
      break;
    case 5:
      remote([qp](std::uint32_t k, std::uint64_t at) { ibv_wr_atomic_fetch_add(qp, k, at, 3); });
      break;
    case 6:
      remote([qp](std::uint32_t k, std::uint64_t at) { ibv_wr_atomic_cmp_swp(qp, k, at, 1, 2); });
      break;
    default:
      ibv_wr_send(qp);
  }
  if (qp->qp_base.qp_type == IBV_QPT_UD && !ahs_.empty())
    ibv_wr_set_ud_addr(qp, pick(ahs_, from), pick(pairs_, from).qp->qp_num, 0x1234);
  std::byte* const at = memory_.open();
  if (how / 8 % 4 == 0) {
    const std::vector<ibv_sge> entry = list(from);
    ibv_wr_set_sge_list(qp, from.byte() % 4, entry.data());
  } else if (how / 8 % 4 == 1) {
    // A length that no queue pair takes is not read.
    ibv_wr_set_inline_data(qp, at, amount(from));
  } else if (how / 8 % 4 == 2) {
    const ibv_data_buf pieces[2]{{at, amount(from)}, {at + 8, amount(from)}};
    ibv_wr_set_inline_data_list(qp, 1 + from.byte() % 2, pieces);
  } else {
    const place to = anywhere(from);
    ibv_wr_set_sge(qp, to.key, to.address, amount(from));
  }
}

void program::build_sends(input& from) {
  if (pairs_.empty()) return;
  const held_pair& pair = pick(pairs_, from);
  if (pair.builder == nullptr) return;
  const unsigned how = from.byte();
  if (how % 8 != 0) ibv_wr_start(pair.builder);
  for (unsigned i = how / 8 % 4; i > 0; --i) build_one(pair.builder, from);
  if (how >= 0xf0) return ibv_wr_abort(pair.builder);
  ibv_wr_complete(pair.builder);
}

void program::poll(ibv_cq* cq, int most) {
  std::array<ibv_wc, most_polled> done;
  most = std::min(most, most_polled);
  const int count = ibv_poll_cq(cq, most, done.data());
  check(count >= 0 && count <= std::max(most, 0), "a poll gives a wrong count");
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = last_ = done[static_cast<std::size_t>(i)];
    check(wc.wr_id < requests_.size(), "a completion has a wr_id of no request");
    posted& request = requests_[wc.wr_id];
    check(request.accepted, "a request that was refused has a completion");
    check(!request.completed, "a request has two completions");
    request.completed = true;
    check(wc.status >= IBV_WC_SUCCESS && wc.status <= IBV_WC_GENERAL_ERR,
          "no status of libibverbs");
    check(wc.status != IBV_WC_SUCCESS || !request.has_to_fail,
          "a request has succeeded with what belongs to another domain");
  }
}

void program::poll_all() {
  constexpr unsigned rounds = 4;
  for (unsigned i = 0; i < rounds; ++i)
    for (const held_cq& held : cqs_) poll(held.cq, most_polled);
}

}  // namespace freehca::fuzz
