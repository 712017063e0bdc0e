// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/queues/work_completion.hpp>

namespace freehca::queues {

/// What the device found in a frame that it received, from a successful completion of a raw
/// Ethernet queue pair. Sources: Linux 6.1 mlx4/en_rx.c (mlx4_en_process_rx_cq, check_csum),
/// rdma-core providers/mlx4/cq.c (mlx4_parse_cqe).
template <class Entry>
class received_frame {
 public:
  explicit received_frame(const completion_of<Entry>& c) : of_(c) {}

  bool is_ipv4() const { return has<&layouts::cqe::ipv4>(); }
  bool is_ipv6() const { return has<&layouts::cqe::ipv6>(); }
  bool is_tcp() const { return has<&layouts::cqe::tcp>(); }
  bool is_udp() const { return has<&layouts::cqe::udp>(); }
  /// True if the checksum of the IPv4 header is right.
  bool ip_checksum_ok() const { return has<&layouts::cqe::ip_ok>(); }
  /// True if the checksum of TCP or UDP is right.
  bool l4_checksum_ok() const { return has<&layouts::cqe::l4_csum_ok>(); }
  /// True if the frame came with a tag. vlan() and priority() are those of the tag. The queue pair
  /// decides whether the tag is still in the frame (raw_ethernet_attributes::keep_tags).
  bool is_tagged() const {
    return has<&layouts::cqe::cvlan_present>() || has<&layouts::cqe::svlan_present>();
  }
  bool has_service_tag() const { return has<&layouts::cqe::svlan_present>(); }
  std::uint16_t vlan() const {
    return static_cast<std::uint16_t>(of_.template get<&layouts::cqe::vid>());
  }
  std::uint8_t priority() const {
    return static_cast<std::uint8_t>(of_.template get<&layouts::cqe::sl>() >> 1);
  }

 private:
  template <auto Member>
  bool has() const {
    return of_.template get<Member>() != 0;
  }
  const completion_of<Entry>& of_;
};

}  // namespace freehca::queues
