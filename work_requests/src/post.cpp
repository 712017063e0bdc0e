// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
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
  if constexpr (requires { t.data.from; }) t.data = {r.inline_bytes, r.inline_length};
  else if constexpr (requires { t.data.first; }) t.data = {r.list, r.entries};
  else if constexpr (requires { t.operand; }) t.data = only_entry(r);
  else if constexpr (requires { t.data; }) t.data = *r.list;
  return t;
}

template <class Request>
status post_as(sq& to, const send_request& r) {
  const Request request = typed<Request>(r);
  const status posted = to.post(request);
  // A queue of an extended connection refuses this form of the request and accepts its xrc form.
  if constexpr (
      requires { request.data; } && !requires { request.to; })
    if (posted.is(driver_error::unsupported)) [[unlikely]]
      return to.post(xrc<Request>{request, r.remote_srqn});
  return posted;
}

/// Posts a request with a list. A list of one entry has a type of its own.
template <template <class> class Request>
status post_list(sq& to, const send_request& r) {
  return r.entries == 1 && r.list != nullptr ? post_as<Request<data_entry>>(to, r)
                                             : post_as<Request<data_list>>(to, r);
}

template <template <class> class Request>
status post_data(sq& to, const send_request& r) {
  return r.inline_bytes != nullptr ? post_as<Request<inline_data>>(to, r)
                                   : post_list<Request>(to, r);
}

status post_memory(sq& to, const send_request& r) {
  if (r.opcode == send_opcode::local_invalidate)
    return to.post(local_invalidate{r.wr_id, {r.rkey}, flags_of(r)});
  return to.post(
      fast_register{r.wr_id, r.memory != nullptr ? *r.memory : registration{}, flags_of(r)});
}

bool has_data(send_opcode o) {
  return o != send_opcode::nop && o != send_opcode::fast_register &&
         o != send_opcode::local_invalidate;
}

}  // namespace

status post(sq& to, const send_request& r) {
  const bool is_inline = r.inline_bytes != nullptr;
  if (is_inline ? r.entries != 0 : r.inline_length != 0) return driver_error::bad_argument;
  if (!has_data(r.opcode) && (r.entries != 0 || is_inline)) return driver_error::bad_argument;
  switch (r.opcode) {
    case send_opcode::send:
      return r.to != nullptr ? post_data<send_datagram_of>(to, r) : post_data<send_of>(to, r);
    case send_opcode::send_with_immediate:
      return r.to != nullptr ? post_data<send_datagram_with_immediate_of>(to, r)
                             : post_data<send_with_immediate_of>(to, r);
    case send_opcode::send_with_invalidate:
      // A datagram cannot invalidate a key.
      return r.to != nullptr ? driver_error::unsupported
                             : post_data<send_with_invalidate_of>(to, r);
    case send_opcode::rdma_write:
      return post_data<rdma_write_of>(to, r);
    case send_opcode::rdma_write_with_immediate:
      return post_data<rdma_write_with_immediate_of>(to, r);
    case send_opcode::rdma_read:
      return is_inline ? driver_error::bad_argument : post_list<rdma_read_of>(to, r);
    case send_opcode::compare_and_swap:
      return post_as<compare_and_swap>(to, r);
    case send_opcode::fetch_and_add:
      return post_as<fetch_and_add>(to, r);
    case send_opcode::masked_compare_and_swap:
      return post_as<masked_compare_and_swap>(to, r);
    case send_opcode::masked_fetch_and_add:
      return post_as<masked_fetch_and_add>(to, r);
    case send_opcode::fast_register:
    case send_opcode::local_invalidate:
      return post_memory(to, r);
    case send_opcode::nop:
      return to.post(nop{r.wr_id, flags_of(r)});
  }
  return driver_error::unsupported;
}

}  // namespace freehca::work_requests
