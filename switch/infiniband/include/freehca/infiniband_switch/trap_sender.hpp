// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include <freehca/layouts/notice.hpp>
#include <freehca/packets/mad_packet.hpp>

#include <freehca/infiniband_switch/port_link.hpp>

namespace freehca::infiniband_switch {

/// Sends notices to the subnet manager until it says that it has heard (IBTA vol. 1, 13.4.9,
/// 14.3.6).
class trap_sender {
 public:
  // As the model's adapters. no source: chosen
  static constexpr std::uint64_t repeat_after_ns = 1'000'000'000;
  static constexpr unsigned sent_at_most = 5, pending_at_most = 32;

  /// `send` puts a trap on its way.
  explicit trap_sender(std::function<void(const packets::mad_buffer&)> send)
      : send_(std::move(send)) {}

  template <class N>
  void raise(const layouts::image<N>& notice, std::uint64_t now) {
    static_assert(N::bytes == 64);
    raise_bytes(notice.data(), now);
  }
  void repressed(std::uint64_t transaction_id) { pending_.erase(transaction_id); }
  void run(std::uint64_t now);
  std::uint64_t deadline() const;

 private:
  struct pending {
    packets::mad_buffer mad{};
    unsigned sent = 0;
    std::uint64_t again_at = 0;
  };
  void raise_bytes(const std::byte* notice, std::uint64_t now);

  std::function<void(const packets::mad_buffer&)> send_;
  std::map<std::uint64_t, pending> pending_;
  std::uint64_t next_transaction_ = 1;
};

}  // namespace freehca::infiniband_switch
