// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include "queue_pair.hpp"
#include "transport.hpp"
#include "wire.hpp"

namespace freehca::model {

/// Unreliable datagrams: UD queue pairs, and the special queue pairs, whose sends carry headers
/// that software made.
class datagrams {
 public:
  explicit datagrams(transport::parts& t) : t_(t) {}

  /// Where a packet of a request of any service goes; for headers that software made, by which
  /// port.
  path way_of(const queue_pair& qp, const send_request& r) const;
  /// Sends the one packet of a request.
  std::optional<failure> send(queue_pair& qp, const send_request& r);

  /// A datagram for `qp`, a UD or special queue pair. `v.rest` begins behind the BTH.
  void receive(queue_pair& qp, unsigned port, packet_view v);

 private:
  std::optional<failure> send_addressed(queue_pair& qp, const send_request& r);
  /// Does an MLX send contradict its headers, and is that refused?
  bool breaks_mlx_rule(const queue_pair& qp, const send_request& r,
                       const layouts::image<layouts::lrh>& headers);
  std::optional<failure> send_prepared(queue_pair& qp, const send_request& r);
  /// The bytes of an MLX send are no packet: dropped, or refused where the adapter is strict.
  std::optional<failure> is_no_packet(const queue_pair& qp, const send_request& r, const packet& p);
  /// The index of the P_Key that admits the packet; nothing when none does.
  std::optional<unsigned> admit(const queue_pair& qp, unsigned port, std::uint16_t pkey) const;
  void place(queue_pair& qp, const packet_view& v, const struct receive_report& report);
  transport::parts& t_;
};

/// A full and a limited member may talk, two limited ones may not (IBTA vol. 1, 10.9.3).
constexpr bool pkeys_match(std::uint16_t a, std::uint16_t b) {
  return (a & 0x7fff) == (b & 0x7fff) && (a & 0x7fff) != 0 && ((a | b) & 0x8000) != 0;
}

}  // namespace freehca::model
