// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/ethernet_switch/bridge.hpp>

#include <string>

#include <freehca/layouts/ethernet.hpp>

namespace freehca::ethernet_switch {

using namespace layouts;

namespace {

constexpr std::size_t shortest = ethernet_addresses::bytes + ether_type_bytes;
constexpr std::uint64_t sweep_ns = 60'000'000'000;
constexpr std::uint64_t group_bit = std::uint64_t{1} << 40;
/// IEEE 802.1D-2004, table 7-10: 01-80-C2-00-00-00 to -0F are for the neighbour alone (pause
/// frames, spanning tree, LACP, LLDP).
constexpr std::uint64_t reserved_addresses = 0x0180c2000000;
constexpr std::uint64_t reserved_count = 16;

}  // namespace

bridge::outlet::outlet(bridge& owner, unsigned number)
    : out([&owner, number](std::span<const std::byte> frame) {
        return owner.around_.send(number, frame);
      }) {}

bridge::bridge(unsigned ports, switch_common::surroundings& around) : around_(around) {
  for (unsigned i = 1; i <= ports; ++i) ports_.push_back(std::make_unique<outlet>(*this, i));
}

void bridge::plug(unsigned number, bool plugged) {
  outlet& p = *ports_[number - 1];
  if (p.plugged == plugged) return;
  p.plugged = plugged;
  p.out.begin_again();
  addresses_.forget_port(number);
  if (around_.listens())
    around_.tell("port " + std::to_string(number) +
                 (plugged ? ": somebody is there" : ": nobody is there any more"));
}

void bridge::has_room(unsigned number) {
  ports_[number - 1]->out.send_all();
}

void bridge::run() {
  const std::uint64_t now = around_.now();
  if (now < sweep_at_) return;
  addresses_.forget_old(now);
  sweep_at_ = addresses_.size() == 0 ? ~std::uint64_t{0} : now + sweep_ns;
}

void bridge::arrived(unsigned number, std::span<const std::byte> frame) {
  outlet& from = *ports_[number - 1];
  if (frame.size() < shortest) {
    ++from.counted.malformed;
    return;
  }
  ++from.counted.received;
  const std::uint64_t now = around_.now();
  const auto addresses = image<ethernet_address_numbers>::from_bytes(frame.data());
  const auto to = addresses.get<&ethernet_address_numbers::destination>();
  const auto source = addresses.get<&ethernet_address_numbers::source>();
  // A group sends nothing.
  if ((source & group_bit) == 0 && source != 0) {
    addresses_.learn(source, number, now);
    if (sweep_at_ == ~std::uint64_t{0}) sweep_at_ = now + sweep_ns;
  }
  if (to - reserved_addresses < reserved_count) return;
  if (const unsigned known = (to & group_bit) == 0 ? addresses_.port_of(to, now) : 0; known != 0) {
    if (known != number) send(known, frame);
    return;
  }
  for (unsigned other = 1; other <= ports_.size(); ++other)
    if (other != number && ports_[other - 1]->plugged) send(other, frame);
}

void bridge::send(unsigned number, std::span<const std::byte> frame) {
  outlet& to = *ports_[number - 1];
  if (to.out.add({frame.begin(), frame.end()}, false)) {
    ++to.counted.sent;
    return;
  }
  ++to.counted.discarded;
  if (around_.listens())
    around_.tell("port " + std::to_string(number) +
                 ": a frame was dropped: the other end does not take what it is sent");
}

}  // namespace freehca::ethernet_switch
