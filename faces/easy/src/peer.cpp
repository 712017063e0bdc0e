// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The form of a peer that two hosts exchange.
#include <freehca/easy/values.hpp>
#include <freehca/hal/fields.hpp>
#include <freehca/hca/attribute_ids.hpp>

namespace freehca::easy {

namespace {

// "fh" and the version. Another version has another layout behind them.
constexpr unsigned peer_mark = 0x666801;

struct peer_form {
  static constexpr std::size_t bytes = peer_bytes;
  layouts::bits mark{0x00, 31, 8, "mark"};
  layouts::as<gid_type> type{0x00, 7, 0, "type"};
  layouts::as<layouts::ib_mtu> mtu{0x04, 31, 24, "mtu"};
  layouts::bits qpn{0x04, 23, 0, "qpn"};
  layouts::bits sl{0x08, 31, 24, "sl"};
  layouts::bits psn{0x08, 23, 0, "psn"};
  layouts::bits pkey{0x0c, 31, 16, "pkey"};
  layouts::bits lid{0x0c, 15, 0, "lid"};
  layouts::bits vlan{0x10, 31, 16, "vlan"};
  layouts::bits mac{0x10, 47, 0, "mac"};
  layouts::bits qkey{0x18, 31, 0, "qkey"};
  layouts::raw<16> gid{0x1c, "gid"};
};

#define FREEHCA_ROW(member, name) \
  FREEHCA_FIELD_AS(peer, member, &peer_form::member, attribute_id::name)
constexpr auto peer_fields = fields_of<peer_form>(
    FREEHCA_ROW(type, link_layer), FREEHCA_ROW(mtu, path_mtu), FREEHCA_ROW(qpn, remote_qpn),
    FREEHCA_ROW(sl, sl), FREEHCA_ROW(psn, receive_psn), FREEHCA_ROW(pkey, none),
    FREEHCA_ROW(lid, none), FREEHCA_ROW(vlan, none), FREEHCA_ROW(mac, dmac),
    FREEHCA_ROW(qkey, none));
#undef FREEHCA_ROW

/// Checks what the width of a field does not limit. connect() checks the rest.
status check_values(const peer& p, refused_attribute& note) {
  using id = attribute_id;
  const bool ethernet = p.type != gid_type::none;
  status s;
  const auto check = [&](id what, std::uint64_t value, std::uint64_t most, unsigned least = 0) {
    if (s.ok()) s = note.check(what, value, most, least);
  };
  check(id::link_layer, unsigned(p.type), unsigned(gid_type::v2_ipv4));
  check(id::path_mtu, unsigned(p.mtu), unsigned(layouts::ib_mtu::mtu_4096));
  check(id::remote_qpn, p.qpn, 0xffffff, 2);  // 0 and 1 are the queue pairs of management
  check(id::sl, p.sl, ethernet ? 7 : 15);
  check(id::dlid, p.lid, ethernet ? 0 : 0xbfff, ethernet ? 0 : 1);
  check(id::dmac, p.mac, ethernet ? most_mac : 0, ethernet ? 1 : 0);
  check(id::vlan, (p.vlan + 1u) & 0xffff, ethernet ? 4095 : 0);  // no_vlan plus 1 is 0
  return s;
}

}  // namespace

status write(const peer& from, std::byte (&to)[peer_bytes]) {
  refused_attribute note;
  layouts::image<peer_form> form;
  form.set<&peer_form::mark>(peer_mark);
  status s = check_values(from, note);
  if (s.ok()) s = store(peer_fields, from, form, note);
  // `where` names the attribute, because a peer has no object that could note it.
  if (!s.ok()) return s.at(static_cast<unsigned>(note.what));
  form.set_bytes<&peer_form::gid>(reinterpret_cast<const std::byte*>(from.gid.raw));
  __builtin_memcpy(to, form.data(), peer_bytes);
  return {};
}

status read(const std::byte* from, std::size_t bytes, peer& to) {
  if (bytes != peer_bytes) return driver_error::wrong_size;
  const auto form = layouts::image<peer_form>::from_bytes(from);
  if (form.get<&peer_form::mark>() != peer_mark) return driver_error::unsupported;
  peer p;
  load(peer_fields, form, p);
  __builtin_memcpy(p.gid.raw, form.bytes_of<&peer_form::gid>(), sizeof p.gid.raw);
  refused_attribute note;
  if (const status s = check_values(p, note); !s.ok())
    return s.at(static_cast<unsigned>(note.what));
  to = p;
  return {};
}

}  // namespace freehca::easy
