// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/ethernet_counters.hpp"

#include <freehca/layouts/ethernet.hpp>

#include "frames/frame.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// A group for each length of frames, and the longest that it counts.
struct length_group {
  statistics_group group;
  std::size_t bytes;
};
constexpr std::size_t longest_untagged = 1518, longest_tagged = 1522;
constexpr length_group rx_lengths[] = {{statistics::rx_64, 64},
                                       {statistics::rx_127, 127},
                                       {statistics::rx_255, 255},
                                       {statistics::rx_511, 511},
                                       {statistics::rx_1023, 1023},
                                       {statistics::rx_1518, longest_untagged},
                                       {statistics::rx_1522, longest_tagged},
                                       {statistics::rx_1548, 1548},
                                       {statistics::rx_to_mtu, ~std::size_t{0}}};
constexpr length_group tx_lengths[] = {{statistics::tx_64, 64},
                                       {statistics::tx_127, 127},
                                       {statistics::tx_255, 255},
                                       {statistics::tx_511, 511},
                                       {statistics::tx_1023, 1023},
                                       {statistics::tx_1518, longest_untagged},
                                       {statistics::tx_1522, longest_tagged},
                                       {statistics::tx_1548, 1548},
                                       {statistics::tx_to_mtu, ~std::size_t{0}}};

const statistics_group& group_of(std::span<const length_group> all, std::size_t bytes) {
  std::size_t i = 0;
  while (bytes > all[i].bytes) ++i;
  return all[i].group;
}

unsigned class_of(const frame_summary& f) {
  return f.priority.value_or(statistics_no_vlan);
}

}  // namespace

frame_summary frame_summary::of(std::span<const std::byte> frame) {
  constexpr std::size_t type_at = ethernet_addresses::bytes;
  frame_summary f;
  f.destination = image<ethernet_address_numbers>::from_bytes(frame.data())
                      .get<&ethernet_address_numbers::destination>();
  f.bytes = frame.size() + fcs_bytes;
  f.type = load_be<std::uint16_t>(frame.data() + type_at);
  const bool tag = f.type == ethertype::vlan || f.type == ethertype::service_vlan;
  if (!tag || frame.size() < type_at + vlan_tag::bytes + sizeof f.type) return f;
  const auto t = image<vlan_tag>::from_bytes(frame.data() + type_at);
  f.priority = static_cast<unsigned>(t.get<&vlan_tag::priority>());
  f.vid = static_cast<unsigned>(t.get<&vlan_tag::vid>());
  f.type = load_be<std::uint16_t>(frame.data() + type_at + vlan_tag::bytes);
  return f;
}

// Octets count the FCS, and framing adds nothing to them: no source, chosen (ifInOctets of RFC 2863
// for Ethernet, RFC 3635 3.2.6).
void ethernet_counters::received(const frame_summary& f) {
  const unsigned c = class_of(f);
  count(group_of(rx_lengths, f.bytes), c);
  count(f.broadcast()   ? statistics::rx_broadcast
        : f.multicast() ? statistics::rx_multicast
                        : statistics::rx_unicast,
        c);
  count(statistics::rx_octets_framing, c, f.bytes);
  count(statistics::rx_octets_all, c, f.bytes);
  count(statistics::rx_octets, c, f.bytes);
  count(statistics::rx_frames, c);
  if (f.priority) count(statistics::rx_tagged, c);
  long_ += f.bytes > (f.priority ? longest_tagged : longest_untagged);
  ++good_;
}

void ethernet_counters::received_too_long(const frame_summary& f) {
  const unsigned c = class_of(f);
  count(statistics::rx_giant, c);
  count(statistics::rx_octets_framing, c, f.bytes);
  count(statistics::rx_octets_all, c, f.bytes);
  count(statistics::rx_frames, c);
  if (f.priority) count(statistics::rx_tagged, c);
  ++dropped_;
  ++dropped_length_;
}

void ethernet_counters::sent(const frame_summary& f, bool looped_back) {
  const unsigned c = looped_back ? statistics_loopback : class_of(f);
  count(group_of(tx_lengths, f.bytes), c);
  count(f.broadcast()   ? statistics::tx_broadcast
        : f.multicast() ? statistics::tx_multicast
                        : statistics::tx_unicast,
        c);
  count(statistics::tx_octets_framing, c, f.bytes);
  count(statistics::tx_octets_all, c, f.bytes);
  count(statistics::tx_octets, c, f.bytes);
  count(statistics::tx_frames, c);
  if (f.priority) count(statistics::tx_tagged, c);
}

void ethernet_counters::too_long_to_send(const frame_summary& f) {
  count(statistics::tx_giant, class_of(f));
  ++not_sent_;
}

image<ethernet_statistics> ethernet_counters::table() const {
  using l = ethernet_statistics;
  std::array<std::byte, l::bytes> bytes{};
  for (std::size_t i = 0; i < by_class_.size(); ++i)
    store_be<std::uint64_t>(bytes.data() + i * sizeof(std::uint64_t), by_class_[i]);
  auto out = image<l>::from_bytes(bytes.data());
  constexpr auto narrow = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  out.set<&l::rx_control>(control_)
      .set<&l::rx_too_long>(long_)
      .set<&l::rx_dropped>(narrow(dropped_))
      .set<&l::rx_overflow>(narrow(overflow_))
      .set<&l::rx_dropped_length>(narrow(dropped_length_))
      .set<&l::rx_good>(narrow(good_))
      .set<&l::tx_dropped>(narrow(not_sent_));
  return out;
}

}  // namespace freehca::model
