// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Class steering alone, on an adapter with Ethernet ports, behind the commands that a driver gives.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/layouts/flow_rule.hpp>
#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/mcg.hpp>

#include "basis/adapter.hpp"
#include "steering/steering.hpp"
#include "test_driver.hpp"
#include "test_options.hpp"

namespace freehca::model::test {

inline constexpr auto ok = layouts::command_status::ok;

using namespace layouts;

using list = std::vector<std::uint32_t>;
inline constexpr std::uint64_t own_mac = 0x0002'c911'2233, other_mac = 0x0002'c944'5566,
                               group_mac = 0x0100'5e00'0001, broadcast = 0xffff'ffff'ffff;

/// A frame, and what frame_view::of would say of it.
struct test_frame {
  std::vector<std::byte> bytes = std::vector<std::byte>(128);
  frame_view view;

  explicit test_frame(std::uint64_t destination) {
    view.bytes = bytes;
    view.outer.destination = destination;
    view.outer.source = other_mac;
    view.outer.network = 14;
  }
  test_frame(const test_frame& other) : bytes(other.bytes), view(other.view) { view.bytes = bytes; }
  test_frame& operator=(const test_frame&) = delete;
  test_frame& of_type(std::uint16_t type) {
    view.outer.ether_type = type;
    return *this;
  }
  test_frame& tagged(unsigned vid) {
    view.outer.tag =
        image<vlan_tag>{}.set<&vlan_tag::tpid>(ethertype::vlan).set<&vlan_tag::vid>(vid);
    return *this;
  }
  test_frame& ip(std::uint32_t source, std::uint32_t destination) {
    put_ip(view.outer, source, destination);
    return *this;
  }
  test_frame& ports(port_protocol what, std::uint16_t source, std::uint16_t destination) {
    view.outer.ports = what;
    view.outer.source_port = source;
    view.outer.destination_port = destination;
    return *this;
  }
  test_frame& tunnel(std::uint32_t vni, std::uint64_t inner_mac) {
    view.vni = vni;
    view.inner.emplace().destination = inner_mac;
    view.inner->network = 80;
    put_ip(*view.inner, 3, 4);
    return *this;
  }

 private:
  void put_ip(frame_headers& h, std::uint32_t source, std::uint32_t destination) {
    using i = ipv4_header;
    const auto header = image<i>{}.set<&i::source>(source).set<&i::destination>(destination);
    std::copy_n(header.data(), i::bytes, bytes.begin() + static_cast<std::ptrdiff_t>(h.network));
    h.ip = network_protocol::ipv4;
  }
};

/// An adapter with two Ethernet ports. Its steering is one of the test's own, to which the commands
/// go.
class ethernet_steering : public ::testing::Test {
 protected:
  void start(steering mode, bool strict = true) {
    options how = test_options();
    how.strict = strict;
    how.link[0] = how.link[1] = link_layer::ethernet;
    hca = std::make_unique<device>(host, how);
    driver = std::make_unique<test_driver>(host, *hca);
    driver->multicast = mode;
    EXPECT_TRUE(driver->bring_up());
    whole().profile.unicast_entries = false;
    under_test = std::make_unique<model::steering>(whole());
  }
  void start_b0(bool strict = true) {
    start(steering::by_groups, strict);
    whole().profile.unicast_entries = true;
  }
  adapter& whole() { return hca->inside(); }

  /// Who gets it; `slices`: how many it took.
  template <class... What>
  member_list members(const What&... what) {
    model::steering::search s = under_test->begin(what...);
    member_list found;
    slices = 0;
    do {
      ++slices;
      whole().account.begin_call();
    } while (!under_test->go_on(s, what..., found));
    return found;
  }
  list takers(const test_frame& f, unsigned port = 1) {
    list who;
    for (const member& m : members(port, f.view)) who.push_back(m.qpn);
    return who;
  }
  list takers(std::uint64_t mac, unsigned port = 1) { return takers(test_frame(mac), port); }

  // B0
  using gid = image<mcg_ethernet_gid>;
  static gid gid_of(std::uint64_t mac, unsigned port = 1) {
    using g = mcg_ethernet_gid;
    return gid{}
        .set<&g::port>(port)
        .set<&g::steering>((mac >> 40 & 1) != 0 ? mcg_steering::multicast : mcg_steering::unicast)
        .set<&g::mac>(mac);
  }
  std::uint32_t place_of(const gid& g, unsigned modifier = 1) {
    return static_cast<std::uint32_t>(
        driver->command_with(opcode::mgid_hash, g, 0, modifier).output);
  }
  /// Into the mailbox; members do not block loopback, but the last.
  void put_entry(const std::byte* name, const list& who, std::uint32_t next = 0,
                 mcg_protocol protocol = mcg_protocol::ethernet) {
    using h = mcg_header;
    std::memset(host.at(driver->input), 0, mailbox_bytes);
    host.store(driver->input, image<h>{}
                                  .set<&h::next_gid_index>(next)
                                  .set<&h::protocol>(protocol)
                                  .set<&h::members_count>(who.size())
                                  .set_bytes<&h::gid>(name));
    for (std::size_t i = 0; i < who.size(); ++i)
      host.store(driver->input + h::bytes + i * mcg_member::bytes,
                 image<mcg_member>{}.set<&mcg_member::qpn>(who[i]).set<&mcg_member::block_loopback>(
                     i + 1 == who.size()));
  }
  command_status write_at(std::uint32_t index, const gid& g, const list& who,
                          std::uint32_t next = 0) {
    put_entry(g.data(), who, next);
    return driver->command(opcode::write_mcg, driver->input, index).status;
  }
  command_status write_entry(const gid& g, const list& who, std::uint32_t next = 0) {
    return write_at(place_of(g), g, who, next);
  }
  static std::uint32_t promiscuous_place(unsigned port, mcg_steering steering) {
    using p = mcg_promiscuous_modifier;
    return load_be<std::uint32_t>(
        image<p>{}.set<&p::port>(port).set<&p::steering>(steering).data());
  }
  command_status write_promiscuous(std::uint32_t place, const list& who,
                                   mcg_protocol protocol = mcg_protocol::ethernet) {
    put_entry(gid{}.data(), who, 0, protocol);
    return driver
        ->command(opcode::write_mcg, driver->input, place,
                  static_cast<unsigned>(write_mcg_modifier::promiscuous))
        .status;
  }

  // device managed
  using bytes = std::vector<std::byte>;
  struct rule_head {
    std::uint32_t to = 0;
    unsigned port = 1, priority = 0x5000;
    flow_rule_type type = flow_rule_type::regular;
    bool exclusive = false;
  };
  template <class T>
  static image<T> header(flow_header_id id) {
    return image<T>{}.template set<&T::words>(T::bytes / 4).template set<&T::id>(id);
  }
  static image<flow_header_ethernet> to_mac(std::uint64_t mac, std::uint64_t mask = broadcast) {
    using e = flow_header_ethernet;
    return header<e>(flow_header_id::ethernet).set<&e::dmac>(mac).set<&e::dmac_mask>(mask);
  }
  static image<flow_header_ipv4> of_ip(std::uint32_t source, std::uint32_t destination) {
    using i = flow_header_ipv4;
    return header<i>(flow_header_id::ipv4)
        .set<&i::source>(source)
        .set<&i::source_mask>(source != 0 ? 0xffffffff : 0)
        .set<&i::destination>(destination)
        .set<&i::destination_mask>(0xffffffff);
  }
  static image<flow_header_ports> of_ports(flow_header_id id, std::uint16_t source,
                                           std::uint16_t destination) {
    using p = flow_header_ports;
    return header<p>(id)
        .set<&p::source>(source)
        .set<&p::source_mask>(source != 0 ? 0xffff : 0)
        .set<&p::destination>(destination)
        .set<&p::destination_mask>(0xffff);
  }
  static image<flow_header_vxlan> of_vni(std::uint32_t vni, std::uint32_t mask = 0xffffff) {
    using x = flow_header_vxlan;
    return header<x>(flow_header_id::vxlan).set<&x::vni>(vni).set<&x::vni_mask>(mask);
  }
  template <class... T>
  static bytes rule_of(const rule_head& r, const image<T>&... headers) {
    using k = flow_rule_control;
    bytes text;
    const auto add = [&text](const std::byte* from, std::size_t n) {
      text.insert(text.end(), from, from + n);
    };
    const auto control = image<k>{}
                             .set<&k::priority>(r.priority)
                             .set<&k::type>(r.type)
                             .set<&k::exclusive>(r.exclusive)
                             .set<&k::allow_loopback>(true)
                             .set<&k::port>(r.port)
                             .set<&k::qpn>(r.to);
    add(control.data(), control.size());
    (add(headers.data(), headers.size()), ...);
    return text;
  }
  outcome attach_bytes(const bytes& text) {
    std::copy(text.begin(), text.end(), host.at(driver->input));
    return driver->command(opcode::qp_flow_steering_attach, driver->input,
                           static_cast<std::uint32_t>(text.size() / 4));
  }
  template <class... T>
  command_status attach(const rule_head& r, const image<T>&... headers) {
    const outcome o = attach_bytes(rule_of(r, headers...));
    last_rule = o.output;
    return o.status;
  }
  command_status detach(std::uint64_t rule) {
    return driver->command(opcode::qp_flow_steering_detach, rule).status;
  }

  test_host host;
  std::unique_ptr<device> hca;
  std::unique_ptr<test_driver> driver;
  std::unique_ptr<model::steering> under_test;
  unsigned slices = 0;
  std::uint64_t last_rule = 0;
};

}  // namespace freehca::model::test
