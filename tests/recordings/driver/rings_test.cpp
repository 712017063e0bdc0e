// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the recorder takes for structure, and for how long; whose addresses it finds there.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/map.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/mtt.hpp>
#include <freehca/layouts/wqe.hpp>

#include "identities.hpp"
#include "rings.hpp"

namespace freehca::recorder {
namespace {

using namespace layouts;

constexpr std::uint64_t bus = 0x10000, page = 4096, table = 0x100000;

bytes mailbox_with(const void* from, std::size_t count, std::size_t offset = 0) {
  bytes box(4096);
  std::memcpy(box.data() + offset, from, count);
  return box;
}

entry command(opcode code, std::uint32_t modifier, std::uint64_t input = 0) {
  entry e;
  e.opcode = code;
  e.input_modifier = modifier;
  e.input = input;
  return e;
}

class rings_test : public ::testing::Test {
 protected:
  rings_test() {
    blocks.add({memory.data(), bus, memory.size()});
    image<init_hca> init;
    init.set<&init_hca::mtt_base>(table);
    followed.before(command(opcode::init_hca, 0), mailbox_with(init.data(), init_hca::bytes));
  }
  void lend(std::uint64_t va, std::uint64_t pa, unsigned log2_pages) {
    image<map_entry> e;
    e.set<&map_entry::va>(va).set<&map_entry::pa>(pa).set<&map_entry::log2size>(log2_pages);
    followed.before(command(opcode::map_icm, 1), mailbox_with(e.data(), map_entry::bytes));
  }
  /// Whether a store at the address is taken down.
  bool is_told(std::uint64_t address) {
    told.clear();
    followed.stored(address, 8);
    followed.flush();
    return std::find(told.begin(), told.end(), address) != told.end();
  }

  bytes memory = bytes(16 * page, std::byte{0x5a});
  host_blocks blocks;
  std::vector<std::uint64_t> told;
  rings followed{blocks, [this](std::uint64_t address, const bytes&) { told.push_back(address); },
                 [](const ring&, std::uint64_t, const bytes&) {}, [](const std::byte*) {}};
};

TEST_F(rings_test, memory_that_is_taken_back_is_no_structure_any_more) {
  lend(table, bus, 0);
  lend(table + page, bus + 4 * page, 1);
  lend(table + 3 * page, bus + 8 * page, 0);
  for (const std::uint64_t n : {0u, 4u, 5u, 8u}) EXPECT_TRUE(is_told(bus + n * page)) << n;
  followed.after(command(opcode::unmap_icm, 3, table));
  for (const std::uint64_t n : {0u, 4u, 5u}) EXPECT_FALSE(is_told(bus + n * page)) << n;
  EXPECT_TRUE(is_told(bus + 8 * page));
}

TEST_F(rings_test, a_doorbell_record_ends_with_its_queue) {
  image<write_mtt_header> head;
  image<mtt> translation;
  translation.set<&mtt::ptag>(bus).set<&mtt::present>(true);
  bytes box = mailbox_with(head.data(), write_mtt_header::bytes);
  std::memcpy(box.data() + write_mtt_header::bytes, translation.data(), mtt::bytes);
  followed.before(command(opcode::write_mtt, 1), box);
  constexpr std::uint64_t record = bus + 2 * page;
  image<cqc> context;
  context.set<&cqc::log_cq_size>(4).set<&cqc::db_rec_addr>(record);
  followed.before(command(opcode::sw2hw_cq, 7), mailbox_with(context.data(), cqc::bytes));
  EXPECT_TRUE(is_told(record));
  EXPECT_TRUE(is_told(bus));
  followed.after(command(opcode::hw2sw_cq, 7));
  EXPECT_FALSE(is_told(record));
  EXPECT_FALSE(is_told(bus));
}

constexpr std::uint64_t their_guid = 0x0002c90355667780, their_mac = 0x0002c9556677;

/// What becomes of data after `learn` has looked at it.
template <class Learn>
bytes replaced(const bytes& data, Learn&& learn) {
  identities all;
  learn(all);
  std::vector<entry> records(1);
  records[0].data = data;
  all.replace(records);
  return records[0].data;
}

bytes gid_of(std::uint64_t guid) {
  bytes gid(16);
  gid[0] = std::byte{0xfe};
  gid[1] = std::byte{0x80};
  store_be(gid.data() + 8, guid);
  return gid;
}

TEST(identities_of_others, an_address_vector_of_a_send_is_replaced) {
  image<wqe_datagram> segment;
  segment.set<&wqe_datagram::grh>(true).set<&wqe_datagram::dmac>(their_mac);
  const bytes gid = gid_of(their_guid);
  std::memcpy(segment.data() + wqe_datagram{}.dgid.offset, gid.data(), gid.size());
  const bytes before(segment.data(), segment.data() + wqe_datagram::bytes);
  const bytes after = replaced(before, [&](identities& all) { all.learn_address(segment.data()); });
  const auto now = image<wqe_datagram>::from_bytes(after.data());
  EXPECT_NE(now.get<&wqe_datagram::dmac>(), their_mac);
  EXPECT_NE(load_be<std::uint64_t>(after.data() + wqe_datagram{}.dgid.offset + 8), their_guid);
  EXPECT_EQ(load_be<std::uint64_t>(after.data() + wqe_datagram{}.dgid.offset), 0xfe80000000000000u);
}

TEST(identities_of_others, an_entry_that_steers_to_one_port_is_replaced_and_a_group_stays) {
  const auto learnt = [](opcode code, mcg_protocol protocol, const bytes& gid) {
    image<mcg_header> head;
    head.set<&mcg_header::protocol>(protocol);
    std::memcpy(head.data() + mcg_header{}.gid.offset, gid.data(), gid.size());
    bytes box = mailbox_with(head.data(), mcg_header::bytes);
    const bytes after = replaced(box, [&](identities& all) {
      all.learn_mailbox(command(code, 0), code == opcode::read_mcg, box);
    });
    return after != box;
  };
  bytes group = gid_of(their_guid), address(16), group_address(16);
  group[0] = std::byte{0xff};
  store_be(address.data() + 8, their_mac);
  store_be(group_address.data() + 8, their_mac | std::uint64_t{1} << 40);
  for (const opcode code : {opcode::write_mcg, opcode::read_mcg}) {
    EXPECT_TRUE(learnt(code, mcg_protocol::ib_ipv6, gid_of(their_guid)));
    EXPECT_FALSE(learnt(code, mcg_protocol::ib_ipv6, group));
    EXPECT_TRUE(learnt(code, mcg_protocol::ethernet, address));
    EXPECT_FALSE(learnt(code, mcg_protocol::ethernet, group_address));
  }
}

}  // namespace
}  // namespace freehca::recorder
