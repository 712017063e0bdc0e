// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_port.hpp>

namespace freehca {

inline constexpr unsigned most_ports = 2;

/// The capabilities of the device: QUERY_DEV_CAP and QUERY_PORT in plain numbers, valid before any
/// object exists. `raw` and `raw_port` have the other fields.
struct capabilities {
  unsigned ports = 0;
  unsigned reserved_qps = 0, reserved_srqs = 0, reserved_cqs = 0, reserved_eqs = 0,
           reserved_mpts = 0, reserved_mtts = 0, reserved_pds = 0, reserved_uars = 0;
  std::uint32_t reserved_lkey = 0;  ///< the L_Key for all of physical memory; 0: none
  std::uint32_t most_qp_wqe_bytes_sq = 0, most_qp_wqe_bytes_rq = 0;
  unsigned most_gather = 0, most_scatter = 0;
  unsigned log_most_wqes = 0, log_most_cqes = 0, log_most_srq_wqes = 0;
  unsigned log_most_pds = 0;
  std::uint64_t most_message_bytes = 0;
  unsigned most_reads_as_requester = 0, most_reads_as_responder = 0;
  unsigned log_smallest_page = 12;          ///< of translation entries
  unsigned local_ack_delay = 0;             ///< as an IBTA code
  unsigned log_blueflame_bytes = 0;         ///< 0: no BlueFlame
  unsigned cqe_bytes = 32, eqe_bytes = 32;  ///< as set in INIT_HCA

  layouts::image<layouts::query_dev_cap> raw;
  layouts::image<layouts::query_port> raw_port[most_ports];

  /// Returns the link layer of port 1 or 2, as QUERY_PORT reported it.
  layouts::port_type link_layer(unsigned port) const;
  bool has(layouts::dev_cap_flag f) const {
    return (raw.get<&layouts::query_dev_cap::flags>() & static_cast<std::uint64_t>(f)) != 0;
  }
  bool has(layouts::bmme_flag f) const {
    return (raw.get<&layouts::query_dev_cap::bmme_flags>() & static_cast<std::uint64_t>(f)) != 0;
  }
};

}  // namespace freehca
