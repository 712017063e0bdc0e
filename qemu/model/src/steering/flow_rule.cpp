// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "steering/flow_rule.hpp"

#include <algorithm>

#include <freehca/layouts/ethernet.hpp>

#include "queues/qpn.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

bool is_exact(const std::byte* mask) {
  return std::all_of(mask, mask + 16, [](std::byte b) { return b == std::byte{0xff}; });
}

bool is_empty(const std::byte* mask) {
  return std::all_of(mask, mask + 16, [](std::byte b) { return b == std::byte{0}; });
}

/// Is a field as wanted, in the bits of the mask?
constexpr bool fits(std::uint64_t field, std::uint64_t wanted, std::uint64_t mask) {
  return ((field ^ wanted) & mask) == 0;
}

/// Takes header T off the front; nothing when it is not whole, or says another size of itself.
template <class T>
std::optional<image<T>> take_header(const std::byte*& at, std::size_t& left) {
  if (left < T::bytes) return std::nullopt;
  const auto h = image<T>::from_bytes(at);
  if (h.template get<&T::words>() * 4 != T::bytes || !h.reserved_clear()) return std::nullopt;
  at += T::bytes;
  left -= T::bytes;
  return h;
}

}  // namespace

flow flow::of(const transport_packet& came) {
  flow f;
  transport_packet v = came;
  f.qpn = v.destination();
  if (v.ingress.global()) f.dgid = came.ingress.dgid();
  if (!v.take<deth>()) return f;
  const auto encapsulation = v.take<ipoib_header>();
  if (!encapsulation || encapsulation->get<&ipoib_header::type>() != ethertype::ipv4) return f;
  const auto ip = v.take<ipv4_header>();
  constexpr unsigned least_words = ipv4_header::bytes / 4;
  if (!ip || ip->get<&ipv4_header::version>() != 4 ||
      ip->get<&ipv4_header::header_words>() < least_words)
    return f;
  f.ipv4 = true;
  f.source = static_cast<std::uint32_t>(ip->get<&ipv4_header::source>());
  f.destination = static_cast<std::uint32_t>(ip->get<&ipv4_header::destination>());
  const std::size_t ip_options = ip->get<&ipv4_header::header_words>() * 4 - ipv4_header::bytes;
  // TCP's ports stand where UDP's do.
  if (ip->get<&ipv4_header::fragment_offset>() != 0 ||
      v.rest_bytes < ip_options + udp_header::bytes)
    return f;
  const auto ports = image<udp_header>::from_bytes(v.rest + ip_options);
  f.protocol = static_cast<std::uint8_t>(ip->get<&ipv4_header::protocol>());
  f.source_port = static_cast<std::uint16_t>(ports.get<&udp_header::source_port>());
  f.destination_port = static_cast<std::uint16_t>(ports.get<&udp_header::destination_port>());
  return f;
}

flow_rule flow_rule::read(const std::byte* from, std::size_t bytes) {
  flow_rule r;
  const auto wrong = [&r](const char* what) {
    r.malformed = what;
    return r;
  };
  if (bytes < flow_rule_control::bytes) return wrong("input modifier: words without a whole rule");
  r.control = image<flow_rule_control>::from_bytes(from);
  if (!r.control.reserved_clear()) return wrong("reserved bit of the control header");
  // Sniffers, mirrors and defaults belong to Ethernet ports. No source: chosen.
  if (r.control.get<&flow_rule_control::type>() != flow_rule_type::regular)
    return wrong("type, which is one of Ethernet ports");
  const std::byte* at = from + flow_rule_control::bytes;
  std::size_t left = bytes - flow_rule_control::bytes;

  // Outermost first: the link's header, IPv4, TCP or UDP. Linux begins every rule of an InfiniBand
  // port with the link's header (mlx4_ib main.c default_table). For a queue pair of IPoIB it puts
  // one with QP 0 before its own (same file, __mlx4_ib_create_default_rules), and the rule must do
  // all the same: the last one counts. Inferred.
  const auto link_follows = [&] {
    return left >= flow_header::bytes &&
           image<flow_header>::from_bytes(at).get<&flow_header::id>() == flow_header_id::infiniband;
  };
  if (!link_follows()) return wrong("id of the first header, which is not InfiniBand's");
  while (link_follows()) {
    const auto link = take_header<flow_header_infiniband>(at, left);
    if (!link) return wrong("words or a reserved bit of the header for InfiniBand");
    r.infiniband_ = *link;
  }
  if (left == 0) return r;
  r.ipv4_ = take_header<flow_header_ipv4>(at, left);
  if (!r.ipv4_ || r.ipv4_->get<&flow_header_ipv4::id>() != flow_header_id::ipv4)
    return wrong("id, words or a reserved bit of the header for IPv4");
  if (left == 0) return r;
  r.ports_ = take_header<flow_header_ports>(at, left);
  if (!r.ports_) return wrong("words or a reserved bit of the header for TCP or UDP");
  if (left != 0) return wrong("words behind the last header");
  const flow_header_id id = r.ports_->get<&flow_header_ports::id>();
  if (id != flow_header_id::tcp && id != flow_header_id::udp)
    return wrong("id of the last header, which is not TCP's or UDP's");
  return r;
}

bool flow_rule::takes(const flow& f) const {
  using ib = flow_header_infiniband;
  using ip = flow_header_ipv4;
  using l4 = flow_header_ports;
  if (malformed != nullptr) return false;
  if (!fits(f.qpn, infiniband_.get<&ib::qpn>(), infiniband_.get<&ib::qpn_mask>())) return false;
  const std::byte* mask = infiniband_.bytes_of<&ib::dgid_mask>();
  if (!is_empty(mask)) {
    if (f.dgid == nullptr) return false;
    const std::byte* wanted = infiniband_.bytes_of<&ib::dgid>();
    for (unsigned i = 0; i < 16; ++i)
      if (((f.dgid[i] ^ wanted[i]) & mask[i]) != std::byte{0}) return false;
  }
  if (ipv4_ &&
      (!f.ipv4 ||
       !fits(f.destination, ipv4_->get<&ip::destination>(), ipv4_->get<&ip::destination_mask>()) ||
       !fits(f.source, ipv4_->get<&ip::source>(), ipv4_->get<&ip::source_mask>())))
    return false;
  if (!ports_) return true;
  const bool tcp = ports_->get<&l4::id>() == flow_header_id::tcp;
  return f.protocol == (tcp ? ip_protocol_tcp : ip_protocol_udp) &&
         fits(f.destination_port, ports_->get<&l4::destination>(),
              ports_->get<&l4::destination_mask>()) &&
         fits(f.source_port, ports_->get<&l4::source>(), ports_->get<&l4::source_mask>());
}

flow_rule::key flow_rule::key::of_dgid(const std::byte* dgid) {
  key k{.what = kind::dgid};
  std::copy_n(dgid, k.value.size(), k.value.begin());
  return k;
}

flow_rule::key flow_rule::key::of_qpn(std::uint32_t qpn) {
  key k{.what = kind::qpn};
  store_be(k.value.data(), qpn);
  return k;
}

flow_rule::key flow_rule::found_by() const {
  using ib = flow_header_infiniband;
  if (is_exact(infiniband_.bytes_of<&ib::dgid_mask>()))
    return key::of_dgid(infiniband_.bytes_of<&ib::dgid>());
  if ((infiniband_.get<&ib::qpn_mask>() & qpn_mask) == qpn_mask)
    return key::of_qpn(static_cast<std::uint32_t>(infiniband_.get<&ib::qpn>()) & qpn_mask);
  return {};
}

}  // namespace freehca::model
