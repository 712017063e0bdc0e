// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <freehca/hal/dma.hpp>
#include <freehca/hal/page_list.hpp>
#include <freehca/in_process/host_memory_map.hpp>
#include <freehca/queues/cq.hpp>
#include <freehca/queues/directory.hpp>
#include <freehca/queues/sq.hpp>

#include "digest.hpp"

namespace freehca::fuzz {

/// Messages of queue pairs that are each connected to itself, from a registered page to another,
/// with pages between them that are nobody's. Traps when a request completes that was not posted,
/// or a second time, when data that arrived is not what was sent, and when a byte changes that no
/// message may change.
class traffic {
 public:
  static constexpr unsigned pairs = 3, messages = 4;
  static constexpr std::uint32_t longest = 1024, most_inline = 64;
  static constexpr std::size_t page = 4096;

  /// What is posted: bits of an input.
  struct plan {
    std::uint8_t kinds = 0, lengths = 0;
    bool receives_alone = false;  ///< that nobody sends to
  };

  explicit traffic(in_process::host_memory_map& memory);

  /// The memory of a pair's two regions, and how data entries count their addresses.
  page_list source(unsigned pair) const { return {&pages_[pair].source, 12, 0, page}; }
  page_list target(unsigned pair) const { return {&pages_[pair].target, 12, 0, page}; }
  static std::uint64_t source_address(unsigned pair) { return 0x10000 + pair * 2 * page; }
  static std::uint64_t target_address(unsigned pair) { return source_address(pair) + page; }
  bool holds(std::uint64_t device_address) const {
    return device_address - block_.device_address < block_.bytes;
  }

  struct keys {
    std::uint32_t source = 0, target = 0, qpn = 0;
  };
  /// Posts all messages of a pair. What the queues refuse is not outstanding.
  void post(unsigned pair, const keys& with, const plan& what, queues::qp_rings& rings);
  /// Takes what stands in a completion queue. `true_data`: nothing has changed what the adapter
  /// writes.
  void poll(queues::cq& completions, bool true_data);
  void take(const queues::work_completion& w, bool true_data);

  /// Posted, and not told of yet.
  unsigned outstanding() const { return outstanding_; }
  /// The queue pair goes, and its requests with it: those that are outstanding may end, or not.
  void leaves(unsigned pair) { leaving_[pair] = true; }
  /// Outstanding, of queue pairs that stay.
  unsigned unended() const;
  /// How many requests ended, and how many of them well.
  unsigned ended() const { return ended_; }
  unsigned well() const { return well_; }

  /// No byte has changed but those that a message may change.
  void check_memory() const;
  void note(digest& to) const;

 private:
  enum class kind : std::uint8_t { send, write, read, send_inline };
  struct message {
    kind what = kind::send;
    std::uint32_t bytes = 0;
    bool written = false;  // a message may have changed the target
    bool send_posted = false, receive_posted = false;
  };
  struct place {
    std::uint64_t source = 0, target = 0;
  };
  const std::byte* source_of(unsigned pair, unsigned m) const;
  const std::byte* target_of(unsigned pair, unsigned m) const;
  static std::uint64_t id(bool receive, unsigned pair, unsigned m) {
    return (receive ? 0x200u : 0x100u) + pair * 16 + m;
  }
  bool post_receive(unsigned pair, unsigned m, const keys& with, queues::qp_rings& rings);
  void post_send(unsigned pair, unsigned m, const keys& with, queues::sq& send);

  dma_region block_;
  std::array<place, pairs> pages_;
  std::array<std::array<std::byte, page>, pairs> sent_;  ///< what stands in the sources
  std::array<std::array<message, messages>, pairs> messages_;
  std::array<std::uint32_t, pairs> qpns_{};
  std::array<bool, pairs> leaving_{};
  unsigned outstanding_ = 0, ended_ = 0, well_ = 0;
};

}  // namespace freehca::fuzz
