// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a program holds: small values, copied at will. Each names a place in its adapter, and is
// recognised as stale (driver_error::stale_handle) when that was given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/queues/requests.hpp>

#include <freehca/hca/easy/sequence.hpp>
#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca::easy {

/// What the peer may do with memory, or by way of a connection. The program itself reads and
/// writes it in any case.
enum class rights : std::uint8_t {
  local = 0,
  remote_read = 1,
  remote_write = 2,
  remote_atomic = 4,
  all = 7,
};
constexpr rights operator|(rights a, rights b) {
  return static_cast<rights>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(rights all, rights one) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) != 0;
}

/// What the adapter keeps of one memory or connection: what it is made of, until all of it was
/// given back. The adapter's to write.
struct place {
  enum class use : std::uint8_t {
    free,
    taken,  ///< a program has it, or an operation is making it
    left,   ///< nobody has it; something of it could not be taken back yet
  };
  std::uint32_t serial = 0;  ///< grows with each memory or connection that is made
  use now = use::free;
  bool worked_on = false;        ///< a sequence makes, changes or takes it back
  bool armed = false;            ///< its completion queue will tell of the next completion
  bool refused = false;          ///< the device would not give it back: until the next reset
  rights allowed{};              ///< to the peer
  std::uint8_t port = 1;         ///< of a connection
  std::uint16_t pkey_index = 0;  ///< of a connection
  mr_handle region{};            ///< of memory
  dma_region memory;             ///< of the device's arena, or of the program
  bool is_program_memory = false;
  qp_handle pair{};         ///< of a connection
  cq_handle completions{};  ///< of a connection
  queue_pair* queues = nullptr;
  completion_queue* completed = nullptr;
  list<sequence> waiting;  ///< for completions
  list<sequence> in_turn;  ///< of those: the ones that get what is there, until hand_out() returns

  /// When the event of a completion that was found without it counts as lost.
  std::uint64_t event_due = clock::never;

  void take_event() {
    armed = false;
    event_due = clock::never;
  }
  bool is_memory() const { return memory.bytes != 0; }
  bool is(std::uint32_t number) const { return now == use::taken && serial == number; }
};

/// Memory that program and device both reach, registered.
struct memory {
  std::byte* host = nullptr;
  std::size_t bytes = 0;
  mr_handle region{};
  std::uint32_t key = 0;      ///< local and remote
  std::uint64_t address = 0;  ///< of its first byte, as work requests name it
  easy::place* where = nullptr;
  std::uint32_t serial = 0;

  /// For a work request of the program's own. A part that is not inside the memory is a broken
  /// precondition; it, and one of 2 GiB or more, makes an entry that every post refuses with
  /// driver_error::bad_argument.
  queues::data_entry part(std::size_t offset, std::size_t length) const {
    const bool is_inside = offset <= bytes && length <= bytes - offset;
    FREEHCA_ASSERT(is_inside);
    return queues::entry_of(address + offset, is_inside ? length : ~std::uint64_t{0}, key);
  }
  /// For a request of the peer's: what to tell it.
  queues::remote_memory remote(std::size_t offset = 0) const { return {address + offset, key}; }
};

/// What one side tells the other, by whatever way they have: in host byte order. 0 in the last
/// three: the peer did not say.
struct peer {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;   ///< of the first packet that it sends
  std::uint16_t lid = 0;   ///< its own, or for one in another subnet that of the router to it
  freehca::gid gid{};      ///< packets to another subnet name it
  std::uint32_t qkey = 0;  ///< of datagrams
  layouts::ib_mtu mtu{};   ///< the largest packets that it takes
  std::uint8_t sl = 0;     ///< service level of the path to it
  std::uint16_t pkey = 0;  ///< its partition
};

/// The path from one peer to the other. With a GRH if their GIDs are of different subnets.
address_attributes path_between(unsigned port, const peer& from, const peer& to);
/// The largest packets that both take.
layouts::ib_mtu path_mtu_of(const peer& a, const peer& b);
/// Members of one partition, of which not both are limited members (IBTA 10.9.3). One that did not
/// say is taken for one.
bool share_partition(const peer& a, const peer& b);

struct connection_options {
  unsigned port = 1;
  std::uint32_t sends = 64;  ///< outstanding at the same time, at least
  std::uint32_t receives = 64;
  unsigned entries = 4;  ///< pieces of memory that one request may name
  std::uint32_t inline_bytes = 0;
  rights allowed = rights::all;  ///< to the peer, in memory that allows it too
  std::uint32_t qkey = 0x1ee7;   ///< of datagrams
  std::uint8_t sl = 0;           ///< that the peer is to send by
  std::uint16_t pkey_index = 0;  ///< in the P_Key table of the port
};

/// A queue pair with a completion queue of its own, for sends and receives.
struct connection {
  peer self;
  qp_handle pair{};
  cq_handle completions{};
  easy::place* where = nullptr;
  std::uint32_t serial = 0;

  /// A request of queues/requests.hpp, or a queues::receive_request. The device begins with it at
  /// once. Outcomes as of queues::sq and rq; driver_error::stale_handle.
  template <class Request>
  status post(const Request& request) const {
    if (where == nullptr || !where->is(serial) || where->queues == nullptr)
      return driver_error::stale_handle;
    queues::qp_rings& rings = where->queues->rings;
    if constexpr (std::is_same_v<Request, queues::receive_request>)
      return rings.receive.post_and_ring(request);
    else return rings.send.post_and_ring(request);
  }
};

}  // namespace freehca::easy
