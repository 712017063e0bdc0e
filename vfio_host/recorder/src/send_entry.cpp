// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "send_entry.hpp"

#include <algorithm>
#include <cstring>

#include <freehca/layouts/wqe.hpp>

namespace freehca::recorder {

using namespace layouts;

namespace {

constexpr std::size_t segment_unit = 16, block = 64, word = 4;

/// The offset of the first data segment, or `none`.
constexpr std::size_t none = ~std::size_t{0};
std::size_t data_begins(wqe_opcode opcode, qp_service service) {
  if (service == qp_service::ud) return wqe_ctrl::bytes + wqe_datagram::bytes;
  constexpr std::size_t remote = wqe_ctrl::bytes + wqe_remote_address::bytes;
  switch (opcode) {
    case wqe_opcode::rdma_write:
    case wqe_opcode::rdma_write_imm:
    case wqe_opcode::rdma_read:
      return remote;
    case wqe_opcode::atomic_cs:
    case wqe_opcode::atomic_fa:
      return remote + wqe_atomic::bytes;
    case wqe_opcode::masked_atomic_cs:
    case wqe_opcode::masked_atomic_fa:
      return remote + wqe_masked_atomic::bytes;
    case wqe_opcode::fast_register:
    case wqe_opcode::local_invalidate:
    case wqe_opcode::bind_mw:
      return none;
    default:
      return wqe_ctrl::bytes;
  }
}

}  // namespace

void leave_payload_out(bytes& wqe, qp_service service) {
  if (wqe.size() < wqe_ctrl::bytes) return;
  const auto control = image<wqe_ctrl>::from_bytes(wqe.data());
  const std::size_t end =
      std::min<std::size_t>(control.get<&wqe_ctrl::ds>() * segment_unit, wqe.size());
  std::size_t at = data_begins(control.get<&wqe_ctrl::opcode>(), service);
  while (at < end && at + word <= end) {
    const auto head = image<wqe_inline>::from_bytes(wqe.data() + at);
    if (!head.get<&wqe_inline::inline_data>()) {
      at += wqe_data::bytes;
      continue;
    }
    const std::size_t count = head.get<&wqe_inline::byte_count>();
    const std::size_t first = at + word;
    // A segment may cross blocks; its bytes are all payload.
    std::memset(wqe.data() + first, 0, std::min(count, wqe.size() - first));
    at = (first + count + segment_unit - 1) / segment_unit * segment_unit;
  }
  for (std::size_t i = end; i < wqe.size(); ++i)
    if (i % block >= word) wqe[i] = std::byte{0};
}

}  // namespace freehca::recorder
