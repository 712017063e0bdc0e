// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <optional>

#include <freehca/hca/kinds/raw_ethernet_queue_pair.hpp>

#include "cabled_hosts.hpp"

namespace freehca::testing {

/// A queue pair with its own completion queue and a buffer, at one of the hosts. Service mlx: a raw
/// Ethernet queue pair.
struct cabled_end {
  cabled_end(cabled_host& at, layouts::qp_service service) : host(at) {
    domain = host.objects.create<protection_domain>().value();
    create_completion_queue cq;
    cq.start(host.objects, {.entries = 31});
    EXPECT_TRUE(host.await(cq).ok());
    completion = cq.made();
    const queue_pair_attributes shape{.pd = domain,
                                      .send_cq = completion,
                                      .receive_cq = completion,
                                      .service = service,
                                      .sends = 8,
                                      .receives = 8};
    if (service == layouts::qp_service::mlx) {
      create_raw_ethernet_queue_pair qp;
      qp.start(host.objects, {shape});
      EXPECT_TRUE(host.await(qp).ok());
      pair = qp.made();
    } else {
      create_queue_pair qp;
      qp.start(host.objects, shape);
      EXPECT_TRUE(host.await(qp).ok());
      pair = qp.made();
    }
    const memory_access all{.local_write = true, .remote_read = true, .remote_write = true};
    buffer.emplace(host, domain, bytes, 24, all);
  }
  ~cabled_end() {
    destroy_queue_pair qp;
    qp.start(host.objects, pair);
    EXPECT_TRUE(host.await(qp).ok());
    destroy_completion_queue cq;
    cq.start(host.objects, completion);
    EXPECT_TRUE(host.await(cq).ok());
    buffer.reset();
    EXPECT_TRUE(host.objects.destroy(domain).ok());
  }
  cabled_end(const cabled_end&) = delete;
  cabled_end& operator=(const cabled_end&) = delete;

  std::uint32_t number() const { return qpn_of(host.objects, pair); }
  status move(layouts::qp_state to, const connection_attributes& a) {
    modify_queue_pair m;
    m.start(host.objects, pair, to, a);
    return host.await(m);
  }
  connection_attributes attributes(const address_attributes& path, std::uint32_t remote) const {
    connection_attributes a;
    a.remote_read = a.remote_write = true;
    a.qkey = qkey;
    a.remote_qpn = remote;
    a.address = path;
    return a;
  }
  void connect(const address_attributes& path, std::uint32_t remote) {
    for (const auto to :
         {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
      const status s = move(to, attributes(path, remote));
      ASSERT_TRUE(s.ok()) << static_cast<unsigned>(to) << ": " << words(s);
    }
  }
  queues::sq& send() { return host.objects.find(pair)->rings.send; }
  void receive(std::size_t from, std::size_t length) {
    const queues::data_entry to = buffer->entry(from, length);
    auto& ring = host.objects.find(pair)->rings.receive;
    ASSERT_TRUE(ring.post_and_ring({.wr_id = 9, .list = &to, .entries = 1}).ok());
  }
  queues::work_completion next() {
    queues::work_completion w;
    w.status = queues::completion_status::unknown_syndrome;
    auto& cq = host.objects.find(completion)->rings;
    bool found = false;
    EXPECT_TRUE(
        host.run([&] { return found || (found = cq.poll(&w, 1) == 1); }, clock::seconds(60)))
        << "host " << host.index();
    return w;
  }
  void pattern(std::size_t length, unsigned seed) {
    for (std::size_t i = 0; i < length; ++i)
      *buffer->at(i) = static_cast<std::byte>((i * 7 + seed) & 0xff);
  }

  static constexpr std::size_t bytes = 0x8000;
  static constexpr std::uint32_t qkey = 0x1234567;
  cabled_host& host;
  pd_handle domain;
  cq_handle completion;
  qp_handle pair;
  std::optional<registered_buffer_of<cabled_host>> buffer;
};

}  // namespace freehca::testing
