// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/description/address_tables.hpp>

#include <fmt/format.h>

namespace freehca::description {
namespace {

constexpr unsigned gids_of_a_block = 8, pkeys_of_a_block = 32;

using waiting = std::function<status(operation&)>;

status read_port(channel& commands, const waiting& wait, const port_attributes& port,
                 port_tables& to) {
  for (unsigned block = 0; to.gids.size() < port.gid_table_length; ++block) {
    guid_query q;
    q.start(commands, to.port, block);
    FREEHCA_TRY(wait(q));
    for (unsigned i = 0; i < gids_of_a_block; ++i)
      to.gids.push_back(q.guid(i) == 0 ? gid{} : gid_of(port.subnet_prefix, q.guid(i)));
  }
  to.gids.resize(port.gid_table_length);
  for (unsigned block = 0; to.pkeys.size() < port.pkey_table_length; ++block) {
    pkey_query q;
    q.start(commands, to.port, block);
    FREEHCA_TRY(wait(q));
    for (unsigned i = 0; i < pkeys_of_a_block; ++i) to.pkeys.push_back(q.pkey(i));
  }
  to.pkeys.resize(port.pkey_table_length);
  return {};
}

std::string text_of(const gid& g) {
  std::string s;
  for (unsigned i = 0; i < sizeof g.raw; ++i)
    s += fmt::format("{}{:02x}", i != 0 && i % 2 == 0 ? ":" : "", g.raw[i]);
  return s;
}

std::string text_of(std::uint16_t pkey) {
  return fmt::format("0x{:04x}", pkey);
}

// Calls f(place, text) for each entry that is not empty.
template <class T, class F>
void each_used(const std::vector<T>& table, F f) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i] != T{}) f(i, text_of(table[i]));
}

template <class T>
nlohmann::json json_of(const std::vector<T>& table) {
  auto j = nlohmann::json::object();
  each_used(table, [&j](std::size_t i, std::string s) { j[std::to_string(i)] = std::move(s); });
  return j;
}

template <class T>
std::string line_of(const std::vector<T>& table) {
  std::string line;
  each_used(table, [&line](std::size_t i, const std::string& s) {
    line += fmt::format(" {} at {},", s, i);
  });
  if (line.empty()) return " none";
  line.pop_back();
  return line;
}

}  // namespace

status read_address_tables(device& adapter, const waiting& wait, std::vector<port_tables>& to) {
  to.clear();
  const device_info i = adapter.info();
  for (unsigned p = 1; p <= i.ports; ++p) {
    if (i.port[p - 1].link_layer != layouts::port_type::ib) continue;
    to.push_back({.port = p, .gids = {}, .pkeys = {}});
    FREEHCA_TRY(read_port(adapter.commands(), wait, i.port[p - 1], to.back()));
  }
  return {};
}

nlohmann::json to_json(const std::vector<port_tables>& of) {
  auto all = nlohmann::json::array();
  for (const port_tables& t : of)
    all.push_back({{"port", t.port}, {"gids", json_of(t.gids)}, {"pkeys", json_of(t.pkeys)}});
  return all;
}

std::string to_text(const std::vector<port_tables>& of) {
  std::string text;
  for (const port_tables& t : of)
    text +=
        fmt::format("tables {}   GIDs{}; P_Keys{}\n", t.port, line_of(t.gids), line_of(t.pkeys));
  return text;
}

}  // namespace freehca::description
