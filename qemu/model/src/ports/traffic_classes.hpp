// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <freehca/layouts/set_port.hpp>

#include "basis/scheduler.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// What SET_PORT tells of one traffic class (IEEE 802.1Q clause 37, "Enhanced Transmission
/// Selection"). As it stands here it is at power-on.
struct traffic_class_settings {
  unsigned group = 0;                 ///< the one with the lower number goes first
  unsigned share = 100;               ///< of its group's bandwidth, in percent
  std::uint64_t bits_per_second = 0;  ///< at most; 0: no limit

  friend bool operator==(const traffic_class_settings&, const traffic_class_settings&) = default;

  using saved = saving::fields<&traffic_class_settings::group, &traffic_class_settings::share,
                               &traffic_class_settings::bits_per_second>;
};

/// Frames that wait for the cable of an Ethernet port, each in the queue of its traffic class, and
/// which of them is next.
class traffic_classes {
 public:
  static constexpr std::size_t count = layouts::set_port_traffic_classes;
  using bytes = std::vector<std::byte>;
  using settings = std::array<traffic_class_settings, count>;

  explicit traffic_classes(const settings& told) : told_(told) {}

  bool empty() const { return waiting_bytes_ == 0; }
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  std::uint64_t waiting_bytes(unsigned traffic_class) const {
    return queues_[traffic_class].waiting_bytes;
  }

  /// Has the class used up its rate?
  bool spent(unsigned traffic_class, std::uint64_t now) const {
    return queues_[traffic_class].free_at > now;
  }
  /// May a frame of that class leave now, ahead of all that waits?
  bool may_pass(unsigned traffic_class, std::uint64_t now) const;
  /// One has.
  void passed(unsigned traffic_class, std::size_t frame_bytes, std::uint64_t now);

  void push(unsigned traffic_class, bytes frame);
  /// The class whose first frame is next; nothing: none waits that may leave now.
  std::optional<unsigned> next(std::uint64_t now) const;
  /// When the first of those that wait may leave; some do.
  std::uint64_t due() const;
  const bytes& front(unsigned traffic_class) const { return queues_[traffic_class].frames.front(); }
  /// It has left.
  void pop(unsigned traffic_class, std::uint64_t now);

  /// The settings have changed: all begin anew with their shares, and none waits for a rate that it
  /// has no more.
  void told_anew();
  /// Gives up all that waits, and what it had used up.
  void clear(scheduler& work);

 private:
  struct queue {
    std::deque<bytes> frames;
    std::uint64_t waiting_bytes = 0;
    std::uint64_t free_at = 0;  ///< by its rate
    std::uint64_t used = 0;     ///< of its share: bytes, the more the smaller the share is

    using saved =
        saving::fields<&queue::frames, &queue::waiting_bytes, &queue::free_at, &queue::used>;
  };
  const settings& told_;
  std::array<queue, count> queues_;
  /// By group: how much the class that sent last had used before, which is what those that waited
  /// all the time have used at least. Who sends counts from there: a class that did not wait, or
  /// whose rate held it back, has saved nothing up.
  std::array<std::uint64_t, count> levels_{};
  std::uint64_t waiting_bytes_ = 0;

 public:
  using saved = saving::fields<&traffic_classes::queues_, &traffic_classes::levels_,
                               &traffic_classes::waiting_bytes_>;
  const char* broken_invariant() const;
};

}  // namespace freehca::model
