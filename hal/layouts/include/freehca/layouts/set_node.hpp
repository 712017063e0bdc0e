// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The input of SET_NODE.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Input modifier 1, opcode modifier 0: the description that firmware reports and tells by trap 144
/// (Linux 6.1 infiniband/hw/mlx4/main.c mlx4_ib_modify_device).
struct set_node {
  static constexpr std::size_t bytes = 0x40;
  raw<64> node_description {0x00, "node_description"};
};
static_assert(claimed<set_node>().sound);
inline constexpr std::uint32_t set_node_input_modifier = 1;

}  // namespace freehca::layouts
