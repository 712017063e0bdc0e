// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <freehca/model/link_faults.hpp>
#include <freehca/model/options.hpp>

#include "fabric/mad_packet.hpp"
#include "fabric/management_agent.hpp"
#include "link/packet.hpp"
#include "link/path.hpp"

namespace freehca::model {

/// Is what passes by that kind of link to be captured? A file holds packets of one kind.
inline bool captures(const options& how, unsigned port, link_layer kind) {
  return how.capture[port - 1] && how.link[port - 1] == kind;
}

/// One port, of whatever kind its link is: what commands, the transport and the world outside ask
/// of each. What only one kind has is asked of that kind (ports::infiniband(), ports::ethernet()).
class port {
 public:
  virtual ~port() = default;

  virtual link_layer layer() const = 0;
  virtual unsigned number() const = 0;

  /// INIT_PORT and CLOSE_PORT.
  virtual void open() = 0;
  virtual void close() = 0;
  virtual bool is_open() const = 0;
  /// Is there something at the far end of its link, as far as the port can sense?
  virtual bool has_peer() const = 0;
  virtual bool link_up() const = 0;
  /// Back to the state at power-on; the link goes down.
  virtual void clear() = 0;

  /// Pulls or plugs in its cable.
  virtual void plug(bool plugged) = 0;
  // As their namesakes in class device. Of no effect without a cable to another adapter.
  virtual void arrived(std::span<const std::byte> bytes) = 0;
  virtual void has_room() = 0;
  /// False: there is no cable to be bad.
  virtual bool set_faults(const link_faults& how) = 0;

  // As their namesakes in class ports.
  virtual void transmit(packet p) = 0;
  virtual void receive_from_link(packet p) = 0;
  virtual bool held_up(const path& way) const = 0;
  virtual void capture(const packet& p) = 0;
  virtual bool active() const = 0;
  virtual unsigned mtu_bytes() const = 0;
  virtual std::uint16_t base_lid() const = 0;
  virtual bool own_lid(std::uint16_t lid) const = 0;
  virtual std::uint16_t source_lid(unsigned path_bits) const = 0;
  virtual unsigned pkey_entries() const = 0;
  /// Of an index below pkey_entries().
  virtual std::uint16_t pkey(unsigned index) const = 0;
  virtual bool gid(unsigned index, std::byte* to) const = 0;
  virtual void count_pkey_violation() = 0;
  virtual void count_qkey_violation(std::uint32_t qkey, std::uint32_t source_qp) = 0;

  /// Runs a MAD through the firmware's agents as though it had come in by this port (MAD_IFC).
  virtual mad_result local_mad(mad_buffer& mad, bool check_mkey) = 0;
  /// SET_PORT or SET_NODE changed what a subnet manager is told of.
  virtual void local_change(bool node_description) = 0;
};

}  // namespace freehca::model
