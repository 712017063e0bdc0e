// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory protection table entries: regions and windows.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class mpt_status : std::uint8_t {
  hardware = 0x0,  ///< any value but the two others means hardware ownership
  free = 0x3,      ///< a fast-registration region or an unbound type 2 window
  software = 0xf,  ///< not valid
};

/// Access rights as they stand together in `flags`, bits 15:10 (Linux 6.1 device.h MLX4_PERM_*).
enum class mpt_access : std::uint32_t {
  local_read = 1u << 10,  ///< must be set
  local_write = 1u << 11,
  remote_read = 1u << 12,
  remote_write = 1u << 13,
  atomic = 1u << 14,
  bind_window = 1u << 15,
};

/// Input of SW2HW_MPT, output of QUERY_MPT and HW2SW_MPT, and the start of an entry in context
/// memory. Sources: Linux 6.1 mlx4.h struct mlx4_mpt_entry and mr.c; iPXE MT25408_PRM.h mpt and
/// illumos hermon_hw.h for the rows that Linux leaves at zero.
struct mpt {
  static constexpr std::size_t bytes = 0x40;
  as<mpt_status> status       {0x00, 31, 28, "status"};
  as<bool>       no_snoop     {0x00, 19, 19, "no_snoop"};
  /// set by Linux for every region; the PRM calls it atc_xlated
  as<bool>       mio          {0x00, 17, 17, "mio"};
  as<bool>       atc_req      {0x00, 16, 16, "atc_req"};
  as<bool>       bind_enable  {0x00, 15, 15, "bind_enable"};
  as<bool>       atomic       {0x00, 14, 14, "atomic"};
  as<bool>       remote_write {0x00, 13, 13, "remote_write"};
  as<bool>       remote_read  {0x00, 12, 12, "remote_read"};
  as<bool>       local_write  {0x00, 11, 11, "local_write"};
  as<bool>       local_read   {0x00, 10, 10, "local_read"};
  /// No translation: addresses are bus addresses.
  as<bool>       physical     {0x00,  9,  9, "physical"};
  as<bool>       region       {0x00,  8,  8, "region"};  ///< set: region; clear: window
  /// QP of a bound type 2 window. Linux sets bit 7 of this word (MLX4_MPT_QP_FLAG_BOUND_QP), that
  /// is bqp.
  bits     qpn                  {0x04, 31,  8, "qpn"};
  as<bool> bqp                  {0x04,  7,  7, "bqp"};  ///< window of type 2
  /// Key rotated right by eight: {key[7:0], key[31:8]}.
  bits     mem_key              {0x08, 31,  0, "mem_key"};
  as<bool> m_dif                {0x0c, 30, 30, "m_dif"};
  as<bool> w_dif                {0x0c, 29, 29, "w_dif"};
  /// fast registration may grant remote rights
  as<bool> remote_access_enable {0x0c, 28, 28, "remote_access_enable"};
  as<bool> fast_register_enable {0x0c, 27, 27, "fast_register_enable"};
  as<bool> net_cache_enable     {0x0c, 26, 26, "net_cache_enable"};
  as<bool> enable_invalidate    {0x0c, 25, 25, "enable_invalidate"};
  as<bool> remote_invalidate    {0x0c, 24, 24, "remote_invalidate"};
  bits     pd                   {0x0c, 23,  0, "pd"};  ///< bits 23:17 name the virtual function
  bits     start                {0x10, 63,  0, "start"};  ///< virtual address
  bits     length               {0x18, 63,  0, "length"};
  /// Of the region a window is bound to; 0 for SW2HW_MPT.
  bits     lkey                 {0x20, 31,  0, "lkey"};
  /// Windows bound to the region; output only.
  bits     win_cnt              {0x24, 23,  0, "win_cnt"};
  as<bool> fbo_en               {0x28, 23, 23, "fbo_en"};
  /// Bit 64 of length: the whole address space.
  as<bool> len64                {0x28, 22, 22, "len64"};
  as<bool> block_mode           {0x28, 21, 21, "block_mode"};
  bits     mtt_rep              {0x28,  3,  0, "mtt_rep"};
  /// Offset of the first MTT entry from mtt_base.
  addr     mtt_addr             {0x2c, 39,  3, "mtt_addr"};
  bits     mtt_size             {0x34, 31,  0, "mtt_size"};  ///< entries; for fast registration
  /// log2 of the page size, as a byte count in block mode
  bits     entity_size          {0x38, 20,  0, "entity_size"};
  bits     first_byte_offset    {0x3c, 20,  0, "first_byte_offset"};
};
static_assert(mpt{}.mtt_addr.offset == 0x2c && mpt{}.entity_size.offset == 0x38 && claimed<mpt>().sound);

/// An entry in context memory is d_mpt_entry_sz bytes (QUERY_DEV_CAP). illumos knows 0x80, the
/// second half being the T10 protection fields, which no driver here uses.
inline constexpr std::size_t dmpt_entry_bytes_illumos = 0x80;

constexpr std::uint32_t mpt_key_of(std::uint32_t key) { return key >> 8 | key << 24; }
constexpr std::uint32_t key_of_mpt(std::uint32_t mem_key) { return mem_key << 8 | mem_key >> 24; }
static_assert(mpt_key_of(0x01234567) == 0x67012345 && key_of_mpt(0x67012345) == 0x01234567);

}  // namespace freehca::layouts
