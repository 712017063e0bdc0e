// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// MOD_STAT_CFG: the configuration that firmware keeps.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Its mailbox; *_m set: change the field, else the field is ignored. Before INIT_HCA Linux sets
/// the smallest page to 4 KB by log_pg_sz = 0 (fw.c mlx4_MOD_STAT_CFG). guid_hi and guid_lo of a
/// query are the port's uplink GUID (fw.c mlx4_get_phys_port_id). The rest: iPXE MT25408_PRM.h
/// mod_stat_cfg.
struct mod_stat_cfg {
  static constexpr std::size_t bytes = 0x100;
  as<bool> tx_options_m             {0x00, 31, 31, "tx_options_m"};
  bits     tx_options               {0x00, 27, 24, "tx_options"};
  as<bool> rx_options_m             {0x00, 23, 23, "rx_options_m"};
  bits     rx_options               {0x00, 19, 16, "rx_options"};
  as<bool> dife_m                   {0x00, 15, 15, "dife_m"};
  as<bool> dife                     {0x00, 14, 14, "dife"};
  as<bool> log_pg_sz_m              {0x00,  8,  8, "log_pg_sz_m"};
  /// Log2 of the smallest page, in units of 4 KB.
  bits     log_pg_sz                {0x00,  7,  0, "log_pg_sz"};
  as<bool> qdr_tx_options_m         {0x04, 31, 31, "qdr_tx_options_m"};
  bits     qdr_tx_options           {0x04, 27, 24, "qdr_tx_options"};
  as<bool> qdr_rx_options_m         {0x04, 23, 23, "qdr_rx_options_m"};
  bits     qdr_rx_options           {0x04, 19, 16, "qdr_rx_options"};
  as<bool> port_pause_mode_m        {0x0c, 27, 27, "port_pause_mode_m"};
  bits     port_pause_mode          {0x0c, 25, 24, "port_pause_mode"};
  as<bool> port_en_m                {0x0c, 21, 21, "port_en_m"};
  as<bool> port_en                  {0x0c, 20, 20, "port_en"};
  as<bool> lid_m                    {0x0c, 16, 16, "lid_m"};
  bits     lid                      {0x0c, 15,  0, "lid"};
  as<bool> guid_hi_m                {0x10, 31, 31, "guid_hi_m"};
  bits     guid_hi                  {0x14, 31,  0, "guid_hi"};
  as<bool> guid_lo_m                {0x18, 31, 31, "guid_lo_m"};
  bits     guid_lo                  {0x1c, 31,  0, "guid_lo"};
  as<bool> nodeguid_hi_m            {0x20, 31, 31, "nodeguid_hi_m"};
  bits     nodeguid_hi              {0x24, 31,  0, "nodeguid_hi"};
  as<bool> nodeguid_lo_m            {0x28, 31, 31, "nodeguid_lo_m"};
  bits     nodeguid_lo              {0x2c, 31,  0, "nodeguid_lo"};
  as<bool> serdes_m                 {0x30, 31, 31, "serdes_m"};
  bits     ob_preemp                {0x30, 28, 24, "ob_preemp"};
  bits     ob_preemp_main           {0x30, 20, 16, "ob_preemp_main"};
  bits     ob_preemp_post           {0x30, 12,  8, "ob_preemp_post"};
  bits     ob_preemp_pre            {0x30,  4,  0, "ob_preemp_pre"};
  bits     sigdet_th                {0x34, 30, 28, "sigdet_th"};
  bits     mux_eq                   {0x34, 25, 24, "mux_eq"};
  bits     sd_mux_main              {0x34, 21, 20, "sd_mux_main"};
  bits     sd_equal                 {0x34, 15, 12, "sd_equal"};
  bits     sd_main                  {0x34,  7,  4, "sd_main"};
  bits     inbuf_ind_en             {0x34,  2,  0, "inbuf_ind_en"};
  bits     num_port                 {0x40, 23, 16, "num_port"};
  as<bool> port_protocol_m          {0x40, 15, 15, "port_protocol_m"};
  as<bool> port_dual                {0x40,  8,  8, "port_dual"};
  bits     port_protocol            {0x40,  7,  0, "port_protocol"};
  bits     port_protocol_vpi        {0x44,  7,  0, "port_protocol_vpi"};
  as<bool> fw_rev_support           {0x78, 31, 31, "fw_rev_support"};
  bits     fw_rev_major             {0x78, 15,  0, "fw_rev_major"};
  bits     fw_rev_subminor          {0x7c, 31, 16, "fw_rev_subminor"};
  bits     fw_rev_minor             {0x7c, 15,  0, "fw_rev_minor"};
  bits     cmd_interface_rev        {0x80, 15,  0, "cmd_interface_rev"};
  as<bool> mac_m                    {0x90, 31, 31, "mac_m"};
  bits     mac_high                 {0x90, 15,  0, "mac_high"};
  bits     mac_low                  {0x94, 31,  0, "mac_low"};
  bits     num_vep_groups           {0x98, 31, 24, "num_vep_groups"};
  bits     num_veps                 {0x98, 23, 16, "num_veps"};
  as<bool> port_net_boot_m          {0xa0, 31, 31, "port_net_boot_m"};
  as<bool> port_net_boot            {0xa0, 28, 28, "port_net_boot"};
  as<bool> outer_vlan_en_m          {0xa0, 27, 27, "outer_vlan_en_m"};
  as<bool> outer_vlan_en            {0xa0, 24, 24, "outer_vlan_en"};
  bits     port_eth_mode_capability {0xb0, 30,  0, "port_eth_mode_capability"};
  as<bool> port_eth_mode_m          {0xb4, 31, 31, "port_eth_mode_m"};
  bits     port_eth_mode_enabled    {0xb4, 30,  0, "port_eth_mode_enabled"};
  bits     port_eth_mode_current    {0xb8, 30,  0, "port_eth_mode_current"};
};
static_assert(mod_stat_cfg{}.guid_lo.offset == 0x1c && claimed<mod_stat_cfg>().sound);

/// What MOD_STAT_CFG's input modifier says, bit positions (iPXE hermon.h mod_stat_cfg_input_mod;
/// illumos). The immediate forms read or write the eight bytes at `offset` of the mailbox above.
struct mod_stat_cfg_input_modifier {
  static constexpr std::size_t bytes = 4;
  bits     setup_mode        {0x00, 31, 28, "setup_mode"};  ///< wake_on_lan_setup_mode
  as<bool> autoneg           {0x00, 23, 23, "autoneg"};
  bits     link_speed        {0x00, 22, 20, "link_speed"};
  bits     lane              {0x00, 19, 16, "lane"};
  bits     port              {0x00, 15,  8, "port"};
  bits     offset_in_mailbox {0x00,  7,  0, "offset_in_mailbox"};
};
static_assert(claimed<mod_stat_cfg_input_modifier>().sound);

/// Linux 6.1 fw.c MLX4_WOL_SETUP_MODE.
inline constexpr unsigned wake_on_lan_setup_mode = 5;

/// The immediate parameter with that setup_mode: Wake-on-LAN (Linux 6.1 mlx4_en.h MLX4_EN_WOL_*).
struct wake_on_lan {
  static constexpr std::size_t bytes = 8;
  as<bool> modify       {0x00, 63, 63, "modify"};
  as<bool> enabled      {0x00, 62, 62, "enabled"};
  as<bool> magic_packet {0x00, 61, 61, "magic_packet"};
};
static_assert(claimed<wake_on_lan>().sound);

}  // namespace freehca::layouts
