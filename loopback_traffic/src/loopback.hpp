// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/every_kind.hpp>
#include <freehca/loopback_traffic/message.hpp>
#include <freehca/loopback_traffic/traffic.hpp>
#include <freehca/work_requests/send_request.hpp>

namespace freehca::loopback_traffic {

/// Two queue pairs of one port that reach each other, each with memory, a region over it, and a
/// completion queue. Addresses of the regions count from 0. Side 0 asks, side 1 answers.
class loopback {
 public:
  static constexpr unsigned sides = 2;

  loopback(blocking::session& in, traffic_memory& memory, const traffic_options& options)
      : session_(in), memory_(memory), how_(options) {}

  status open(std::size_t bytes, unsigned requests);
  /// Takes everything back, also what a failed open() left. Stops at the first error: what the
  /// firmware does not give back then, and what a device that failed holds, is
  /// session::tear_down()'s to end.
  status close();

  unsigned mtu() const;
  bool interrupted() const { return session_.host().interrupted(); }
  bool datagrams() const { return how_.service == layouts::qp_service::ud; }
  bool counts() const { return how_.counted; }
  scattered_memory& memory(unsigned side) { return *sides_[side].memory; }
  std::uint32_t key(unsigned side) const { return sides_[side].key; }
  queues::data_entry entry(unsigned side, std::size_t offset, std::size_t bytes) const {
    return queues::entry_of(offset, bytes, sides_[side].key);
  }
  /// By side 0. A datagram is addressed to side 1.
  status send(work_requests::send_request request);
  /// By side 1, from its own receives or from those that are shared.
  status receive(const queues::receive_request& request);

  /// The next completion of a side. transport_error::timeout: none came in ten seconds; ::gone;
  /// cancelled. Where sends are counted, that of side 0 says no more than whether it succeeded.
  status next(unsigned side, queues::work_completion& to);

 private:
  struct endpoint {
    scattered_memory* memory = nullptr;
    mr_handle region;
    std::uint32_t key = 0;
    cq_handle completions;
    qp_handle queue;
  };
  status open_side(unsigned i, std::size_t bytes, unsigned requests);
  status open_shared(unsigned requests);
  status connect(unsigned i);
  bool take(unsigned side, queues::work_completion& to);
  template <class K>
  status destroy(handle<K>& h);

  device& hca() const { return session_.adapter().hardware(); }
  verbs& objects() const { return session_.adapter().objects(); }

  blocking::session& session_;
  traffic_memory& memory_;
  traffic_options how_;
  pd_handle domain_;
  srq_handle shared_;
  handle<counting_completion_queue> counted_;
  std::uint64_t seen_ = 0;  // of those counted
  ah_handle peer_;
  endpoint sides_[sides];
};

}  // namespace freehca::loopback_traffic
