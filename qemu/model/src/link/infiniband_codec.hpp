// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "basis/rule_book.hpp"
#include "link/link_codec.hpp"
#include "link/packet_buffers.hpp"
#include "link/port_addresses.hpp"

namespace freehca::model {

/// InfiniBand links: LRH, a GRH where the path is global, BTH.
class infiniband_codec final : public link_codec {
 public:
  infiniband_codec(rule_book& rules, const port_addresses& own, packet_buffers& buffers)
      : rules_(rules), own_(own), buffers_(buffers) {}

  std::optional<outgoing_packet> wrap(const path& way, layouts::image<layouts::bth> transport,
                                      std::size_t extended_bytes,
                                      std::size_t payload_bytes) const override;

  std::optional<transport_packet> unwrap(unsigned port, const packet& p) const override;
  std::string why_not(const packet& p) const override;

  bool from_own_port(const ingress& from) const override;
  bool by_global_route(const ingress& from, const path& way) const override;
  bool by_local_route(const ingress& from, const path& way) const override;
  std::string sender(const ingress& from) const override;
  void put_addresses(const ingress& from, bool datagram,
                     layouts::image<layouts::cqe>& e) const override;

  std::size_t prepared_bytes_max() const override;
  prepared_verdict finish(const prepared_send& by, outgoing_packet& out) const override;

 private:
  /// Does a prepared send contradict its LRH, and is that refused?
  bool breaks_rule(const prepared_send& by, const layouts::image<layouts::lrh>& local) const;

  rule_book& rules_;
  const port_addresses& own_;
  packet_buffers& buffers_;
};

}  // namespace freehca::model
