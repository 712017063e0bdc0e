// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A started adapter whose port 1 is Ethernet, with a cable; port 2 is InfiniBand. The test stands
// above the ports, in place of the transport.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <freehca/layouts/ethernet_filters.hpp>
#include <freehca/layouts/ethernet_statistics.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_port.hpp>

#include "basis/adapter.hpp"
#include "link/packet_receiver.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/ports.hpp"
#include "ports_fixture.hpp"

namespace freehca::model::test {

/// Keeps what ports hand up.
struct frame_taker final : packet_receiver {
  void receive(unsigned, const packet&) override { ++packets; }
  void receive_frame(unsigned port, const frame& f) override {
    EXPECT_EQ(port, 1u);
    frames.push_back(f.bytes);
  }
  bool bound_to_link(unsigned) const override { return false; }
  void link_replaced(unsigned) override {}
  void port_has_room(unsigned) override { ++told_of_room; }
  std::uint32_t special_qp(unsigned, unsigned) const override { return 0; }

  std::vector<std::vector<std::byte>> frames;
  unsigned packets = 0, told_of_room = 0;
};

class ethernet_fixture : public ports_fixture {
 protected:
  using bytes = std::vector<std::byte>;
  static constexpr std::uint64_t group = 0x0100'5e00'0001, broadcast = 0xffff'ffff'ffff;

  ethernet_fixture() { start_ethernet(ethernet_options()); }
  ~ethernet_fixture() override { hca->inside().above_ports = transport_; }

  static options ethernet_options() {
    options how = test_options();
    how.link[0] = link_layer::ethernet;
    how.cable[0] = true;
    return how;
  }
  void start_ethernet(const options& how) {
    start(how);
    transport_ = std::exchange(hca->inside().above_ports, &above);
    host->on_wire = [this](unsigned, bytes& b) { sent.push_back(b); };
  }

  ethernet_port& port() { return *hca->inside_now().links->ethernet(1); }
  void open() {
    ASSERT_EQ(init_port(), status::ok);
    host->advance(second);
    ASSERT_TRUE(port().link_up());
  }

  /// A frame of `size` bytes to that MAC; with a tag of 16 bits unless it is negative.
  static frame frame_to(std::uint64_t mac, std::size_t size = 100, int tag = -1) {
    frame f{bytes(size, std::byte{0x5a})};
    std::byte address[8];
    layouts::store_be<std::uint64_t>(address, mac << 16);
    std::memcpy(f.bytes.data(), address, 6);
    std::memset(f.bytes.data() + 6, 2, 6);
    if (tag >= 0) {
      layouts::store_be<std::uint16_t>(&f.bytes[12], layouts::ethertype::vlan);
      layouts::store_be<std::uint16_t>(&f.bytes[14], static_cast<std::uint16_t>(tag));
    }
    layouts::store_be<std::uint16_t>(&f.bytes[tag >= 0 ? 16 : 12], layouts::ethertype::arp);
    return f;
  }
  void comes(const frame& f) {
    hca->link_receive(1, f.bytes.data(), f.bytes.size());
    host->run();
  }
  /// Does such a frame pass the port?
  bool passes(const frame& f) {
    const std::size_t before = above.frames.size();
    comes(f);
    return above.frames.size() == before + 1;
  }

  template <class T>
  status set_port(layouts::set_port_selector selector, const layouts::image<T>& in,
                  unsigned number = 1) {
    return driver
        ->command_with(layouts::opcode::set_port, in,
                       layouts::set_port_input_modifier(selector, number), 1)
        .status;
  }
  /// The same with a table: `entries` at their places, all others zero.
  template <class T>
  status set_table(layouts::set_port_selector selector,
                   const std::vector<std::pair<unsigned, layouts::image<T>>>& entries) {
    std::memset(host->at(driver->input), 0, 4096);
    for (const auto& [index, e] : entries) host->store(driver->input + index * T::bytes, e);
    return driver
        ->command(layouts::opcode::set_port, driver->input,
                  layouts::set_port_input_modifier(selector, 1), 1)
        .status;
  }
  layouts::image<layouts::query_port> asked() {
    layouts::image<layouts::query_port> q;
    EXPECT_EQ(driver->query(layouts::opcode::query_port, q, 1).status, status::ok);
    return q;
  }
  layouts::image<layouts::ethernet_statistics> statistics(bool reset = false) {
    layouts::image<layouts::ethernet_statistics> s;
    EXPECT_EQ(driver->query(layouts::opcode::dump_eth_stats, s, reset ? 0x101 : 1).status,
              status::ok);
    return s;
  }
  static std::uint64_t of(const layouts::image<layouts::ethernet_statistics>& s,
                          const layouts::statistics_group& g, unsigned traffic_class) {
    return layouts::load_be<std::uint64_t>(s.data() + g.of(traffic_class));
  }
  /// Subtypes of the port change events of port 1 since the last call.
  std::vector<layouts::port_change_subtype> changes() {
    std::vector<layouts::port_change_subtype> all;
    for (const auto& e : events()) {
      if (e.get<&layouts::eqe::event_type>() != layouts::event_type::port_change) continue;
      const auto c = as_table<layouts::eqe_port_change>(e);
      EXPECT_EQ(c.get<&layouts::eqe_port_change::port>(), 1u);
      all.push_back(
          static_cast<layouts::port_change_subtype>(e.get<&layouts::eqe::event_sub_type>()));
    }
    return all;
  }

  frame_taker above;
  std::vector<bytes> sent;  ///< by the cable

 private:
  packet_receiver* transport_ = nullptr;
};

}  // namespace freehca::model::test
