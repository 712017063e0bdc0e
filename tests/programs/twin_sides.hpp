// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "endpoint.hpp"
#include "twin_cases.hpp"

namespace programs {

/// What both processes compute of a case from its seed.
struct twin_plan {
  twin_plan(const twin& of, std::uint64_t seed);

  /// Whether a second, faultless request is to arrive after the first one.
  bool second_arrives() const;
  unsigned access_of_pair() const;
  /// Whether the request may have changed the bytes that it names, although it failed. The target
  /// has executed an atomic before the requester finds that the answer has no place. The packets
  /// of a write are placed one by one, and the last one finds that there is no receive.
  bool memory_is_undefined() const;

  const twin& of;
  std::uint64_t target_seed, requester_seed;
  std::size_t bytes;        // of the message
  std::size_t place;        // of it in both memories
  std::uint32_t immediate;  // of the first request; the second has the next number
  std::uint64_t swap_or_add;

  static constexpr std::size_t memory_bytes = 3 * 4096, first = 1024, region_bytes = 4095,
                               second_place = 8192, second_room = 1024, grh_bytes = 40;
  std::size_t second_bytes() const { return is_atomic(of.opcode) ? 8 : 16; }
};

/// What the requester has to know of the target's memory.
struct target_facts {
  std::uint64_t first, second;  // addresses
  std::uint32_t first_key, second_key;
};

/// The two processes of a case. `fence` is an RC queue pair that is connected with the other
/// process: a request of it that has ended follows all packets that were sent before.
void run_target(opened_device& device, line& other, const twin& of, std::uint64_t seed);
void run_requester(opened_device& device, line& other, endpoint& fence, const twin& of,
                   std::uint64_t seed);

}  // namespace programs
