// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Where things are in the device's address windows.
#pragma once

#include <cstdint>

namespace freehca::layouts {

/// BAR 0, 1 MB, registers. Words are big-endian and take 32-bit accesses only.
/// Sources: Linux 6.1 mlx4.h MLX4_HCR_BASE, main.c MLX4_OWNER_BASE, reset.c, and the captured
/// landmarks of real cards (docs/hardware.md).
namespace bar0 {

inline constexpr std::uint64_t size = 0x100000;

/// Catastrophic error buffer: read-only words, QUERY_FW gives place and length. All cards seen have
/// it in this page. The first word is nonzero after an internal error; all ones means that the
/// device is gone.
inline constexpr std::uint32_t error_buffer_area = 0x1f000;
inline constexpr std::uint32_t error_buffer_area_size = 0x1000;

/// MSI-X table and pending bits as the capability of every captured card says (128 vectors).
inline constexpr std::uint32_t msix_table = 0x7c000;
inline constexpr std::uint32_t msix_pba = 0x7d000;
inline constexpr unsigned msix_vectors = 128;

/// The host command register, layout `hcr`.
inline constexpr std::uint32_t hcr = 0x80680;
inline constexpr std::uint32_t hcr_size = 0x1c;
/// The word with go, t, e, status and opcode.
inline constexpr std::uint32_t hcr_status = hcr + 0x18;

/// Ownership semaphore. A read that returns 0 takes it, so it is read once; nonzero: somebody else
/// owns the device. Writing 0 releases it; the next owner is to wait one second.
inline constexpr std::uint32_t ownership = 0x8069c;
inline constexpr unsigned ownership_release_ms = 1000;

/// Software reset: write big-endian 1. The device then answers no memory access; configuration
/// registers go back to their reset values, so the owner saves them before and restores them after
/// (not dwords 22 and 23, at 0x58 and 0x5c: the address and data gateway). Wait one second, then
/// until the vendor identifier reads valid. Firmware is not running afterwards.
inline constexpr std::uint32_t reset = 0xf0010;
inline constexpr std::uint32_t reset_value = 1;
inline constexpr unsigned reset_wait_ms = 1000;

/// Hardware identification: 0x00b00190 ConnectX-2, 0x000001f5 or 0x000101f5 ConnectX-3, 0x000001f7
/// ConnectX-3 Pro.
inline constexpr std::uint32_t hardware_id = 0xf0014;

/// Write 0 and poll until 0: earlier writes have arrived (firmware tools).
inline constexpr std::uint32_t flush = 0xf0380;

/// Flash semaphore: a read that returns 0 takes it; held over a software reset, which frees it;
/// otherwise freed by writing 0.
inline constexpr std::uint32_t flash_semaphore = 0xf03fc;

}  // namespace bar0

/// The clear-interrupt register, 64 bits, at the place that QUERY_FW gives. For INTx,
/// QUERY_ADAPTER's inta_pin names the bit: a write of big-endian 1 << (pin & 31) to the word at 4
/// when the pin is below 32, else at 0, takes the level away (Linux 6.1 eq.c).
inline constexpr std::uint32_t clear_interrupt_size = 8;

/// The communication channel of virtual functions, one page per function at the place that QUERY_FW
/// gives (Linux 6.1 mlx4.h, catas.c). Its commands are not the project's; the offsets are for the
/// device model.
namespace comm_channel {
inline constexpr std::uint32_t page_size = 0x1000;
inline constexpr std::uint32_t slave_write = 0x0;
inline constexpr std::uint32_t slave_read = 0x4;
inline constexpr std::uint32_t capabilities = 0x8;
inline constexpr std::uint32_t flags = 0xc;
}  // namespace comm_channel

/// BAR 2: pages of doorbells. The first 2^uar_sz MB (QUERY_DEV_CAP) are UAR pages of 4 KB <<
/// uar_page_sz (INIT_HCA), the rest are BlueFlame pages, one per UAR page in the same order.
/// Sources: Linux 6.1 doorbell.h, eq.c mlx4_get_eq_uar, pd.c mlx4_bf_alloc, device.h
/// mlx4_get_num_reserved_uar; iPXE hermon.h HERMON_DB_EQ_OFFSET.
namespace uar {

inline constexpr std::uint32_t page_size = 0x1000;

inline constexpr std::uint32_t send_doorbell = 0x14;  ///< 32 bits: QP number << 8
inline constexpr std::uint32_t cq_doorbell = 0x20;    ///< 64 bits, or two halves in this order

/// Doorbells of the four event queues 4n..4n+3 are in UAR page n, whoever owns that page otherwise.
inline constexpr std::uint32_t eq_doorbell = 0x800;
inline constexpr std::uint32_t eq_doorbell_stride = 8;
inline constexpr unsigned eq_doorbells_per_page = 4;

/// Pages that belong to EQ doorbells: no queue pair, CQ or process is given one of these.
inline constexpr unsigned eq_pages = 128;

/// Byte offset in BAR 2 of the doorbell of event queue `eqn`, for the given UAR page size.
constexpr std::uint64_t eq_doorbell_of(unsigned eqn, std::uint32_t uar_page_size = page_size) {
  return std::uint64_t{eqn / eq_doorbells_per_page} * uar_page_size + eq_doorbell +
         eqn % eq_doorbells_per_page * eq_doorbell_stride;
}
/// Byte offset in BAR 2 of the BlueFlame page of UAR page `index`; `uar_sz` from QUERY_DEV_CAP.
constexpr std::uint64_t blueflame_page_of(unsigned index, unsigned uar_sz, std::uint32_t uar_page_size = page_size) {
  return (std::uint64_t{1} << (20 + uar_sz)) + std::uint64_t{index} * uar_page_size;
}

}  // namespace uar
}  // namespace freehca::layouts
