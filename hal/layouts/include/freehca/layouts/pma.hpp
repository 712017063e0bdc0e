// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Attributes of performance management (pma_mad::data).
//
// Sources: InfiniBand Architecture Specification vol. 1, chapter 16.1, as read through
// include/rdma/ib_pma.h and rdma-core libibmad/fields.c; values of real cards: captures.
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class pma_attribute : std::uint16_t {
  class_port_info = 0x0001,
  port_samples_control = 0x0010,
  port_samples_result = 0x0011,
  port_counters = 0x0012,
  port_counters_ext = 0x001d,
};

/// Bits of ClassPortInfo's capability mask. Real ConnectX-3: 0x1400 (captures).
namespace pma_capability {
inline constexpr std::uint16_t all_port_select = 1u << 8;
inline constexpr std::uint16_t extended_width = 1u << 9;
inline constexpr std::uint16_t extended_width_no_ietf = 1u << 10;
inline constexpr std::uint16_t xmit_wait = 1u << 12;
}  // namespace pma_capability

/// Counters stop at their largest value. Data counts are words of 4 bytes.
struct port_counters {
  static constexpr std::size_t bytes = 44;
  bits port_select          {0x00, 23, 16, "port_select"};
  bits counter_select       {0x00, 15,  0, "counter_select"};
  bits symbol_error         {0x04, 31, 16, "symbol_error"};
  bits link_error_recovery  {0x04, 15,  8, "link_error_recovery"};
  bits link_downed          {0x04,  7,  0, "link_downed"};
  bits rcv_errors           {0x08, 31, 16, "rcv_errors"};
  bits rcv_remote_physical  {0x08, 15,  0, "rcv_remote_physical_errors"};
  bits rcv_switch_relay     {0x0c, 31, 16, "rcv_switch_relay_errors"};
  bits xmit_discards        {0x0c, 15,  0, "xmit_discards"};
  bits xmit_constraint      {0x10, 31, 24, "xmit_constraint_errors"};
  bits rcv_constraint       {0x10, 23, 16, "rcv_constraint_errors"};
  bits counter_select2      {0x10, 15,  8, "counter_select2"};
  bits local_link_integrity {0x10,  7,  4, "local_link_integrity_errors"};
  bits buffer_overrun       {0x10,  3,  0, "buffer_overrun_errors"};
  bits vl15_dropped         {0x14, 15,  0, "vl15_dropped"};
  bits xmit_data            {0x18, 31,  0, "xmit_data"};
  bits rcv_data             {0x1c, 31,  0, "rcv_data"};
  bits xmit_packets         {0x20, 31,  0, "xmit_packets"};
  bits rcv_packets          {0x24, 31,  0, "rcv_packets"};
  bits xmit_wait            {0x28, 31,  0, "xmit_wait"};
};

/// Bits of counter_select: what a Set clears. Bits 5, 7 and 8 (relay and constraint errors) are of
/// switches and partition enforcement; ib_pma.h does not name them.
namespace counter_select {
inline constexpr std::uint16_t symbol_error = 0x0001;
inline constexpr std::uint16_t link_error_recovery = 0x0002;
inline constexpr std::uint16_t link_downed = 0x0004;
inline constexpr std::uint16_t rcv_errors = 0x0008;
inline constexpr std::uint16_t rcv_remote_physical = 0x0010;
inline constexpr std::uint16_t rcv_switch_relay = 0x0020;
inline constexpr std::uint16_t xmit_discards = 0x0040;
inline constexpr std::uint16_t xmit_constraint = 0x0080;
inline constexpr std::uint16_t rcv_constraint = 0x0100;
inline constexpr std::uint16_t local_link_integrity = 0x0200;
inline constexpr std::uint16_t buffer_overrun = 0x0400;
inline constexpr std::uint16_t vl15_dropped = 0x0800;
inline constexpr std::uint16_t xmit_data = 0x1000;
inline constexpr std::uint16_t rcv_data = 0x2000;
inline constexpr std::uint16_t xmit_packets = 0x4000;
inline constexpr std::uint16_t rcv_packets = 0x8000;
}  // namespace counter_select

/// These wrap. counter_select's bits 0 to 7 are the counters in the order of the rows.
struct port_counters_ext {
  static constexpr std::size_t bytes = 72;
  bits port_select            {0x00, 23, 16, "port_select"};
  bits counter_select         {0x00, 15,  0, "counter_select"};
  bits xmit_data              {0x08, 63,  0, "xmit_data"};
  bits rcv_data               {0x10, 63,  0, "rcv_data"};
  bits xmit_packets           {0x18, 63,  0, "xmit_packets"};
  bits rcv_packets            {0x20, 63,  0, "rcv_packets"};
  bits unicast_xmit_packets   {0x28, 63,  0, "unicast_xmit_packets"};
  bits unicast_rcv_packets    {0x30, 63,  0, "unicast_rcv_packets"};
  bits multicast_xmit_packets {0x38, 63,  0, "multicast_xmit_packets"};
  bits multicast_rcv_packets  {0x40, 63,  0, "multicast_rcv_packets"};
};

/// What a port samples, for how long and how far it has come. Sources: include/rdma/ib_pma.h
/// (struct ib_pma_portsamplescontrol), rdma-core libibmad/fields.c.
enum class sample_status : std::uint8_t { done = 0, started = 1, running = 2 };

/// counter_masks_0_9 and 10_14: for each counter three bits, counter 0 first: what can be selected
/// for it.
struct port_samples_control {
  static constexpr std::size_t bytes = 192;
  bits              opcode              {0x00, 31, 24, "opcode"};
  bits              port_select         {0x00, 23, 16, "port_select"};
  bits              tick                {0x00, 15,  8, "tick"};
  bits              counter_width       {0x00,  2,  0, "counter_width"};
  bits              counter_masks_0_9   {0x04, 29,  0, "counter_masks_0_9"};
  bits              counter_masks_10_14 {0x08, 30, 16, "counter_masks_10_14"};
  bits              sample_mechanisms   {0x08, 15,  8, "sample_mechanisms"};
  as<sample_status> status              {0x08,  1,  0, "sample_status"};
  bits              option_mask         {0x0c, 63,  0, "option_mask"};
  bits              vendor_mask         {0x14, 63,  0, "vendor_mask"};
  // ticks from the Set to the begin
  bits              sample_start        {0x1c, 31,  0, "sample_start"};
  // ticks from the begin to the end
  bits              sample_interval     {0x20, 31,  0, "sample_interval"};
  bits              tag                 {0x24, 31, 16, "tag"};
  raw<30>           counter_select      {0x26, "counter_select"};
};
inline constexpr unsigned sampled_counters = 15;
/// counter_masks: any of the counters that every port has. counter_width: counters of 32 bits.
inline constexpr unsigned sample_mask_mandatory = 1, sample_width_32 = 4;

/// The counters that every port can sample.
enum class sampled_counter : std::uint16_t {
  none = 0,
  xmit_data = 1,
  rcv_data = 2,
  xmit_packets = 3,
  rcv_packets = 4,
  xmit_wait = 5,
};

struct port_samples_result {
  static constexpr std::size_t bytes = 64;
  bits              tag      {0x00, 31, 16, "tag"};
  as<sample_status> status   {0x00,  1,  0, "sample_status"};
  raw<60>           counters {0x04, "counters"};
};

}  // namespace freehca::layouts
