// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/subnet_administrator.hpp"

#include <algorithm>

#include <freehca/layouts/notice.hpp>

namespace freehca::model {

using namespace layouts;

namespace {

constexpr std::uint16_t of_class(sa_status s) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(s) << 8);
}

// OpenSM's default SM_Key: who knows it is shown everything.
constexpr std::uint64_t trusted_key = 1;
// ClassPortInfo of subnet administration: multicast is supported (IBTA vol. 1, 15.2.5.1); a full
// member may be one that only sends (Linux 6.1 ib_sa.h IB_SA_CAP_MASK2_SENDONLY_FULL_MEM_SUPPORT).
constexpr unsigned ud_multicast = 1u << 9, send_only_full_members = 1u << 12;
constexpr unsigned response_time = 16;

mad_method response_to(mad_method m) {
  return static_cast<mad_method>(static_cast<unsigned>(m) | 0x80u);
}

bool is_request(mad_method m) {
  switch (m) {
    case mad_method::get:
    case mad_method::set:
    case mad_method::get_table:
    case mad_method::delete_record:
      return true;
    default:
      return false;
  }
}

}  // namespace

subnet_administrator::subnet_administrator(scheduler& work, const std::string& owner,
                                           const subnet_topology& subnet,
                                           std::function<void(const mad_packet&)> send)
    : subnet_(subnet),
      send_(std::move(send)),
      work_(work),
      multicast_(subnet),
      services_(work),
      tables_(work, owner, send_) {}

void subnet_administrator::link_changed() {
  tables_.clear();
  multicast_.clear();
  services_.clear();
  subscriptions_.clear();
}

mad_packet subnet_administrator::way_back(const mad_packet& request) const {
  mad_packet m = request;
  m.dlid = request.slid;
  m.slid = subnet_.manager.lid();
  m.source_qp = qp1_gsi;
  m.dest_qp = request.source_qp;
  m.qkey = gsi_qkey;
  if (request.grh)
    m.grh->set_bytes<&grh::sgid>(request.grh->bytes_of<&grh::dgid>())
        .set_bytes<&grh::dgid>(request.grh->bytes_of<&grh::sgid>());
  return m;
}

void subnet_administrator::send_back(const mad_packet& request, const mad_buffer& mad) const {
  mad_packet m = way_back(request);
  m.mad = mad;
  send_(m);
}

void subnet_administrator::receive(const mad_packet& m) {
  const auto request = image<sa_mad>::from_bytes(m.mad.data());
  if (request.get<&sa_mad::base_version>() != mad_base_version) return;
  const bool protocol = (request.get<&sa_mad::flags>() & rmpp_flag::active) != 0 &&
                        request.get<&sa_mad::type>() != rmpp_type::data &&
                        request.get<&sa_mad::type>() != rmpp_type::none;
  if (protocol) return tables_.receive(m);
  const mad_method method = request.get<&sa_mad::method>();
  if (!is_request(method)) return;

  // A walk passes an entry in a quarter of what a unit is.
  work_.account().charge(multicast_.size() / 4 * work_account::entry);
  const outcome o = answer(m, request);
  image<sa_mad> header = request;
  header.set<&sa_mad::method>(response_to(method == mad_method::set ? mad_method::get : method))
      .set<&sa_mad::status>(o.status)
      .set<&sa_mad::version>(0)
      .set<&sa_mad::type>(rmpp_type::none)
      .set<&sa_mad::response_time>(0)
      .set<&sa_mad::flags>(0)
      .set<&sa_mad::segment_number>(0)
      .set<&sa_mad::payload_length>(0)
      .set<&sa_mad::sm_key>(0)
      .set<&sa_mad::attribute_offset>(o.records.attribute_offset());
  static constexpr std::array<std::byte, 200> nothing{};
  if (method == mad_method::get_table && o.status == mad_status::success) {
    header.set_bytes<&sa_mad::data>(nothing.data());
    return tables_.start(way_back(m), header, o.records.bytes());
  }
  if (o.status == mad_status::success) {
    header.set_bytes<&sa_mad::data>(nothing.data());
    std::copy_n(o.records.bytes().begin(), o.records.bytes().size(),
                header.data() + sa_mad{}.data.offset);
  }
  mad_buffer buffer;
  std::copy_n(header.data(), buffer.size(), buffer.begin());
  send_back(m, buffer);
}

subnet_administrator::outcome subnet_administrator::answer(const mad_packet& m,
                                                           const image<sa_mad>& request) {
  outcome o;
  const mad_method method = request.get<&sa_mad::method>();
  const auto what = static_cast<sa_attribute>(request.get<&sa_mad::attribute_id>());
  const bool get = method == mad_method::get, table = method == mad_method::get_table;
  if (request.get<&sa_mad::class_version>() != sa_class_version) {
    o.status = mad_status::bad_version;
    return o;
  }
  // Only ports of this subnet are served.
  if (subnet_.by_lid(m.slid) == nullptr) {
    o.status = of_class(sa_status::request_invalid);
    return o;
  }
  bool supported = get || table;
  if (what == sa_attribute::class_port_info && get) o = class_port_info();
  else if (what == sa_attribute::inform_info && method == mad_method::set)
    o = inform_info(m, request), supported = true;
  else if (what == sa_attribute::mcmember_record) o = multicast(request), supported = true;
  else if (what == sa_attribute::service_record) o = services(request), supported = true;
  else if (supported && what == sa_attribute::node_record) o = nodes(request);
  else if (supported && what == sa_attribute::port_info_record) o = port_infos(request);
  else if (supported && what == sa_attribute::guid_info_record) o = guid_infos(request);
  else if (supported && what == sa_attribute::pkey_table_record) o = pkey_tables(request);
  else if (supported && what == sa_attribute::sm_info_record) o = sm_infos(request);
  else if (supported && what == sa_attribute::path_record) o = paths(request);
  else if (supported && what == sa_attribute::link_record) o = links(request);
  else if (supported && what == sa_attribute::inform_info_record) o = subscriptions(request);
  else supported = false;
  if (!supported) o.status = mad_status::unsupported_method_attribute;
  if (o.status != mad_status::success || !get) return o;
  if (o.records.count() == 0) o.status = of_class(sa_status::no_records);
  if (o.records.count() > 1) o.status = of_class(sa_status::too_many_records);
  return o;
}

subnet_administrator::outcome subnet_administrator::class_port_info() const {
  outcome o;
  o.records.add(image<layouts::class_port_info>{}
                    .set<&layouts::class_port_info::base_version>(mad_base_version)
                    .set<&layouts::class_port_info::class_version>(sa_class_version)
                    .set<&layouts::class_port_info::capability_mask>(ud_multicast)
                    .set<&layouts::class_port_info::capability_mask2>(send_only_full_members)
                    .set<&layouts::class_port_info::resp_time>(response_time));
  return o;
}

subnet_administrator::outcome subnet_administrator::inform_info(const mad_packet& m,
                                                                const image<sa_mad>& request) {
  // A subscription is taken; in a subnet of one host nothing happens that it would be told of.
  outcome o;
  const auto wanted = attribute<&sa_mad::data, layouts::inform_info>(request);
  if (wanted.get<&layouts::inform_info::subscribe>() > 1) {
    o.status = of_class(sa_status::request_invalid);
    return o;
  }
  const gid_bytes subscriber = subnet_.by_lid(m.slid)->gid();
  const sa_status taken = wanted.get<&layouts::inform_info::subscribe>() == 1
                              ? subscriptions_.add(subscriber, wanted)
                              : subscriptions_.remove(subscriber, wanted);
  if (taken != sa_status::success) {
    o.status = of_class(taken);
    return o;
  }
  o.records.add(wanted);
  return o;
}

subnet_administrator::outcome subnet_administrator::multicast(const image<sa_mad>& request) {
  outcome o;
  auto record = attribute<&sa_mad::data, mcmember_record>(request);
  const auto components = request.get<&sa_mad::component_mask>();
  const mad_method method = request.get<&sa_mad::method>();
  if (method == mad_method::get || method == mad_method::get_table) {
    o.records.add_all(
        multicast_.query(record, components, request.get<&sa_mad::sm_key>() == trusted_key));
    return o;
  }
  o.status = of_class(method == mad_method::set ? multicast_.join(record, components)
                                                : multicast_.leave(record, components));
  o.records.add(record);
  return o;
}

subnet_administrator::outcome subnet_administrator::services(const image<sa_mad>& request) {
  outcome o;
  const auto record = attribute<&sa_mad::data, service_record>(request);
  const mad_method method = request.get<&sa_mad::method>();
  if (method == mad_method::get || method == mad_method::get_table) {
    o.records.add_all(services_.query(record, request.get<&sa_mad::component_mask>()));
    return o;
  }
  o.status = of_class(method == mad_method::set ? services_.add(record) : services_.remove(record));
  o.records.add(record);
  return o;
}

}  // namespace freehca::model
