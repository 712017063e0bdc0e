// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/verified_traffic/message.hpp>
#include <freehca/verified_traffic/session.hpp>

namespace freehca::verified_traffic {

/// Two connected RC queue pairs of one port, each with memory, a region over it, and a completion
/// queue. Addresses of the regions count from 0.
class rc_loopback {
 public:
  static constexpr unsigned sides = 2;

  rc_loopback(session& on, unsigned port) : session_(on), port_(port) {}

  status open(std::size_t bytes, unsigned requests);
  /// Takes everything back, also what a failed open() left. Stops at the first error: what the
  /// firmware does not give back then, and what a device that failed holds, is
  /// session::tear_down()'s to end.
  status close();

  unsigned mtu() const;
  bool interrupted() const { return session_.host().interrupted(); }
  scattered_memory& memory(unsigned side) { return *sides_[side].memory; }
  std::uint32_t key(unsigned side) const { return sides_[side].key; }
  queues::data_entry entry(unsigned side, std::size_t offset, std::size_t bytes) const {
    return {offset, static_cast<std::uint32_t>(bytes), sides_[side].key};
  }
  queues::sq& sends(unsigned side) {
    return session_.objects().find(sides_[side].queue)->rings.send;
  }
  queues::rq& receives(unsigned side) {
    return session_.objects().find(sides_[side].queue)->rings.receive;
  }

  /// The next completion of a side. transport_error::timeout: none came in ten seconds; ::gone;
  /// cancelled.
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
  status connect(unsigned i);
  template <class Destruction, class Handle>
  status destroy(Handle& h);

  session& session_;
  unsigned port_;
  pd_handle domain_;
  endpoint sides_[sides];
};

}  // namespace freehca::verified_traffic
