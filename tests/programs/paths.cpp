// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Tests of GID tables and paths. They hold on either link layer, unless stated otherwise.
#include <arpa/inet.h>
#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "face.hpp"

namespace programs {

namespace {

constexpr int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr unsigned header_bytes = 40;  // in front of a datagram
constexpr std::uint8_t wrong_ports[] = {0, 3, 255};

bool equal(const ibv_gid& a, const ibv_gid& b) {
  return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0;
}

/// libibverbs' headers do not declare the function, but programs call it.
int type_of_gid(ibv_context* context, unsigned index, int& type) {
  using query = int (*)(ibv_context*, std::uint8_t, unsigned, int*);
  void* const found = dlsym(RTLD_DEFAULT, "ibv_query_gid_type");
  require(found != nullptr, "ibv_query_gid_type is defined");
  return reinterpret_cast<query>(found)(context, 1, index, &type);
}

ibv_port_attr port_of(opened_device& device) {
  ibv_port_attr port{};
  require(ibv_query_port(device.context, 1, &port) == 0, "ibv_query_port");
  return port;
}

/// The entries of the GID table that are not empty.
std::vector<ibv_gid_entry> entries_of(opened_device& device) {
  std::vector<ibv_gid_entry> table(static_cast<std::size_t>(port_of(device).gid_tbl_len));
  const ssize_t count = ibv_query_gid_table(device.context, table.data(), table.size(), 0);
  require(count > 0, "ibv_query_gid_table");
  table.resize(static_cast<std::size_t>(count));
  return table;
}

ibv_gid ipv4_gid(std::uint32_t address) {
  ibv_gid to{};
  to.raw[10] = to.raw[11] = 0xff;
  const std::uint32_t wire = htonl(address);
  std::memcpy(to.raw + 12, &wire, sizeof wire);
  return to;
}

bool is_ipv4(const ibv_gid& gid) {
  const ibv_gid prefix = ipv4_gid(0);
  return std::memcmp(gid.raw, prefix.raw, 12) == 0;
}

void ports_have_the_attributes_of_their_link_layer(std::uint64_t) {
  opened_device device;
  const ibv_port_attr port = port_of(device);
  expect_equal(port.phys_state, 5, "physical state");
  expect(port.active_mtu >= IBV_MTU_256 && port.active_mtu <= port.max_mtu, "the active MTU");
  expect(port.active_width != 0 && port.active_speed != 0, "width and speed");
  expect(port.gid_tbl_len > 0 && port.pkey_tbl_len > 0, "lengths of the tables");
  if (device.ethernet) {
    expect_equal(port.lid, 0, "LID");
    expect_equal(port.sm_lid, 0, "LID of the subnet manager");
    expect_equal(port.pkey_tbl_len, 1, "length of the P_Key table");
    expect_equal(port.flags, IBV_QPF_GRH_REQUIRED, "flags");
    expect_equal(port.port_cap_flags, IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS, "capabilities");
    expect_equal(port.max_mtu, IBV_MTU_4096, "the largest MTU");
  } else {
    expect(port.lid != 0, "LID");
    expect_equal(port.flags, 0, "flags");
  }
  expect_equal(ibv_query_port(device.context, 0, nullptr), EINVAL, "port 0");
  expect_equal(ibv_query_port(device.context, 3, nullptr), EINVAL, "port 3");
}

void gid_queries_agree(std::uint64_t) {
  opened_device device;
  const std::vector<ibv_gid_entry> table = entries_of(device);
  const auto length = static_cast<unsigned>(port_of(device).gid_tbl_len);
  std::size_t used = 0;
  for (unsigned i = 0; i < length; ++i) {
    const std::string what = " of GID " + std::to_string(i);
    ibv_gid gid{};
    int type = -1;
    ibv_gid_entry entry{};
    expect_equal(ibv_query_gid(device.context, 1, static_cast<int>(i), &gid), 0,
                 "ibv_query_gid" + what);
    expect_equal(type_of_gid(device.context, i, type), 0, "ibv_query_gid_type" + what);
    const int error = ibv_query_gid_ex(device.context, 1, i, &entry, 0);
    if (error != 0) {
      expect_equal(error, ENODATA, "ibv_query_gid_ex" + what);
      expect_equal(type, 0, "type" + what);
      continue;
    }
    expect(equal(entry.gid, gid), "both GIDs" + what);
    expect_equal(entry.gid_index, i, "index" + what);
    expect_equal(entry.port_num, 1, "port" + what);
    expect_equal(type, entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0, "type" + what);
    expect_equal(entry.gid_type == IBV_GID_TYPE_IB, !device.ethernet, "link layer" + what);
    require(used < table.size(), "the table has the entry" + what);
    expect_equal(std::memcmp(&table[used++], &entry, sizeof entry), 0, "the table" + what);
  }
  expect(used == table.size(), "entries of the table");
  if (device.ethernet) expect(used >= 4, "a link-local and another address, each as v1 and v2");
}

void wrong_gid_queries_are_refused(std::uint64_t) {
  opened_device device;
  const int length = port_of(device).gid_tbl_len;
  ibv_gid gid{};
  int type = 0;
  ibv_gid_entry entry{};
  for (const int index : {-1, length, 1 << 20}) {
    const std::string what = " of index " + std::to_string(index);
    errno = 0;
    expect_equal(ibv_query_gid(device.context, 1, index, &gid), -1, "ibv_query_gid" + what);
    expect_equal(errno, EINVAL, "errno" + what);
    const auto place = static_cast<unsigned>(index);
    expect_equal(type_of_gid(device.context, place, type), -1, "ibv_query_gid_type" + what);
    expect_equal(ibv_query_gid_ex(device.context, 1, place, &entry, 0), EINVAL,
                 "ibv_query_gid_ex" + what);
  }
  for (const std::uint8_t port : wrong_ports) {
    expect_equal(ibv_query_gid(device.context, port, 0, &gid), -1, "ibv_query_gid of a port");
    expect_equal(ibv_query_gid_ex(device.context, port, 0, &entry, 0), EINVAL,
                 "ibv_query_gid_ex of a port");
  }
  expect_equal(ibv_query_gid_ex(device.context, 1, 0, &entry, 1), EOPNOTSUPP, "flags");
  expect_equal(ibv_query_gid_table(device.context, &entry, 1, 1), -EOPNOTSUPP, "flags of a table");
  expect_equal(ibv_query_gid_table(device.context, &entry, 0, 0), -EINVAL, "a table without room");
}

void p_keys_are_found(std::uint64_t) {
  opened_device device;
  const int length = port_of(device).pkey_tbl_len;
  __be16 key = 0;
  expect_equal(ibv_query_pkey(device.context, 1, 0, &key), 0, "ibv_query_pkey");
  expect_equal(ntohs(key), 0xffff, "the first P_Key");
  expect_equal(ibv_get_pkey_index(device.context, 1, key), 0, "ibv_get_pkey_index");
  expect_equal(ibv_query_pkey(device.context, 1, length, &key), -1, "a P_Key beyond the table");
  expect_equal(ibv_query_pkey(device.context, 1, -1, &key), -1, "a P_Key before the table");
  expect_equal(ibv_get_pkey_index(device.context, 1, htons(0x1234)), -1, "an unknown P_Key");
}

struct datagrams {
  datagrams(opened_device& of, std::uint64_t seed)
      : device(of),
        memory(seed, 2 * bytes),
        region(memory.register_part(device.pd, 0, 2 * bytes, IBV_ACCESS_LOCAL_WRITE)),
        pair(device, {.type = IBV_QPT_UD}) {
    pair.connect(pair.own());
  }
  /// Sends what is behind the header's room in the first half to the second half, by the address.
  ibv_wc send(ibv_ah* to, const std::string& what) {
    const ibv_sge whole{memory.at(bytes), bytes, region->lkey};
    require(pair.post_receive(1, whole) == 0, "ibv_post_recv");
    ibv_sge payload{memory.at(header_bytes), bytes - header_bytes, region->lkey};
    ibv_send_wr request{};
    request.sg_list = &payload;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.ud = {to, pair.qp->qp_num, common_qkey};
    require(pair.post(request) == 0, "ibv_post_send");
    expect_equal(pair.sent(what).status, IBV_WC_SUCCESS, "status: " + what);
    const ibv_wc done = pair.received(what);
    expect_equal(done.status, IBV_WC_SUCCESS, "status of the receive: " + what);
    expect_equal(done.byte_len, bytes, "bytes: " + what);
    expect_equal(std::memcmp(&memory.bytes[header_bytes], &memory.bytes[bytes + header_bytes],
                             bytes - header_bytes),
                 0, "payload: " + what);
    expect_equal(done.src_qp, pair.qp->qp_num, "the sender: " + what);
    memory.bytes[header_bytes] ^= 0xff;  // the next one differs
    return done;
  }
  ibv_grh header() const {
    ibv_grh found;
    std::memcpy(&found, &memory.bytes[bytes], sizeof found);
    return found;
  }
  static constexpr std::uint32_t bytes = header_bytes + 200;
  opened_device& device;
  buffer memory;
  ibv_mr* region;
  endpoint pair;
};

ibv_ah* address_of(opened_device& device, const ibv_ah_attr& how) {
  ibv_ah_attr given = how;
  errno = 0;
  return ibv_create_ah(device.pd, &given);
}

/// A datagram by each GID, and the answer to its sender.
void datagrams_tell_their_sender(std::uint64_t seed) {
  opened_device device;
  datagrams between(device, seed);
  for (const ibv_gid_entry& entry : entries_of(device)) {
    const std::string what = "a datagram by GID " + std::to_string(entry.gid_index);
    ibv_ah_attr how{};
    how.port_num = 1;
    how.dlid = device.lid;
    how.sl = 3;
    how.is_global = 1;
    how.grh.dgid = entry.gid;
    how.grh.sgid_index = static_cast<std::uint8_t>(entry.gid_index);
    how.grh.hop_limit = 7;
    how.grh.traffic_class = 0x48;
    ibv_ah* const to = address_of(device, how);
    require(to != nullptr, "ibv_create_ah: " + what);
    ibv_wc done = between.send(to, what);
    expect_equal(done.wc_flags & IBV_WC_GRH, IBV_WC_GRH, "the flag of a GRH: " + what);
    expect_equal(done.slid, device.lid, "LID of the sender: " + what);
    // Frames without a VLAN have no priority.
    expect_equal(done.sl, device.ethernet ? 0 : 3, "service level: " + what);
    ibv_grh header = between.header();
    ibv_ah_attr back{};
    expect_equal(ibv_init_ah_from_wc(device.context, 1, &done, &header, &back), 0,
                 "ibv_init_ah_from_wc: " + what);
    expect_equal(back.is_global, 1, "the answer is global: " + what);
    expect(equal(back.grh.dgid, entry.gid), "GID of the answer: " + what);
    expect_equal(back.grh.sgid_index, entry.gid_index, "index of the answer: " + what);
    expect_equal(back.grh.hop_limit, 7, "hop limit: " + what);
    expect_equal(back.grh.traffic_class, 0x48, "traffic class: " + what);
    ibv_ah* const answer = ibv_create_ah_from_wc(device.pd, &done, &header, 1);
    require(answer != nullptr, "ibv_create_ah_from_wc: " + what);
    between.send(answer, "the answer to " + what);
    expect_equal(ibv_destroy_ah(answer), 0, "ibv_destroy_ah");
    expect_equal(ibv_destroy_ah(to), 0, "ibv_destroy_ah");
  }
}

void senders_of_wrong_headers_are_refused(std::uint64_t) {
  opened_device device;
  ibv_wc done{};
  done.wc_flags = IBV_WC_GRH;
  ibv_grh header{};
  ibv_ah_attr back{};
  const auto refused = [&](std::uint8_t port, int error, const std::string& what) {
    errno = 0;
    expect_equal(ibv_init_ah_from_wc(device.context, port, &done, &header, &back), -1, what);
    expect_equal(errno, error, "errno: " + what);
    expect(ibv_create_ah_from_wc(device.pd, &done, &header, port) == nullptr, "no handle: " + what);
  };
  refused(0, EINVAL, "port 0");
  refused(3, EINVAL, "port 3");
  header.version_tclass_flow = htonl(0x60000000);
  header.next_hdr = 0x1b;
  header.dgid.raw[0] = 0x20;
  refused(1, EINVAL, "a header to another GID");
  if (device.ethernet) {
    header.next_hdr = 6;
    refused(1, EPROTONOSUPPORT, "a header of TCP");
    header = {};
    refused(1, EPROTONOSUPPORT, "a header of no protocol");
  }
}

void wrong_addresses_are_refused(std::uint64_t) {
  opened_device device;
  const endpoint pair(device, {});
  const ibv_ah_attr good = path_to(device, pair.own());
  ibv_ah* const made = address_of(device, good);
  require(made != nullptr, "ibv_create_ah");
  expect_equal(ibv_destroy_ah(made), 0, "ibv_destroy_ah");
  const auto refused = [&](const ibv_ah_attr& how, int error, const std::string& what) {
    expect(address_of(device, how) == nullptr, what);
    expect_equal(errno, error, "errno: " + what);
  };
  for (const std::uint8_t port : wrong_ports) {
    ibv_ah_attr how = good;
    how.port_num = port;
    refused(how, EINVAL, "port " + std::to_string(port));
  }
  if (!device.ethernet) return;
  ibv_ah_attr how = good;
  how.is_global = 0;
  refused(how, EINVAL, "a path without a GRH");
  how = good;
  how.grh.sgid_index = 100;
  refused(how, EINVAL, "an empty GID");
  how.grh.sgid_index = 255;
  refused(how, EINVAL, "a GID beyond the table");
  how = good;
  how.grh.dgid = {};
  refused(how, EINVAL, "no destination");
  how.grh.dgid = ipv4_gid(0xc6336401);
  refused(how, EHOSTUNREACH, "an IPv4 address that nobody has");
  how.grh.dgid = {};
  how.grh.dgid.raw[0] = 0x20;
  refused(how, EHOSTUNREACH, "an IPv6 address that nobody has");
  how = good;
  how.grh.flow_label = 1u << 20;
  refused(how, EINVAL, "a flow label of 21 bits");
  for (const ibv_gid_entry& entry : entries_of(device)) {
    if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) continue;
    how = good;
    how.grh.sgid_index = static_cast<std::uint8_t>(entry.gid_index);
    how.grh.dgid = is_ipv4(entry.gid) ? device.gid : ipv4_gid(0xe0000001);
    refused(how, EINVAL, "a destination of the other IP version");
  }
}

/// The MAC of a GID, or the error.
struct resolved {
  int error = 0;
  std::uint64_t mac = 0;
  std::uint16_t vlan = 0;
};
resolved resolve(opened_device& device, const ibv_gid& to, std::uint8_t index = 0) {
  ibv_ah_attr how{};
  how.port_num = 1;
  how.grh.dgid = to;
  how.grh.sgid_index = index;
  std::uint8_t mac[6] = {};
  resolved found;
  found.error = ibv_resolve_eth_l2_from_gid(device.context, &how, mac, &found.vlan);
  for (const std::uint8_t byte : mac) found.mac = found.mac << 8 | byte;
  return found;
}

void macs_are_resolved(std::uint64_t) {
  opened_device device;
  if (!device.ethernet) {
    expect_equal(resolve(device, device.gid).error, -EINVAL, "an InfiniBand port");
    return;
  }
  const auto expect_mac = [&](const ibv_gid& of, std::uint64_t mac, const std::string& what) {
    const resolved found = resolve(device, of);
    expect_equal(found.error, 0, what);
    expect_equal(static_cast<std::int64_t>(found.mac), static_cast<std::int64_t>(mac),
                 "MAC of " + what);
    expect_equal(found.vlan, 0xffff, "VLAN of " + what);
  };
  expect_mac(ipv4_gid(0xe1020304), 0x01005e020304, "an IPv4 group");
  expect_mac(ipv4_gid(0xef810203), 0x01005e010203, "an IPv4 group, of which 23 bits count");
  const ibv_gid group{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0x78}};
  expect_mac(group, 0x333312345678, "an IPv6 group");
  ibv_gid local{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55}};
  expect_mac(local, 0x001122334455, "a link-local address");
  local.raw[8] = 0x03;
  expect_equal(resolve(device, local).error, -EHOSTUNREACH, "a link-local address of a group");
  local.raw[8] = 0x02;
  local.raw[11] = 0;
  expect_equal(resolve(device, local).error, -EHOSTUNREACH, "a link-local address without a MAC");
  const std::uint64_t own = resolve(device, device.gid).mac;
  for (const ibv_gid_entry& entry : entries_of(device))
    expect_mac(entry.gid, own, "an own address");
  expect_equal(resolve(device, device.gid, 100).error, -EINVAL, "an empty source");
  expect_equal(resolve(device, device.gid, 255).error, -EINVAL, "a source beyond the table");
}

/// A connection by each GID, whose path is reported as it is.
void connections_report_their_path(std::uint64_t seed) {
  opened_device device;
  for (const ibv_gid_entry& entry : entries_of(device)) {
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
      const std::string what = "a connection by GID " + std::to_string(entry.gid_index);
      device.choose_gid(static_cast<std::uint8_t>(entry.gid_index));
      loop pairs(device, seed, {.type = type});
      pairs.write(what);
      ibv_qp_attr found{};
      ibv_qp_init_attr made{};
      expect_equal(ibv_query_qp(pairs.a.qp, &found, IBV_QP_AV, &made), 0, "ibv_query_qp: " + what);
      const ibv_ah_attr path = path_to(device, pairs.b.own());
      expect_equal(found.ah_attr.is_global, path.is_global, "GRH: " + what);
      expect_equal(found.ah_attr.port_num, 1, "port: " + what);
      expect_equal(found.ah_attr.dlid, path.dlid, "LID: " + what);
      expect_equal(found.ah_attr.grh.sgid_index, path.grh.sgid_index, "source: " + what);
      expect(equal(found.ah_attr.grh.dgid, path.grh.dgid), "destination: " + what);
      expect_equal(found.ah_attr.grh.hop_limit, path.grh.hop_limit, "hop limit: " + what);
    }
  }
}

void wrong_paths_of_connections_are_refused(std::uint64_t) {
  opened_device device;
  endpoint pair(device, {});
  ibv_qp_attr how{};
  how.qp_state = IBV_QPS_INIT;
  how.port_num = 1;
  require(ibv_modify_qp(pair.qp, &how, to_init) == 0, "to INIT");
  how.qp_state = IBV_QPS_RTR;
  how.path_mtu = IBV_MTU_1024;
  how.dest_qp_num = pair.qp->qp_num;
  how.max_dest_rd_atomic = 1;
  const auto refused = [&](const ibv_ah_attr& path, int error, const std::string& what,
                           int more = 0) {
    how.ah_attr = path;
    expect_equal(ibv_modify_qp(pair.qp, &how, to_rtr | more), error, what);
    expect_equal(pair.state(), IBV_QPS_INIT, "the state after: " + what);
  };
  const ibv_ah_attr good = path_to(device, pair.own());
  ibv_ah_attr path = good;
  path.port_num = 2;
  refused(path, EINVAL, "a path of another port");
  if (device.ethernet) {
    path = good;
    path.is_global = 0;
    refused(path, EINVAL, "a path without a GRH");
    path = good;
    path.grh.sgid_index = 100;
    refused(path, EINVAL, "an empty GID");
    path = good;
    path.grh.dgid = {};
    refused(path, EINVAL, "no destination");
    path.grh.dgid = ipv4_gid(0xe1020304);
    refused(path, EINVAL, "a path to a group");
    path.grh.dgid = ipv4_gid(0xc6336401);
    refused(path, EHOSTUNREACH, "an address that nobody has");
    how.alt_ah_attr = good;
    how.alt_port_num = 1;
    refused(good, EINVAL, "an alternate path", IBV_QP_ALT_PATH);
  }
  how.ah_attr = good;
  expect_equal(ibv_modify_qp(pair.qp, &how, to_rtr), 0, "a good path");
}

/// A message by each GID of the device, to a process that does the same.
void exchange(line& other, bool sends, std::uint64_t seed) {
  opened_device device;
  for (const ibv_gid_entry& entry : entries_of(device)) {
    const std::string what = "a message by GID " + std::to_string(entry.gid_index);
    device.choose_gid(static_cast<std::uint8_t>(entry.gid_index));
    buffer memory(seed + sends, 3000);
    const ibv_mr* const region = memory.register_part(device.pd, 0, 3000, IBV_ACCESS_LOCAL_WRITE);
    endpoint pair(device, {});
    ibv_sge list{memory.at(0), 3000, region->lkey};
    pair.connect(other);
    if (!sends) {
      require(pair.post_receive(1, list) == 0, "ibv_post_recv");
      memory.expected = pattern(seed + 1, 3000);
    }
    other.meet();
    if (sends) {
      ibv_send_wr request{};
      request.sg_list = &list;
      request.num_sge = 1;
      request.opcode = IBV_WR_SEND;
      request.send_flags = IBV_SEND_SIGNALED;
      require(pair.post(request) == 0, "ibv_post_send");
      expect_equal(pair.sent(what).status, IBV_WC_SUCCESS, "status: " + what);
    } else {
      const ibv_wc done = pair.received(what);
      expect_equal(done.status, IBV_WC_SUCCESS, "status of the receive: " + what);
      expect_equal(done.slid, device.ethernet ? 0 : done.slid, "LID of the sender: " + what);
    }
    memory.expect_bytes(what);
    other.meet();
  }
}

/// Two processes by each GID of both.
void processes_reach_each_other(std::uint64_t seed) {
  run_pair([&](line& other) { exchange(other, true, seed); },
           [&](line& other) { exchange(other, false, seed); });
}

/// The process gets two addresses on VLANs when it opens the device. On an Ethernet port.
void set_vlans(unsigned process) {
  const std::string last = std::to_string(process);
  setenv("FREEHCA_VLANS", ("100=192.0.2." + last + ",200=fd00::" + last).c_str(), 1);
}
constexpr unsigned first_gid_on_vlans = 4, gids_on_vlans = 4;

std::uint16_t vlan_of(std::uint32_t index) {
  return index < first_gid_on_vlans ? 0xffff : index < first_gid_on_vlans + 2 ? 100 : 200;
}

void processes_reach_each_other_on_vlans(std::uint64_t seed) {
  run_pair(
      [&](line& other) {
        set_vlans(1);
        exchange(other, true, seed);
      },
      [&](line& other) {
        set_vlans(2);
        exchange(other, false, seed);
      });
}

void paths_are_on_the_vlan_of_their_gid(std::uint64_t) {
  set_vlans(1);
  opened_device device;
  if (!device.ethernet) return;
  const std::vector<ibv_gid_entry> entries = entries_of(device);
  expect_equal(static_cast<std::int64_t>(entries.size()), first_gid_on_vlans + gids_on_vlans,
               "GIDs of a port with two addresses on VLANs");
  const std::uint64_t own = resolve(device, device.gid).mac;
  for (const ibv_gid_entry& from : entries)
    for (const ibv_gid_entry& to : entries) {
      const resolved found = resolve(device, to.gid, static_cast<std::uint8_t>(from.gid_index));
      const std::string what =
          "from GID " + std::to_string(from.gid_index) + " to GID " + std::to_string(to.gid_index);
      // A link-local address has its MAC in it.
      const bool reached = to.gid_index < 2 || vlan_of(from.gid_index) == vlan_of(to.gid_index);
      expect_equal(found.error, reached ? 0 : -EHOSTUNREACH, what);
      if (!reached) continue;
      expect_equal(static_cast<std::int64_t>(found.mac), static_cast<std::int64_t>(own), what);
      expect_equal(found.vlan, vlan_of(from.gid_index), "VLAN " + what);
    }
}

void datagrams_on_vlans_have_a_priority(std::uint64_t seed) {
  set_vlans(1);
  opened_device device;
  if (!device.ethernet) return;
  datagrams between(device, seed);
  for (const ibv_gid_entry& entry : entries_of(device)) {
    const std::string what = "a datagram by GID " + std::to_string(entry.gid_index);
    ibv_ah_attr how{};
    how.port_num = 1;
    how.sl = 5;
    how.is_global = 1;
    how.grh.dgid = entry.gid;
    how.grh.sgid_index = static_cast<std::uint8_t>(entry.gid_index);
    how.grh.hop_limit = 7;
    ibv_ah* const to = address_of(device, how);
    require(to != nullptr, "ibv_create_ah: " + what);
    ibv_wc done = between.send(to, what);
    expect_equal(done.sl, vlan_of(entry.gid_index) == 0xffff ? 0 : 5, "service level: " + what);
    ibv_grh header = between.header();
    ibv_ah_attr back{};
    expect_equal(ibv_init_ah_from_wc(device.context, 1, &done, &header, &back), 0,
                 "ibv_init_ah_from_wc: " + what);
    expect_equal(back.grh.sgid_index, entry.gid_index, "index of the answer: " + what);
    expect_equal(back.sl, done.sl, "service level of the answer: " + what);
    expect_equal(ibv_destroy_ah(to), 0, "ibv_destroy_ah");
  }
}

}  // namespace

}  // namespace programs

using namespace programs;

int main(int count, char** words) {
  std::vector<test> tests = {
      {"ports_have_the_attributes_of_their_link_layer",
       ports_have_the_attributes_of_their_link_layer},
      {"gid_queries_agree", gid_queries_agree},
      {"wrong_gid_queries_are_refused", wrong_gid_queries_are_refused},
      {"p_keys_are_found", p_keys_are_found},
      {"datagrams_tell_their_sender", datagrams_tell_their_sender},
      {"senders_of_wrong_headers_are_refused", senders_of_wrong_headers_are_refused},
      {"wrong_addresses_are_refused", wrong_addresses_are_refused},
      {"macs_are_resolved", macs_are_resolved},
      {"connections_report_their_path", connections_report_their_path},
      {"wrong_paths_of_connections_are_refused", wrong_paths_of_connections_are_refused},
      {"processes_reach_each_other", processes_reach_each_other},
      {"processes_reach_each_other_on_vlans", processes_reach_each_other_on_vlans},
      {"paths_are_on_the_vlan_of_their_gid", paths_are_on_the_vlan_of_their_gid},
      {"datagrams_on_vlans_have_a_priority", datagrams_on_vlans_have_a_priority}};
  for (const auto& some : {receive_queue_tests(), flow_rule_tests(), group_tests()})
    tests.insert(tests.end(), some.begin(), some.end());
  return run_tests(count, words, tests);
}
