// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two hosts whose adapters have an InfiniBand port and an Ethernet port each, with a cable between
// the ports of the same number, and traffic that goes on while a test does other things.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include <freehca/hca/ethernet/port_type.hpp>
#include <freehca/hca/kinds/flow_rule.hpp>
#include <freehca/queues/frame_requests.hpp>

#include "cabled_end.hpp"

namespace freehca::testing {

/// A sequence of messages. Each is checked when it has ended. Traffic without a limit sends one
/// message in a millisecond, because the links of ports need a long time to come up.
class traffic {
 public:
  static constexpr std::uint64_t unlimited = ~std::uint64_t{0};

  virtual ~traffic() = default;
  std::uint64_t turn(std::uint64_t now) {
    reap();
    if (posted_ == limit_ || posted_ - std::min(ended_, received()) >= window) return clock::never;
    if (now >= next_) {
      post(posted_++);
      next_ = now + interval_;
    }
    return next_;
  }
  void stop() { limit_ = posted_; }
  bool done() const { return posted_ == limit_ && ended_ == posted_ && received() == posted_; }
  std::uint64_t ended() const { return std::min(ended_, received()); }

 protected:
  explicit traffic(std::uint64_t limit)
      : limit_(limit),
        interval_(limit == unlimited ? clock::milliseconds(1) : clock::microseconds(10)) {}
  static constexpr unsigned window = 4;
  static constexpr std::size_t slot_bytes = 0x1000;
  static std::size_t slot(std::uint64_t message) { return message % window * slot_bytes; }
  static std::byte byte_of(std::uint64_t message, std::size_t at) {
    return static_cast<std::byte>(at * 7 + message * 13 + (at >> 8));
  }
  virtual void reap() = 0;
  virtual void post(std::uint64_t message) = 0;
  virtual std::uint64_t received() const { return ended_; }

  std::uint64_t posted_ = 0, ended_ = 0;

 private:
  std::uint64_t limit_;
  const std::uint64_t interval_;
  std::uint64_t next_ = 0;
};

class mixed_hosts;

/// Sends, RDMA writes and RDMA reads in turn, by a reliable connection from host 0 to host 1. The
/// queue pairs repeat nothing: a packet that is lost ends a request with an error.
class connection_traffic : public traffic {
 public:
  connection_traffic(mixed_hosts& both, unsigned port, std::uint64_t limit = unlimited);
  ~connection_traffic() override;
  std::uint64_t sends_received() const { return sends_received_; }

 private:
  enum operation_of : unsigned { send, write, read };
  static unsigned kind(std::uint64_t message) { return static_cast<unsigned>(message % 3); }
  static std::size_t length(std::uint64_t message) { return 1 + message * 977 % 4000; }
  void reap() override {
    queues::work_completion w;
    while (b_.host.objects.find(b_.completion)->rings.poll(&w, 1) == 1) {
      EXPECT_TRUE(w.ok()) << name_of(w.status);
      EXPECT_EQ(w.wr_id, 3 * sends_received_);
      EXPECT_EQ(w.byte_count, length(3 * sends_received_));
      ++sends_received_;
    }
    while (a_.host.objects.find(a_.completion)->rings.poll(&w, 1) == 1) {
      EXPECT_TRUE(w.ok()) << ended_ << ": " << name_of(w.status);
      EXPECT_EQ(w.wr_id, ended_);
      const std::byte* const got = target(ended_).buffer->at(slot(ended_));
      const std::size_t bytes = length(ended_);
      for (std::size_t i = 0; i < bytes; ++i)
        if (got[i] != byte_of(ended_, i)) {
          ADD_FAILURE() << "message " << ended_ << ", byte " << i;
          break;
        }
      EXPECT_EQ(got[bytes], std::byte{0xa5}) << "behind message " << ended_;
      ++ended_;
    }
  }
  cabled_end& target(std::uint64_t message) { return kind(message) == read ? a_ : b_; }
  void post(std::uint64_t message) override {
    const std::size_t at = slot(message), bytes = length(message);
    cabled_end& source = kind(message) == read ? b_ : a_;
    for (std::size_t i = 0; i < bytes; ++i) *source.buffer->at(at + i) = byte_of(message, i);
    std::memset(target(message).buffer->at(at), 0xa5, slot_bytes);
    const queues::data_entry here = a_.buffer->entry(at, bytes);
    const queues::remote_memory there{b_.buffer->address(at), b_.buffer->key};
    status s;
    if (kind(message) == send) {
      const queues::data_entry to = b_.buffer->entry(at, slot_bytes);
      s = b_.host.objects.find(b_.pair)->rings.receive.post_and_ring(
          {.wr_id = message, .list = &to, .entries = 1});
      EXPECT_TRUE(s.ok());
      s = a_.send().post_and_ring(queues::send{.wr_id = message, .data = here});
    } else if (kind(message) == write) {
      s = a_.send().post_and_ring(
          queues::rdma_write{.wr_id = message, .remote = there, .data = here});
    } else {
      s = a_.send().post_and_ring(
          queues::rdma_read{.wr_id = message, .remote = there, .data = here});
    }
    EXPECT_TRUE(s.ok()) << words(s);
  }

  mixed_hosts& both_;
  cabled_end a_, b_;
  std::uint64_t sends_received_ = 0;
};

/// Frames from host 0 to host 1 by raw Ethernet queue pairs. A frame that is lost is not repeated.
class frame_traffic : public traffic {
 public:
  frame_traffic(mixed_hosts& both, unsigned port, std::uint64_t limit = unlimited);
  ~frame_traffic() override;

 private:
  static constexpr std::uint64_t to_mac = 0x0002'c900'0201, from_mac = 0x0002'c900'0200;
  static std::size_t length(std::uint64_t message) { return 60 + message * 131 % 1400; }
  static std::byte byte_at(std::uint64_t message, std::size_t at) {
    constexpr std::uint64_t type = 0x88b5;  // IEEE 802: for experiments
    if (at < 6) return static_cast<std::byte>(to_mac >> 8 * (5 - at));
    if (at < 12) return static_cast<std::byte>(from_mac >> 8 * (11 - at));
    if (at < 14) return static_cast<std::byte>(type >> 8 * (13 - at));
    return byte_of(message, at);
  }
  void reap() override {
    queues::work_completion w;
    while (a_.host.objects.find(a_.completion)->rings.poll(&w, 1) == 1) {
      EXPECT_TRUE(w.ok()) << name_of(w.status);
      EXPECT_EQ(w.wr_id, ended_++);
    }
    while (b_.host.objects.find(b_.completion)->rings.poll(&w, 1) == 1) {
      EXPECT_TRUE(w.ok()) << name_of(w.status);
      EXPECT_EQ(w.wr_id, received_);
      EXPECT_EQ(w.byte_count, length(received_));
      const std::byte* const got = b_.buffer->at(slot(received_));
      for (std::size_t i = 0; i < length(received_); ++i)
        if (got[i] != byte_at(received_, i)) {
          ADD_FAILURE() << "frame " << received_ << ", byte " << i;
          break;
        }
      ++received_;
    }
  }
  void post(std::uint64_t message) override {
    const std::size_t at = slot(message), bytes = length(message);
    for (std::size_t i = 0; i < bytes; ++i) *a_.buffer->at(at + i) = byte_at(message, i);
    std::memset(b_.buffer->at(at), 0xa5, slot_bytes);
    const queues::data_entry to = b_.buffer->entry(at, slot_bytes);
    EXPECT_TRUE(b_.host.objects.find(b_.pair)
                    ->rings.receive.post_and_ring({.wr_id = message, .list = &to, .entries = 1})
                    .ok());
    EXPECT_TRUE(a_.send()
                    .post_and_ring(
                        queues::send_frame{.wr_id = message, .data = a_.buffer->entry(at, bytes)})
                    .ok());
  }
  std::uint64_t received() const override { return received_; }

  mixed_hosts& both_;
  cabled_end a_, b_;
  flow_rule_handle rule_;
  std::uint64_t received_ = 0;
};

class mixed_hosts {
 public:
  using port_type = layouts::port_type;

  /// `vpi`: a port whose type can change, or 0.
  explicit mixed_hosts(unsigned infiniband_port, unsigned vpi = 0)
      : hosts(ports(infiniband_port, vpi)) {
    hosts.meanwhile = [this] {
      std::uint64_t due = clock::never;
      for (traffic* const t : running) due = std::min(due, t->turn(hosts.fabric.time()));
      return due;
    };
    for (unsigned port = 1; port <= 2; ++port) {
      auto before = std::move(hosts[0].machine.on_link_send);
      hosts[0].machine.on_link_send = [this, port, before = std::move(before)](
                                          unsigned p, const std::byte* from, std::size_t count) {
        sent[port - 1] += p == port;
        return before(p, from, count);
      };
    }
    hosts.bring_up();
    set_addresses(3 - infiniband_port);
  }
  ~mixed_hosts() { hosts.tear_down(); }

  static cabled_ports ports(unsigned infiniband_port, unsigned vpi) {
    cabled_ports p{.count = 2, .by_rules = true};
    p.link[2 - infiniband_port] = model::link_layer::ethernet;
    if (vpi != 0) p.vpi[vpi - 1] = true;
    return p;
  }
  static std::uint64_t mac_of(unsigned host) { return 0x0002'c900'0010 + host; }

  port_type type(unsigned port, unsigned host = 0) {
    return hosts[host].adapter.port(port).link_layer;
  }
  address_attributes path_to(unsigned host, unsigned port) {
    return path_to(host, port, type(port));
  }
  address_attributes path_to(unsigned host, unsigned port, port_type of) {
    if (of == port_type::ib) return infiniband_path{.port = port, .dlid = hosts[host].lid()};
    return roce_path{.port = port, .dmac = mac_of(host), .dgid = gid_of_ipv4(0x0a000001 + host)};
  }
  status set_type(unsigned host, unsigned port, port_type to,
                  ports_to_close closed = ports_to_close::none) {
    set_port_type op;
    op.start(hosts[host].adapter, port, to, closed);
    return hosts[host].await(op);
  }
  port_type sense(unsigned host, unsigned port) {
    port_type_query op;
    op.start(hosts[host].adapter, port);
    EXPECT_TRUE(hosts[host].await(op).ok());
    return op.type();
  }
  status change(unsigned host, unsigned port, bool open) {
    port_operation op;
    open ? op.open(hosts[host].adapter, port) : op.close(hosts[host].adapter, port);
    return hosts[host].await(op);
  }
  void close(unsigned port) {
    for (unsigned host = 0; host < 2; ++host) {
      const status s = change(host, port, false);
      ASSERT_TRUE(s.ok()) << words(s);
    }
  }
  /// Makes an open port of both hosts active.
  void make_active(unsigned port) {
    if (type(port) == port_type::ib) {
      for (unsigned host = 0; host < 2; ++host) hosts.activate(hosts[host], port);
      return;
    }
    for (unsigned host = 0; host < 2; ++host)
      ASSERT_TRUE(
          hosts.run([&] { return hosts[host].adapter.port(port).active(); }, clock::seconds(10)));
    set_addresses(port);
  }
  /// Of the hosts whose port is an Ethernet port.
  void set_addresses(unsigned port) {
    for (unsigned host = 0; host < 2; ++host) {
      if (type(port, host) != port_type::ethernet) continue;
      const std::uint64_t macs[] = {mac_of(host)};
      const port_gid gids[] = {{gid_of_ipv4(0x0a000001 + host), roce_version::v2}};
      set_port_addresses set;
      set.start(hosts[host].adapter, port,
                {.macs = macs, .mac_entries = 1, .gids = gids, .gid_entries = 1});
      const status s = hosts[host].await(set);
      ASSERT_TRUE(s.ok()) << words(s);
    }
  }
  /// Some traffic of each sort that the port has.
  void carry(unsigned port) {
    connection_traffic messages(*this, port, 9);
    EXPECT_TRUE(hosts.run([&] { return messages.done(); }, clock::seconds(1)));
    if (type(port) != port_type::ethernet) return;
    frame_traffic frames(*this, port, 9);
    EXPECT_TRUE(hosts.run([&] { return frames.done(); }, clock::seconds(1)));
  }
  std::uint64_t posted() { return hosts[0].adapter.commands().statistics().posted; }

  cabled_hosts hosts;
  std::vector<traffic*> running;
  std::uint64_t sent[2] = {};  ///< packets and frames that host 0 sent by each port
};

inline connection_traffic::connection_traffic(mixed_hosts& both, unsigned port, std::uint64_t limit)
    : traffic(limit),
      both_(both),
      a_(both.hosts[0], layouts::qp_service::rc),
      b_(both.hosts[1], layouts::qp_service::rc) {
  for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts})
    for (cabled_end* const e : {&a_, &b_}) {
      const unsigned far = e == &a_ ? 1 : 0;
      connection_attributes c =
          e->attributes(both.path_to(far, port), (far == 1 ? b_ : a_).number());
      c.retry_count = c.rnr_retry = 0;
      const status s = e->move(to, c);
      EXPECT_TRUE(s.ok()) << words(s);
    }
  both.running.push_back(this);
}
inline connection_traffic::~connection_traffic() {
  std::erase(both_.running, this);
}

inline frame_traffic::frame_traffic(mixed_hosts& both, unsigned port, std::uint64_t limit)
    : traffic(limit),
      both_(both),
      a_(both.hosts[0], layouts::qp_service::mlx),
      b_(both.hosts[1], layouts::qp_service::mlx) {
  for (cabled_end* const e : {&a_, &b_}) e->connect(raw_ethernet_path{.port = port}, 0);
  flow_rule_attributes rule{
      .pair = b_.pair, .port = static_cast<std::uint8_t>(port), .header_count = 1};
  rule.headers[0] = ethernet_flow{.destination = to_mac, .destination_mask = most_mac};
  create_flow_rule op;
  op.start(b_.host.objects, rule);
  const status s = b_.host.await(op);
  EXPECT_TRUE(s.ok()) << words(s);
  rule_ = op.made();
  both.running.push_back(this);
}
inline frame_traffic::~frame_traffic() {
  std::erase(both_.running, this);
  destroy_flow_rule op;
  op.start(b_.host.objects, rule_);
  EXPECT_TRUE(b_.host.await(op).ok());
}

}  // namespace freehca::testing
