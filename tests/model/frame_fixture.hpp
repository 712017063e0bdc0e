// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A started adapter whose port 1 is Ethernet and on a cable that the test holds, with raw Ethernet
// queue pairs as mlx4_en makes them.
#pragma once

#include <vector>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/set_port.hpp>

#include "transport_fixture.hpp"

namespace freehca::model::test {

using frame_bytes = std::vector<std::byte>;

/// Text of hexadecimal digits and spaces.
inline frame_bytes from_hex(std::string_view text) {
  frame_bytes all;
  int high = -1;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (high < 0) high = digit;
    else all.push_back(static_cast<std::byte>(high << 4 | digit)), high = -1;
  }
  return all;
}

inline frame_bytes operator+(frame_bytes a, const frame_bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class frame_fixture : public transport_fixture {
 protected:
  static constexpr std::uint64_t mac = 0x0002c9f0ca01, peer_mac = 0x525400000702;

  explicit frame_fixture(const options& how = ethernet_options(),
                         steering mode = steering::by_groups)
      : transport_fixture(how, nullptr, mode) {
    host->on_wire = [this](unsigned port, std::vector<std::byte>& bytes) {
      if (port == 1) sent.push_back(bytes);
    };
    EXPECT_EQ(driver->command(layouts::opcode::init_port, 0, 1).status, command_status::ok);
    host->advance(1'000'000'000);
    events(event_type::none);
  }

  static options ethernet_options() {
    options how = test_options();
    how.link[0] = link_layer::ethernet;
    how.cable[0] = true;
    how.without.add(capability::b0_steering);  // so the tests steer by A0's few numbers
    return how;
  }

  command_status set_port(layouts::set_port_selector selector) {
    return driver
        ->command(layouts::opcode::set_port, driver->input,
                  static_cast<std::uint32_t>(selector) << 8 | 1, 1)
        .status;
  }
  /// A0: unicast to `qpn | index`, all else to `other`.
  void steer_to(std::uint32_t qpn, std::uint32_t other, bool promiscuous = false) {
    using c = layouts::set_port_rqp_calc;
    std::memset(host->at(driver->input), 0, 4096);
    layouts::image<layouts::set_port_mac_entry> entry;
    entry.set<&layouts::set_port_mac_entry::valid>(true).set<&layouts::set_port_mac_entry::mac>(
        mac);
    host->store(driver->input, entry);
    ASSERT_EQ(set_port(layouts::set_port_selector::mac_table), command_status::ok);
    std::memset(host->at(driver->input), 0, 4096);
    layouts::image<c> calculation;
    calculation.set<&c::base_qpn>(qpn)
        .set<&c::n_mac>(7)
        .set<&c::vlan_miss>(1)
        .set<&c::promisc>(promiscuous)
        .set<&c::promisc_qpn>(other)
        .set<&c::mcast_mode>(layouts::mcast_mode::standard)
        .set<&c::mcast_qpn>(other);
    host->store(driver->input, calculation);
    ASSERT_EQ(set_port(layouts::set_port_selector::rqp_calc), command_status::ok);
  }

  /// As en_resources.c mlx4_en_fill_qp_context has it, but with both queues.
  layouts::image<layouts::qpc> frame_context(const test_qp& qp) {
    layouts::image<layouts::qpc> c = first_context(qp);
    c.set<&layouts::qpc::pm_state>(layouts::path_migration::armed)
        .set<&layouts::primary_path::sched_queue>(layouts::sched_queue_ethernet(1, 0))
        .set<&layouts::primary_path::link_type>(layouts::path_link::ethernet)
        .set<&layouts::primary_path::counter_index>(0xff);
    store_mtu_of_raw(c);
    return c;
  }
  /// mtu 7 and msg_max 31: no limit but the port's.
  static void store_mtu_of_raw(layouts::image<layouts::qpc>& c) {
    c.set<&layouts::qpc::mtu>(static_cast<layouts::ib_mtu>(7)).set<&layouts::qpc::msg_max>(31);
  }
  /// From reset to RTS by one and the same context and no option, as mlx4_qp_to_ready does.
  void to_ready(std::uint32_t qpn, const layouts::image<layouts::qpc>& c) {
    for (const layouts::opcode o :
         {layouts::opcode::rst2init_qp, layouts::opcode::init2rtr_qp, layouts::opcode::rtr2rts_qp})
      ASSERT_EQ(modify(o, qpn, c), command_status::ok);
  }
  test_qp make_frame_qp(std::uint32_t number) {
    test_qp qp = make_qp(number, qp_service::mlx);
    to_ready(number, frame_context(qp));
    return qp;
  }

  /// A send of bytes that stand in the region from `at` on.
  struct frame_send {
    std::uint64_t at = region_start;
    std::uint32_t bytes = 0;
    layouts::image<layouts::wqe_ctrl_ethernet> control;
    std::uint32_t mss = 0;  ///< LSO, with `header`
    frame_bytes header;
  };
  void post_frame(test_qp& qp, const frame_send& s) {
    using c = layouts::wqe_ctrl_ethernet;
    const std::size_t begin = std::size_t{qp.sent % test_qp::entries} * test_qp::stride;
    std::size_t at = begin + c::bytes;
    if (s.mss != 0) {
      layouts::image<layouts::wqe_lso> head;
      head.set<&layouts::wqe_lso::mss>(s.mss).set<&layouts::wqe_lso::header_size>(s.header.size());
      put(qp, at, head);
      std::memcpy(driver->bytes_of(qp.ring, at + 4), s.header.data(), s.header.size());
      at = (at + 4 + s.header.size() + 15) / 16 * 16;
    }
    put(qp, at, data_segment(s.at, s.bytes, key));
    at += layouts::wqe_data::bytes;
    layouts::image<c> control = s.control;
    control.set<&c::opcode>(s.mss != 0 ? wqe_opcode::lso : wqe_opcode::send)
        .set<&c::ds>((at - begin) / layouts::wqe_unit)
        .set<&c::no_icrc>(true)
        .set<&c::cq_update>(layouts::wqe_completion::always)
        .set<&c::owner>((qp.sent & test_qp::entries) != 0);
    put(qp, begin, control);
    // A WQE counts the entries that it fills.
    qp.sent =
        static_cast<std::uint16_t>(qp.sent + (at - begin + test_qp::stride - 1) / test_qp::stride);
    ring(qp);
    host->run();
  }
  void write(std::uint64_t at, const frame_bytes& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) byte_at(at + i) = bytes[i];
  }
  frame_bytes read(std::uint64_t at, std::size_t bytes) {
    frame_bytes all(bytes);
    for (std::size_t i = 0; i < bytes; ++i) all[i] = byte_at(at + i);
    return all;
  }
  void send_frame(test_qp& qp, const frame_bytes& bytes,
                  layouts::image<layouts::wqe_ctrl_ethernet> control = {}) {
    write(region_start, bytes);
    post_frame(qp, {.at = region_start,
                    .bytes = static_cast<std::uint32_t>(bytes.size()),
                    .control = control,
                    .mss = 0,
                    .header = {}});
  }
  void arrive(const frame_bytes& bytes) {
    hca->link_receive(1, bytes.data(), bytes.size());
    host->run();
  }

  /// Ethernet header, and `bytes` bytes in all.
  static frame_bytes plain(std::uint64_t to, std::uint64_t from, std::size_t bytes = 60,
                           std::uint16_t type = 0x88b5) {
    frame_bytes f(bytes);
    for (unsigned i = 0; i < 6; ++i) {
      f[i] = static_cast<std::byte>(to >> 8 * (5 - i) & 0xff);
      f[6 + i] = static_cast<std::byte>(from >> 8 * (5 - i) & 0xff);
    }
    layouts::store_be(f.data() + 12, type);
    for (std::size_t i = 14; i < bytes; ++i) f[i] = pattern(i, 3);
    return f;
  }

  ~frame_fixture() override {
    if (!HasFailure()) return;
    for (const remark& r : host->remarks) std::printf("%s\n", r.text.c_str());
  }

  std::vector<frame_bytes> sent;  ///< by port 1, to its cable
};

}  // namespace freehca::model::test
