// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Device-managed flow steering on InfiniBand ports.
#include <algorithm>
#include <array>
#include <optional>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/flow_rule.hpp>

#include "transport_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

/// A rule as a driver makes it.
struct test_rule {
  std::uint32_t to = 0;
  unsigned port = 1, priority = 0x5000;
  bool allow_loopback = true, exclusive = false, lifo = false;
  std::optional<std::uint32_t> qpn = std::nullopt;
  std::optional<std::array<std::byte, 16>> mgid = std::nullopt;
  struct ip {
    std::uint32_t source = 0, destination = 0;
  };
  std::optional<ip> ipv4 = std::nullopt;
  std::optional<std::uint16_t> udp = std::nullopt, tcp = std::nullopt;  ///< destination port
};

class steered : public transport_fixture {
 protected:
  static constexpr std::uint64_t to = region_start + 0x10000;
  steered()
      : transport_fixture(test_options(), nullptr, steering::by_rules),
        a(make_qp(0x140, qp_service::ud)),
        b(make_qp(0x141, qp_service::ud)),
        c(make_qp(0x142, qp_service::ud)) {
    for (const test_qp* qp : {&a, &b, &c}) to_rts(*qp, 0);
    for (unsigned i = 0; i < 16; ++i) {
      post_receive(a, to, 400, key);
      post_receive(b, to + 0x1000, 400, key);
      post_receive(c, to + 0x2000, 400, key);
    }
  }

  static std::array<std::byte, 16> group(unsigned last) {
    std::array<std::byte, 16> mgid{std::byte{0xff}, std::byte{0x12}};
    mgid[15] = static_cast<std::byte>(last);
    return mgid;
  }

  static std::vector<std::byte> bytes_of(const test_rule& r) {
    std::vector<std::byte> text;
    const auto add = [&text]<class T>(const image<T>& part) {
      text.insert(text.end(), part.data(), part.data() + T::bytes);
    };
    using k = flow_rule_control;
    add(image<k>{}
            .set<&k::priority>(r.priority)
            .set<&k::allow_loopback>(r.allow_loopback)
            .set<&k::exclusive>(r.exclusive)
            .set<&k::lifo>(r.lifo)
            .set<&k::port>(r.port)
            .set<&k::qpn>(r.to));
    using l = flow_header_infiniband;
    image<l> link;
    link.set<&l::words>(l::bytes / 4).set<&l::id>(flow_header_id::infiniband);
    if (r.qpn) link.set<&l::qpn>(*r.qpn).set<&l::qpn_mask>(0xffffff);
    if (r.mgid) {
      std::array<std::byte, 16> mask;
      mask.fill(std::byte{0xff});
      link.set_bytes<&l::dgid>(r.mgid->data()).set_bytes<&l::dgid_mask>(mask.data());
    }
    add(link);
    using i = flow_header_ipv4;
    if (r.ipv4)
      add(image<i>{}
              .set<&i::words>(i::bytes / 4)
              .set<&i::id>(flow_header_id::ipv4)
              .set<&i::source>(r.ipv4->source)
              .set<&i::source_mask>(r.ipv4->source != 0 ? 0xffffffff : 0)
              .set<&i::destination>(r.ipv4->destination)
              .set<&i::destination_mask>(r.ipv4->destination != 0 ? 0xffffffff : 0));
    using p = flow_header_ports;
    if (r.udp || r.tcp)
      add(image<p>{}
              .set<&p::words>(p::bytes / 4)
              .set<&p::id>(r.tcp ? flow_header_id::tcp : flow_header_id::udp)
              .set<&p::destination>(r.tcp ? *r.tcp : *r.udp)
              .set<&p::destination_mask>(0xffff));
    return text;
  }
  outcome attach_bytes(const std::vector<std::byte>& text) {
    std::copy(text.begin(), text.end(), host->at(driver->input));
    return driver->command(opcode::qp_flow_steering_attach, driver->input,
                           static_cast<std::uint32_t>(text.size() / 4));
  }
  outcome attach(const test_rule& r) { return attach_bytes(bytes_of(r)); }
  command_status detach(std::uint64_t rule) {
    return driver->command(opcode::qp_flow_steering_detach, rule).status;
  }
  command_status steer_range(std::uint32_t first, std::uint32_t last) {
    const auto range =
        image<steered_qp_range>{}.set<&steered_qp_range::first>(first).set<&steered_qp_range::last>(
            last);
    return driver
        ->command(opcode::flow_steering_ib_uc_qp_range, load_be<std::uint64_t>(range.data()))
        .status;
  }

  /// Sends from `a`, to a group or to a queue pair.
  void send_datagram(std::uint32_t qpn, const std::array<std::byte, 16>* mgid = nullptr,
                     std::uint32_t bytes = 100) {
    test_send s;
    s.address = region_start;
    s.bytes = bytes;
    s.lkey = key;
    s.dqpn = qpn;
    s.qkey = qkey;
    s.global = mgid != nullptr;
    const std::size_t begin = std::size_t{a.sent % test_qp::entries} * test_qp::stride;
    post_send(a, s);
    if (mgid != nullptr) {
      auto segment = image<wqe_datagram>::from_bytes(driver->bytes_of(a.ring, begin + 16));
      segment.set<&wqe_datagram::rlid>(0xc001).set_bytes<&wqe_datagram::dgid>(mgid->data());
      put(a, begin + 16, segment);
    }
    ring(a);
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  }
  /// The queue pairs that have received since, in that order.
  std::vector<std::uint32_t> receivers() {
    host->run();
    std::vector<std::uint32_t> who;
    image<cqe> e;
    while (driver->next_completion(cq, e))
      who.push_back(static_cast<std::uint32_t>(e.get<&cqe::qpn>()));
    driver->tell_consumer(cq);
    return who;
  }
  /// Puts IP over InfiniBand where send_datagram takes its bytes.
  void write_ip(std::uint32_t source, std::uint32_t destination, std::uint8_t protocol,
                std::uint16_t port, unsigned fragment = 0, unsigned option_words = 0) {
    using i = ipv4_header;
    std::byte text[100]{};
    const auto head = image<ipoib_header>{}.set<&ipoib_header::type>(ethertype::ipv4);
    const auto ip = image<i>{}
                        .set<&i::version>(4)
                        .set<&i::header_words>(5 + option_words)
                        .set<&i::protocol>(protocol)
                        .set<&i::fragment_offset>(fragment)
                        .set<&i::source>(source)
                        .set<&i::destination>(destination);
    const auto ports = image<udp_header>{}.set<&udp_header::destination_port>(port);
    std::memcpy(text, head.data(), 4);
    std::memcpy(text + 4, ip.data(), i::bytes);
    std::memcpy(text + 4 + i::bytes + option_words * std::size_t{4}, ports.data(), 8);
    for (std::size_t at = 0; at < sizeof text; ++at) byte_at(region_start + at) = text[at];
  }

  test_qp a, b, c;
};

using list = std::vector<std::uint32_t>;

}  // namespace

TEST_F(steered, multicast_goes_to_every_rule_of_its_group) {
  const auto one = group(1), another = group(2);
  ASSERT_EQ(attach({.to = a.number, .mgid = one}).status, command_status::ok);
  ASSERT_EQ(attach({.to = b.number, .mgid = one}).status, command_status::ok);
  const outcome other = attach({.to = c.number, .mgid = another});
  ASSERT_EQ(other.status, command_status::ok);
  EXPECT_EQ(driver->counter_named("flow_rules"), 3u);
  send_datagram(multicast_qpn, &one);
  EXPECT_EQ(receivers(), (list{a.number, b.number}));
  send_datagram(multicast_qpn, &another);
  EXPECT_EQ(receivers(), (list{c.number}));
  ASSERT_EQ(detach(other.output), command_status::ok);
  send_datagram(multicast_qpn, &another);
  EXPECT_EQ(receivers(), list{});
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(steered, loopback_is_blocked_for_the_sender_alone) {
  const auto mgid = group(1);
  ASSERT_EQ(attach({.to = a.number, .allow_loopback = false, .mgid = mgid}).status,
            command_status::ok);
  ASSERT_EQ(attach({.to = b.number, .allow_loopback = false, .mgid = mgid}).status,
            command_status::ok);
  send_datagram(multicast_qpn, &mgid);
  EXPECT_EQ(receivers(), (list{b.number}));
}

TEST_F(steered, rules_stand_by_priority_and_in_the_order_in_which_they_were_made) {
  const auto mgid = group(1);
  ASSERT_EQ(attach({.to = a.number, .priority = 2, .mgid = mgid}).status, command_status::ok);
  ASSERT_EQ(attach({.to = b.number, .priority = 1, .mgid = mgid}).status, command_status::ok);
  ASSERT_EQ(attach({.to = c.number, .priority = 2, .lifo = true, .mgid = mgid}).status,
            command_status::ok);
  send_datagram(multicast_qpn, &mgid);
  EXPECT_EQ(receivers(), (list{b.number, c.number, a.number}));
  ASSERT_EQ(attach({.to = c.number, .priority = 1, .exclusive = true, .mgid = mgid}).status,
            command_status::ok);
  send_datagram(multicast_qpn, &mgid);
  EXPECT_EQ(receivers(), (list{b.number, c.number})) << "an exclusive rule is the last";
}

TEST_F(steered, unicast_of_a_steered_range_needs_a_rule) {
  send_datagram(b.number);
  EXPECT_EQ(receivers(), (list{b.number}));
  ASSERT_EQ(steer_range(b.number, c.number), command_status::ok);
  watch();
  send_datagram(b.number);
  came({{},
        {},
        {{"port1_packets_looped_back", 1},
         {"port1_packets_received", 1},
         {"port1_packets_sent", 1},
         {"transport_packets_dropped", 1},
         {"transport_packets_received", 1},
         {"transport_packets_sent", 1}},
        {},
        "no rule of flow steering takes QP 0x"},
       "dropped");
  const outcome own = attach({.to = b.number, .qpn = b.number});
  ASSERT_EQ(own.status, command_status::ok);
  send_datagram(b.number);
  EXPECT_EQ(receivers(), (list{b.number}));
  send_datagram(a.number);
  EXPECT_EQ(receivers(), (list{a.number})) << "outside of the range";
  // More exact rules go before.
  ASSERT_EQ(
      attach({.to = c.number, .priority = 1, .qpn = b.number, .ipv4 = {{.destination = 7}}}).status,
      command_status::ok);
  write_ip(1, 7, ip_protocol_udp, 9);
  send_datagram(b.number);
  EXPECT_EQ(receivers(), (list{c.number}));
  write_ip(1, 8, ip_protocol_udp, 9);
  send_datagram(b.number);
  EXPECT_EQ(receivers(), (list{b.number}));
}

TEST_F(steered, the_last_infiniband_header_counts) {
  ASSERT_EQ(steer_range(b.number, b.number), command_status::ok);
  auto rule = bytes_of({.to = b.number, .qpn = 0});
  const auto own = bytes_of({.to = b.number, .qpn = b.number});
  rule.insert(rule.end(), own.begin() + flow_rule_control::bytes, own.end());
  ASSERT_EQ(attach_bytes(rule).status, command_status::ok);
  send_datagram(b.number);
  EXPECT_EQ(receivers(), (list{b.number}));
  rule.resize(rule.size() - 4);
  EXPECT_EQ(attach_bytes(rule).status, command_status::bad_parameter);
}

TEST_F(steered, rules_tell_protocols_and_ports_apart) {
  ASSERT_EQ(steer_range(b.number, b.number), command_status::ok);
  const test_rule::ip any{};
  ASSERT_EQ(attach({.to = b.number, .qpn = b.number, .ipv4 = any, .udp = 80}).status,
            command_status::ok);
  ASSERT_EQ(attach({.to = c.number, .qpn = b.number, .ipv4 = any, .tcp = 80}).status,
            command_status::ok);
  const auto reached = [this](std::uint8_t protocol, std::uint16_t port, unsigned fragment = 0,
                              unsigned option_words = 0) {
    write_ip(1, 2, protocol, port, fragment, option_words);
    send_datagram(b.number);
    return receivers();
  };
  EXPECT_EQ(reached(ip_protocol_udp, 80), (list{b.number}));
  EXPECT_EQ(reached(ip_protocol_tcp, 80), (list{c.number}));
  EXPECT_EQ(reached(ip_protocol_udp, 81), list{});
  EXPECT_EQ(reached(ip_protocol_udp, 80, 1), list{}) << "a later fragment has no ports";
  EXPECT_EQ(reached(ip_protocol_udp, 80, 0, 2), (list{b.number})) << "behind options";
  write_ip(1, 2, ip_protocol_udp, 80);
  for (std::uint32_t bytes = 0; bytes < 4 + ipv4_header::bytes + udp_header::bytes; ++bytes) {
    send_datagram(b.number, nullptr, bytes);
    EXPECT_EQ(receivers(), list{}) << bytes << " bytes end before the ports do";
  }
}

TEST_F(steered, malformed_rules_are_refused) {
  using s = command_status;
  const auto mgid = group(1);
  const std::vector<std::byte> good = bytes_of({.to = a.number, .mgid = mgid});
  // {byte, value}: not a type of InfiniBand ports, reserved flag, no port, Ethernet's port,
  // function, size of the header, its id, reserved bytes.
  const struct {
    std::size_t at;
    unsigned value;
  } wrong[] = {{2, 1},    {2, 6},    {2, 0x55}, {3, 2},    {3, 0x10}, {7, 0},    {7, 3},    {5, 1},
               {0x10, 0}, {0x10, 4}, {0x12, 1}, {0x13, 2}, {0x11, 1}, {0x14, 1}, {0x0c, 1}, {8, 1}};
  for (const auto& w : wrong) {
    std::vector<std::byte> bad = good;
    bad[w.at] = static_cast<std::byte>(w.value);
    constexpr std::size_t port = 7;
    EXPECT_EQ(attach_bytes(bad).status, w.at == port ? s::bad_index : s::bad_parameter)
        << "byte " << w.at << " = " << w.value;
  }
  for (std::size_t words = 0; words < good.size() / 4; ++words)
    EXPECT_EQ(
        attach_bytes({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(words * 4)}).status,
        s::bad_parameter);
  EXPECT_EQ(driver->command(opcode::qp_flow_steering_attach, driver->input, 1025).status,
            s::bad_parameter);
  std::vector<std::byte> longer = good;
  longer.resize(good.size() + 4);
  EXPECT_EQ(attach_bytes(longer).status, s::bad_parameter);
  // Linux mcg.c parse_trans_rule: there is no such header.
  auto with_ipv6 = bytes_of({.to = a.number, .mgid = mgid, .ipv4 = test_rule::ip{}});
  const std::size_t id = flow_rule_control::bytes + flow_header_infiniband::bytes + 3;
  const outcome with_ipv4 = attach_bytes(with_ipv6);
  ASSERT_EQ(with_ipv4.status, s::ok);
  ASSERT_EQ(detach(with_ipv4.output), s::ok);
  with_ipv6[id] = std::byte{0x03};
  EXPECT_EQ(attach_bytes(with_ipv6).status, s::bad_parameter);
  auto ports_without_ip = bytes_of({.to = a.number, .mgid = mgid, .udp = 1});
  EXPECT_EQ(attach_bytes(ports_without_ip).status, s::bad_parameter);

  EXPECT_EQ(attach({.to = 1u << test_driver::log_qps, .mgid = mgid}).status, s::bad_index);
  EXPECT_EQ(detach(with_ipv4.output + 1), s::bad_index);
  EXPECT_EQ(driver->command(opcode::qp_flow_steering_attach, driver->input, 16, 1).status,
            s::bad_operation);
  EXPECT_EQ(driver->command(opcode::qp_flow_steering_detach, 0, 0, 1).status, s::bad_operation);
  EXPECT_EQ(steer_range(b.number, a.number), s::bad_parameter);
  EXPECT_EQ(steer_range(0, 1u << test_driver::log_qps), s::bad_index);
  EXPECT_EQ(steer_range(0, 1), s::bad_resource);
  EXPECT_EQ(steer_range(63, 64), s::bad_resource);
  EXPECT_EQ(driver->command(opcode::flow_steering_ib_uc_qp_range, 0, 0, 1).status,
            s::bad_operation);
  EXPECT_EQ(driver->counter_named("flow_rules"), 0u);
}

TEST_F(steered, the_table_and_what_is_reported_bound_the_rules) {
  const auto mgid = group(1);
  for (unsigned i = 0; i < 244; ++i)
    ASSERT_EQ(attach({.to = a.number, .mgid = mgid}).status, command_status::ok);
  EXPECT_EQ(attach({.to = a.number, .mgid = mgid}).status, command_status::exceeds_limits);
  const auto other = group(2);
  for (unsigned i = 244; i < 1u << test_driver::log_mc_table; ++i)
    ASSERT_EQ(attach({.to = a.number, .mgid = other}).status, command_status::ok);
  EXPECT_EQ(attach({.to = a.number, .mgid = other}).status, command_status::exceeds_limits);
  ASSERT_EQ(detach(7), command_status::ok);
  EXPECT_EQ(detach(7), command_status::bad_index) << "a number is not used again";
  EXPECT_EQ(attach({.to = a.number, .mgid = mgid}).status, command_status::ok);
}

TEST_F(steered, groups_are_no_more) {
  for (const opcode o : {opcode::read_mcg, opcode::write_mcg})
    EXPECT_EQ(driver->command(o, driver->input, 1, 0, driver->output).status,
              command_status::bad_index);
}

TEST_F(steered, a_rule_of_a_queue_pair_that_went_gives_nothing) {
  const auto mgid = group(1);
  ASSERT_EQ(attach({.to = b.number, .mgid = mgid}).status, command_status::ok);
  ASSERT_EQ(driver
                ->command(opcode::to_rst_qp, 0, b.number,
                          static_cast<unsigned>(to_rst_qp_modifier::no_output))
                .status,
            command_status::ok);
  send_datagram(multicast_qpn, &mgid);
  EXPECT_EQ(receivers(), list{});
}

using by_groups = transport_fixture;

TEST_F(by_groups, rules_are_refused_where_steering_is_not_device_managed) {
  for (const opcode o : {opcode::qp_flow_steering_attach, opcode::qp_flow_steering_detach,
                         opcode::flow_steering_ib_uc_qp_range})
    EXPECT_EQ(driver->command(o, driver->input, 16).status, command_status::bad_system_state);
}

TEST(device_managed_steering, wants_its_table_lent_at_both_ends) {
  test_host host;
  device hca{host, test_options()};
  test_driver driver{host, hca};
  driver.multicast = steering::by_rules;
  ASSERT_TRUE(driver.start_firmware() && driver.prepare_context_memory());
  auto p = driver.profile();
  p.set<&init_hca::dmfs_log_table_sz>(17);
  EXPECT_EQ(driver.command_with(opcode::init_hca, p).status, command_status::icm_error);
  p.set<&init_hca::dmfs_log_table_sz>(18);
  EXPECT_EQ(driver.command_with(opcode::init_hca, p).status, command_status::exceeds_limits);
  p = driver.profile();
  p.set<&init_hca::dmfs_a0>(dmfs_a0_mode::fixed);
  EXPECT_EQ(driver.command_with(opcode::init_hca, p).status, command_status::bad_parameter);
  p = driver.profile();
  p.set<&init_hca::uc_steering>(true);
  EXPECT_EQ(driver.command_with(opcode::init_hca, p).status, command_status::bad_parameter);
  EXPECT_EQ(driver.command_with(opcode::init_hca, driver.profile()).status, command_status::ok);
}

}  // namespace freehca::model::test
