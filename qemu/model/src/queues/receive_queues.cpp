// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/receive_queues.hpp"

#include <array>
#include <cstdio>

#include <freehca/layouts/doorbell.hpp>

#include "queues/explanations.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/shared_receive_queues.hpp"
#include "queues/wqe_reader.hpp"

namespace freehca::model {

using namespace layouts;

namespace {
constexpr std::size_t stride_max = 16u << 7;
}

take_result receive_queues::broken(queue_pair& qp, rule r, const char* why) {
  qp.rq.ring.present = false;  // one event is enough: nothing more is taken from it
  rules_.complain(r, "QP 0x%06x: %s", qp.number(), why);
  rules_.because("%s", why);
  rules_.explain(remark_kind::work_error, words_for(qp, event_type::wq_catastrophic_error),
                 {entry_of(r).name.data(), why});
  pairs_.post_event(qp, event_type::wq_catastrophic_error);
  return take_result::fault;
}

take_result receive_queues::take_shared(queue_pair& qp, std::uint32_t srqn, receive_request& to) {
  const take_result r = shared_.take(srqn, to);
  // The right to the reserved key is the queue pair's: the SRQ's context has no such bit.
  to.owner.reserved_key_allowed = qp.owner.reserved_key_allowed;
  return r;
}

bool receive_queues::read_record(queue_pair& qp) {
  const host_memory::about what(memory_, {dma_kind::receive_record, qp.qpn});
  image<rq_doorbell_record> record;
  if (!memory_.read(qp.context.get<&qpc::db_rec_addr>(), record.data(), record.size()))
    return false;
  qp.rq.posted = static_cast<std::uint16_t>(record.get<&rq_doorbell_record::wqe_counter>());
  return true;
}

bool receive_queues::has_some(queue_pair& qp) {
  return !read_record(qp) || qp.rq.posted != qp.rq.counter;
}

take_result receive_queues::take(queue_pair& qp, receive_request& to) {
  if (qp.shared_receive) return take_shared(qp, qp.srqn, to);
  receive_side& side = qp.rq;
  if (!side.ring.present) return take_result::empty;
  if (side.posted == side.counter) {
    if (!read_record(qp))
      return broken(qp, rule::receive_queue, "its doorbell record cannot be read");
    if (side.posted == side.counter) return take_result::empty;
  }
  const auto waiting = static_cast<std::uint16_t>(side.posted - side.counter);
  if (waiting > side.ring.entries()) {
    char why[120];
    std::snprintf(why, sizeof why,
                  "its doorbell record counts %u receives, %u of them taken; the queue holds %u",
                  unsigned{side.posted}, unsigned{side.counter}, side.ring.entries());
    return broken(qp, rule::receive_record, why);
  }

  std::array<std::byte, stride_max> wqe;
  const std::size_t stride = std::size_t{1} << side.ring.log_stride;
  const std::uint64_t at = std::uint64_t{side.counter & (side.ring.entries() - 1)}
                           << side.ring.log_stride;
  const host_memory::about what(memory_, {dma_kind::receive_wqe, qp.qpn, side.counter});
  if (!regions_.read_queue(qp.buffer, side.ring.first + at, wqe.data(), stride))
    return broken(qp, rule::receive_queue, "its receive queue cannot be read");
  to = receive_request{};
  to.index = side.counter;
  to.owner = qp.owner;
  ++side.counter;
  pairs_.touch(qp);
  if (!parse_receive(wqe.data(), stride, to.data))
    return broken(qp, rule::receive_segments, "a receive WQE has an inline segment");
  return take_result::taken;
}

}  // namespace freehca::model
