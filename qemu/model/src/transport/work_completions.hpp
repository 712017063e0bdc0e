// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include <freehca/layouts/cqe.hpp>

#include "basis/rule_book.hpp"
#include "frames/receive_checks.hpp"
#include "link/ingress.hpp"
#include "queues/queue_pair.hpp"

namespace freehca::model {

class completion_queues;
class shared_receive_queues;
class work_errors;

/// What a receive completion says beyond its work request, and the addresses of its packet.
struct receive_report {
  layouts::cqe_opcode opcode = layouts::cqe_opcode::recv_send;
  std::uint32_t byte_count = 0;
  std::uint32_t immediate = 0;  ///< immediate, invalidated R_Key, or a GSI packet's P_Key index
  std::uint32_t remote_qpn = 0;
  bool solicited = false;
  std::optional<receive_checks> checks;  ///< of a datagram of IP over InfiniBand
};

/// Writes completion entries for a queue pair's work.
class work_completions {
 public:
  work_completions(completion_queues& cqs, shared_receive_queues& shared, work_errors& errors,
                   rule_book& rules)
      : cqs_(cqs), shared_(shared), errors_(errors), rules_(rules) {}

  /// A send that went well, if it asked for a completion.
  void sent(queue_pair& qp, const send_request& r);
  /// `from`: how the message came, or its last packet.
  void received(queue_pair& qp, const receive_request& r, const receive_report& report,
                const ingress& from);
  /// A frame; `e` has what its receiver tells of it.
  void received_frame(queue_pair& qp, const receive_request& r, layouts::image<layouts::cqe> e);
  void send_failed(queue_pair& qp, const send_request& r, failure what,
                   const rule_book::reason& why);
  void receive_failed(queue_pair& qp, const receive_request& r, failure what,
                      const rule_book::reason& why);
  /// The same for what is flushed behind a failure: told to those who listen, and the first of a
  /// queue kept.
  void send_flushed(queue_pair& qp, const send_request& r);
  void receive_flushed(queue_pair& qp, const receive_request& r);

 private:
  void complete(queue_pair& qp, std::uint32_t cqn, const layouts::image<layouts::cqe>& e,
                bool solicited);
  void failed(queue_pair& qp, std::uint32_t cqn, std::uint16_t index, bool send, std::uint32_t srqn,
              failure why);
  template <class Request>
  void tell_of_flush(const Request& r, failure what, queue_pair& qp);
  std::uint32_t receive_cq(const queue_pair& qp, const receive_request& r);

  completion_queues& cqs_;
  shared_receive_queues& shared_;
  work_errors& errors_;
  rule_book& rules_;
};

}  // namespace freehca::model
