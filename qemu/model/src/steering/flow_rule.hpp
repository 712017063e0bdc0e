// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <freehca/layouts/flow_rule.hpp>

#include "basis/port_layers.hpp"
#include "link/transport_packet.hpp"
#include "steering/frame_conditions.hpp"

namespace freehca::model {

/// What rules look at in a datagram.
struct flow {
  std::uint32_t qpn = 0;            ///< destination
  const std::byte* dgid = nullptr;  ///< 16 bytes; null: the packet has no GRH
  bool ipv4 = false;                ///< IP over InfiniBand; else what follows is not known
  std::uint32_t source = 0, destination = 0;
  std::optional<std::uint8_t> protocol;  ///< when the ports are there too: not in later fragments
  std::uint16_t source_port = 0, destination_port = 0;

  /// `came`: a datagram; its `rest` begins behind the BTH. It must outlive what is returned.
  static flow of(const transport_packet& came);
};

/// A rule of device-managed steering, decoded. It is for datagrams (an InfiniBand port's, or of
/// RoCE's multicast) or for the frames of an Ethernet port.
class flow_rule {
 public:
  static flow_rule read(const std::byte* from, std::size_t bytes, const port_layers& layers);

  bool takes(const flow& f) const;
  bool takes(const frame_view& v) const;
  /// Does it tell datagrams of IP over InfiniBand apart?
  bool looks_at_ip() const { return ipv4_.has_value(); }
  bool for_frames() const { return frames_.has_value(); }
  /// Do both take the same frames?
  bool matches_as(const flow_rule& other) const { return frames_ == other.frames_; }
  /// The one MAC whose frames it takes, where there is one.
  std::optional<std::uint64_t> mac() const {
    return frames_ ? frames_->destination() : std::nullopt;
  }

  layouts::image<layouts::flow_rule_control> control;
  /// What is malformed, or asked for and not what the port steers by; null: nothing. Such a rule
  /// takes nothing.
  const char* malformed = nullptr;

  /// The one value that a packet or a frame must have for this rule, where there is one: by it the
  /// rule is found. Those of frames have their port in it.
  struct key {
    enum class kind : std::uint8_t {
      none,
      dgid,
      qpn,
      mac,
      connection,  ///< and MAC
      any_frame,
      all_default,
      multicast_default,
      unicast_sniffer,
      multicast_sniffer,
    };
    kind what = kind::none;
    std::array<std::byte, 32> value{};
    // clang-tidy 14 sees a pointer compared with 0. NOLINTNEXTLINE(modernize-use-nullptr)
    auto operator<=>(const key&) const = default;

    static key of_dgid(const std::byte* dgid);
    static key of_qpn(std::uint32_t qpn);
    static key of_mac(unsigned port, std::uint64_t mac);
    static key of(unsigned port, std::uint64_t mac, const frame_conditions::connection& c);
    static key of_port(kind what, unsigned port);
  };
  key found_by() const;

  template <class Archive>
  void transfer_state(Archive& archive) {
    bool is_malformed = malformed != nullptr;
    transfer(archive, is_malformed);
    // Only the command that attaches the rule tells what is malformed.
    if constexpr (Archive::loads) malformed = is_malformed ? "a rule of a saved state" : nullptr;
    transfer(archive, control);
    transfer(archive, infiniband_);
    transfer(archive, ipv4_);
    transfer(archive, ports_);
    transfer(archive, frames_);
  }

 private:
  const char* read_datagram_headers(rule_headers from);
  key frame_found_by() const;

  layouts::image<layouts::flow_header_infiniband> infiniband_;
  std::optional<layouts::image<layouts::flow_header_ipv4>> ipv4_;
  std::optional<layouts::image<layouts::flow_header_ports>> ports_;
  std::optional<frame_conditions> frames_;
};

}  // namespace freehca::model
