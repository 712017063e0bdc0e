// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Work requests that manage memory. A send queue registers pages, access rights and a key with a
// free region, or binds a memory window to a part of a region. Other requests end both. None of
// them needs a firmware command.
//
// The device executes them in the order of the queue, before later requests begin. An invalidation
// waits for earlier reads and atomics only if it has request_flags::fence.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/page_list.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/mtt.hpp>
#include <freehca/layouts/word.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/requests.hpp>

namespace freehca::queues {

/// Access rights of a registered region. Local reads are always allowed. The values are bits of the
/// segment's first 64-bit word, in host order. Remote writes and atomics need `local_write` (IBTA
/// vol. 1, 10.6.3.1).
enum class registration_rights : std::uint64_t {
  none = 0,
  local_write = layouts::in_word<&layouts::wqe_fast_register::local_write>(1),
  remote_read = layouts::in_word<&layouts::wqe_fast_register::remote_read>(1),
  remote_write = layouts::in_word<&layouts::wqe_fast_register::remote_write>(1),
  remote_atomic = layouts::in_word<&layouts::wqe_fast_register::atomic>(1),
};
constexpr registration_rights operator|(registration_rights a, registration_rights b) {
  return static_cast<registration_rights>(static_cast<std::uint64_t>(a) |
                                          static_cast<std::uint64_t>(b));
}
/// True if `rights` has any of `some`.
constexpr bool has_any(registration_rights rights, registration_rights some) {
  return (static_cast<std::uint64_t>(rights) & static_cast<std::uint64_t>(some)) != 0;
}

/// The alignment of a page list in bytes (Linux 6.1 hw/mlx4/mlx4_ib.h MLX4_MR_PAGES_ALIGN).
inline constexpr std::size_t page_list_alignment = 64;
/// The most pages of one registration. The device may accept more, but Linux asks for no more (6.1
/// hw/mlx4/mlx4_ib.h MLX4_MAX_FAST_REG_PAGES).
inline constexpr std::uint32_t most_registered_pages = 511;

/// Bytes of a list of `pages` pages, rounded up to page_list_alignment.
constexpr std::size_t page_list_bytes(std::size_t pages) {
  return (pages * layouts::mtt::bytes + page_list_alignment - 1) / page_list_alignment *
         page_list_alignment;
}

/// Writes the page list of a registration. The caller owns the memory `to`. The device may read it
/// until the registration completes. Error: driver_error::bad_argument (too little memory, a list
/// that is not aligned to page_list_alignment, more than most_registered_pages pages, or a page
/// that is not aligned to the page size). In the last case, part of the list may already be
/// written.
inline status write_page_list(const dma_region& to, const page_list& pages) {
  const std::size_t count = pages.pages();
  const std::uint64_t within = (std::uint64_t{1} << pages.log2_page_bytes()) - 1;
  if (count > most_registered_pages || to.host == nullptr ||
      to.device_address % page_list_alignment != 0 || to.bytes < page_list_bytes(count))
    return driver_error::bad_argument;
  for (std::size_t i = 0; i < count; ++i) {
    if ((pages.page(i) & within) != 0) return driver_error::bad_argument;
    layouts::image<layouts::mtt> entry;
    entry.set<&layouts::mtt::ptag>(pages.page(i)).set<&layouts::mtt::present>(true);
    dma::store_be64(to.host + i * layouts::mtt::bytes,
                    layouts::load_be<std::uint64_t>(entry.data()));
  }
  cache::clean(to.host, count * layouts::mtt::bytes);
  return {};
}

/// A registration. The device takes the offset of the first byte in the first page from `start`. It
/// computes the number of pages from `start` and `length`.
struct registration {
  std::uint32_t key = 0;        ///< the region's index, with a low byte that is not in use
  std::uint64_t page_list = 0;  ///< device address of the list that write_page_list() wrote
  std::uint64_t start = 0;      ///< address of the first byte for data entries and for the peer
  std::uint64_t length = 0;     ///< bytes
  unsigned log2_page_bytes = 12;
  registration_rights rights = registration_rights::none;
};
/// The end of a registration. The region is free until the next registration.
struct invalidation {
  std::uint32_t key = 0;
};

/// The two types of memory windows (IBTA vol. 1, 10.6.7.2). A window of type 1 is bound again
/// whether it is bound or not, and a binding of no bytes unbinds it. A window of type 2 is bound
/// only while it is free, only the peer of the queue pair that has bound it can use it (2B), and an
/// invalidation frees it.
enum class window_type : std::uint8_t { one, two };

/// Access rights of a bound window. Writes and atomics need a region with local writes. The values
/// are bits of the segment's first 64-bit word, in host order.
enum class window_rights : std::uint64_t {
  none = 0,
  remote_read = layouts::in_word<&layouts::wqe_bind::remote_read>(1),
  remote_write = layouts::in_word<&layouts::wqe_bind::remote_write>(1),
  remote_atomic = layouts::in_word<&layouts::wqe_bind::atomic>(1),
};
constexpr window_rights operator|(window_rights a, window_rights b) {
  return static_cast<window_rights>(static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b));
}

/// A memory window, and the part of a region to which it is bound. Window, region and queue pair
/// have the same protection domain. The region permits it (memory_access::bind_windows). The peer
/// uses the addresses of the region. There are no zero-based windows, because the cards do not
/// report them.
struct window_binding {
  std::uint32_t key = 0;      ///< memory_window::next_key(): the R_Key after the binding
  std::uint32_t region = 0;   ///< the L_Key of the region
  std::uint64_t address = 0;  ///< of the first byte, as the region has it
  std::uint64_t length = 0;   ///< bytes; 0 unbinds a window of type 1
  window_rights rights = window_rights::none;
  window_type type = window_type::one;
};

/// True if the registration keeps the rules that hold for every region. The device itself checks
/// that the region has room for the pages.
inline bool is_sound(const registration& r) {
  using rights = registration_rights;
  return r.page_list % page_list_alignment == 0 && r.length != 0 &&
         r.start + (r.length - 1) >= r.start && r.log2_page_bytes >= 12 &&
         r.log2_page_bytes <= layouts::wqe_fast_register{}.log_page_size.mask() &&
         (has_any(r.rights, rights::local_write) ||
          !has_any(r.rights, rights::remote_write | rights::remote_atomic));
}
inline bool is_sound(const invalidation&) {
  return true;
}
/// The device itself checks the keys, and that the range lies in the region.
inline bool is_sound(const window_binding& b) {
  return b.length != 0 ? b.address + (b.length - 1) >= b.address : b.type == window_type::one;
}

/// Stores the segment as Linux does (6.1 hw/mlx4/qp.c set_reg_seg, set_local_inv_seg). Returns its
/// number of bytes. It ends within the first basic block, which has no stamp.
inline std::uint32_t store_memory(std::byte* to, const registration& r) {
  using l = layouts::wqe_fast_register;
  static_assert(layouts::wqe_ctrl::bytes + l::bytes <= layouts::wqe_basic_block);
  dma::store_be64(to, static_cast<std::uint64_t>(r.rights) | layouts::in_word<&l::local_read>(1) |
                          layouts::in_word<&l::mem_key>(r.key));
  dma::store_be64(to + l{}.page_list.offset, r.page_list);
  dma::store_be64(to + l{}.start_address.offset, r.start);
  dma::store_be64(to + l{}.length.offset, r.length);
  dma::store_be64(to + l{}.first_byte_offset.offset,
                  layouts::in_word<&l::log_page_size>(r.log2_page_bytes));
  dma::store_be64(to + l{}.first_byte_offset.offset + 8, 0);
  return l::bytes;
}
inline std::uint32_t store_memory(std::byte* to, const invalidation& i) {
  using l = layouts::wqe_local_invalidate;
  dma::clear(to, l::bytes);
  dma::store_be64(to + l{}.mem_key.offset, layouts::in_word<&l::mem_key>(i.key));
  return l::bytes;
}
/// rdma-core providers/mlx4/qp.c set_bind_seg.
inline std::uint32_t store_memory(std::byte* to, const window_binding& b) {
  using l = layouts::wqe_bind;
  static_assert(layouts::wqe_ctrl::bytes + l::bytes <= layouts::wqe_basic_block);
  dma::store_be64(to, static_cast<std::uint64_t>(b.rights) |
                          layouts::in_word<&l::type_2>(b.type == window_type::two));
  dma::store_be64(to + l{}.new_rkey.offset,
                  layouts::in_word<&l::new_rkey>(b.key) | layouts::in_word<&l::lkey>(b.region));
  dma::store_be64(to + l{}.address.offset, b.address);
  dma::store_be64(to + l{}.length.offset, b.length);
  return l::bytes;
}

/// Registers pages with a free region (fast_memory_region). The device may access the pages until
/// the registration ends. If the device refuses the registration, the request completes with
/// completion_status::window_bind.
struct fast_register {
  static constexpr auto opcode = layouts::wqe_opcode::fast_register;
  static constexpr auto completes_as = work_opcode::fast_register;
  std::uint64_t wr_id = 0;
  registration memory{};
  request_flags flags = request_flags::signaled;
};

/// Binds a memory window (memory_window) to a part of a region. If the device refuses the binding,
/// the request completes with completion_status::window_bind.
struct bind_window {
  static constexpr auto opcode = layouts::wqe_opcode::bind_mw;
  static constexpr auto completes_as = work_opcode::bind_window;
  std::uint64_t wr_id = 0;
  window_binding memory{};
  request_flags flags = request_flags::signaled;
};

/// Ends the registration of a key, or the binding of a window of type 2. After the completion, no
/// access by this key reaches the pages.
struct local_invalidate {
  static constexpr auto opcode = layouts::wqe_opcode::local_invalidate;
  static constexpr auto completes_as = work_opcode::local_invalidate;
  std::uint64_t wr_id = 0;
  invalidation memory{};
  request_flags flags = request_flags::signaled;
};

}  // namespace freehca::queues
