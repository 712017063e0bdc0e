// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Queries, notifications and events, and what is not supported.
#include <algorithm>
#include <array>
#include <cerrno>

#include "../check.hpp"
#include "program.hpp"

namespace freehca::fuzz {

void program::query_device(input& from) {
  ibv_context* const of = context(from);
  const unsigned which = from.byte();
  const std::uint32_t number = amount(from);
  const auto port = static_cast<std::uint8_t>(which / 8 % 2 != 0 ? 1 : number);
  const auto index = static_cast<int>(number);
  ibv_device_attr device;
  ibv_device_attr_ex extended;
  ibv_query_device_ex_input asked{number % 2};
  ibv_port_attr attributes;
  std::array<ibv_gid_entry, 8> entries;
  ibv_gid gid;
  __be16 pkey;
  switch (which % 8) {
    case 0:
      check(ibv_query_device(of, &device) == 0, "the device cannot be queried");
      return;
    case 1:
      ibv_query_device_ex(of, &asked, &extended);
      return;
    case 2:
      check((ibv_query_port(of, port, &attributes) == 0) == (port == 1), "a query of a wrong port");
      return;
    case 3:
      ibv_query_gid(of, port, index, &gid);
      return;
    case 4:
      ibv_query_gid_ex(of, port, number, &entries[0], number % 2);
      return;
    case 5:
      ibv_query_gid_table(of, entries.data(), number % (entries.size() + 1), 0);
      return;
    case 6:
      ibv_query_pkey(of, port, index, &pkey);
      return;
    default:
      ibv_get_pkey_index(of, port, static_cast<std::uint16_t>(number));
  }
}

void program::query_objects(input& from) {
  const unsigned which = from.byte();
  if (!pairs_.empty()) {
    ibv_qp_attr attributes;
    ibv_qp_init_attr made;
    ibv_qp* const qp = pick(pairs_, from).qp;
    const int mask = static_cast<int>(any_number(from));
    const int expected = (mask & ~(IBV_QP_RATE_LIMIT - 1)) == 0 ? 0 : EOPNOTSUPP;
    check(ibv_query_qp(qp, &attributes, mask, &made) == expected, "a query of a queue pair");
  }
  if (which % 2 == 0 || srqs_.empty()) return;
  ibv_srq* const srq = pick(srqs_, from);
  ibv_srq_attr limits;
  std::uint32_t number = 0;
  check(ibv_query_srq(srq, &limits) == 0 && ibv_get_srq_num(srq, &number) == 0,
        "an SRQ cannot be queried");
}

void program::query(input& from) {
  if (from.byte() % 2 == 0) query_device(from);
  else query_objects(from);
}

void program::modify_srq(input& from) {
  if (srqs_.empty()) return;
  ibv_srq* const srq = pick(srqs_, from);
  ibv_srq_attr to{amount(from), amount(from), amount(from)};
  const unsigned how = from.byte();
  ibv_modify_srq(srq, &to, how < 0xc0 ? IBV_SRQ_LIMIT : static_cast<int>(how % 8));
}

void program::notify(input& from) {
  if (cqs_.empty()) return;
  ibv_req_notify_cq(pick(cqs_, from).cq, from.byte() % 3);
}

void program::take_completion_event(ibv_comp_channel* channel) {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel, &cq, &context) != 0) {
    check(errno == EAGAIN, "a channel without an event fails");
    return;
  }
  const auto held =
      std::find_if(cqs_.begin(), cqs_.end(), [cq](const held_cq& h) { return h.cq == cq; });
  check(held != cqs_.end(), "an event of a CQ that was destroyed");
  ++held->unacknowledged;
}

void program::acknowledge_completion_events(input& from) {
  if (cqs_.empty()) return;
  auto& [cq, unacknowledged] = pick(cqs_, from);
  const unsigned count = std::min<unsigned>(from.byte() % 4, unacknowledged);
  ibv_ack_cq_events(cq, count);
  unacknowledged -= count;
}

void program::take_asynchronous_event(ibv_context* context) {
  ibv_async_event event{};
  if (ibv_get_async_event(context, &event) != 0) {
    check(errno == EAGAIN, "a device without an event fails");
    return;
  }
  const void* const of = event.element.qp;
  const auto is_held = [of](const auto& all, auto pointer) {
    return std::any_of(all.begin(), all.end(), [&](const auto& h) { return pointer(h) == of; });
  };
  check(event.event_type != IBV_EVENT_DEVICE_FATAL, "the device has failed");
  if (event.event_type == IBV_EVENT_PORT_ACTIVE || event.event_type == IBV_EVENT_PORT_ERR)
    return ibv_ack_async_event(&event);
  check(is_held(pairs_, [](const held_pair& p) -> void* { return p.qp; }) ||
            is_held(cqs_, [](const held_cq& c) -> void* { return c.cq; }) ||
            is_held(srqs_, [](ibv_srq* srq) -> void* { return srq; }),
        "an event of an object that was destroyed");
  taken_.push_back(event);
}

void program::acknowledge_asynchronous_event(input& from) {
  if (taken_.empty()) return;
  const std::size_t which = from.byte() % taken_.size();
  ibv_ack_async_event(&taken_[which]);
  taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(which));
}

// Each is refused, whatever it is asked.
void program::call_unsupported(input& from) {
  const unsigned which = from.byte();
  ibv_context* const of = context(from);
  ibv_gid gid{};
  ibv_ece ece{};
  const auto refuses = [](bool refused) {
    check(refused, "a function is neither there nor refused");
  };
  switch (which % 8) {
    case 0:
      if (!cqs_.empty()) refuses(ibv_resize_cq(pick(cqs_, from).cq, 0) != 0);
      return;
    case 1:
      if (!pairs_.empty()) refuses(ibv_attach_mcast(pick(pairs_, from).qp, &gid, 0xc001) != 0);
      return;
    case 2:
      if (!pairs_.empty()) refuses(ibv_query_ece(pick(pairs_, from).qp, &ece) != 0);
      return;
    case 3:
      if (!regions_.empty())
        refuses(ibv_rereg_mr(pick(regions_, from), static_cast<int>(which), nullptr, memory_.open(),
                             4096, 0) != 0);
      return;
    case 4:
      if (!pds_.empty()) refuses(ibv_alloc_mw(pds_[0], static_cast<ibv_mw_type>(3)) == nullptr);
      return;
    case 5: {
      ibv_cq_init_attr_ex how{};
      how.cqe = 16;
      how.wc_flags = IBV_WC_EX_WITH_CVLAN;
      return refuses(ibv_create_cq_ex(of, &how) == nullptr);
    }
    case 6: {
      ibv_xrcd_init_attr how{};
      return refuses(ibv_open_xrcd(of, &how) == nullptr);
    }
    default:
      if (!pds_.empty()) refuses(ibv_reg_dmabuf_mr(pds_[0], 0, which, 0, 0, 0) == nullptr);
  }
}

}  // namespace freehca::fuzz
