// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <freehca/in_program/packet_link.hpp>
#include <freehca/wires_shm/fabric_port.hpp>

#include "explanation.hpp"
#include "unreachable_packet.hpp"

namespace freehca::ibverbs {

/// The adapter's link to the other processes of its fabric.
class fabric_link final : public in_program::packet_link {
 public:
  fabric_link(std::unique_ptr<wires::fabric_port> port, bool is_ethernet)
      : port_(std::move(port)), is_ethernet_(is_ethernet) {}

  /// Joins the fabric of that name. Returns null and the reason on failure.
  static std::unique_ptr<fabric_link> join(const std::string& name, std::string& why,
                                           const wires::join_request& how) {
    std::unique_ptr<wires::fabric_port> port = wires::fabric_port::join(name, why, how);
    if (port == nullptr) return nullptr;
    return std::make_unique<fabric_link>(std::move(port), how.link == wires::link_layer::ethernet);
  }

  unsigned slot() const { return port_->slot(); }
  std::uint16_t lid() const { return port_->lid(); }
  std::uint64_t mac() const { return port_->mac(); }
  wires::ip_address address() const { return port_->address(); }
  const std::vector<wires::vlan_address>& vlan_addresses() const { return port_->vlan_addresses(); }
  std::uint64_t mac_of(const wires::ip_address& address, std::uint16_t vlan) const {
    return port_->mac_of(address, vlan);
  }

  /// Packets to this multicast LID come here. Returns false if the fabric has no such group.
  bool join_group(std::uint16_t lid) { return port_->join_group(lid); }
  void leave_group(std::uint16_t lid) { port_->leave_group(lid); }

  bool send(const std::byte* from, std::size_t bytes) override {
    if (explains_failures && !port_->has_destination(from))
      explain_unreachable({from, bytes}, is_ethernet_);
    return port_->send(from, bytes);
  }
  bool has_room_again() override { return port_->has_room_again(); }
  std::span<const std::byte> receive() override { return port_->receive(); }
  void release() override { port_->release(); }
  bool pending() const override { return port_->pending(); }
  void sleep(std::uint64_t nanoseconds) override { port_->sleep(nanoseconds); }
  void wake() override { port_->wake(); }

 private:
  std::unique_ptr<wires::fabric_port> port_;
  const bool is_ethernet_;
};

}  // namespace freehca::ibverbs
