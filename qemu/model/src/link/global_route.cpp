// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/global_route.hpp"

#include <array>
#include <cstdio>
#include <cstring>

#include <freehca/layouts/headers.hpp>

namespace freehca::model {

using namespace layouts;

namespace {

/// The subnet's own prefix may stand as the default one (Linux qib_ruc.c gid_ok).
bool is_gid(const std::byte* said, const std::byte* wanted) {
  constexpr std::byte default_prefix[8] = {std::byte{0xfe}, std::byte{0x80}};
  return std::memcmp(said + 8, wanted + 8, 8) == 0 &&
         (std::memcmp(said, wanted, 8) == 0 || std::memcmp(said, default_prefix, 8) == 0);
}

}  // namespace

void write_global_route(std::byte* to, const port_addresses& from, const path& way,
                        std::size_t following) {
  std::byte sgid[16]{};
  from.gid(way.port, way.sgid_index, sgid);
  image<grh> global;
  global.set<&grh::ip_version>(grh_ip_version)
      .set<&grh::traffic_class>(way.traffic_class)
      .set<&grh::flow_label>(way.flow_label & 0xfffff)
      .set<&grh::payload_length>(following)
      .set<&grh::next_header>(grh_next_header_bth)
      .set<&grh::hop_limit>(way.hop_limit)
      .set_bytes<&grh::sgid>(sgid)
      .set_bytes<&grh::dgid>(way.dgid.data());
  std::memcpy(to, global.data(), grh::bytes);
}

bool is_global_route(const std::byte* at) {
  // qib_verbs.c qib_ib_rcv drops what is no IBA transport; neither it nor rxe looks at the other
  // fields here.
  const auto global = image<grh>::from_bytes(at);
  return global.get<&grh::ip_version>() == grh_ip_version &&
         global.get<&grh::next_header>() == grh_next_header_bth;
}

std::string why_no_global_route(const std::byte* at) {
  const auto global = image<grh>::from_bytes(at);
  const auto version = static_cast<unsigned>(global.get<&grh::ip_version>());
  std::array<char, 80> text;
  if (version != grh_ip_version)
    std::snprintf(text.data(), text.size(), "GRH version %u; wanted: %u (IBTA 8.3)", version,
                  unsigned{grh_ip_version});
  else
    std::snprintf(text.data(), text.size(), "GRH next header 0x%02x; wanted: 0x%02x (IBTA 8.3)",
                  static_cast<unsigned>(global.get<&grh::next_header>()),
                  unsigned{grh_next_header_bth});
  return text.data();
}

bool comes_by_global_route(const ingress& from, const path& way, const port_addresses& own,
                           rule_book& rules) {
  if (from.global() != way.global) {
    rules.because_of_drop("%s; wanted: %s", from.global() ? "a GRH" : "no GRH",
                          way.global ? "one" : "none");
    return false;
  }
  if (!from.global()) return true;
  std::array<std::byte, 16> here;
  if (!own.gid(way.port, way.sgid_index, here.data()) || !is_gid(from.dgid(), here.data())) {
    rules.because_of_drop("GRH destination GID; wanted: that of index %u", way.sgid_index);
    return false;
  }
  if (!is_gid(from.sgid(), way.dgid.data())) {
    rules.because_of_drop("GRH source GID; wanted: that of the path");
    return false;
  }
  return true;
}

}  // namespace freehca::model
