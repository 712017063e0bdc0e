// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/request_packet.hpp"

namespace freehca::model {

using namespace layouts;

request_packet request_packet::of(const transport_packet& v, bth_operation operation) {
  using o = bth_operation;
  request_packet p{v, operation};
  p.send = operation <= o::send_only_imm || operation == o::send_last_invalidate ||
           operation == o::send_only_invalidate;
  p.write = operation >= o::rdma_write_first && operation <= o::rdma_write_only_imm;
  switch (operation) {
    case o::send_first:
    case o::rdma_write_first:
      p.first = true;
      break;
    case o::send_middle:
    case o::rdma_write_middle:
      break;
    case o::send_last:
    case o::send_last_imm:
    case o::send_last_invalidate:
    case o::rdma_write_last:
    case o::rdma_write_last_imm:
      p.last = true;
      break;
    default:
      p.first = p.last = true;
  }
  p.immediate = operation == o::send_last_imm || operation == o::send_only_imm ||
                operation == o::rdma_write_last_imm || operation == o::rdma_write_only_imm;
  p.invalidate = operation == o::send_last_invalidate || operation == o::send_only_invalidate;
  return p;
}

}  // namespace freehca::model
