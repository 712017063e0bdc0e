// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/wqe.hpp>
#include <freehca/model/capability.hpp>

namespace freehca::model {

/// The segment behind the control segment. A datagram service has its address there instead.
enum class wqe_operands : std::uint8_t {
  none,
  remote_address,
  atomic,         ///< a remote address, then the operands
  masked_atomic,  ///< the same with masks
  bind,
  fast_register,
  local_invalidate,
  large_send,
};

/// What a work request is to the adapter.
enum class send_effect : std::uint8_t {
  nothing,
  manages_memory,  ///< stays within the adapter, as `nothing` does
  send,
  write,
  read,
  atomic,
};

/// The operations of a message's packets, by their place in it.
struct packet_operations {
  layouts::bth_operation first, middle, last, only;
};

/// A send opcode, and what fetching and sending need to know of it.
struct send_opcode {
  layouts::wqe_opcode opcode;
  send_effect effect;
  wqe_operands operands;
  packet_operations packets;          ///< nothing of meaning where it stays within the adapter
  unsigned services;                  ///< bit n: service n has it
  std::optional<capability> offered;  ///< by which capability; none: by every adapter
  bool immediate = false;             ///< the last packet carries immediate data
  bool invalidates = false;           ///< the last packet carries an R_Key to invalidate
  bool masked = false;                ///< on the wire it has opcodes of the manufacturer's own

  constexpr bool served_by(layouts::qp_service s) const {
    return (services >> static_cast<unsigned>(s) & 1) != 0;
  }
  constexpr bool is_local() const {
    return effect == send_effect::nothing || effect == send_effect::manages_memory;
  }
};

namespace send_opcode_parts {

template <class... Services>
constexpr unsigned services(Services... of) {
  return ((1u << static_cast<unsigned>(of)) | ...);
}
using s = layouts::qp_service;
using o = layouts::bth_operation;
inline constexpr unsigned reliable = services(s::rc, s::xrc);
inline constexpr unsigned connected = reliable | services(s::uc);
inline constexpr unsigned messages = connected | services(s::ud);
inline constexpr unsigned all =
    messages | services(s::rd, s::fcmnd, s::fexch, s::mlx, s::raw_ethernet);

constexpr packet_operations one(o only) {
  return {only, only, only, only};
}
constexpr send_opcode masked(send_opcode row) {
  row.masked = true;
  return row;
}
inline constexpr packet_operations none = one(o::send_only);
inline constexpr packet_operations send{o::send_first, o::send_middle, o::send_last, o::send_only};
inline constexpr packet_operations send_imm{o::send_first, o::send_middle, o::send_last_imm,
                                            o::send_only_imm};
inline constexpr packet_operations send_inval{o::send_first, o::send_middle,
                                              o::send_last_invalidate, o::send_only_invalidate};
inline constexpr packet_operations write{o::rdma_write_first, o::rdma_write_middle,
                                         o::rdma_write_last, o::rdma_write_only};
inline constexpr packet_operations write_imm{o::rdma_write_first, o::rdma_write_middle,
                                             o::rdma_write_last_imm, o::rdma_write_only_imm};

using w = layouts::wqe_opcode;
using e = send_effect;
using p = wqe_operands;
inline constexpr capability windows = capability::memory_windows;
inline constexpr capability management = capability::memory_management;

/// Services: IBTA vol. 1, 9.2; the opcodes of memory management: 10.6 and 10.7. LSO is for
/// raw Ethernet and for datagrams of IP over InfiniBand (Linux hw/mlx4/qp.c _mlx4_ib_post_send).
inline constexpr std::array table{
    send_opcode{w::nop, e::nothing, p::none, none, all, {}},
    send_opcode{w::send, e::send, p::none, send, all, {}},
    send_opcode{w::lso, e::send, p::large_send, send, services(s::mlx, s::ud),
                capability::large_send},
    send_opcode{w::send_imm, e::send, p::none, send_imm, all & ~services(s::mlx), {}, true},
    send_opcode{w::send_inval, e::send, p::none, send_inval, reliable, management, false, true},
    send_opcode{w::rdma_write, e::write, p::remote_address, write, connected, {}},
    send_opcode{w::rdma_write_imm, e::write, p::remote_address, write_imm, connected, {}, true},
    send_opcode{w::rdma_read, e::read, p::remote_address, one(o::rdma_read_request), reliable, {}},
    send_opcode{w::atomic_cs, e::atomic, p::atomic, one(o::compare_swap), reliable, {}},
    send_opcode{w::atomic_fa, e::atomic, p::atomic, one(o::fetch_add), reliable, {}},
    masked({w::masked_atomic_cs, e::atomic, p::masked_atomic, one(o::compare_swap), reliable, {}}),
    masked({w::masked_atomic_fa, e::atomic, p::atomic, one(o::fetch_add), reliable, {}}),
    send_opcode{w::bind_mw, e::manages_memory, p::bind, none, connected, windows},
    send_opcode{w::fast_register, e::manages_memory, p::fast_register, none, connected, management},
    send_opcode{w::local_invalidate, e::manages_memory, p::local_invalidate, none, connected,
                management},
};

}  // namespace send_opcode_parts

/// The row of an opcode; null: no adapter has it.
constexpr const send_opcode* send_opcode_of(layouts::wqe_opcode o) {
  for (const send_opcode& row : send_opcode_parts::table)
    if (row.opcode == o) return &row;
  return nullptr;
}

}  // namespace freehca::model
