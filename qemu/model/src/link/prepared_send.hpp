// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/wqe.hpp>

namespace freehca::model {

/// A send whose headers software made (service MLX): what a link codec wants to know of it beside
/// its bytes.
struct prepared_send {
  unsigned port = 1;
  std::uint32_t qpn = 0;
  std::uint16_t index = 0;  ///< of the WQE
  bool management = false;  ///< by QP0
  layouts::image<layouts::wqe_ctrl_mlx> control;
};

enum class prepared_verdict : std::uint8_t {
  good,
  refused,     ///< breaks a rule: the rule book was told which
  no_packet,   ///< why_not() says why
  wrong_icrc,  ///< a packet, but software has given it an ICRC that is not its own
};

}  // namespace freehca::model
