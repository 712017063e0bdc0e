// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// CONGESTION_CTRL: quantized congestion notification (IEEE 802.1Q clauses 30 to 33, once 802.1Qau)
// of Ethernet ports. Source: Linux 6.1 mlx4/en_dcb_nl.c, include/linux/mlx4/cmd.h.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class congestion_algorithm : std::uint16_t { reaction_point_802_1_qau = 0 };

/// The input modifier.
struct congestion_control_modifier {
  static constexpr std::size_t bytes = 4;
  as<congestion_algorithm> algorithm  {0x00, 31, 16, "algorithm"};
  bits                     priorities {0x00, 15,  8, "priorities"};  ///< bit n: priority n
  bits                     port       {0x00,  7,  0, "port"};
};
static_assert(claimed<congestion_control_modifier>().sound);

/// What a reaction point is told, and tells. A bit of `modify_*` says that a field is to change.
/// Linux sets them all, so that which is whose is inferred: they stand in the order of the fields,
/// from bit 31 down. The fields from max_time_rise on have no bit that Linux knows.
struct reaction_point_parameters {
  static constexpr std::size_t bytes = 0x100;
  as<bool> modify_rpg_enable      {0x00, 31, 31, "modify_rpg_enable"};
  as<bool> modify_cn_tag          {0x00, 30, 30, "modify_cn_tag"};
  as<bool> modify_rppp_max_rps    {0x04, 31, 31, "modify_rppp_max_rps"};
  as<bool> modify_rpg_time_reset  {0x04, 30, 30, "modify_rpg_time_reset"};
  as<bool> modify_rpg_byte_reset  {0x04, 29, 29, "modify_rpg_byte_reset"};
  as<bool> modify_rpg_threshold   {0x04, 28, 28, "modify_rpg_threshold"};
  as<bool> modify_rpg_max_rate    {0x04, 27, 27, "modify_rpg_max_rate"};
  as<bool> modify_rpg_ai_rate     {0x04, 26, 26, "modify_rpg_ai_rate"};
  as<bool> modify_rpg_hai_rate    {0x04, 25, 25, "modify_rpg_hai_rate"};
  as<bool> modify_rpg_gd          {0x04, 24, 24, "modify_rpg_gd"};
  as<bool> modify_rpg_min_dec_fac {0x04, 23, 23, "modify_rpg_min_dec_fac"};
  as<bool> modify_rpg_min_rate    {0x04, 22, 22, "modify_rpg_min_rate"};
  as<bool> rpg_enable             {0x0c, 31, 31, "rpg_enable"};
  as<bool> cn_tag                 {0x0c, 30, 30, "cn_tag"};  ///< frames carry the CN-TAG
  bits     rppp_max_rps           {0x10, 31,  0, "rppp_max_rps"};
  bits     rpg_time_reset         {0x14, 31,  0, "rpg_time_reset"};
  bits     rpg_byte_reset         {0x18, 31,  0, "rpg_byte_reset"};
  bits     rpg_threshold          {0x1c, 31,  0, "rpg_threshold"};
  bits     rpg_max_rate           {0x20, 31,  0, "rpg_max_rate"};
  bits     rpg_ai_rate            {0x24, 31,  0, "rpg_ai_rate"};
  bits     rpg_hai_rate           {0x28, 31,  0, "rpg_hai_rate"};
  bits     rpg_gd                 {0x2c, 31,  0, "rpg_gd"};
  bits     rpg_min_dec_fac        {0x30, 31,  0, "rpg_min_dec_fac"};
  bits     rpg_min_rate           {0x34, 31,  0, "rpg_min_rate"};
  bits     max_time_rise          {0x38, 31,  0, "max_time_rise"};
  bits     max_byte_rise          {0x3c, 31,  0, "max_byte_rise"};
  bits     max_qdelta             {0x40, 31,  0, "max_qdelta"};
  bits     min_qoffset            {0x44, 31,  0, "min_qoffset"};
  bits     gd_coefficient         {0x48, 31,  0, "gd_coefficient"};
  bits     cp_sample_base         {0x60, 31,  0, "cp_sample_base"};
};
static_assert(reaction_point_parameters{}.rppp_max_rps.offset == 0x10 &&
              reaction_point_parameters{}.gd_coefficient.offset == 0x48 &&
              claimed<reaction_point_parameters>().sound);

/// What a reaction point has counted. CNM: a congestion notification message.
struct reaction_point_statistics {
  static constexpr std::size_t bytes = 0x40;
  bits rppp_rp_centiseconds          {0x00, 63,  0, "rppp_rp_centiseconds"};
  bits ignored_cnm                   {0x0c, 31,  0, "ignored_cnm"};
  bits rppp_created_rps              {0x10, 31,  0, "rppp_created_rps"};
  bits estimated_total_rate          {0x14, 31,  0, "estimated_total_rate"};
  bits max_active_limiter            {0x18, 31,  0, "max_active_limiter"};  ///< its index
  bits dropped_cnms_busy_fw          {0x1c, 31,  0, "dropped_cnms_busy_fw"};
  bits cnms_handled_successfully     {0x24, 31,  0, "cnms_handled_successfully"};
  bits min_total_limiters_rate       {0x28, 31,  0, "min_total_limiters_rate"};
  bits max_total_limiters_rate       {0x2c, 31,  0, "max_total_limiters_rate"};
};
static_assert(reaction_point_statistics{}.rppp_created_rps.offset == 0x10 &&
              claimed<reaction_point_statistics>().sound);

}  // namespace freehca::layouts
