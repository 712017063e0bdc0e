// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/set_port.hpp>

#include "basis/rule_book.hpp"
#include "hostile_guest.hpp"
#include "link/packet_buffers.hpp"
#include "link/roce_codec.hpp"
#include "roce_gids.hpp"

namespace freehca::fuzz {

using model::test::at_v1, model::test::at_v2_ipv4, model::test::at_v2_ipv6;
using model::test::gid_bytes, model::test::gid_of_end;

/// The tables of the far end, which no command of the guest changes.
class far_addresses final : public model::roce_addresses {
 public:
  static constexpr std::uint64_t mac = 0x525400000702;

  std::optional<model::roce_address> gid_at(unsigned port, unsigned index) const override;
  bool own_gid(unsigned port, const std::byte* gid, model::roce_version version) const override;
  bool speaks(unsigned, model::roce_version) const override { return true; }
  std::optional<std::uint64_t> mac_at(unsigned, unsigned) const override { return mac; }
  bool own_mac(unsigned, std::uint64_t other) const override { return other == mac; }
  std::optional<std::uint16_t> vlan_at(unsigned, unsigned) const override { return vlan; }
  std::optional<std::uint16_t> v2_udp_port(unsigned) const override {
    return layouts::roce_v2_udp_port;
  }

  static constexpr std::uint16_t vlan = 0x123;
};

/// The same guest where port 1 is Ethernet: raw Ethernet queue pairs with receive rings and RSS,
/// and RoCE of both versions. What comes by the cable are frames. The far end of RoCE is written by
/// the codec of the model, with addresses of its own; what hostile_guest makes of operations and
/// acknowledgements serves both kinds of link.
class hostile_station final : public hostile_guest {
 public:
  hostile_station(const model::options& how, model::test::steering multicast);

 private:
  static constexpr std::uint32_t first_ring = 0x180, spreader_number = 0x190;

  // bring-up
  void fill_tables();
  void make_rings();
  void make_roce();
  void steer();
  void expect_frame();
  layouts::image<layouts::qpc> frame_context(const test_qp& qp);
  layouts::image<layouts::qpc> roce_context(const test_qp& qp, std::uint32_t remote, unsigned index,
                                            std::uint64_t dmac, const gid_bytes& dgid);
  layouts::image<layouts::qpc> context_for(const test_qp& qp) override;
  std::optional<layouts::command_status> to_ready(const test_qp& qp,
                                                  const layouts::image<layouts::qpc>& c);

  void act() override;
  void revive();
  void replenish();
  void change_port_type();

  // hostile_frames.cpp
  void put_bytes(const test_qp& qp, std::size_t at, const std::byte* from, std::size_t bytes);
  void send_frame();
  void send_roce();
  void copy_to_blueflame();
  const model::link_codec& far_codec() const override { return far_codec_; }
  void seen(const std::vector<std::byte>& bytes) override;
  void arrives(model::packet p) override;
  using hostile_guest::arrives;
  model::outgoing_packet wrapped(const cabled_end& end, const layouts::image<layouts::bth>& base,
                                 std::size_t extended_bytes, std::size_t payload,
                                 std::uint8_t kind) override;
  void act_at_cable(unsigned kind) override;
  void frame_by_cable();
  void pause_by_cable();
  void expect_working_cable(model::test::test_driver& again) override;

  // hostile_settings.cpp
  void setting();
  /// SET_PORT's table of one kind, nearly right; the selector is given.
  void fill_settings(layouts::set_port_selector selector);
  std::uint32_t fill_rule();
  void change_group(bool promiscuous);

  const bool roce_, roce_v2_, spreads_;
  std::uint64_t own_mac_;
  test_qp rings_[4], spreader_;
  far_addresses far_;
  const model::options far_options_;
  model::adapter_clock far_clock_;
  model::rule_book far_rules_;
  model::packet_buffers far_buffers_;
  model::roce_codec far_codec_;
};

}  // namespace freehca::fuzz
