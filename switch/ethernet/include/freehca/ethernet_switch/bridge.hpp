// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <freehca/ethernet_switch/address_table.hpp>
#include <freehca/switch_common/forwarder.hpp>
#include <freehca/switch_common/out_queue.hpp>
#include <freehca/switch_common/surroundings.hpp>

namespace freehca::ethernet_switch {

/// A bridge for Ethernet frames (IEEE 802.1D). It learns from source addresses, forgets what is
/// old, and floods what is for everybody, for a group, or for somebody whom it does not know. It
/// looks at no tags: virtual LANs share what is learnt. There is no spanning tree, so its cables
/// must not form a ring. It knows no sockets, and its time is its surroundings'.
class bridge final : public switch_common::forwarder {
 public:
  /// What one port has had to do with.
  struct counts {
    std::uint64_t received = 0, sent = 0;
    std::uint64_t malformed = 0;  ///< shorter than addresses and type
    std::uint64_t discarded = 0;  ///< to be sent, and the other end does not take what it is sent
  };

  bridge(unsigned ports, switch_common::surroundings& around);

  // switch_common::forwarder
  void plug(unsigned port, bool plugged) override;
  void arrived(unsigned port, std::span<const std::byte> frame) override;
  void has_room(unsigned port) override;
  void run() override;
  std::uint64_t deadline() const override { return sweep_at_; }
  void end() override {}

  const counts& counts_of(unsigned port) const { return ports_[port - 1]->counted; }
  const address_table& addresses() const { return addresses_; }

 private:
  struct outlet {
    outlet(bridge& owner, unsigned number);
    switch_common::out_queue out;
    counts counted;
    bool plugged = false;
  };
  void send(unsigned port, std::span<const std::byte> frame);

  switch_common::surroundings& around_;
  std::vector<std::unique_ptr<outlet>> ports_;
  address_table addresses_;
  std::uint64_t sweep_at_ = ~std::uint64_t{0};
};

}  // namespace freehca::ethernet_switch
