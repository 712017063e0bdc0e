// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "steering/multicast_groups.hpp"

#include <algorithm>

#include "basis/capabilities.hpp"
#include "command/command_checks.hpp"
#include "tables/icm.hpp"

namespace freehca::model {

using namespace layouts;

namespace {
constexpr unsigned mgid_bytes = 16;
/// Entries of one hash chain that are followed: a guest can make a circle of them.
constexpr unsigned chain_max = 4096;
}  // namespace

multicast_groups::multicast_groups(adapter& a) : a_(a) {
  if (!offers(a.how, capability::multicast)) return;
  a.commands.on(opcode::read_mcg, [this](command& c) { return read(c); });
  a.commands.on(opcode::write_mcg, [this](command& c) { return write(c); });
  a.commands.on(opcode::mgid_hash, [this](command& c) { return hash(c); });
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

command_status multicast_groups::write(command& c) {
  command_checks is(a_.rules);
  check_index(is, c.input_modifier);
  if (is.refused()) return is.status();
  std::vector<std::byte> entry(entry_bytes());
  is.was_read(a_.memory.read(c.input_parameter, entry.data(), entry.size()), c);
  const auto head = image<mcg_header>::from_bytes(entry.data());
  is.at_most<&mcg_header::members_count>(rule::group_members, head,
                                         mcg_members_per_entry(a_.profile.log_mc_entry_bytes));
  if (is.refused()) return is.status();
  is.lent(a_.context_memory->write(address(c.input_modifier), entry.data(), entry.size()), "group",
          c.input_modifier);
  return is.status();
}

std::uint32_t multicast_groups::hash_of(const std::byte* mgid) const {
  // The real function is not known; drivers ask for it and depend on nothing else. No source:
  // chosen.
  std::uint32_t h = 0xffff;
  for (unsigned i = 0; i < mgid_bytes; ++i) {
    h ^= static_cast<std::uint32_t>(mgid[i]) << 8;
    for (unsigned bit = 0; bit < 8; ++bit)
      h = ((h & 0x8000) != 0 ? h << 1 ^ 0x1021 : h << 1) & 0xffff;
  }
  return h & ((1u << std::min(a_.profile.log_mc_hash, 16u)) - 1);
}

command_status multicast_groups::hash(command& c) {
  std::byte mgid[mgid_bytes];
  command_checks is(a_.rules);
  is.was_read(a_.memory.read(c.input_parameter, mgid, sizeof mgid), c);
  if (is.refused()) return is.status();
  c.output_parameter = hash_of(mgid);
  return command_status::ok;
}

multicast_groups::search multicast_groups::begin_search(const std::byte* mgid) const {
  search s{{}, hash_of(mgid)};
  std::copy_n(mgid, s.mgid.size(), s.mgid.begin());
  return s;
}

bool multicast_groups::search_on(search& s, member_list& found) {
  image<mcg_header> head;
  while (s.hops++ < chain_max && valid(s.index) &&
         a_.context_memory->read(address(s.index), head.data(), mcg_header::bytes)) {
    const auto count = static_cast<std::size_t>(head.get<&mcg_header::members_count>());
    if (count == 0) return true;
    const bool same = head.get<&mcg_header::protocol>() == mcg_protocol::ib_ipv6 &&
                      std::equal(s.mgid.begin(), s.mgid.end(), head.bytes_of<&mcg_header::gid>());
    if (same) {
      take_members(s.index, count, found);
      return true;
    }
    s.index = static_cast<std::uint32_t>(head.get<&mcg_header::next_gid_index>());
    if (s.index == 0) return true;
    if (a_.account.slice_over()) return false;
  }
  return true;
}

void multicast_groups::take_members(std::uint32_t index, std::size_t count, member_list& to) {
  std::vector<std::byte> entry;
  if (!load(index, entry)) return;
  const std::size_t room = (entry.size() - mcg_header::bytes) / mcg_member::bytes;
  for (std::size_t i = 0; i < std::min(count, room); ++i) {
    const auto m =
        image<mcg_member>::from_bytes(entry.data() + mcg_header::bytes + i * mcg_member::bytes);
    to.push_back({static_cast<std::uint32_t>(m.get<&mcg_member::qpn>()),
                  m.get<&mcg_member::block_loopback>()});
  }
}

}  // namespace freehca::model
