// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exchange.hpp"

/// A queue pair with its memory, in slots of equal size. Every failure of a verb ends the program
/// with a message.
class link_end {
 public:
  /// Room before a received datagram, for its GRH.
  static constexpr std::uint32_t grh_bytes = 40;

  /// A queue pair of port 1 with `slots` slots for up to `bytes_max` bytes, and as many work
  /// requests on either queue.
  link_end(const std::string& device, ibv_qp_type type, unsigned slots, std::uint32_t bytes_max);

  bool datagrams() const { return type_ == IBV_QPT_UD; }
  bool reliable() const { return type_ == IBV_QPT_RC; }

  endpoint address() const;
  void to_init();
  void to_rts(const endpoint& peer);

  std::byte* slot(std::uint64_t n) { return memory_.data() + n * slot_bytes_; }
  /// Posts slot `n` for a message.
  void receive_into(std::uint64_t n);
  /// Posts a request for message `n`, its first bytes in slot `n % slots`, to or from slot `n` of
  /// the peer; an atomic is for the peer's slot 0. The completion bears `n`.
  void request(ibv_wr_opcode operation, std::uint32_t n, std::size_t bytes);
  /// False: nothing completed for so long.
  bool next(ibv_wc& completion, std::chrono::milliseconds patience);

 private:
  ibv_qp_type type_;
  unsigned slots_;
  std::uint32_t slot_bytes_;
  std::vector<std::byte> memory_;
  ibv_context* device_ = nullptr;
  ibv_port_attr port_{};
  ibv_pd* domain_ = nullptr;
  ibv_cq* queue_ = nullptr;
  ibv_qp* pair_ = nullptr;
  ibv_mr* region_ = nullptr;
  ibv_ah* way_ = nullptr;
  endpoint peer_;
};
