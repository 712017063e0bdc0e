// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/mad.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/layouts/pma.hpp>

namespace freehca {

/// The counters of an InfiniBand port. Data are counted in words of four bytes.
struct infiniband_counters {
  std::uint64_t xmit_data = 0, rcv_data = 0, xmit_packets = 0, rcv_packets = 0;
  /// True if the counters have 64 bits and wrap. False if they have 32 bits and stop at their
  /// largest value.
  bool wide = false;
};

/// Reads the counters of an InfiniBand port by a management datagram to the performance agent of
/// the firmware: those of 64 bits (PortCountersExtended) or, if the agent refuses them, those of 32
/// bits (PortCounters). Outcomes besides those of MAD_IFC: transport_error::bad_reply if the agent
/// refused both (`where` is the MAD status). A done operation may be restarted.
///
/// Source: Linux 6.1 hw/mlx4/mad.c ib_process_mad passes this class to MAD_IFC.
class port_counters_query : public stepper {
 public:
  port_counters_query() = default;
  ~port_counters_query() { drop(); }

  /// Ports count from 1.
  void start(channel& commands, unsigned port);
  /// Valid when the operation is done and ok.
  infiniband_counters counters() const;

 private:
  void ask(layouts::pma_attribute attribute);
  static void answered(stepper& self, status outcome) noexcept;

  channel* commands_ = nullptr;
  std::uint8_t port_ = 0;
  firmware_command<commands::mad_ifc<layouts::pma_port_mad, layouts::pma_mad>> mad_{
      std::uint32_t{1}, std::uint32_t{0}};
};

}  // namespace freehca
