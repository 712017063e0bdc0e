// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <freehca/wires_shm/fabric_port.hpp>

#include "../input.hpp"

namespace freehca::fuzz {

/// The ports of this process, and what each of their operations must keep to.
class honest_ports {
 public:
  static constexpr unsigned most = 3;

  honest_ports(std::string fabric, wires::link_layer link)
      : fabric_(std::move(fabric)), link_(link) {}

  /// One operation of one port, which the input names.
  void operate(input& from);
  /// Returns when all ports are there.
  void join_all();
  void leave_all();
  bool present(unsigned which) const { return ports_[which].port != nullptr; }
  wires::fabric_port& port(unsigned which) { return *ports_[which].port; }
  /// The next packet. Its length has to be allowed, and it may not change while it is lent.
  std::span<const std::byte> receive(unsigned which);
  void release(unsigned which);
  /// Takes all packets that have arrived.
  void drain(unsigned which);
  /// Whether a packet from one port reaches the other one whole, after a few that repair the rings.
  bool reaches(unsigned from, unsigned to);

 private:
  struct honest_port {
    std::unique_ptr<wires::fabric_port> port;
    std::vector<std::byte> lent;  // a copy of the packet that is lent
  };
  void join(unsigned which);
  void leave(unsigned which);
  void send(unsigned which, unsigned dlid, std::size_t bytes);
  void send_many(unsigned which, unsigned dlid, unsigned count);
  void take_all(unsigned which);
  void operate_on_groups(unsigned which, unsigned amount);
  void sleep_woken(unsigned which);
  void list();
  unsigned lid_of_other(unsigned which) const;
  std::vector<std::byte> packet(unsigned dlid, std::size_t bytes, unsigned mark) const;
  void look_up(unsigned which, unsigned amount);

  std::string fabric_;
  wires::link_layer link_;
  std::array<honest_port, most> ports_;
};

}  // namespace freehca::fuzz
