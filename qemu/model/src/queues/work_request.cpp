// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a load requires of requests that were fetched.
#include "queues/work_request.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// The field ds counts the units of a WQE in 6 bits.
constexpr std::size_t wqe_bytes_most = 63 * wqe_unit;

}  // namespace

const char* large_send::broken_invariant() const {
  if (mss == 0 || mss > wqe_lso{}.mss.mask()) return "a segment has 1 to 65535 bytes";
  return !header.empty() && header.size() <= wqe_bytes_most ? nullptr
                                                            : "the header stands in the WQE";
}

const char* send_request::broken_invariant() const {
  if (bytes > wqe_bytes_most) return "no WQE is so long";
  if (remote_srqn > wqe_ctrl{}.remote_srqn.mask()) return "the number of an SRQ has 24 bits";
  if (wrong && why == nullptr) return "a failure has a reason";
  if (!wrong && row == nullptr) return "no adapter has the opcode";
  return nullptr;
}

const char* receive_request::broken_invariant() const {
  return srqn <= cqe{}.remote_qpn.mask() ? nullptr : "the number of an SRQ has 24 bits";
}

}  // namespace freehca::model
