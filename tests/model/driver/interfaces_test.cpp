// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Objects by way of the tables of operations: what callers and libraries of different versions have
// of each other, and what lists of attributes are refused.
#include <freehca/interfaces/every_interface.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "counts.hpp"
#include "interface_versions/releases.hpp"

namespace freehca {
namespace {

using namespace testing;
using layouts::qp_state;

// Callers that were compiled apart have these layouts.
constexpr bool has_64_bits = sizeof(void*) == 8;
#define AT(type, operation, offset) \
  static_assert(!has_64_bits || offsetof(type##_interface, operation) == (offset))
AT(protection_domain, create, 8);
AT(protection_domain, destroy, 16);
AT(address_handle, create, 8);
AT(address_handle, destroy, 16);
AT(memory_region, create, 8);
AT(memory_region, made, 16);
AT(memory_region, destroy, 24);
AT(memory_region, key, 32);
AT(completion_queue, create, 8);
AT(completion_queue, made, 16);
AT(completion_queue, destroy, 24);
AT(shared_receive_queue, create, 8);
AT(shared_receive_queue, made, 16);
AT(shared_receive_queue, destroy, 24);
AT(queue_pair, create, 8);
AT(queue_pair, made, 16);
AT(queue_pair, destroy, 24);
AT(queue_pair, number, 32);
AT(queue_pair, modify, 40);
#undef AT
static_assert(!has_64_bits || sizeof(protection_domain_interface) == 24);
static_assert(!has_64_bits || sizeof(address_handle_interface) == 24);
static_assert(!has_64_bits || sizeof(memory_region_interface) == 40);
static_assert(!has_64_bits || sizeof(completion_queue_interface) == 32);
static_assert(!has_64_bits || sizeof(shared_receive_queue_interface) == 32);
static_assert(!has_64_bits || sizeof(queue_pair_interface) == 48);
static_assert(offsetof(attribute, identifier) == 0 && offsetof(attribute, value) == 8);

status refusal(driver_error why, unsigned identifier) {
  return {why, identifier};
}

/// A mandatory attribute of some later release.
constexpr attribute unheard_of{0x7fff, attribute::mandatory, 4, 1};

struct interfaces_test : ::testing::Test {
  explicit interfaces_test(const rig_options& how = exact()) : rig(how) {}
  verbs_rig rig;
  protection_domain_interface domains;
  address_handle_interface addresses;
  memory_region_interface regions;
  completion_queue_interface completions;
  shared_receive_queue_interface shared_receives;
  queue_pair_interface pairs;
  operation_room room;

  void SetUp() override {
    ASSERT_TRUE(query_interface(domains).ok());
    ASSERT_TRUE(query_interface(addresses).ok());
    ASSERT_TRUE(query_interface(regions).ok());
    ASSERT_TRUE(query_interface(completions).ok());
    ASSERT_TRUE(query_interface(shared_receives).ok());
    ASSERT_TRUE(query_interface(pairs).ok());
    empty = counts(rig);
  }
  ~interfaces_test() override {
    EXPECT_EQ(counts(rig), empty);
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
  }

  /// The outcome of what a call started in the room, or why it started nothing.
  status outcome(status started) { return started.ok() ? rig.await(*room.started) : started; }

  pd_handle domain() {
    pd_handle made;
    EXPECT_TRUE(domains.create(rig.objects, {}, made).ok());
    return made;
  }
  cq_handle completion_queue(std::uint32_t entries = 63) {
    const status s = outcome(completions.create(rig.objects, room, {cq::entries(entries)}));
    EXPECT_TRUE(s.ok()) << words(s);
    return completions.made(room);
  }
  template <class Interface, class Handle>
  void destroy(const Interface& table, Handle which) {
    const status s = outcome(table.destroy(rig.objects, room, which));
    EXPECT_TRUE(s.ok()) << words(s);
  }

  std::vector<std::uint64_t> empty;
};

TEST_F(interfaces_test, a_message_between_two_queue_pairs_made_by_interface) {
  verbs& objects = rig.objects;
  const pd_handle pd = domain();
  const cq_handle queue = completion_queue();

  in_process::host_memory_map::scattered_pages pages = rig.machine.memory().allocate_scattered(2);
  ASSERT_TRUE(outcome(regions.create(objects, room,
                                     {mr::domain(pd), mr::page_addresses(pages.addresses.data()),
                                      mr::bytes(2 * 4096), mr::virtual_address(0x10000),
                                      mr::local_write(true), optional(unheard_of)}))
                  .ok());
  const mr_handle region = regions.made(room);
  const std::uint32_t key = regions.key(objects, region);
  EXPECT_NE(key, 0u);

  ASSERT_TRUE(
      outcome(shared_receives.create(objects, room, {srq::domain(pd), srq::receives(15)})).ok());
  const srq_handle shared = shared_receives.made(room);

  qp_handle pair[2];
  for (unsigned i = 0; i < 2; ++i) {
    const attribute wanted[] = {qp::domain(pd),
                                qp::send_cq(queue),
                                qp::receive_cq(queue),
                                qp::service(layouts::qp_service::rc),
                                qp::sends(4),
                                qp::shared(shared),
                                optional(qp::cookie(this))};
    const status s = outcome(pairs.create(objects, room, wanted));
    ASSERT_TRUE(s.ok()) << words(s);
    pair[i] = pairs.made(room);
    ASSERT_TRUE(pair[i]);
  }
  for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts})
    for (unsigned i = 0; i < 2; ++i) {
      const attribute way[] = {path::port(1),
                               path::dlid(rig.adapter.port(1).lid),
                               qp::path_mtu(rig.adapter.port(1).active_mtu),
                               qp::remote_qpn(pairs.number(objects, pair[1 - i])),
                               qp::receive_psn(0x100 + i),
                               qp::send_psn(0x101 - i),
                               qp::remote_write(true)};
      const status s = outcome(pairs.modify(objects, room, pair[i], to, way));
      ASSERT_TRUE(s.ok()) << words(s);
    }

  pages.memory[0] = std::byte{0x5a};
  const queues::data_entry from{0x10000, 1, key}, into{0x11000, 1, key};
  ASSERT_TRUE(
      objects.find(shared)->rings.post_and_ring({.wr_id = 7, .list = &into, .entries = 1}).ok());
  ASSERT_TRUE(
      work_requests::post_and_ring(objects.find(pair[0])->rings.send, {.list = &from, .entries = 1})
          .ok());
  queues::work_completion done[2];
  unsigned ended = 0;
  EXPECT_TRUE(rig.run(
      [&] {
        ended += objects.find(queue)->rings.poll(done + ended, 2 - ended);
        return ended == 2;
      },
      1'000'000'000));
  EXPECT_EQ(pages.memory[4096], std::byte{0x5a});

  for (const qp_handle p : pair) destroy(pairs, p);
  destroy(shared_receives, shared);
  destroy(regions, region);
  destroy(completions, queue);
  EXPECT_TRUE(domains.destroy(objects, pd).ok());
  rig.machine.memory().release(pages);
}

TEST_F(interfaces_test, an_address_handle_says_what_its_list_says) {
  const pd_handle pd = domain();
  const gid group{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}};
  ah_handle made;
  EXPECT_EQ(addresses.create(rig.objects, {ah::domain(pd)}, made),
            status(driver_error::bad_argument))
      << "no LID";
  EXPECT_FALSE(made);
  ASSERT_TRUE(
      addresses
          .create(rig.objects,
                  {ah::domain(pd), path::port(2), path::dlid(0x1234), path::sl(3),
                   path::path_bits(5), path::global(true), path::hop_limit(7), path::dgid(group)},
                  made)
          .ok());
  using rows = layouts::address_vector_rows;
  const auto& v = rig.objects.find(made)->address.vector;
  EXPECT_EQ(v.get<&rows::port>(), 2u);
  EXPECT_EQ(v.get<&rows::rlid>(), 0x1234u);
  EXPECT_EQ(v.get<&rows::sl>(), 3u);
  EXPECT_EQ(v.get<&rows::my_lid_smac_idx>(), 5u);
  EXPECT_EQ(v.get<&rows::hop_limit>(), 7u);
  EXPECT_EQ(v.bytes_of<&rows::dgid>()[15], std::byte{9});
  EXPECT_TRUE(domains.destroy(rig.objects, pd).is(driver_error::busy));
  EXPECT_TRUE(addresses.destroy(rig.objects, made).ok());
  EXPECT_TRUE(addresses.destroy(rig.objects, made).is(driver_error::stale_handle));
  EXPECT_TRUE(domains.destroy(rig.objects, pd).ok());
}

rig_options on_ethernet() {
  rig_options how = exact();
  how.machine.model.link[0] = model::link_layer::ethernet;
  return how;
}

struct interfaces_on_ethernet : interfaces_test {
  interfaces_on_ethernet() : interfaces_test(on_ethernet()) {}
  void SetUp() override {
    set_port_addresses set;
    set.start(rig.adapter, 1, {macs, 2, vlans, 1, gids, 2});
    ASSERT_TRUE(rig.await(set).ok());
    interfaces_test::SetUp();
  }
  static constexpr std::uint64_t mac = 0x0002'c900'0010, macs[] = {0, mac};
  static constexpr std::uint16_t vlans[] = {0x123};
  const port_gid gids[2] = {{gid_of_mac(mac), roce_version::v1},
                            {gid_of_ipv4(0x0a000001), roce_version::v2}};
  const gid peer = gid_of_ipv4(0x0a000002), peer_of_v1 = gid_of_mac(mac + 1);
};

TEST_F(interfaces_on_ethernet, an_address_handle_by_roce_says_what_its_list_says) {
  const pd_handle pd = domain();
  ah_handle made;
  using rows = layouts::address_vector_rows;
  ASSERT_TRUE(addresses
                  .create(rig.objects,
                          {ah::domain(pd), path::port(1), path::mac_index(1), path::dmac(mac + 1),
                           path::vlan(0x123), path::priority(5), path::sgid_index(1),
                           path::hop_limit(33), path::traffic_class(8), path::dgid(peer)},
                          made)
                  .ok());
  const queues::address& at = rig.objects.find(made)->address;
  EXPECT_EQ(at.vlan_and_mac, (5ull << 13 | 0x123) << 48 | (mac + 1));
  EXPECT_EQ(at.vector.get<&rows::mgid_index>(), 1u);
  EXPECT_EQ(at.vector.get<&rows::hop_limit>(), 33u);
  EXPECT_EQ(at.vector.get<&rows::tclass>(), 8u);
  EXPECT_EQ(at.vector.bytes_of<&rows::dgid>()[15], std::byte{2});
  EXPECT_TRUE(addresses.destroy(rig.objects, made).ok());

  // The defaults are those of roce_path.
  ASSERT_TRUE(addresses
                  .create(rig.objects,
                          {ah::domain(pd), path::dmac(mac + 1), path::dgid(peer_of_v1),
                           optional(path::mac_index(1))},
                          made)
                  .ok());
  const queues::address& plain = rig.objects.find(made)->address;
  EXPECT_EQ(plain.vlan_and_mac, 0xffffull << 48 | (mac + 1));
  EXPECT_EQ(plain.vector.get<&rows::hop_limit>(), roce_path{}.hop_limit);
  EXPECT_TRUE(addresses.destroy(rig.objects, made).ok());
  EXPECT_TRUE(domains.destroy(rig.objects, pd).ok());
}

TEST_F(interfaces_on_ethernet, a_queue_pair_has_the_path_of_its_list) {
  verbs& objects = rig.objects;
  const pd_handle pd = domain();
  const cq_handle queue = completion_queue();
  ASSERT_TRUE(outcome(pairs.create(objects, room,
                                   {qp::domain(pd), qp::send_cq(queue), qp::receive_cq(queue),
                                    qp::sends(4)}))
                  .ok());
  const qp_handle pair = pairs.made(room);
  const attribute way[] = {path::mac_index(1), path::dmac(mac + 1),
                           path::vlan(0x123),  path::sgid_index(1),
                           path::dgid(peer),   qp::remote_qpn(pairs.number(objects, pair))};
  for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
    const status s = outcome(pairs.modify(objects, room, pair, to, way));
    ASSERT_TRUE(s.ok()) << words(s);
  }
  query_queue_pair q;
  q.start(objects, pair);
  ASSERT_TRUE(rig.await(q).ok());
  const auto c = q.context();
  using l = layouts::primary_path;
  EXPECT_EQ(c.get<&l::link_type>(), layouts::path_link::ethernet);
  EXPECT_EQ(c.get<&l::my_lid_smac_idx>(), 1u);
  EXPECT_EQ(c.get<&l::mgid_index>(), 1u);
  EXPECT_EQ(c.get<&l::dmac>(), mac + 1);
  EXPECT_TRUE(c.get<&l::fvl>());
  EXPECT_EQ(c.get<&layouts::qpc::roce>(), layouts::roce_mode::v2);
  destroy(pairs, pair);
  destroy(completions, queue);
  EXPECT_TRUE(domains.destroy(objects, pd).ok());
}

TEST_F(interfaces_on_ethernet, a_list_has_attributes_of_one_link_layer) {
  const pd_handle pd = domain();
  ah_handle made;
  const auto refused = [&](const attribute_list& list, status why) {
    const status s = addresses.create(rig.objects, list, made);
    EXPECT_EQ(s, why) << words(s);
    EXPECT_FALSE(made);
  };
  const auto unknown = [](unsigned identifier) {
    return refusal(driver_error::unknown_attribute, identifier);
  };
  const attribute index = path::mac_index(1), to = path::dmac(mac + 1), of = ah::domain(pd);
  refused({of, to, path::dgid(peer)}, unknown(0x050e));
  refused({of, path::dlid(1), path::vlan(0x123)}, unknown(0x050f));
  refused({of, path::dlid(1), path::priority(1)}, unknown(0x0510));
  refused({of, index, to, path::dlid(1)}, unknown(0x0502));
  refused({of, path::sl(1), to, index}, unknown(0x0503));
  refused({of, index, path::path_bits(1)}, unknown(0x0504));
  refused({of, index, path::force_loopback(true)}, unknown(0x0506));
  refused({of, index, path::global(true)}, unknown(0x0507));
  refused({of, index, to, index}, refusal(driver_error::repeated_attribute, 0x050d));
  refused({index, to}, refusal(driver_error::missing_attribute, 0x0001));
  attribute other_flag = index;
  other_flag.flags |= 0x8000;
  refused({of, other_flag, to}, unknown(0x050d));
  attribute wide = index;
  wide.bytes = 2;
  refused({of, wide, to}, refusal(driver_error::wrong_size, 0x050d));
  // An InfiniBand path on an Ethernet port, and values that the port does not have.
  const auto refused_path = [&](const attribute_list& list, attribute_id what) {
    refused(list, driver_error::bad_argument);
    EXPECT_EQ(rig.objects.refused().what, what);
  };
  refused_path({of, path::dlid(1)}, attribute_id::link_layer);
  refused_path({of, index, to, path::port(2)}, attribute_id::link_layer);
  refused_path({of, index, path::dgid(peer_of_v1)}, attribute_id::dmac);
  refused_path({of, index, to, path::vlan(9), path::dgid(peer_of_v1)}, attribute_id::vlan);
  refused_path({of, index, to, path::priority(8)}, attribute_id::priority);
  refused_path({of, index, to, path::sgid_index(1)}, attribute_id::dgid);
  EXPECT_TRUE(domains.destroy(rig.objects, pd).ok());
}

TEST_F(interfaces_test, each_interface_refuses_lists_that_it_does_not_understand) {
  verbs& objects = rig.objects;
  const auto unknown = refusal(driver_error::unknown_attribute, 0x7fff);
  const auto missing = [](unsigned identifier) {
    return refusal(driver_error::missing_attribute, identifier);
  };
  pd_handle pd;
  EXPECT_EQ(domains.create(objects, {unheard_of}, pd), unknown);
  EXPECT_EQ(domains.create(objects, {cq::entries(5)}, pd),
            refusal(driver_error::unknown_attribute, 0x0101))
      << "another kind's";
  EXPECT_FALSE(pd);
  ASSERT_TRUE(domains.create(objects, {optional(unheard_of)}, pd).ok());

  ah_handle address;
  EXPECT_EQ(addresses.create(objects, {path::dlid(1)}, address), missing(0x0001));
  EXPECT_EQ(addresses.create(objects, {ah::domain(pd), unheard_of}, address), unknown);
  EXPECT_EQ(completions.create(objects, room, {}), missing(0x0101));
  EXPECT_EQ(completions.create(objects, room, {cq::entries(1), unheard_of}), unknown);
  EXPECT_EQ(completions.create(objects, room, {cq::entries(1), cq::entries(1)}),
            refusal(driver_error::repeated_attribute, 0x0101));
  EXPECT_EQ(shared_receives.create(objects, room, {srq::domain(pd)}), missing(0x0003));
  EXPECT_EQ(shared_receives.create(objects, room, {srq::receives(1)}), missing(0x0001));
  EXPECT_EQ(shared_receives.create(objects, room, {unheard_of}), unknown);
  EXPECT_EQ(pairs.create(objects, room, {qp::domain(pd), qp::send_cq({1, 1})}), missing(0x0402));
  EXPECT_EQ(pairs.create(objects, room, {unheard_of}), unknown);
  EXPECT_EQ(pairs.modify(objects, room, {}, qp_state::init, {unheard_of}), unknown);
  EXPECT_EQ(pairs.modify(objects, room, {}, qp_state::init, {qp::sends(1)}),
            refusal(driver_error::unknown_attribute, 0x0404))
      << "not of a transition";
  EXPECT_EQ(regions.create(objects, room, {mr::domain(pd)}), missing(0x0203));
  EXPECT_EQ(regions.create(objects, room, {unheard_of}), unknown);
  EXPECT_EQ(room.started, nullptr);
  EXPECT_TRUE(domains.destroy(objects, pd).ok());
}

TEST_F(interfaces_test, memory_that_is_no_memory_is_refused) {
  const pd_handle pd = domain();
  const std::uint64_t page = 0x1000;
  const auto region = [&](const attribute_list& more) {
    std::vector<attribute> list{mr::domain(pd)};
    list.insert(list.end(), more.first, more.first + more.count);
    return regions.create(rig.objects, room, {list.data(), list.size()});
  };
  const auto bad = [](unsigned identifier) {
    return refusal(driver_error::bad_argument, identifier);
  };
  EXPECT_EQ(region({mr::bytes(1)}), refusal(driver_error::missing_attribute, 0x0201));
  EXPECT_EQ(region({mr::bytes(1), mr::page_addresses(nullptr)}),
            refusal(driver_error::missing_attribute, 0x0201));
  EXPECT_EQ(region({mr::bytes(1), mr::page_addresses(&page), mr::device_address(0)}), bad(0x0202));
  EXPECT_EQ(region({mr::bytes(0x2000), mr::device_address(~std::uint64_t{0xfff})}), bad(0x0202));
  EXPECT_EQ(region({mr::bytes(1), mr::device_address(0x1000), mr::first_offset(1)}), bad(0x0204));
  EXPECT_EQ(region({mr::bytes(1), mr::page_addresses(&page), mr::first_offset(4096)}), bad(0x0204));
  for (const std::uint32_t log : {0u, 11u, 32u, 64u, ~0u})
    EXPECT_EQ(region({mr::bytes(1), mr::page_addresses(&page), mr::log_page_bytes(log)}),
              bad(0x0205));
  for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 4095})
    EXPECT_EQ(region({mr::bytes(bytes), mr::page_addresses(&page)}), bad(0x0203));
  EXPECT_EQ(room.started, nullptr);
  // What is a list of pages, and none that the device can use.
  EXPECT_TRUE(
      outcome(region({mr::bytes(0), mr::page_addresses(&page)})).is(driver_error::bad_argument));
  EXPECT_TRUE(domains.destroy(rig.objects, pd).ok());
}

TEST_F(interfaces_test, memory_that_is_contiguous_needs_no_array) {
  const pd_handle pd = domain();
  const auto pages = rig.machine.memory().allocate_scattered(1);
  const std::uint64_t at = pages.addresses[0] + 0x10;
  const status s = outcome(regions.create(
      rig.objects, room,
      {mr::domain(pd), mr::device_address(at), mr::bytes(64), mr::virtual_address(at)}));
  ASSERT_TRUE(s.ok()) << words(s);
  const mr_handle region = regions.made(room);
  EXPECT_NE(regions.key(rig.objects, region), 0u);
  destroy(regions, region);
  EXPECT_EQ(regions.key(rig.objects, region), 0u);
  EXPECT_TRUE(domains.destroy(rig.objects, pd).ok());
  rig.machine.memory().release(pages);
}

TEST_F(interfaces_test, memory_of_the_program_is_named_by_a_pointer) {
  const pd_handle pd = domain();
  std::vector<std::byte> memory(10'000);
  const std::uint64_t page = 0x1000;
  const auto bad = refusal(driver_error::bad_argument, 0x020b);
  EXPECT_EQ(regions.create(rig.objects, room,
                           {mr::domain(pd), mr::memory(memory.data()), mr::bytes(memory.size()),
                            mr::page_addresses(&page)}),
            bad);
  EXPECT_EQ(regions.create(rig.objects, room,
                           {mr::domain(pd), mr::memory(memory.data()), mr::bytes(memory.size()),
                            mr::device_address(page)}),
            bad);
  const std::size_t mappings = rig.machine.memory().mappings();
  const status s = outcome(regions.create(rig.objects, room,
                                          {mr::domain(pd), mr::memory(memory.data()),
                                           mr::bytes(memory.size()), mr::local_write(true)}));
  ASSERT_TRUE(s.ok()) << words(s);
  const mr_handle region = regions.made(room);
  EXPECT_EQ(rig.machine.memory().mappings(), mappings + 1);
  destroy(regions, region);
  EXPECT_EQ(rig.machine.memory().mappings(), mappings);
  EXPECT_TRUE(domains.destroy(rig.objects, pd).ok());
}

TEST_F(interfaces_test, a_room_holds_one_operation_at_a_time) {
  ASSERT_TRUE(completions.create(rig.objects, room, {cq::entries(3)}).ok());
  EXPECT_FALSE(completions.made(room)) << "not yet";
  EXPECT_TRUE(completions.create(rig.objects, room, {cq::entries(3)}).is(driver_error::busy));
  EXPECT_TRUE(completions.destroy(rig.objects, room, {}).is(driver_error::busy));
  ASSERT_TRUE(rig.await(*room.started).ok());
  const cq_handle queue = completions.made(room);
  EXPECT_TRUE(queue);
  EXPECT_FALSE(shared_receives.made(room)) << "of another kind";
  EXPECT_FALSE(pairs.made(room));
  destroy(completions, queue);
  EXPECT_FALSE(completions.made(room)) << "a destruction makes nothing";
  EXPECT_TRUE(
      outcome(completions.destroy(rig.objects, room, queue)).is(driver_error::stale_handle));
}

TEST_F(interfaces_test, a_room_is_free_again_inside_the_callback_and_has_a_deadline) {
  struct next {
    interfaces_test& test;
    cq_handle made;
  } context{*this, {}};
  ASSERT_TRUE(completions.create(rig.objects, room, {cq::entries(3)}).ok());
  room.started->then(
      [](operation&, void* self) noexcept {
        next& n = *static_cast<next*>(self);
        n.made = n.test.completions.made(n.test.room);
        EXPECT_TRUE(n.test.completions.destroy(n.test.rig.objects, n.test.room, n.made).ok());
      },
      &context);
  EXPECT_TRUE(rig.run([&] { return context.made && room.started->done(); }));
  EXPECT_TRUE(room.started->outcome().ok());
  EXPECT_EQ(rig.objects.find(context.made), nullptr);

  room.deadline = 1;  // long past
  EXPECT_TRUE(outcome(completions.create(rig.objects, room, {cq::entries(3)}))
                  .is(transport_error::timeout));
  EXPECT_FALSE(completions.made(room));
  // What the firmware has still to answer.
  EXPECT_TRUE(rig.run([&] { return rig.objects.holdings().none() && counts(rig) == empty; }));
}

TEST_F(interfaces_test, nothing_is_made_where_nothing_is_open) {
  ASSERT_TRUE(rig.objects.close().ok());
  pd_handle pd;
  EXPECT_TRUE(domains.create(rig.objects, {}, pd).is(driver_error::bad_state));
  EXPECT_TRUE(domains.destroy(rig.objects, pd).is(driver_error::bad_state));
  EXPECT_TRUE(completions.create(rig.objects, room, {cq::entries(3)}).is(driver_error::bad_state));
  EXPECT_TRUE(completions.destroy(rig.objects, room, {}).is(driver_error::bad_state));
  EXPECT_TRUE(pairs.modify(rig.objects, room, {}, qp_state::init, {}).is(driver_error::bad_state));
  ASSERT_TRUE(rig.reopen().ok());
}

/// A caller compiled against a library that is newer than this one.
struct table_of_tomorrow {
  queue_pair_interface known;
  void (*more[2])() = {nullptr, nullptr};
};

TEST(interface_query, a_larger_table_gets_null_for_what_is_not_known) {
  table_of_tomorrow table;
  table.more[0] = table.more[1] = [] {};
  ASSERT_TRUE(query_interface("queue_pair", 1, &table.known.head, sizeof table).ok());
  EXPECT_EQ(table.known.head.bytes, sizeof(queue_pair_interface));
  EXPECT_NE(table.known.modify, nullptr);
  EXPECT_EQ(table.more[0], nullptr);
  EXPECT_EQ(table.more[1], nullptr);
}

TEST(interface_query, a_needed_operation_that_is_missing_is_named) {
  table_of_tomorrow table;
  table.known.head.needed = sizeof table;
  table.more[0] = [] {};
  EXPECT_EQ(query_interface("queue_pair", 1, &table.known.head, sizeof table),
            status(driver_error::unsupported, offsetof(table_of_tomorrow, more)));
  EXPECT_EQ(table.known.create, nullptr) << "a table is left as it was";
  EXPECT_NE(table.more[0], nullptr);

  // One that a library knows and does not have.
  completion_queue_interface have, want;
  ASSERT_TRUE(query_interface(have).ok());
  have.made = nullptr;
  const offered_interface offered{"part", 1, sizeof have, &have.head};
  const offered_interface* const all[] = {&offered};
  EXPECT_EQ(find_interface(all, "part", 1, &want.head, sizeof want),
            status(driver_error::unsupported, offsetof(completion_queue_interface, made)));
  want.head.needed = offsetof(completion_queue_interface, made);
  ASSERT_TRUE(find_interface(all, "part", 1, &want.head, sizeof want).ok());
  EXPECT_EQ(want.made, nullptr);
  EXPECT_EQ(want.destroy, have.destroy);
}

TEST(interface_query, a_smaller_table_is_not_written_past_its_end) {
  queue_pair_interface table;
  table.head.needed = 0;
  for (std::uint32_t bytes = 8; bytes <= sizeof table; bytes += 8) {
    table = {};
    table.head.needed = bytes;
    ASSERT_TRUE(query_interface("queue_pair", 1, &table.head, bytes).ok());
    EXPECT_EQ(table.head.bytes, bytes);
    EXPECT_EQ(table.create != nullptr, bytes >= 16);
    EXPECT_EQ(table.destroy != nullptr, bytes >= 32);
    EXPECT_EQ(table.modify != nullptr, bytes >= 48);
  }
}

TEST(interface_query, what_is_not_there_is_said) {
  queue_pair_interface table;
  const auto lack = [](unsigned what) { return status(driver_error::unsupported, what); };
  EXPECT_EQ(query_interface("teapot", 1, &table.head, sizeof table), lack(interface_lack::name));
  EXPECT_EQ(query_interface("", 1, &table.head, sizeof table), lack(interface_lack::name));
  EXPECT_EQ(query_interface("queue_pai", 1, &table.head, sizeof table), lack(interface_lack::name));
  EXPECT_EQ(query_interface("queue_pairs", 1, &table.head, sizeof table),
            lack(interface_lack::name));
  for (const std::uint32_t version : {0u, 2u, ~0u})
    EXPECT_EQ(query_interface("queue_pair", version, &table.head, sizeof table),
              lack(interface_lack::version));
  const status bad(driver_error::bad_argument);
  EXPECT_EQ(query_interface(nullptr, 1, &table.head, sizeof table), bad);
  EXPECT_EQ(query_interface("queue_pair", 1, nullptr, sizeof table), bad);
  for (const std::uint32_t bytes : {0u, 7u, 12u}) {
    table.head.needed = 0;
    EXPECT_EQ(query_interface("queue_pair", 1, &table.head, bytes), bad);
  }
  table.head.needed = sizeof table + 8;
  EXPECT_EQ(query_interface("queue_pair", 1, &table.head, sizeof table), bad);
  EXPECT_EQ(table.create, nullptr);
}

/// Old and new callers, old and new libraries.
struct versions_test : interfaces_test, ::testing::WithParamInterface<bool> {};

TEST_P(versions_test, both_callers_fit) {
  const pd_handle pd = domain();
  const cq_handle queue = completion_queue();
  const query_function today = &query_interface;
  const installation with{GetParam() ? today : &query_old_library, GetParam(), rig, pd, queue};
  run_old_caller(with);
  run_new_caller(with);
  destroy(completions, queue);
  EXPECT_TRUE(domains.destroy(rig.objects, pd).ok());
}

INSTANTIATE_TEST_SUITE_P(libraries, versions_test, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "today" : "old"; });

}  // namespace
}  // namespace freehca
