// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/headers.hpp>

#include "link/ingress.hpp"
#include "link/outgoing_packet.hpp"
#include "link/packet.hpp"
#include "link/path.hpp"
#include "link/prepared_send.hpp"
#include "link/transport_packet.hpp"

namespace freehca::model {

/// Wraps packets of the transport for one kind of link, unwraps those that came by it, and answers
/// for their addresses: who calls it knows no header in front of the BTH but the GRH.
class link_codec {
 public:
  virtual ~link_codec() = default;

  /// Lays out a packet that leaves by `way`: `transport` gets its pad count here. The payload is
  /// to be written whole. Nothing: the port has no such address as `way` names for its near end,
  /// and the rule book was told which.
  virtual std::optional<outgoing_packet> wrap(const path& way,
                                              layouts::image<layouts::bth> transport,
                                              std::size_t extended_bytes,
                                              std::size_t payload_bytes) const = 0;

  /// A packet that came by `port`. Nothing when lengths contradict each other or it is no packet of
  /// the transport.
  virtual std::optional<transport_packet> unwrap(unsigned port, const packet& p) const = 0;
  /// Which field says that; for a packet that unwrap() does not take.
  virtual std::string why_not(const packet& p) const = 0;

  /// Was the packet sent by the port that it came by?
  virtual bool from_own_port(const ingress& from) const = 0;
  /// Did it come from the far end of `way`, by what routers look at, and by what only this link
  /// knows? If not, the rule book is told the reason.
  virtual bool by_global_route(const ingress& from, const path& way) const = 0;
  virtual bool by_local_route(const ingress& from, const path& way) const = 0;
  /// Who sent it, in words: "LID 0x1".
  virtual std::string sender(const ingress& from) const = 0;
  /// Tells in a receive completion where it came from. `datagram`: the receiver may want to make an
  /// address handle of it.
  virtual void put_addresses(const ingress& from, bool datagram,
                             layouts::image<layouts::cqe>& e) const = 0;

  /// The most bytes that a prepared send can have.
  virtual std::size_t prepared_bytes_max() const = 0;
  /// Judges what software has gathered in `out.p`, and makes it a packet of this link: all that
  /// hardware adds is added, and the word in place of the ICRC taken away.
  virtual prepared_verdict finish(const prepared_send& by, outgoing_packet& out) const = 0;
};

}  // namespace freehca::model
