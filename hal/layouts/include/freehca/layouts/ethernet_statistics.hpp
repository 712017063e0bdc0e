// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What Ethernet ports count: DUMP_ETH_STATS and QUERY_IF_STAT.
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// DUMP_ETH_STATS, the input modifier. Sources: Linux 6.1 mlx4/en_port.c mlx4_en_DUMP_ETH_STATS,
/// mlx4_stats.h MLX4_DUMP_ETH_STATS_FLOW_CONTROL.
struct dump_eth_stats_modifier {
  static constexpr std::size_t bytes = 4;
  /// The output is eight pause_statistics, one for each priority, else ethernet_statistics.
  as<bool> flow_control {0x00, 12, 12, "flow_control"};
  as<bool> reset        {0x00,  8,  8, "reset"};
  bits     port         {0x00,  7,  0, "port"};
};
static_assert(claimed<dump_eth_stats_modifier>().sound);

/// Counters of 64 bits, one for each priority 0 to 7, then one for frames without a VLAN tag and,
/// of what is sent, one for loopback.
struct statistics_group {
  std::uint16_t offset, stride;
  std::uint8_t classes;
  constexpr unsigned of(unsigned traffic_class) const { return offset + traffic_class * stride; }
};
inline constexpr unsigned statistics_no_vlan = 8, statistics_loopback = 9;

/// The groups of DUMP_ETH_STATS' output. Lengths are of frames with their FCS. Source: Linux 6.1
/// mlx4/en_port.h struct mlx4_en_stat_out_mbox, and its comments for what is counted.
namespace statistics {
inline constexpr statistics_group rx_64 {0x000, 8, 9};
inline constexpr statistics_group rx_127 {0x048, 8, 9};
inline constexpr statistics_group rx_255 {0x090, 8, 9};
inline constexpr statistics_group rx_511 {0x0d8, 8, 9};
inline constexpr statistics_group rx_1023 {0x120, 8, 9};
inline constexpr statistics_group rx_1518 {0x168, 8, 9};
inline constexpr statistics_group rx_1522 {0x1b0, 8, 9};
inline constexpr statistics_group rx_1548 {0x1f8, 8, 9};
inline constexpr statistics_group rx_to_mtu {0x240, 8, 9};     ///< longer than 1548
inline constexpr statistics_group rx_giant {0x288, 8, 9};      ///< above the port's MTU, good CRC
inline constexpr statistics_group rx_broadcast {0x2d0, 8, 9};  ///< good CRC
inline constexpr statistics_group rx_multicast {0x318, 8, 9};  ///< good CRC
inline constexpr statistics_group rx_unicast {0x360, 8, 9};    ///< good CRC, neither short nor giant
inline constexpr statistics_group rx_octets_framing {0x3a8, 24, 9};  ///< framing characters too
inline constexpr statistics_group rx_octets_all {0x3b0, 24, 9};
inline constexpr statistics_group rx_octets {0x3b8, 24, 9};  ///< of frames without errors
inline constexpr statistics_group rx_frames {0x480, 24, 9};  ///< bad ones too
inline constexpr statistics_group rx_tagged {0x488, 24, 9};
inline constexpr statistics_group tx_64 {0x598, 8, 10};
inline constexpr statistics_group tx_127 {0x5e8, 8, 10};
inline constexpr statistics_group tx_255 {0x638, 8, 10};
inline constexpr statistics_group tx_511 {0x688, 8, 10};
inline constexpr statistics_group tx_1023 {0x6d8, 8, 10};
inline constexpr statistics_group tx_1518 {0x728, 8, 10};
inline constexpr statistics_group tx_1522 {0x778, 8, 10};
inline constexpr statistics_group tx_1548 {0x7c8, 8, 10};
inline constexpr statistics_group tx_to_mtu {0x818, 8, 10};
inline constexpr statistics_group tx_giant {0x868, 8, 10};
inline constexpr statistics_group tx_broadcast {0x8b8, 8, 10};
inline constexpr statistics_group tx_multicast {0x908, 8, 10};
inline constexpr statistics_group tx_unicast {0x958, 8, 10};
inline constexpr statistics_group tx_octets_framing {0x9a8, 24, 10};
inline constexpr statistics_group tx_octets_all {0x9b0, 24, 10};
inline constexpr statistics_group tx_octets {0x9b8, 24, 10};
inline constexpr statistics_group tx_frames {0xa98, 24, 10};
inline constexpr statistics_group tx_tagged {0xaa0, 24, 10};

inline constexpr statistics_group every[] = {
    rx_64,         rx_127,            rx_255,        rx_511,     rx_1023,    rx_1518,
    rx_1522,       rx_1548,           rx_to_mtu,     rx_giant,   rx_broadcast, rx_multicast,
    rx_unicast,    rx_octets_framing, rx_octets_all, rx_octets,  rx_frames,  rx_tagged,
    tx_64,         tx_127,            tx_255,        tx_511,     tx_1023,    tx_1518,
    tx_1522,       tx_1548,           tx_to_mtu,     tx_giant,   tx_broadcast, tx_multicast,
    tx_unicast,    tx_octets_framing, tx_octets_all, tx_octets,  tx_frames,  tx_tagged};
}  // namespace statistics

/// The counters of DUMP_ETH_STATS' output that are not by traffic class. Source: as above.
struct ethernet_statistics {
  static constexpr std::size_t bytes = 0xbb0;
  bits rx_control        {0x558, 63,  0, "rx_control"};
  bits rx_length_field   {0x578, 63,  0, "rx_length_field"};  ///< RInRangeLengthErr
  bits rx_length_reserved {0x580, 63, 0, "rx_length_reserved"};  ///< 1501 to 1535: ROutRangeLengthErr
  bits rx_too_long       {0x588, 63,  0, "rx_too_long"};  ///< above 1518 or 1522
  bits rx_symbol_errors  {0x590, 63,  0, "rx_symbol_errors"};  ///< PCS
  bits rx_jabbers        {0xb88, 31,  0, "rx_jabbers"};  ///< above the MTU, bad CRC
  bits rx_crc_errors     {0xb8c, 31,  0, "rx_crc_errors"};
  bits rx_runts          {0xb90, 31,  0, "rx_runts"};  ///< below 64 bytes, bad CRC
  bits rx_short          {0xb94, 31,  0, "rx_short"};  ///< below 64 bytes, good CRC
  bits rx_dropped        {0xb98, 31,  0, "rx_dropped"};
  bits rx_overflow       {0xb9c, 31,  0, "rx_overflow"};  ///< dropped: no room
  bits rx_dropped_length {0xba0, 31,  0, "rx_dropped_length"};
  bits rx_good           {0xba4, 31,  0, "rx_good"};
  bits tx_dropped        {0xba8, 31,  0, "tx_dropped"};
};

/// Whether groups and rows leave each other alone and stay within the output.
consteval bool statistics_sound() {
  claims<ethernet_statistics> c = claimed<ethernet_statistics>();
  for (const statistics_group& g : statistics::every)
    for (unsigned n = 0; n < g.classes; ++n)
      for (unsigned i = 0; i < 8; ++i) {
        const unsigned at = g.of(n) + i;
        if (at >= ethernet_statistics::bytes || c.byte[at] != 0) return false;
        c.byte[at] = 0xff;
      }
  return c.sound;
}
static_assert(statistics_sound());
static_assert(statistics::tx_frames.of(statistics_loopback) == 0xb70);

/// Flow control of one priority; without flow control by priority all eight are alike. Durations
/// in microseconds. Source: Linux 6.1 mlx4_stats.h struct mlx4_en_stat_out_flow_control_mbox.
struct pause_statistics {
  static constexpr std::size_t bytes = 0x40;
  bits rx_pause            {0x00, 63,  0, "rx_pause"};
  bits rx_pause_duration   {0x08, 63,  0, "rx_pause_duration"};
  bits rx_pause_transition {0x10, 63,  0, "rx_pause_transition"};
  bits tx_pause            {0x18, 63,  0, "tx_pause"};
  bits tx_pause_duration   {0x20, 63,  0, "tx_pause_duration"};
  bits tx_pause_transition {0x28, 63,  0, "tx_pause_transition"};
};
static_assert(claimed<pause_statistics>().sound);

/// QUERY_IF_STAT, the input modifier (Linux 6.1 cmd.c mlx4_get_counter_stats).
struct query_if_stat_modifier {
  static constexpr std::size_t bytes = 4;
  as<bool> reset {0x00, 31, 31, "reset"};
  bits     index {0x00, 15,  0, "index"};
};
static_assert(claimed<query_if_stat_modifier>().sound);

/// QUERY_IF_STAT's output: the counter that queue pairs name in their paths. Source: Linux 6.1
/// device.h struct mlx4_counter.
struct interface_counter {
  static constexpr std::size_t bytes = 0x30;
  bits mode           {0x00,  7,  0, "mode"};  ///< 0: the rows below
  bits num_interfaces {0x04, 31,  0, "num_interfaces"};
  bits rx_frames      {0x10, 63,  0, "rx_frames"};
  bits rx_bytes       {0x18, 63,  0, "rx_bytes"};
  bits tx_frames      {0x20, 63,  0, "tx_frames"};
  bits tx_bytes       {0x28, 63,  0, "tx_bytes"};
};
static_assert(claimed<interface_counter>().sound);

}  // namespace freehca::layouts
