// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "queue_pair.hpp"
#include "transport.hpp"
#include "wire.hpp"

namespace freehca::model {

/// Sends what a responder owes, in the order of the requests. Long read responses go out in
/// portions.
class answers {
 public:
  explicit answers(transport::parts& t) : t_(t) {}

  /// Sends `r` now if nothing is before it, else in its turn. An acknowledgement swallows the one
  /// before it.
  void add(queue_pair& qp, const response& r);
  void acknowledge(queue_pair& qp, std::uint32_t psn);
  /// What waited for room on a cable.
  void go_on(queue_pair& qp) {
    if (!qp.rq.responses.empty()) schedule(qp);
  }

 private:
  void schedule(queue_pair& qp);
  void run(std::uint32_t qpn);
  void send_plain(queue_pair& qp, const response& r);
  bool send_read_packet(queue_pair& qp, response& r);
  layouts::image<layouts::bth> header(const queue_pair& qp, layouts::bth_operation operation,
                                      std::uint32_t psn) const;
  transport::parts& t_;
};

}  // namespace freehca::model
