// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/frame_requests.hpp>
#include <freehca/queues/masked_atomics.hpp>
#include <freehca/queues/requests.hpp>
#include <freehca/queues/xrc_requests.hpp>
#include <freehca/work_requests/send_request.hpp>

namespace freehca::work_requests {

using namespace queues;

namespace {

request_flags flags_of(const send_request& r) {
  return (r.signaled ? request_flags::signaled : request_flags::none) |
         (r.solicited ? request_flags::solicited : request_flags::none) |
         (r.fence ? request_flags::fence : request_flags::none);
}

/// Returns the single entry of an atomic that is not empty. If there is no such entry, or more than
/// one, returns an entry of no bytes, which every queue refuses for an atomic.
data_entry only_entry(const send_request& r) {
  data_entry found;
  if (r.inline_bytes != nullptr || r.list == nullptr) return found;
  for (unsigned i = 0; i < r.entries; ++i) {
    if (r.list[i].length == 0) continue;
    if (found.length != 0) return {};
    found = r.list[i];
  }
  return found;
}

template <class Request>
Request typed(const send_request& r) {
  Request t;
  t.wr_id = r.wr_id;
  t.flags = flags_of(r);
  if constexpr (requires { t.to; }) t.to = {r.to, r.remote_qpn, r.qkey};
  if constexpr (requires { t.remote; }) t.remote = {r.remote_address, r.rkey};
  if constexpr (requires { t.operand; }) t.operand = r.swap_or_add;
  if constexpr (requires { t.compare; }) t.compare = r.compare;
  if constexpr (requires { t.boundaries; }) t.boundaries = r.swap_or_add_mask;
  if constexpr (requires { t.operand_mask; }) {
    t.operand_mask = r.swap_or_add_mask;
    t.compare_mask = r.compare_mask;
  }
  if constexpr (requires { t.immediate; }) t.immediate = r.immediate;
  if constexpr (requires { t.invalidated; }) t.invalidated = r.rkey;
  if constexpr (requires { t.frame; })
    if (r.frame != nullptr) t.frame = *r.frame;
  if constexpr (requires { t.headers; })
    if (r.headers != nullptr) t.headers = *r.headers;
  if constexpr (requires { t.data.from; }) t.data = {r.inline_bytes, r.inline_length};
  else if constexpr (requires { t.data.first; }) t.data = {r.list, r.entries};
  else if constexpr (requires { t.operand; }) t.data = only_entry(r);
  else if constexpr (requires { t.data; }) t.data = *r.list;
  return t;
}

/// Posts the xrc form of a request to the queue of an extended connection.
template <class Request>
[[gnu::noinline, gnu::cold]] status post_extended(sq& to, const send_request& r) {
  return to.post(xrc<Request>{typed<Request>(r), r.remote_srqn});
}

// Not inline: post_with() is then a switch of tail calls that saves no registers.
template <class Request>
[[gnu::noinline]] status post_as(sq& to, const send_request& r) {
  const status posted = to.post(typed<Request>(r));
  if constexpr (
      requires(Request request) { request.data; } && !requires(Request request) { request.to; })
    if (posted.is(driver_error::unsupported)) [[unlikely]]
      return post_extended<Request>(to, r);
  return posted;
}

/// Posts a request without data.
[[gnu::noinline]] status post_bare(sq& to, const send_request& r) {
  if (r.entries != 0 || r.inline_bytes != nullptr || r.inline_length != 0)
    return driver_error::bad_argument;
  if (r.opcode == send_opcode::nop) return to.post(nop{r.wr_id, flags_of(r)});
  if (r.opcode == send_opcode::local_invalidate)
    return to.post(local_invalidate{r.wr_id, {r.rkey}, flags_of(r)});
  if (r.opcode == send_opcode::bind_window) {
    // Every queue with this opcode refuses a binding of type 2 of no bytes.
    constexpr window_binding unsound{.type = window_type::two};
    return to.post(bind_window{r.wr_id, r.binding != nullptr ? *r.binding : unsound, flags_of(r)});
  }
  return to.post(
      fast_register{r.wr_id, r.memory != nullptr ? *r.memory : registration{}, flags_of(r)});
}

/// Posts a frame. One entry is a list too.
[[gnu::noinline]] status post_frame(sq& to, const send_request& r) {
  const bool large = r.opcode == send_opcode::send_large_frame;
  if (r.inline_bytes == nullptr)
    return large ? to.post(typed<send_large_frame_list>(r)) : to.post(typed<send_frame_list>(r));
  return large ? driver_error::bad_argument : to.post(typed<send_frame_inline>(r));
}

/// Posts a request whose data are an entry, a list or inline bytes.
template <class Data>
[[gnu::noinline]] status post_with(sq& to, const send_request& r) {
  switch (r.opcode) {
    case send_opcode::send:
      return r.to != nullptr ? post_as<send_datagram_of<Data>>(to, r)
                             : post_as<send_of<Data>>(to, r);
    case send_opcode::send_with_immediate:
      return r.to != nullptr ? post_as<send_datagram_with_immediate_of<Data>>(to, r)
                             : post_as<send_with_immediate_of<Data>>(to, r);
    case send_opcode::send_with_invalidate:
      // A datagram cannot invalidate a key.
      return r.to != nullptr ? driver_error::unsupported
                             : post_as<send_with_invalidate_of<Data>>(to, r);
    case send_opcode::rdma_write:
      return post_as<rdma_write_of<Data>>(to, r);
    case send_opcode::rdma_write_with_immediate:
      return post_as<rdma_write_with_immediate_of<Data>>(to, r);
    case send_opcode::rdma_read:
      if constexpr (requires(Data data) { data.from; }) return driver_error::bad_argument;
      else return post_as<rdma_read_of<Data>>(to, r);
    case send_opcode::compare_and_swap:
      return post_as<compare_and_swap>(to, r);
    case send_opcode::fetch_and_add:
      return post_as<fetch_and_add>(to, r);
    case send_opcode::masked_compare_and_swap:
      return post_as<masked_compare_and_swap>(to, r);
    case send_opcode::masked_fetch_and_add:
      return post_as<masked_fetch_and_add>(to, r);
    case send_opcode::send_frame:
    case send_opcode::send_large_frame:
      return post_frame(to, r);
    case send_opcode::fast_register:
    case send_opcode::local_invalidate:
    case send_opcode::bind_window:
    case send_opcode::nop:
      return post_bare(to, r);
  }
  return driver_error::unsupported;
}

}  // namespace

status post(sq& to, const send_request& r) {
  if (r.inline_bytes != nullptr)
    return r.entries == 0 ? post_with<inline_data>(to, r) : driver_error::bad_argument;
  if (r.inline_length != 0) return driver_error::bad_argument;
  return r.entries == 1 && r.list != nullptr ? post_with<data_entry>(to, r)
                                             : post_with<data_list>(to, r);
}

}  // namespace freehca::work_requests
