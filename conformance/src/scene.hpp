// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two queue pairs of one port that reach each other, each with memory and a completion queue.
#pragma once

#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>

#include "bench.hpp"

namespace freehca::conformance {

/// How a scene is made.
struct scene_plan {
  layouts::qp_service service = layouts::qp_service::rc;
  layouts::qp_state far = layouts::qp_state::rts;  ///< how far the second one gets
  bool shared = false;                             ///< receives are those of a shared queue
  bool far_allows = true;  ///< the second one lets the first read, write and change its memory
};

class scene {
 public:
  static constexpr unsigned near = 0, far = 1;
  static constexpr std::size_t bytes = 4 * dma_arena::page;  ///< of each side's memory
  static constexpr std::uint64_t address = 0x10000;          ///< of its first byte, in requests
  static constexpr std::uint32_t usual = 64;                 ///< bytes of a message
  static constexpr std::uint32_t qkey = 0x1ee7;

  scene(bench& with, const scene_plan& plan) : with_(with), plan_(plan) {}
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;
  ~scene() {
    for (const end& s : sides_) with_.leave(s.memory);
  }

  status open();
  /// Destroys what open() made, last things first. An object that is refused stays, and so does
  /// its memory, for the reset; so does all when the run has ended.
  status close();

  bench& with() { return with_; }
  queues::sq& sends() { return pair(near).rings.send; }
  /// While the adapter lives.
  queue_pair& pair(unsigned side) { return *with_.objects().find(sides_[side].queue); }
  srq_handle shared() const { return shared_; }
  /// Memory of the near side, for a request of its own.
  queues::data_entry local(std::uint32_t length = usual, std::uint64_t offset = 0);
  /// Of the far side.
  queues::remote_memory remote(std::uint64_t offset = 0);
  queues::datagram_destination destination();
  /// The far side is ready for one message. `key_beside`: what its key is wrong by.
  status receive(std::uint32_t length = usual + 40, std::uint32_t key_beside = 0);

  /// Changes the first request before the device is told of it.
  template <class Segment, auto Field, class V>
  void patch(std::size_t offset, V value) {
    std::byte* const at = first_request() + offset;
    std::byte raw[Segment::bytes];
    dma::load_bytes(raw, at, sizeof raw);
    auto segment = layouts::image<Segment>::from_bytes(raw);
    segment.template set<Field>(value);
    dma::store_bytes(at, segment.data(), sizeof raw);
    cache::clean(at, sizeof raw);
  }

  /// How the next request of a side ended.
  finding completion(unsigned side);
  finding state(unsigned side);
  /// Has one come, or comes it soon?
  finding event(unsigned side, layouts::event_type type);
  finding event_of_shared(layouts::event_type type);
  /// A command without a mailbox on the queue pair of a side.
  status command(unsigned side, layouts::opcode o, std::uint32_t more_modifier = 0);

 private:
  struct end {
    dma_region memory;
    mr_handle region;
    std::uint32_t key = 0;
    cq_handle completions;
    qp_handle queue;
  };
  template <class K>
  status make(const typename K::attributes& a, handle<K>& to);
  template <class K>
  status destroy(handle<K>& h);
  template <class Handle>
  finding heard(Handle queue, layouts::event_type type);
  /// What was waited for did not come.
  finding none_came();
  status open_side(end& s);
  status connect(unsigned i);
  status move(unsigned i, layouts::qp_state to);
  std::byte* first_request();

  bench& with_;
  const scene_plan& plan_;
  pd_handle domain_;
  ah_handle way_;
  srq_handle shared_;
  end sides_[2];
};

}  // namespace freehca::conformance
