// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the adapter does for IP over InfiniBand: checksums of datagrams, and large sends.
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/query_dev_cap.hpp>

#include "basis/capabilities.hpp"
#include "transport_fixture.hpp"
#include "whole_frames.hpp"

namespace freehca::model::test {

using layouts::image;
using layouts::opcode;

namespace {

using cqe = layouts::cqe;
using bytes = std::vector<std::byte>;

/// IPoIB's header for IPv4 (RFC 4391, section 6).
const bytes encapsulation = frames::bytes_of("08000000");

bytes operator+(bytes a, const bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
/// What a frame without a tag carries, as IPoIB sends it.
bytes datagram_of(const bytes& frame) {
  return bytes(frame.begin() + 12, frame.begin() + 14) + bytes(2) +
         bytes(frame.begin() + 14, frame.end());
}

/// What a send asks for.
struct offloads {
  bool ip = false, l4 = false;
  std::uint32_t mss = 0;  ///< LSO, with `header`
  bytes header = {};
};

class ipoib : public transport_fixture {
 protected:
  static constexpr std::uint64_t to = region_start + 0x100000;
  static constexpr std::uint32_t receive_bytes = 0x2000;
  ipoib() : ipoib(test_options()) {}
  explicit ipoib(const options& how)
      : transport_fixture(how),
        a(make_qp(0x140, qp_service::ud)),
        b(make_qp(0x141, qp_service::ud)) {
    // As Linux has it: an MTU that never binds (hw/mlx4/qp.c __mlx4_ib_modify_qp).
    for (const test_qp& qp : {a, b})
      to_rts(qp, ready_context(qp, 0).set<&layouts::qpc::mtu>(layouts::ib_mtu::mtu_4096));
    for (unsigned i = 0; i < 16; ++i) post_receive(b, to + i * receive_bytes, receive_bytes, key);
  }

  /// Sends what stands from the region's start on.
  void send_offloaded(std::uint32_t length, const offloads& wanted) {
    using c = layouts::wqe_ctrl;
    const std::size_t begin = std::size_t{a.sent % test_qp::entries} * test_qp::stride;
    std::size_t at = begin + c::bytes;
    put_datagram(a, at, {.dqpn = b.number, .qkey = qkey});
    at += layouts::wqe_datagram::bytes;
    if (wanted.mss != 0) {
      using s = layouts::wqe_lso;
      put(a, at, image<s>{}.set<&s::mss>(wanted.mss).set<&s::header_size>(wanted.header.size()));
      std::copy(wanted.header.begin(), wanted.header.end(),
                driver->bytes_of(a.ring, at + s::bytes));
      at = (at + s::bytes + wanted.header.size() + 15) / 16 * 16;
    }
    put(a, at, data_segment(region_start, length, key));
    at += layouts::wqe_data::bytes;
    put(a, begin,
        image<c>{}
            .set<&c::opcode>(wanted.mss != 0 ? wqe_opcode::lso : wqe_opcode::send)
            .set<&c::ds>((at - begin) / layouts::wqe_unit)
            .set<&c::cq_update>(layouts::wqe_completion::always)
            .set<&c::ip_csum>(wanted.ip)
            .set<&c::l4_csum>(wanted.l4)
            .set<&c::owner>((a.sent & test_qp::entries) != 0));
    ++a.sent;
    ring(a);
  }
  void write(const bytes& what) {
    for (std::size_t i = 0; i < what.size(); ++i) byte_at(region_start + i) = what[i];
  }
  bytes received(unsigned n, std::size_t length) {
    bytes all(length);
    for (std::size_t i = 0; i < length; ++i) all[i] = byte_at(to + n * receive_bytes + 40 + i);
    return all;
  }
  /// The completion of the receive of a datagram that is sent as it stands.
  image<cqe> completion_of(const bytes& datagram, const offloads& wanted = {}) {
    write(datagram);
    send_offloaded(static_cast<std::uint32_t>(datagram.size()), wanted);
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
    const image<cqe> e = completion();
    EXPECT_EQ(e.get<&cqe::qpn>(), b.number);
    return e;
  }
  /// Linux's word for it (hw/mlx4/cq.c mlx4_ib_ipoib_csum_ok).
  static bool linux_says_right(const image<cqe>& e) {
    return e.get<&cqe::l4_csum_ok>() ||
           (e.get<&cqe::ip_ok>() && (e.get<&cqe::tcp>() || e.get<&cqe::udp>()) &&
            e.get<&cqe::checksum>() == 0xffff);
  }
  test_qp a, b;
};

struct ipoib_without_checksums : ipoib {
  static options lacking() {
    options how = test_options();
    how.without.add(capability::ipoib_checksum);
    return how;
  }
  ipoib_without_checksums() : ipoib(lacking()) {}
};

/// 30 bytes behind this header, of which the checksums are not filled in.
const bytes large_header = encapsulation + frames::bytes_of(
                                               "4500000000074000400600000a0009010a000902"
                                               "12340050000003e800000001509903e800000000");

}  // namespace

TEST_F(ipoib, the_completion_says_that_checksums_are_right) {
  const image<cqe> e = completion_of(datagram_of(frames::captured_udp));
  EXPECT_TRUE(e.get<&cqe::ipv4>() && e.get<&cqe::udp>() && e.get<&cqe::ip_ok>());
  EXPECT_TRUE(e.get<&cqe::l4_csum_ok>());
  EXPECT_FALSE(e.get<&cqe::tcp>() || e.get<&cqe::ipv6>());
  EXPECT_EQ(e.get<&cqe::checksum>(), 0xffffu);
  EXPECT_TRUE(linux_says_right(e));
  // The bit says of a frame that it is IPv6, and of a datagram that it has a GRH.
  const image<cqe> six = completion_of(datagram_of(frames::tcp_over_ipv6));
  EXPECT_TRUE(six.get<&cqe::ipv6>() && six.get<&cqe::tcp>() && linux_says_right(six));
  EXPECT_FALSE(six.get<&cqe::grh>());
  EXPECT_EQ(six.get<&cqe::slid>(), links().base_lid(1));
}

TEST_F(ipoib, the_completion_says_that_checksums_are_wrong) {
  bytes datagram = datagram_of(frames::captured_udp);
  datagram.back() ^= std::byte{1};
  image<cqe> e = completion_of(datagram);
  EXPECT_TRUE(e.get<&cqe::ip_ok>());
  EXPECT_FALSE(e.get<&cqe::l4_csum_ok>() || linux_says_right(e));
  datagram.back() ^= std::byte{1};
  datagram[14] ^= std::byte{1};  // of the IP header's checksum
  e = completion_of(datagram);
  EXPECT_FALSE(e.get<&cqe::ip_ok>());
}

TEST_F(ipoib, the_completion_says_nothing_of_what_is_not_ip) {
  for (const std::size_t length : {1u, 3u, 4u, 28u}) {
    bytes arp = frames::bytes_of("08060000") + bytes(24, std::byte{1});
    arp.resize(length);
    const image<cqe> e = completion_of(arp);
    EXPECT_FALSE(e.get<&cqe::ipv4>() || e.get<&cqe::ip_ok>() || e.get<&cqe::l4_csum_ok>());
    EXPECT_EQ(e.get<&cqe::checksum>(), 0u) << length;
  }
}

TEST_F(ipoib, checksums_are_put_in_where_the_send_asks_for_them) {
  const bytes good = datagram_of(frames::captured_udp);
  bytes spoilt = good;
  // Bytes 10 of the IP header and 6 of UDP's.
  spoilt[14] = spoilt[15] = spoilt[30] = spoilt[31] = std::byte{0x55};
  EXPECT_TRUE(linux_says_right(completion_of(spoilt, {.ip = true, .l4 = true})));
  EXPECT_EQ(received(0, good.size()), good);
  completion_of(spoilt, {.l4 = true});
  EXPECT_EQ(received(1, 30), bytes(spoilt.begin(), spoilt.begin() + 30));
  completion_of(spoilt);
  EXPECT_EQ(received(2, spoilt.size()), spoilt);
}

TEST_F(ipoib, a_large_send_becomes_datagrams) {
  for (unsigned i = 0; i < 30; ++i) byte_at(region_start + i) = static_cast<std::byte>(100 + i);
  send_offloaded(30, {.ip = true, .l4 = true, .mss = 12, .header = large_header});
  // Worked out apart from the model.
  const bytes wanted[] = {
      encapsulation + frames::bytes_of("4500003400074000400614bb0a0009010a000902"
                                       "12340050000003e800000001509003e8f6720000"
                                       "6465666768696a6b6c6d6e6f"),
      encapsulation + frames::bytes_of("4500003400084000400614ba0a0009010a000902"
                                       "12340050000003f400000001501003e8ae9e0000"
                                       "707172737475767778797a7b"),
      encapsulation + frames::bytes_of("4500002e00094000400614bf0a0009010a000902"
                                       "123400500000040000000001501903e8f3d70000"
                                       "7c7d7e7f8081")};
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::lso));
  for (unsigned n = 0; n < 3; ++n) {
    const image<cqe> e = completion();
    EXPECT_EQ(e.get<&cqe::byte_count>(), 40 + wanted[n].size());
    EXPECT_TRUE(e.get<&cqe::tcp>() && linux_says_right(e)) << n;
    EXPECT_EQ(received(n, wanted[n].size()), wanted[n]) << n;
  }
  EXPECT_TRUE(no_completion());
  // The queue goes on behind it.
  EXPECT_TRUE(linux_says_right(completion_of(datagram_of(frames::captured_udp))));
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(ipoib, as_much_as_is_reported_is_one_large_send) {
  layouts::image<layouts::query_dev_cap> have;
  ASSERT_EQ(driver->query(opcode::query_dev_cap, have).status, command_status::ok);
  const std::uint32_t most = 1u << have.get<&layouts::query_dev_cap::log_max_gso_sz>();
  offloads large{.ip = true, .l4 = true, .mss = 1984, .header = large_header};
  send_offloaded(most, large);
  host->run();
  unsigned right = 0, sends = 0;
  for (image<cqe> e; driver->next_completion(cq, e);) {
    if (e.get<&cqe::is_send>())
      sends += e.get<&cqe::opcode>() == static_cast<unsigned>(wqe_opcode::lso);
    else right += linux_says_right(e);
  }
  driver->tell_consumer(cq);
  EXPECT_EQ(sends, 1u);
  EXPECT_EQ(right, 16u);
  EXPECT_EQ(driver->counter_named("datagrams_without_receive"), (most + 1983) / 1984 - 16);
  send_offloaded(most + 1, large);
  expect_error(a, true, cqe_syndrome::local_length, 0x69);
}

TEST_F(ipoib, a_datagram_of_a_large_send_above_the_mtu_is_a_length_error) {
  send_offloaded(8000, {.l4 = true, .mss = 4096, .header = large_header});
  expect_error(a, true, cqe_syndrome::local_length, 0x69);
  EXPECT_TRUE(no_completion());
}

TEST_F(ipoib, a_large_send_behind_no_header_of_tcp_or_udp_is_an_operation_error) {
  bytes header = large_header;
  header[1] = std::byte{6};  // ARP
  send_offloaded(100, {.mss = 50, .header = header});
  expect_error(a, true, cqe_syndrome::local_qp_op, 0x6f);
}

TEST_F(ipoib_without_checksums, nothing_is_put_in_and_nothing_said) {
  EXPECT_FALSE(hca->inside_now().profile.ipoib_checksums);
  bytes spoilt = datagram_of(frames::captured_udp);
  spoilt[14] = spoilt[31] = std::byte{0x55};
  const image<cqe> e = completion_of(spoilt, {.ip = true, .l4 = true});
  EXPECT_EQ(received(0, spoilt.size()), spoilt);
  EXPECT_FALSE(e.get<&cqe::ipv4>() || e.get<&cqe::ip_ok>() || e.get<&cqe::l4_csum_ok>());
  EXPECT_EQ(e.get<&cqe::checksum>(), 0u);
}

namespace {

image<layouts::query_dev_cap> report_of(const options& how) {
  test_host host;
  device hca{host, how};
  test_driver driver{host, hca};
  image<layouts::query_dev_cap> r;
  EXPECT_TRUE(driver.start_firmware());
  EXPECT_EQ(driver.query(opcode::query_dev_cap, r).status, command_status::ok);
  return r;
}

struct ipoib_capabilities : ::testing::TestWithParam<variant> {
  options how = test_options();
  void SetUp() override { how.kind = GetParam(); }
};

}  // namespace

// Captures: ibv_devinfo of each kind of card has UD_IP_CSUM and UD_TSO.
TEST_P(ipoib_capabilities, checksums_are_reported) {
  using l = layouts::query_dev_cap;
  EXPECT_EQ(report_of(how).get<&l::flags>() >> 7 & 1, 1u);
  how.without.add(capability::ipoib_checksum);
  EXPECT_EQ(report_of(how).get<&l::flags>() >> 7 & 1, 0u);
}

TEST_P(ipoib_capabilities, large_sends_are_reported) {
  using l = layouts::query_dev_cap;
  auto r = report_of(how);
  EXPECT_EQ(r.get<&l::flags>() >> 15 & 1, 1u);
  EXPECT_EQ(r.get<&l::log_max_gso_sz>(), 17u);
  how.without.add(capability::large_send);
  r = report_of(how);
  EXPECT_EQ(r.get<&l::flags>() >> 15 & 1, 0u);
  EXPECT_EQ(r.get<&l::log_max_gso_sz>(), 0u);
}

INSTANTIATE_TEST_SUITE_P(variants, ipoib_capabilities,
                         ::testing::Values(variant::connectx2, variant::connectx3,
                                           variant::connectx3_pro));

TEST(ipoib_firmware, checksums_that_are_not_reported_cannot_be_switched_on) {
  using p = layouts::init_hca;
  options how = test_options();
  how.without.add(capability::ipoib_checksum);
  test_host host;
  device hca{host, how};
  test_driver driver{host, hca};
  ASSERT_TRUE(driver.start_firmware() && driver.read_capabilities() &&
              driver.prepare_context_memory());
  auto in = driver.profile();
  EXPECT_FALSE(in.get<&p::checksum_enable>());
  in.set<&p::checksum_enable>(true);
  EXPECT_EQ(driver.command_with(opcode::init_hca, in).status, command_status::bad_parameter);
}

TEST(ipoib_firmware, a_large_send_that_is_not_reported_is_an_operation_error) {
  struct lacking : ipoib {
    static options how() {
      options o = test_options();
      o.without.add(capability::large_send);
      return o;
    }
    lacking() : ipoib(how()) {}
    void TestBody() override {
      send_offloaded(30, {.mss = 12, .header = large_header});
      expect_error(a, true, cqe_syndrome::local_qp_op, 0x6f);
    }
  };
  lacking().TestBody();
}

}  // namespace freehca::model::test
