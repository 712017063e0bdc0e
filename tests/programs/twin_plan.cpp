// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "checks.hpp"
#include "twin_sides.hpp"

namespace programs {

bool twin_plan::memory_is_undefined() const {
  const bool local = of.wrong == fault::local_key || of.wrong == fault::no_local_write;
  const bool none = of.wrong == fault::no_receive || of.wrong == fault::no_receive_retry;
  return (is_atomic(of.opcode) && local) || (is_write(of.opcode) && none);
}

twin_plan::twin_plan(const twin& t, std::uint64_t seed) : of(t) {
  constexpr std::size_t shortest = 32, longest = 3000, longest_datagram = 1000;
  target_seed = next_random(seed);
  requester_seed = next_random(seed);
  const std::size_t most = t.type == IBV_QPT_UD ? longest_datagram : longest;
  bytes = is_atomic(t.opcode) ? 8 : shortest + next_random(seed) % (most - shortest);
  place = first + next_random(seed) % (region_bytes - bytes);
  if (is_atomic(t.opcode)) place &= ~std::size_t{7};
  if (t.wrong == fault::alignment) place = first + 12;
  if (t.wrong == fault::past_end) place = first + region_bytes + 1 - bytes;
  if (t.wrong == fault::over_mtu) bytes = 4096 + 1;
  immediate = static_cast<std::uint32_t>(next_random(seed)) & 0x7fffffff;
  swap_or_add = next_random(seed);
}

bool twin_plan::second_arrives() const {
  const bool allowed = of.wrong != fault::pair_right || is_send(of.opcode);
  return allowed && of.ends.requester == IBV_QPS_RTS && of.ends.target == IBV_QPS_RTS;
}

unsigned twin_plan::access_of_pair() const {
  const unsigned all = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                       (of.type == IBV_QPT_RC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
  return of.wrong == fault::pair_right ? all & ~right_for(of.opcode) : all;
}

}  // namespace programs
