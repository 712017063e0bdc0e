// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/cqe.hpp>

#include "queue_pair.hpp"
#include "transport.hpp"

namespace freehca::model {

/// What a receive completion says beyond its work request.
struct receive_report {
  layouts::cqe_opcode opcode = layouts::cqe_opcode::recv_send;
  std::uint32_t byte_count = 0;
  std::uint32_t immediate = 0;  ///< immediate, invalidated R_Key, or a GSI packet's P_Key index
  std::uint32_t remote_qpn = 0;
  std::uint16_t slid = 0;
  std::uint8_t sl = 0, path_bits = 0;
  bool global = false, solicited = false;
};

/// Writes completion entries for a queue pair's work.
class work_completions {
 public:
  explicit work_completions(transport::parts& t) : t_(t) {}

  /// A send that went well, if it asked for a completion.
  void sent(const queue_pair& qp, const send_request& r);
  void received(const queue_pair& qp, const receive_request& r, const receive_report& report);
  void send_failed(const queue_pair& qp, const send_request& r, failure why);
  void receive_failed(const queue_pair& qp, const receive_request& r, failure why);

 private:
  void failed(const queue_pair& qp, std::uint32_t cqn, std::uint16_t index, bool send,
              std::uint32_t srqn, failure why);
  std::uint32_t receive_cq(const queue_pair& qp, const receive_request& r);
  transport::parts& t_;
};

}  // namespace freehca::model
