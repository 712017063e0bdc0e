// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "steering/multicast_groups.hpp"

#include <algorithm>

#include <freehca/layouts/opcode.hpp>

#include "basis/capabilities.hpp"
#include "command/command_checks.hpp"
#include "tables/icm.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

constexpr unsigned gid_bytes = 16;
/// Entries of one hash chain that are followed: a guest can make a circle of them.
constexpr unsigned chain_max = 4096;
/// The same when somebody asks for all addresses.
constexpr unsigned told_max = 1u << 16;

/// The members that stand behind the head of an entry.
void take_members(const std::vector<std::byte>& entry, member_list& to) {
  const auto head = image<mcg_header>::from_bytes(entry.data());
  const std::size_t room = (entry.size() - mcg_header::bytes) / mcg_member::bytes;
  const auto count = static_cast<std::size_t>(head.get<&mcg_header::members_count>());
  for (std::size_t i = 0; i < std::min(count, room); ++i) {
    const auto m =
        image<mcg_member>::from_bytes(entry.data() + mcg_header::bytes + i * mcg_member::bytes);
    to.push_back({static_cast<std::uint32_t>(m.get<&mcg_member::qpn>()),
                  m.get<&mcg_member::block_loopback>()});
  }
}

}  // namespace

multicast_groups::multicast_groups(adapter& a) : a_(a) {
  if (!offers(a.how, capability::multicast)) return;
  a.commands.on(opcode::read_mcg, [this](command& c) { return read(c); });
  a.commands.on(opcode::write_mcg, [this](command& c) { return write(c); });
  a.commands.on(opcode::mgid_hash, [this](command& c) { return hash(c); });
  a.kept.add_objects(ethernet_entries::bytes_each, [this] { return ethernet_.written().size(); });
}

void multicast_groups::clear() {
  ethernet_.clear();
}

std::size_t multicast_groups::entry_bytes() const {
  return std::size_t{1} << a_.profile.log_mc_entry_bytes;
}

std::uint64_t multicast_groups::address(std::uint32_t index) const {
  return a_.profile.mc_base + (std::uint64_t{index} << a_.profile.log_mc_entry_bytes);
}

bool multicast_groups::valid(std::uint32_t index) const {
  const hca_profile& p = a_.profile;
  return p.running && !p.device_managed_steering && p.log_mc_entry_bytes >= 6 &&
         p.log_mc_entry_bytes <= 12 && index >> p.log_mc_table == 0;
}

bool multicast_groups::load(std::uint32_t index, std::vector<std::byte>& to) {
  to.resize(entry_bytes());
  return a_.context_memory->read(address(index), to.data(), to.size());
}

void multicast_groups::check_index(command_checks& is, std::uint32_t index) const {
  is.must(valid(index), rule::number_in_table, command_status::bad_index,
          "group index 0x%x; the table has 0x%x", index,
          a_.profile.device_managed_steering ? 0u : 1u << a_.profile.log_mc_table);
}

command_status multicast_groups::read(command& c) {
  command_checks is(a_.rules);
  check_index(is, c.input_modifier);
  if (is.refused()) return is.status();
  std::vector<std::byte> entry;
  if (!load(c.input_modifier, entry)) {
    is.lent(false, "group", c.input_modifier);
    entry.assign(entry_bytes(), {});
  }
  if (is.refused()) return is.status();
  is.was_written(a_.memory.write(c.output_parameter, entry.data(), entry.size()), c);
  return is.status();
}

void multicast_groups::check_ethernet_port(command_checks& is, std::uint64_t port) const {
  is.port(port >= 1 && port <= a_.how.ports, "port", port, a_.how.ports);
  is.that(is.refused() || a_.layers.ethernet(port), rule::capability_reported,
          command_status::bad_parameter, "port %u of an entry for Ethernet, which is InfiniBand's",
          static_cast<unsigned>(port));
}

void multicast_groups::check_ethernet(command_checks& is, const image<mcg_header>& head) const {
  if (head.get<&mcg_header::protocol>() != mcg_protocol::ethernet ||
      head.get<&mcg_header::members_count>() == 0)
    return;
  const auto gid = ethernet_gid::from_bytes(head.bytes_of<&mcg_header::gid>());
  const std::uint64_t port = gid.get<&mcg_ethernet_gid::port>();
  is.that(a_.layers.ethernet(port), rule::capability_reported, command_status::bad_parameter,
          "port %u of an entry for Ethernet, which is no Ethernet port",
          static_cast<unsigned>(port))
      .no_reserved_bits(gid, "address of an entry for Ethernet");
}

void multicast_groups::read_entry(command_checks& is, const command& c,
                                  std::vector<std::byte>& to) const {
  to.resize(entry_bytes());
  is.was_read(a_.memory.read(c.input_parameter, to.data(), to.size()), c);
  is.at_most<&mcg_header::members_count>(rule::group_members,
                                         image<mcg_header>::from_bytes(to.data()),
                                         mcg_members_per_entry(a_.profile.log_mc_entry_bytes));
}

command_status multicast_groups::write(command& c) {
  if (c.opcode_modifier == static_cast<unsigned>(write_mcg_modifier::promiscuous))
    return write_promiscuous(c);
  command_checks is(a_.rules);
  check_index(is, c.input_modifier);
  if (is.refused()) return is.status();
  std::vector<std::byte> entry;
  read_entry(is, c, entry);
  const auto head = image<mcg_header>::from_bytes(entry.data());
  check_ethernet(is, head);
  if (is.refused()) return is.status();
  const bool stored =
      a_.context_memory->write(address(c.input_modifier), entry.data(), entry.size());
  if (stored) ethernet_.wrote(c.input_modifier, head);
  is.lent(stored, "group", c.input_modifier);
  return is.status();
}

/// The default of a port for frames that have no entry (Linux mcg.c mlx4_WRITE_PROMISC).
command_status multicast_groups::write_promiscuous(command& c) {
  command_checks is(a_.rules);
  is.must(valid(0), rule::number_in_table, command_status::bad_index,
          "group index 0x0 of a promiscuous entry; the table has 0x0");
  image<mcg_promiscuous_modifier> where;
  store_be(where.data(), c.input_modifier);
  const std::uint64_t port = where.get<&mcg_promiscuous_modifier::port>();
  is.no_reserved_bits(where, "input modifier");
  check_ethernet_port(is, port);
  if (is.refused()) return is.status();
  std::vector<std::byte> entry;
  read_entry(is, c, entry);
  const auto protocol = image<mcg_header>::from_bytes(entry.data()).get<&mcg_header::protocol>();
  is.that(protocol == mcg_protocol::ethernet, rule::capability_reported,
          command_status::bad_parameter, "protocol %u of a promiscuous entry; Ethernet is 1",
          static_cast<unsigned>(protocol));
  if (is.refused()) return is.status();
  member_list& members = ethernet_.promiscuous(static_cast<unsigned>(port),
                                               where.get<&mcg_promiscuous_modifier::steering>());
  members.clear();
  take_members(entry, members);
  return command_status::ok;
}

std::uint32_t multicast_groups::hash_of(const std::byte* gid) const {
  // The real function is not known; drivers ask for it and depend on nothing else. It is one for
  // both protocols, so that the opcode modifier, by which drivers tell them apart where the adapter
  // reports mc_steering, decides nothing. No source: chosen.
  std::uint32_t h = 0xffff;
  for (unsigned i = 0; i < gid_bytes; ++i) {
    h ^= static_cast<std::uint32_t>(gid[i]) << 8;
    for (unsigned bit = 0; bit < 8; ++bit)
      h = ((h & 0x8000) != 0 ? h << 1 ^ 0x1021 : h << 1) & 0xffff;
  }
  return h & ((1u << std::min(a_.profile.log_mc_hash, 16u)) - 1);
}

command_status multicast_groups::hash(command& c) {
  std::byte gid[gid_bytes];
  command_checks is(a_.rules);
  is.was_read(a_.memory.read(c.input_parameter, gid, sizeof gid), c);
  if (is.refused()) return is.status();
  c.output_parameter = hash_of(gid);
  return command_status::ok;
}

multicast_groups::search multicast_groups::begin(const std::byte* gid,
                                                 mcg_protocol protocol) const {
  search s{{}, protocol, hash_of(gid)};
  std::copy_n(gid, s.gid.size(), s.gid.begin());
  return s;
}

multicast_groups::search multicast_groups::begin(const std::byte* mgid) const {
  return begin(mgid, mcg_protocol::ib_ipv6);
}

multicast_groups::search multicast_groups::begin(unsigned port, const frame_headers& frame) const {
  using g = mcg_ethernet_gid;
  const auto gid =
      ethernet_gid{}
          .set<&g::port>(port)
          .set<&g::steering>(frame.multicast() ? mcg_steering::multicast : mcg_steering::unicast)
          .set<&g::mac>(frame.destination);
  return begin(gid.data(), mcg_protocol::ethernet);
}

multicast_groups::walked multicast_groups::step(search& s) {
  image<mcg_header> head;
  if (s.hops++ >= chain_max || !valid(s.index) ||
      !a_.context_memory->read(address(s.index), head.data(), mcg_header::bytes) ||
      head.get<&mcg_header::members_count>() == 0)
    return walked::to_the_end;
  if (head.get<&mcg_header::protocol>() == s.protocol &&
      std::equal(s.gid.begin(), s.gid.end(), head.bytes_of<&mcg_header::gid>()))
    return walked::to_the_entry;
  s.index = static_cast<std::uint32_t>(head.get<&mcg_header::next_gid_index>());
  return s.index == 0 ? walked::to_the_end : walked::on;
}

bool multicast_groups::go_on(search& s, member_list& found) {
  walked now = walked::on;
  while ((now = step(s)) == walked::on)
    if (a_.account.slice_over()) return false;
  std::vector<std::byte> entry;
  if (now == walked::to_the_entry && load(s.index, entry)) take_members(entry, found);
  if (now == walked::to_the_entry || s.protocol != mcg_protocol::ethernet) return true;
  const auto gid = ethernet_gid::from_bytes(s.gid.data());
  found = ethernet_.promiscuous(static_cast<unsigned>(gid.get<&mcg_ethernet_gid::port>()),
                                gid.get<&mcg_ethernet_gid::steering>());
  return true;
}

const char* multicast_groups::search::broken_invariant() const {
  const std::uint64_t port = ethernet_gid::from_bytes(gid.data()).get<&mcg_ethernet_gid::port>();
  const bool named = protocol != mcg_protocol::ethernet || (port >= 1 && port <= 2);
  return named ? nullptr : "an Ethernet address of no port";
}

bool multicast_groups::can_be_reached(const ethernet_gid& gid, unsigned& hops_left) {
  search s = begin(gid.data(), mcg_protocol::ethernet);
  while (hops_left != 0) {
    --hops_left;
    const walked now = step(s);
    if (now != walked::on) return now == walked::to_the_entry;
  }
  return false;
}

void multicast_groups::tell(unsigned port, listening& to) {
  to.promiscuous = !ethernet_.promiscuous(port, mcg_steering::unicast).empty();
  to.all_multicast = !ethernet_.promiscuous(port, mcg_steering::multicast).empty();
  to.incomplete = ethernet_.overflowed();
  unsigned hops_left = told_max;
  for (const auto& [index, gid] : ethernet_.written()) {
    if (gid.get<&mcg_ethernet_gid::port>() != port) continue;
    if (can_be_reached(gid, hops_left)) to.add(gid.get<&mcg_ethernet_gid::mac>());
  }
  to.incomplete = to.incomplete || hops_left == 0;
}

}  // namespace freehca::model
