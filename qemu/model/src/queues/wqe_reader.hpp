// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "basis/adapter.hpp"
#include "queues/queue_pair.hpp"
#include "queues/work_request.hpp"
#include "tables/memory_regions.hpp"

namespace freehca::model {

enum class fetch_result : std::uint8_t {
  fetched,
  none,   ///< the entry is the software's
  fault,  ///< the queue's memory cannot be read
};

/// Reads the send WQE at counter `counter` of the queue pair's ring and takes it apart. A WQE that
/// hardware would refuse is fetched too, with `wrong` set. `whosever`: whatever the owner bit says.
/// `to` has a value if the result is fetched.
fetch_result fetch_send(adapter& a, const queue_pair& qp, std::uint16_t counter,
                        std::optional<send_request>& to, bool whosever = false);

/// The first `bytes` bytes of the entry at `counter`. False: they cannot be read.
bool read_entry(adapter& a, const queue_pair& qp, std::uint16_t counter, std::byte* to,
                std::size_t bytes);

/// Does the owner bit of the entry at `counter` give it to hardware?
bool is_hardwares(adapter& a, const queue_pair& qp, std::uint16_t counter);
/// The same, and it is no memory that was never written: without a doorbell of its own a queue of
/// zeros is not taken for one of work. mlx4_en's is that between RTS and its first doorbell
/// (en_tx.c mlx4_en_activate_tx_ring), and so is that of a user's XRC target for ever. Each WQE has
/// a ds of 1 at least.
bool is_given(adapter& a, const queue_pair& qp, std::uint16_t counter);

/// Does its entry of the queue hold what was fetched? True when it cannot be read any more.
bool is_as_fetched(adapter& a, const queue_pair& qp, const send_request& r);

/// Of the bytes of a WQE.
std::uint64_t digest_of(const std::byte* from, std::size_t bytes);

/// Takes the data segments of a receive WQE (`bytes` bytes at `from`) apart: up to the terminating
/// segment. False: a segment that no receive may have.
bool parse_receive(const std::byte* from, std::size_t bytes, data_list& to);

}  // namespace freehca::model
