// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Management datagrams: 256 bytes, a common header, a header per class, an attribute. The
// attributes: smp.hpp (subnet management), sa.hpp (subnet administration), pma.hpp (performance),
// notice.hpp.
//
// Sources: InfiniBand Architecture Specification vol. 1, chapters 13 to 16, as read through
// include/rdma/ib_mad.h, ib_smi.h, rdma-core libibmad/fields.c (bit tables), mad.h, iba_types.h and
// libibumad/umad_types.h.
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class mad_class : std::uint8_t {
  subnet_lid_routed = 0x01,
  subnet_admin = 0x03,
  performance = 0x04,
  baseboard = 0x05,
  device_management = 0x06,
  communication = 0x07,
  snmp = 0x08,
  vendor_range1 = 0x09,  ///< .. 0x0f
  device_admin = 0x10,
  boot_management = 0x11,
  bis = 0x12,
  congestion_control = 0x21,
  vendor_range2 = 0x30,  ///< .. 0x4f, with an OUI
  subnet_directed_route = 0x81,
};

/// Bit 0x80 marks a response; a Trap has none but TrapRepress.
enum class mad_method : std::uint8_t {
  get = 0x01,
  set = 0x02,
  send = 0x03,
  trap = 0x05,
  report = 0x06,
  trap_repress = 0x07,
  get_table = 0x12,
  get_trace_table = 0x13,
  get_multi = 0x14,
  delete_record = 0x15,
  get_resp = 0x81,
  report_resp = 0x86,
  get_table_resp = 0x92,
  get_multi_resp = 0x94,
  delete_record_resp = 0x95,
};

/// The status word: two flags, a code in bits 4:2, the class's own in the high byte.
namespace mad_status {
inline constexpr std::uint16_t success = 0x0000;
inline constexpr std::uint16_t busy = 0x0001;
inline constexpr std::uint16_t redirect_required = 0x0002;
inline constexpr std::uint16_t bad_version = 0x0004;
inline constexpr std::uint16_t unsupported_method = 0x0008;
inline constexpr std::uint16_t unsupported_method_attribute = 0x000c;
inline constexpr std::uint16_t invalid_attribute_value = 0x001c;
inline constexpr std::uint16_t class_mask = 0xff00;
}  // namespace mad_status

/// Attributes that every class may have.
enum class mad_attribute : std::uint16_t { class_port_info = 0x0001, notice = 0x0002, inform_info = 0x0003 };

inline constexpr std::size_t mad_bytes = 256;
inline constexpr std::uint8_t mad_base_version = 1;

/// The rows that all MADs have.
struct mad_rows {
  bits           base_version       {0x00, 31, 24, "base_version"};
  as<mad_class>  mgmt_class         {0x00, 23, 16, "mgmt_class"};
  bits           class_version      {0x00, 15,  8, "class_version"};
  as<mad_method> method             {0x00,  7,  0, "method"};
  bits           tid                {0x08, 63,  0, "transaction_id"};
  bits           attribute_id       {0x10, 31, 16, "attribute_id"};
  bits           attribute_modifier {0x14, 31,  0, "attribute_modifier"};
};

/// The second word of all but directed-route MADs.
struct mad_status_rows {
  bits status         {0x04, 31, 16, "status"};
  bits class_specific {0x04, 15,  0, "class_specific"};
};

/// Any MAD: the common header.
struct mad : mad_rows, mad_status_rows {
  static constexpr std::size_t bytes = mad_bytes;
  raw<232> data {0x18, "data"};
};

/// A subnet management packet, routed by LID.
struct smp : mad_rows, mad_status_rows {
  static constexpr std::size_t bytes = mad_bytes;
  bits    mkey {0x18, 63,  0, "mkey"};
  raw<64> data {0x40, "data"};
};

/// A subnet management packet, by directed route. direction 1: on its way back. The permissive LID
/// in dr_slid or dr_dlid: that end is not routed by LID.
struct dr_smp : mad_rows {
  static constexpr std::size_t bytes = mad_bytes;
  as<bool> direction    {0x04, 31, 31, "direction"};
  bits     status       {0x04, 30, 16, "status"};
  bits     hop_pointer  {0x04, 15,  8, "hop_pointer"};
  bits     hop_count    {0x04,  7,  0, "hop_count"};
  bits     mkey         {0x18, 63,  0, "mkey"};
  bits     dr_slid      {0x20, 31, 16, "dr_slid"};
  bits     dr_dlid      {0x20, 15,  0, "dr_dlid"};
  raw<64>  data         {0x40, "data"};
  raw<64>  initial_path {0x80, "initial_path"};
  raw<64>  return_path  {0xc0, "return_path"};
};

enum class rmpp_type : std::uint8_t { none = 0, data = 1, ack = 2, stop = 3, abort = 4 };
namespace rmpp_flag {
inline constexpr std::uint8_t active = 1;
inline constexpr std::uint8_t first = 2;
inline constexpr std::uint8_t last = 4;
}  // namespace rmpp_flag
inline constexpr std::uint8_t rmpp_version = 1;
inline constexpr std::uint8_t rmpp_no_response_time = 0x1f;

enum class rmpp_status : std::uint8_t {
  success = 0,
  resources_exhausted = 1,
  total_time_too_long = 118,
  inconsistent_length = 119,
  inconsistent_segment = 120,
  bad_type = 121,
  new_window_too_small = 122,
  segment_too_big = 123,
  illegal_status = 124,
  unsupported_version = 125,
  too_many_retries = 126,
  unspecified = 127,
};

/// The rows of the reliable multi-packet header, bytes 0x18 to 0x23.
struct rmpp_rows {
  bits            version          {0x18, 31, 24, "rmpp_version"};
  as<rmpp_type>   type             {0x18, 23, 16, "rmpp_type"};
  bits            response_time    {0x18, 15, 11, "rmpp_response_time"};
  bits            flags            {0x18, 10,  8, "rmpp_flags"};
  as<rmpp_status> rmpp_status_code {0x18,  7,  0, "rmpp_status"};
  bits            segment_number   {0x1c, 31,  0, "rmpp_segment_number"};
  // an ACK: new window last
  bits            payload_length   {0x20, 31,  0, "rmpp_payload_length"};
};

/// A subnet administration MAD. attribute_offset: bytes of a record with padding, in units of 8.
struct sa_mad : mad_rows, mad_status_rows, rmpp_rows {
  static constexpr std::size_t bytes = mad_bytes;
  bits     sm_key           {0x24, 63,  0, "sm_key"};
  bits     attribute_offset {0x2c, 31, 16, "attribute_offset"};
  bits     component_mask   {0x30, 63,  0, "component_mask"};
  raw<200> data             {0x38, "data"};
};

/// A performance management MAD; device management has the same form.
struct pma_mad : mad_rows, mad_status_rows {
  static constexpr std::size_t bytes = mad_bytes;
  raw<192> data {0x40, "data"};
};

/// A question to the performance agent about a port. The byte is the same in all attributes that
/// name a port.
struct pma_port_mad : mad_rows, mad_status_rows {
  static constexpr std::size_t bytes = mad_bytes;
  bits port_select {0x40, 23, 16, "port_select"};
};

/// A vendor MAD of range 2.
struct vendor_mad : mad_rows, mad_status_rows, rmpp_rows {
  static constexpr std::size_t bytes = mad_bytes;
  bits     oui  {0x24, 23,  0, "oui"};
  raw<216> data {0x28, "data"};
};

/// ClassPortInfo, of all classes but subnet management. Source: also include/rdma/ib_mad.h (struct
/// ib_class_port_info).
struct class_port_info {
  static constexpr std::size_t bytes = 72;
  bits    base_version        {0x00, 31, 24, "base_version"};
  bits    class_version       {0x00, 23, 16, "class_version"};
  bits    capability_mask     {0x00, 15,  0, "capability_mask"};
  bits    capability_mask2    {0x04, 31,  5, "capability_mask2"};
  bits    resp_time           {0x04,  4,  0, "resp_time"};
  raw<16> redirect_gid        {0x08, "redirect_gid"};
  bits    redirect_tclass     {0x18, 31, 24, "redirect_tclass"};
  bits    redirect_sl         {0x18, 23, 20, "redirect_sl"};
  bits    redirect_flow_label {0x18, 19,  0, "redirect_flow_label"};
  bits    redirect_lid        {0x1c, 31, 16, "redirect_lid"};
  bits    redirect_pkey       {0x1c, 15,  0, "redirect_pkey"};
  bits    redirect_qp         {0x20, 23,  0, "redirect_qp"};
  bits    redirect_qkey       {0x24, 31,  0, "redirect_qkey"};
  raw<16> trap_gid            {0x28, "trap_gid"};
  bits    trap_tclass         {0x38, 31, 24, "trap_tclass"};
  bits    trap_sl             {0x38, 23, 20, "trap_sl"};
  bits    trap_flow_label     {0x38, 19,  0, "trap_flow_label"};
  bits    trap_lid            {0x3c, 31, 16, "trap_lid"};
  bits    trap_pkey           {0x3c, 15,  0, "trap_pkey"};
  bits    trap_hop_limit      {0x40, 31, 24, "trap_hop_limit"};
  bits    trap_qp             {0x40, 23,  0, "trap_qp"};
  bits    trap_qkey           {0x44, 31,  0, "trap_qkey"};
};

/// Attribute A of a MAD whose data field is M: `attribute<&smp::data, port_info>(packet)`, and
/// back.
template <auto M, class A, class T>
constexpr image<A> attribute(const image<T>& packet) {
  static_assert(image<T>::template own_row<M>().lo >= A::bytes,
                "the attribute does not fit the class's data");
  return image<A>::from_bytes(packet.template bytes_of<M>());
}
template <auto M, class A, class T>
constexpr void set_attribute(image<T>& packet, const image<A>& value) {
  constexpr const bits& field = image<T>::template own_row<M>();
  static_assert(field.lo >= A::bytes, "the attribute does not fit the class's data");
  for (std::size_t i = 0; i < A::bytes; ++i) packet.data()[field.offset + i] = value.data()[i];
}

/// Element `index` of a byte string that is an array of big-endian words W (P_Keys, GUIDs).
template <auto M, class W, class T>
constexpr W element(const image<T>& block, unsigned index) {
  static_assert(sizeof(W) > 1);
  FREEHCA_LAYOUT_ASSERT((index + 1) * sizeof(W) <= image<T>::template own_row<M>().lo);
  return load_be<W>(block.template bytes_of<M>() + index * sizeof(W));
}
template <auto M, class W, class T>
constexpr void set_element(image<T>& block, unsigned index, W value) {
  static_assert(sizeof(W) > 1);
  constexpr const bits& field = image<T>::template own_row<M>();
  FREEHCA_LAYOUT_ASSERT((index + 1) * sizeof(W) <= field.lo);
  store_be<W>(block.data() + field.offset + index * sizeof(W), value);
}

static_assert(smp{}.data.offset == 64 && dr_smp{}.return_path.offset == 192 && sa_mad{}.data.offset == 56);
static_assert(mad{}.data.offset + 232 == mad_bytes && sa_mad{}.component_mask.offset == 48);

}  // namespace freehca::layouts
