// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Flow rules: which frames a raw packet queue pair gets by them, and what is refused. They hold on
// either link layer, unless stated otherwise.
#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "face.hpp"

namespace programs {

namespace {

using mac = std::uint8_t[6];
constexpr mac host{0x02, 0xc9, 0, 0, 0, 1}, other_host{0x02, 0xc9, 0, 0, 0, 2},
    sender{0x02, 0xc9, 0, 0, 0, 9}, group{0x01, 0, 0x5e, 1, 2, 3},
    every_bit{255, 255, 255, 255, 255, 255};
constexpr std::uint16_t ipv4_type = 0x0800, vlan_type = 0x8100;
constexpr std::uint32_t ip_source = 0xc0000201, ip_destination = 0xc0000202;
constexpr std::uint16_t source_port = 1000, destination_port = 2000;
constexpr std::size_t ethernet_bytes = 14, frame_bytes = 100;

/// What a test changes of a frame.
struct frame {
  const mac& to = host;
  std::uint16_t vlan = 0;  ///< 0: no tag
  std::uint8_t protocol = IPPROTO_UDP;
  std::uint32_t destination = ip_destination;
  std::uint16_t port = destination_port;

  std::vector<unsigned char> bytes() const {
    std::vector<unsigned char> all;
    const auto add = [&all](std::uint32_t value, unsigned bytes) {
      for (unsigned i = bytes; i-- > 0;) all.push_back(static_cast<unsigned char>(value >> 8 * i));
    };
    all.insert(all.end(), to, to + sizeof to);
    all.insert(all.end(), sender, sender + sizeof sender);
    if (vlan != 0) add(vlan_type, 2), add(vlan, 2);
    add(ipv4_type, 2);
    const auto ip = static_cast<std::ptrdiff_t>(all.size());
    add(0x4500, 2), add(frame_bytes - ethernet_bytes, 2), add(0, 4);
    add(64, 1), add(protocol, 1), add(0, 2), add(ip_source, 4), add(destination, 4);
    std::uint32_t sum = 0;
    for (std::ptrdiff_t i = ip; i < ip + 20; i += 2)
      sum += static_cast<std::uint32_t>(all[static_cast<std::size_t>(i)] << 8 |
                                        all[static_cast<std::size_t>(i) + 1]);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    all[static_cast<std::size_t>(ip) + 10] = static_cast<unsigned char>(~sum >> 8);
    all[static_cast<std::size_t>(ip) + 11] = static_cast<unsigned char>(~sum);
    add(source_port, 2), add(port, 2);
    // The length and the checksum of UDP. 0: no checksum.
    add(frame_bytes - ethernet_bytes - 20, 2), add(0, 2);
    all.resize(frame_bytes + (vlan != 0 ? 4 : 0), 0x5a);
    return all;
  }
};

/// A raw packet queue pair in RTS, with a receive.
struct frame_queue {
  explicit frame_queue(opened_device& of) : device(of), memory(2048) {
    cq = ibv_create_cq(of.context, 16, nullptr, nullptr, 0);
    require(cq != nullptr, "ibv_create_cq");
    ibv_qp_init_attr how{};
    how.send_cq = how.recv_cq = cq;
    how.cap = {4, 4, 1, 1, 0};
    how.qp_type = IBV_QPT_RAW_PACKET;
    qp = ibv_create_qp(of.pd, &how);
    require(qp != nullptr, "ibv_create_qp of frames");
    region = ibv_reg_mr(of.pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    require(region != nullptr, "ibv_reg_mr");
    if (!of.ethernet) return;
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.port_num = 1;
    require(ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PORT) == 0, "INIT of frames");
    for (const ibv_qp_state next : {IBV_QPS_RTR, IBV_QPS_RTS}) {
      to.qp_state = next;
      require(ibv_modify_qp(qp, &to, IBV_QP_STATE) == 0, "RTR and RTS of frames");
    }
    receive();
  }
  ~frame_queue() {
    expect_equal(ibv_destroy_qp(qp), 0, "ibv_destroy_qp of frames");
    expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr");
    expect_equal(ibv_destroy_cq(cq), 0, "ibv_destroy_cq");
  }
  frame_queue(const frame_queue&) = delete;
  frame_queue& operator=(const frame_queue&) = delete;

  ibv_sge part(std::size_t first, std::size_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(&memory[first]), static_cast<std::uint32_t>(bytes),
            region->lkey};
  }
  void receive() {
    ibv_sge list = part(0, 1024);
    ibv_recv_wr request{}, *bad = nullptr;
    request.sg_list = &list;
    request.num_sge = 1;
    require(ibv_post_recv(qp, &request, &bad) == 0, "ibv_post_recv of frames");
  }
  ibv_wc completion(const char* what) {
    ibv_wc done{};
    wait_until([&] { return ibv_poll_cq(cq, 1, &done) != 0; }, what);
    expect_equal(done.status, IBV_WC_SUCCESS, what);
    return done;
  }
  void send(const frame& what) {
    const std::vector<unsigned char> bytes = what.bytes();
    std::copy(bytes.begin(), bytes.end(), memory.begin() + 1024);
    ibv_sge list = part(1024, bytes.size());
    ibv_send_wr request{}, *bad = nullptr;
    request.sg_list = &list;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    require(ibv_post_send(qp, &request, &bad) == 0, "ibv_post_send of a frame");
    completion("a sent frame");
  }
  void expect_arrival(const frame& what, const char* why) {
    const std::vector<unsigned char> bytes = what.bytes();
    expect_equal(completion(why).byte_len, static_cast<std::int64_t>(bytes.size()), why);
    expect(std::equal(bytes.begin(), bytes.end(), memory.begin()), why);
    receive();
  }
  void expect_nothing(const char* why) {
    ibv_wc none;
    usleep(20'000);
    expect_equal(ibv_poll_cq(cq, 1, &none), 0, why);
  }

  opened_device& device;
  std::vector<unsigned char> memory;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mr* region = nullptr;
};

/// The attributes of a rule with its headers behind them.
struct rule {
  struct {
    ibv_flow_attr head{};
    unsigned char headers[512]{};
  } all;
  std::size_t bytes = 0;

  rule() { all.head.port = 1; }
  template <class Header>
  rule& add(Header header, int type) {
    header.type = static_cast<ibv_flow_spec_type>(type);
    header.size = sizeof header;
    std::memcpy(all.headers + bytes, &header, sizeof header);
    bytes += sizeof header;
    ++all.head.num_of_specs;
    return *this;
  }
  rule& ethernet(const mac& to, std::uint16_t vlan = 0) {
    ibv_flow_spec_eth header{};
    std::copy(to, to + 6, header.val.dst_mac);
    std::copy(every_bit, every_bit + 6, header.mask.dst_mac);
    header.val.vlan_tag = htons(vlan);
    header.mask.vlan_tag = htons(vlan != 0 ? 0xfff : 0);
    return add(header, IBV_FLOW_SPEC_ETH);
  }
  rule& ipv4(std::uint32_t destination) {
    ibv_flow_spec_ipv4 header{};
    header.val.dst_ip = htonl(destination);
    header.mask.dst_ip = 0xffffffff;
    return add(header, IBV_FLOW_SPEC_IPV4);
  }
  rule& port(std::uint16_t destination, int type = IBV_FLOW_SPEC_UDP) {
    ibv_flow_spec_tcp_udp header{};
    header.val.dst_port = htons(destination);
    header.mask.dst_port = 0xffff;
    return add(header, type);
  }
  rule& priority(std::uint16_t value) {
    all.head.priority = value;
    return *this;
  }
  rule& type(int value) {
    all.head.type = static_cast<ibv_flow_attr_type>(value);
    return *this;
  }
  rule& flags(std::uint32_t value) {
    all.head.flags = value;
    return *this;
  }
  rule& on_port(std::uint8_t value) {
    all.head.port = value;
    return *this;
  }
  ibv_flow* make(const frame_queue& at) {
    errno = 0;
    return ibv_create_flow(at.qp, &all.head);
  }
};

ibv_flow* must(rule how, const frame_queue& at, const char* what) {
  ibv_flow* const made = how.make(at);
  require(made != nullptr, what);
  expect(made->context == at.device.context, "the context of a rule");
  return made;
}
void end(ibv_flow* which) {
  expect_equal(ibv_destroy_flow(which), 0, "ibv_destroy_flow");
}

/// On an Ethernet port.
void frames_go_by_the_headers_of_a_rule(std::uint64_t) {
  opened_device device;
  if (!device.ethernet) return;
  frame_queue from(device), to(device);
  const struct {
    const char* what;
    rule how;
    frame fits, does_not;
  } cases[] = {
      {"a MAC", rule().ethernet(host), {}, {.to = other_host}},
      {"a group", rule().ethernet(group), {.to = group}, {}},
      {"a VLAN", rule().ethernet(host, 7), {.vlan = 7}, {.vlan = 8}},
      {"an IP address", rule().ethernet(host).ipv4(ip_destination), {}, {.destination = 1}},
      {"a UDP port",
       rule().ethernet(host).ipv4(ip_destination).port(destination_port),
       {},
       {.port = 1}},
      {"a TCP port",
       rule().ethernet(host).ipv4(ip_destination).port(destination_port, IBV_FLOW_SPEC_TCP),
       {.protocol = IPPROTO_TCP},
       {}},
  };
  for (const auto& each : cases) {
    ibv_flow* const made = must(each.how, to, each.what);
    from.send(each.fits);
    to.expect_arrival(each.fits, each.what);
    from.send(each.does_not);
    to.expect_nothing(each.what);
    end(made);
    from.send(each.fits);
    to.expect_nothing("a rule that has ended");
  }
}

/// On an Ethernet port.
void rules_have_an_order(std::uint64_t) {
  opened_device device;
  if (!device.ethernet) return;
  frame_queue from(device), first(device), second(device), rest(device), groups(device);
  ibv_flow* const all = must(rule().type(IBV_FLOW_ATTR_ALL_DEFAULT), rest, "promiscuous mode");
  from.send({});
  rest.expect_arrival({}, "a frame that no rule takes");
  ibv_flow* const behind = must(rule().ethernet(host).priority(0xfff), second, "the last priority");
  from.send({});
  second.expect_arrival({}, "a frame of a rule");
  ibv_flow* const before = must(rule().ethernet(host).priority(1), first, "a smaller priority");
  from.send({});
  first.expect_arrival({}, "a frame of the rule with the smaller priority");
  second.expect_nothing("the rule behind it");
  rest.expect_nothing("promiscuous mode behind rules");
  end(all);
  ibv_flow* const multicast = must(rule().type(IBV_FLOW_ATTR_MC_DEFAULT), groups, "all groups");
  from.send({.to = group});
  groups.expect_arrival({.to = group}, "a frame to a group");
  from.send({.to = other_host});
  groups.expect_nothing("a frame to a host");
  expect_equal(ibv_destroy_qp(first.qp), EBUSY, "a queue pair with a rule is not destroyed");
  for (ibv_flow* each : {behind, before, multicast}) end(each);
}

/// What Linux and mlx4_ib answer.
void wrong_rules_are_refused(std::uint64_t) {
  opened_device device;
  frame_queue frames(device);
  const auto refused = [&frames](rule how, int error, const char* what) {
    expect(how.make(frames) == nullptr, what);
    expect_equal(errno, error, what);
  };
  refused(rule().ethernet(host).priority(0x1000), EINVAL, "a priority that is too large");
  refused(rule().ethernet(host).on_port(0), EINVAL, "port 0");
  refused(rule().ethernet(host).on_port(3), EINVAL, "port 3");
  refused(rule(), EINVAL, "a rule without headers");
  refused(rule().type(IBV_FLOW_ATTR_SNIFFER), EINVAL, "a sniffer");
  refused(rule().type(7), EINVAL, "a type that there is not");
  refused(rule().ethernet(host).flags(IBV_FLOW_ATTR_FLAGS_DONT_TRAP), EOPNOTSUPP, "a copy");
  refused(rule().ethernet(host).flags(IBV_FLOW_ATTR_FLAGS_EGRESS), EOPNOTSUPP, "a rule of sends");
  refused(rule().type(IBV_FLOW_ATTR_ALL_DEFAULT).flags(IBV_FLOW_ATTR_FLAGS_DONT_TRAP), EINVAL,
          "a copy of all");
  refused(rule().ethernet(host).flags(8), EINVAL, "a flag that there is not");
  refused(rule().ethernet(host).ethernet(host), EINVAL, "two headers of the link");
  refused(rule().ethernet(host).port(1), EINVAL, "ports without IP");
  refused(rule().ethernet(host).ipv4(1).port(1).port(1), EINVAL, "four headers");
  refused(rule().ethernet(host).add(ibv_flow_spec_ipv6{}, IBV_FLOW_SPEC_IPV6), EINVAL, "IPv6");
  refused(rule().ethernet(host).add(ibv_flow_spec_action_drop{}, IBV_FLOW_SPEC_ACTION_DROP), EINVAL,
          "an action");
  refused(rule().add(ibv_flow_spec_eth{}, IBV_FLOW_SPEC_ETH | IBV_FLOW_SPEC_INNER), EINVAL,
          "an inner header");
  ibv_flow_spec_ipv4_ext with_protocol{};
  with_protocol.mask.proto = 0xff;
  refused(rule().ethernet(host).add(with_protocol, IBV_FLOW_SPEC_IPV4_EXT), EINVAL,
          "the protocol of IP");
  ibv_flow_spec_eth ethernet{};
  ethernet.mask.ether_type = 0xff;
  refused(rule().add(ethernet, IBV_FLOW_SPEC_ETH), EINVAL, "a part of the type");
  ethernet = {};
  ethernet.mask.vlan_tag = 0xffff;
  refused(rule().add(ethernet, IBV_FLOW_SPEC_ETH), EINVAL, "the priority of a VLAN");
  {
    endpoint connection(device, {});
    rule how = rule().ethernet(host);
    errno = 0;
    expect(ibv_create_flow(connection.qp, &how.all.head) == nullptr, "a rule of a connection");
    expect_equal(errno, EINVAL, "a rule of a connection");
  }
  ibv_device_attr can{};
  require(ibv_query_device(device.context, &can) == 0, "ibv_query_device");
  expect((can.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING) != 0, "the device has rules");
  if (device.ethernet) {
    end(must(rule().ipv4(ip_destination), frames, "a rule by IPv4 alone"));
    return;
  }
  refused(rule().ethernet(host), EINVAL, "Ethernet on an InfiniBand port");
  refused(rule().type(IBV_FLOW_ATTR_ALL_DEFAULT), EINVAL, "all frames of an InfiniBand port");
  // As Linux writes it for packets of IPoIB.
  end(must(rule().ipv4(ip_destination).port(destination_port), frames, "a rule by IPv4"));
}

/// A group's frames go to all ports of the fabric.
void frames_come_from_another_process(std::uint64_t) {
  run_pair(
      [](line& other) {
        opened_device device;
        if (!device.ethernet) return;
        frame_queue from(device);
        other.meet();
        from.send({.to = group});
        other.meet();
      },
      [](line& other) {
        opened_device device;
        if (!device.ethernet) return;
        frame_queue to(device);
        ibv_flow* const made = must(rule().ethernet(group), to, "a rule");
        other.meet();
        to.expect_arrival({.to = group}, "a frame of another process");
        other.meet();
        end(made);
      });
}

}  // namespace

std::vector<test> flow_rule_tests() {
  return {
      {"frames_go_by_the_headers_of_a_rule", frames_go_by_the_headers_of_a_rule},
      {"rules_have_an_order", rules_have_an_order},
      {"wrong_rules_are_refused", wrong_rules_are_refused},
      {"frames_come_from_another_process", frames_come_from_another_process},
  };
}

}  // namespace programs
