// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <freehca/layouts/ethernet_statistics.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

/// What the statistics look at in a frame.
struct frame_summary {
  std::uint64_t destination = 0;
  std::optional<unsigned> priority, vid;  ///< of its outer tag
  std::uint16_t type = 0;                 ///< behind that tag
  std::size_t bytes = 0;                  ///< with the FCS

  bool multicast() const { return (destination >> 40 & 1) != 0; }
  bool broadcast() const { return destination == 0xffff'ffff'ffff; }

  /// Of a frame of 14 bytes or more, without its FCS.
  static frame_summary of(std::span<const std::byte> frame);
};

/// The counters of an Ethernet port (DUMP_ETH_STATS). They stand where the layout has them.
class ethernet_counters {
 public:
  void received(const frame_summary& f);
  void received_too_long(const frame_summary& f);
  /// MAC control, which the port keeps for itself.
  void received_control() { ++control_; }
  void dropped_for_want_of_room() { ++dropped_, ++overflow_; }
  /// A frame that could be nobody's.
  void dropped() { ++dropped_; }

  void sent(const frame_summary& f, bool looped_back);
  void too_long_to_send(const frame_summary& f);
  void not_sent() { ++not_sent_; }

  layouts::image<layouts::ethernet_statistics> table() const;
  void clear() { *this = {}; }

 private:
  void count(const layouts::statistics_group& g, unsigned traffic_class, std::uint64_t n = 1) {
    by_class_[g.of(traffic_class) / sizeof(std::uint64_t)] += n;
  }

  std::array<std::uint64_t, layouts::ethernet_statistics::bytes / sizeof(std::uint64_t)>
      by_class_{};
  std::uint64_t control_ = 0, long_ = 0, dropped_ = 0, overflow_ = 0, dropped_length_ = 0,
                good_ = 0, not_sent_ = 0;

 public:
  using saved = saving::fields<&ethernet_counters::by_class_, &ethernet_counters::control_,
                               &ethernet_counters::long_, &ethernet_counters::dropped_,
                               &ethernet_counters::overflow_, &ethernet_counters::dropped_length_,
                               &ethernet_counters::good_, &ethernet_counters::not_sent_>;
};

}  // namespace freehca::model
