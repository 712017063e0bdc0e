// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "traffic.hpp"

#include <algorithm>
#include <cstring>

#include <freehca/work_requests/send_request.hpp>

#include "finding.hpp"
#include "reach.hpp"

namespace freehca::fuzz {

namespace {

using work_requests::send_opcode;

constexpr std::byte nobodys{0x5a}, untouched{0xa5};
// Of each pair: a page that is nobody's, its source, one that is nobody's, its target; one more at
// the end.
constexpr std::size_t pages_each = 4, pages_in_all = traffic::pairs * pages_each + 1;

std::byte sent_byte(unsigned pair, std::size_t at) {
  return static_cast<std::byte>(at * 7 + pair * 31 + at / 256);
}

bool all(const std::byte* from, std::size_t count, std::byte value) {
  return count == 0 || (from[0] == value && std::memcmp(from, from + 1, count - 1) == 0);
}

}  // namespace

traffic::traffic(in_process::host_memory_map& memory)
    : block_(memory.allocate(pages_in_all * page, page)) {
  std::memset(block_.host, std::to_integer<int>(nobodys), block_.bytes);
  for (unsigned p = 0; p < pairs; ++p) {
    const std::size_t first = p * pages_each * page;
    pages_[p] = {block_.device_address + first + page, block_.device_address + first + 3 * page};
    for (std::size_t i = 0; i < page; ++i) sent_[p][i] = sent_byte(p, i);
    std::memcpy(block_.host + first + page, sent_[p].data(), page);
    std::memset(block_.host + first + 3 * page, std::to_integer<int>(untouched), page);
  }
}

const std::byte* traffic::source_of(unsigned pair, unsigned m) const {
  return block_.host + (pair * pages_each + 1) * page + m * longest;
}
const std::byte* traffic::target_of(unsigned pair, unsigned m) const {
  return block_.host + (pair * pages_each + 3) * page + m * longest;
}

void traffic::post(unsigned pair, const keys& with, const plan& what, queues::qp_rings& rings) {
  constexpr std::uint32_t lengths[] = {24, 333, longest, 0};
  qpns_[pair] = with.qpn;
  for (unsigned m = 0; m < messages; ++m) {
    message& each = messages_[pair][m];
    if (each.send_posted || each.receive_posted) found("a message is posted twice");
    each.what = static_cast<kind>(what.kinds >> 2 * m & 3);
    each.bytes = lengths[what.lengths >> 2 * m & 3];
    if (each.what == kind::send_inline) each.bytes = std::min(each.bytes, most_inline);
    const bool to_receive = each.what == kind::send || each.what == kind::send_inline;
    if (to_receive && !post_receive(pair, m, with, rings)) continue;
    if (!what.receives_alone) post_send(pair, m, with, rings.send);
  }
}

bool traffic::post_receive(unsigned pair, unsigned m, const keys& with, queues::qp_rings& rings) {
  message& each = messages_[pair][m];
  const queues::data_entry target{target_address(pair) + m * longest, longest, with.target};
  const queues::receive_request room{id(true, pair, m), &target, 1};
  const status posted = rings.shared != nullptr ? rings.shared->post_and_ring(room)
                                                : rings.receive.post_and_ring(room);
  if (!posted.ok()) return false;
  each.receive_posted = each.written = true;
  ++outstanding_;
  return true;
}

void traffic::post_send(unsigned pair, unsigned m, const keys& with, queues::sq& send) {
  message& each = messages_[pair][m];
  const std::uint64_t from = source_address(pair) + m * longest,
                      to = target_address(pair) + m * longest;
  const queues::data_entry source{from, each.bytes, with.source},
      answer{to, each.bytes, with.target};
  work_requests::send_request r;
  r.wr_id = id(false, pair, m);
  r.list = &source;
  r.entries = 1;
  switch (each.what) {
    case kind::send:
      break;
    case kind::send_inline:
      r.list = nullptr;
      r.entries = 0;
      r.inline_bytes = source_of(pair, m);
      r.inline_length = each.bytes;
      break;
    case kind::write:
      r.opcode = send_opcode::rdma_write;
      r.remote_address = to;
      r.rkey = with.target;
      break;
    case kind::read:
      r.opcode = send_opcode::rdma_read;
      r.list = &answer;
      r.remote_address = from;
      r.rkey = with.source;
  }
  if (!work_requests::post_and_ring(send, r).ok()) return;
  each.send_posted = each.written = true;
  ++outstanding_;
}

void traffic::poll(queues::cq& completions, bool true_data) {
  queues::work_completion w[4];
  for (unsigned n = 4; n == 4;) {
    n = completions.poll(w, 4);
    for (unsigned i = 0; i < n; ++i) take(w[i], true_data);
  }
}

void traffic::take(const queues::work_completion& w, bool true_data) {
  reach::completion(w);
  const bool receive = (w.wr_id & 0x200) != 0;
  const auto pair = static_cast<unsigned>(w.wr_id >> 4 & 0xf),
             m = static_cast<unsigned>(w.wr_id & 0xf);
  if (pair >= pairs || m >= messages || w.wr_id != id(receive, pair, m))
    found("a completion names no request");
  // A shared receive that no queue pair took comes back from a reset without one.
  if (w.queue != nullptr && w.qpn() != qpns_[pair]) found("a completion names another queue pair");
  message& of = messages_[pair][m];
  bool& posted = receive ? of.receive_posted : of.send_posted;
  if (!posted) found("a request completes that is not outstanding");
  posted = false;
  --outstanding_;
  ++ended_;
  if (!w.ok()) return;
  ++well_;
  if (!true_data) return;
  const bool moved = receive || of.what == kind::write || of.what == kind::read;
  if (receive && w.byte_count != of.bytes) found("a receive has another length than the message");
  if (of.what == kind::read && w.byte_count != of.bytes) found("a read has another length");
  if (moved && std::memcmp(source_of(pair, m), target_of(pair, m), of.bytes) != 0)
    found("what arrived is not what was sent");
}

unsigned traffic::unended() const {
  unsigned count = 0;
  for (unsigned p = 0; p < pairs; ++p)
    for (const message& each : messages_[p])
      if (!leaving_[p]) count += each.send_posted + each.receive_posted;
  return count;
}

void traffic::check_memory() const {
  for (unsigned p = 0; p < pairs; ++p) {
    const std::byte* first = block_.host + p * pages_each * page;
    if (!all(first, page, nobodys) || !all(first + 2 * page, page, nobodys))
      found("memory has changed that is in no region");
    if (std::memcmp(first + page, sent_[p].data(), page) != 0)
      found("memory has changed that is only sent from");
    for (unsigned m = 0; m < messages; ++m) {
      const std::uint32_t may = messages_[p][m].written ? messages_[p][m].bytes : 0;
      if (!all(target_of(p, m) + may, longest - may, untouched))
        found("memory has changed behind a message");
    }
  }
  if (!all(block_.host + pairs * pages_each * page, page, nobodys))
    found("memory has changed behind the regions");
}

void traffic::note(digest& to) const {
  to.add(block_.host, block_.bytes);
  for (const unsigned number : {outstanding_, ended_, well_}) to.add(number);
}

}  // namespace freehca::fuzz
