// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The interfaces of all kinds of objects. Of each kind: a table of the attributes that are known,
// and a table of operations. A new attribute is a row. A new interface is a table and an entry in
// the list at the end.
#include <new>

#include <freehca/hca/kinds/address_handle.hpp>
#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/interfaces/every_interface.hpp>

namespace freehca {

namespace {

/// Returns why no operation can be started in the room: the list was refused (`list_read`), or the
/// errors that every_interface.hpp names.
status usable(const verbs& in, const operation_room& room, status list_read = {}) {
  if (!list_read.ok()) return list_read;
  if (!in.is_open()) return driver_error::bad_state;
  if (room.started != nullptr && !room.started->done()) return driver_error::busy;
  return {};
}

void prepare(operation_room& room, operation& op, const kind* made) {
  op.set_deadline(room.deadline);
  room.started = &op;
  room.made = made;
}

/// Constructs an operation in the caller's room, which must be usable. The destructor of the
/// previous operation is not called. That operation has ended, and the leases of its commands are
/// in the object.
template <class Operation>
Operation& place(operation_room& room, const kind* made) {
  static_assert(sizeof(Operation) <= operation_room::most_bytes);
  static_assert(alignof(Operation) <= alignof(operation_room));
  Operation& op = *::new (static_cast<void*>(room.memory)) Operation;
  prepare(room, op, made);
  return op;
}

/// Like destroy_object<K>, for any K.
struct destruction : object_operation {
  void start(verbs& owner, object_record* object) {
    start_destruction(owner, static_cast<device_object*>(object));
  }
};

status destroy_in_room(verbs& in, operation_room& room, handle_bits which,
                       const kind_identity& what) {
  FREEHCA_TRY(usable(in, room));
  place<destruction>(room, nullptr).start(in, in.find(which, what));
  return {};
}

status destroy_at_once(verbs& in, handle_bits which, const kind_identity& what) {
  if (!in.is_open()) return driver_error::bad_state;
  return in.destroy_now(in.find(which, what));
}

// The operations of the kinds that the device knows.

template <class K, const auto& known>
status create(verbs& in, operation_room& room, const attribute_list& list) {
  typename K::attributes a;
  FREEHCA_TRY(usable(in, room, read(list, known, a)));
  place<create_object<K>>(room, &kind_of<K>).start(in, a);
  return {};
}
template <class K>
handle<K> made(const operation_room& room) {
  if (room.started == nullptr || room.made != &kind_of<K>) return {};
  return static_cast<const create_object<K>*>(room.started)->made();
}
template <device_kind K>
status destroy(verbs& in, operation_room& room, handle<K> which) {
  return destroy_in_room(in, room, which.bits(), identity_of<K>);
}

// The operations of the kinds that only the driver knows.

template <class K>
status create_now(verbs& in, status list_read, const typename K::attributes& a, handle<K>& to) {
  FREEHCA_TRY(list_read);
  if (!in.is_open()) return driver_error::bad_state;
  const result<handle<K>> object = in.create<K>(a);
  if (object.ok()) to = object.value();
  return object.error();
}
template <class K>
requires(!device_kind<K>) status destroy_now(verbs& in, handle<K> which) {
  return destroy_at_once(in, which.bits(), identity_of<K>);
}

// Rows of the struct `attributes`. The member of ROW has the name of the attribute.
#define ROW_AT(member, name) FREEHCA_ATTRIBUTE(attributes, member, name)
#define ROW(space, name) ROW_AT(name, space::name)

constexpr auto path_rows = [] {
  // address_attributes begins with it.
  using attributes = infiniband_path;
  return attributes_of<attributes>(
      {ROW(path, port), ROW(path, dlid), ROW(path, sl), ROW(path, path_bits),
       ROW(path, static_rate), ROW(path, force_loopback), ROW(path, global), ROW(path, sgid_index),
       ROW(path, hop_limit), ROW(path, traffic_class), ROW(path, flow_label), ROW(path, dgid)});
}();

constexpr auto roce_rows = [] {
  // address_attributes begins with it too.
  using attributes = roce_path;
  return attributes_of<attributes>(
      {ROW(path, port), ROW(path, dmac), ROW(path, vlan), ROW(path, priority),
       ROW(path, static_rate), ROW(path, sgid_index), required(ROW(path, mac_index)),
       ROW(path, hop_limit), ROW(path, traffic_class), ROW(path, flow_label), ROW(path, dgid)});
}();

/// The rows of a struct with a path: those on InfiniBand, and those by RoCE.
template <class S, std::size_t N>
struct rows_with_path {
  attribute_table<S, N + sizeof(path_rows) / sizeof(attribute_row)> infiniband;
  attribute_table<S, N + sizeof(roce_rows) / sizeof(attribute_row)> roce;
};
template <class S, std::size_t N>
consteval rows_with_path<S, N> with_path(const attribute_table<S, N>& rows) {
  return {rows.with(offsetof(S, address), path_rows), rows.with(offsetof(S, address), roce_rows)};
}

template <class S, std::size_t N>
status read(const attribute_list& from, const rows_with_path<S, N>& known, S& to) {
  for (std::uint64_t i = 0; from.first != nullptr && i < from.count; ++i) {
    const attribute& a = from.first[i];
    // With another flag, the entry is unknown.
    if (a.identifier != path::mac_index.identifier || (a.flags & ~attribute::mandatory) != 0)
      continue;
    to.address = roce_path{};
    return read(from, known.roce, to);
  }
  return read(from, known.infiniband, to);
}

constexpr auto address_rows = [] {
  using attributes = address_handle_attributes;
  return with_path(attributes_of<attributes>({required(ROW_AT(pd, ah::domain))}));
}();

constexpr auto completion_queue_rows = [] {
  using attributes = completion_queue_attributes;
  return attributes_of<attributes>(
      {required(ROW(cq, entries)), ROW(cq, cookie), ROW(cq, completion_context)});
}();

constexpr auto shared_receive_queue_rows = [] {
  using attributes = shared_receive_queue_attributes;
  return attributes_of<attributes>({required(ROW_AT(pd, srq::domain)), required(ROW(srq, receives)),
                                    ROW(srq, scatter), ROW(srq, cookie)});
}();

constexpr auto queue_pair_rows = [] {
  using attributes = queue_pair_attributes;
  return attributes_of<attributes>(
      {required(ROW_AT(pd, qp::domain)), required(ROW(qp, send_cq)), required(ROW(qp, receive_cq)),
       ROW(qp, service), ROW(qp, sends), ROW(qp, receives), ROW(qp, shared), ROW(qp, gather),
       ROW(qp, scatter), ROW(qp, inline_bytes), ROW(qp, masked_atomics), ROW(qp, cookie)});
}();

constexpr auto connection_rows = [] {
  using attributes = connection_attributes;
  return with_path(attributes_of<attributes>(
      {ROW(qp, pkey_index), ROW(qp, remote_read), ROW(qp, remote_write), ROW(qp, remote_atomic),
       ROW(qp, qkey), ROW(qp, path_mtu), ROW(qp, min_rnr_timer), ROW(qp, remote_qpn),
       ROW(qp, receive_psn), ROW(qp, reads_as_responder), ROW(qp, send_psn),
       ROW(qp, reads_as_requester), ROW(qp, retry_count), ROW(qp, rnr_retry), ROW(qp, ack_timeout),
       ROW(qp, log_ack_request)}));
}();

/// A memory region, as an attribute list has it.
struct region {
  memory_region_attributes to;
  const std::uint64_t* page_addresses = nullptr;
  std::uint64_t device_address = ~std::uint64_t{0};  // not given: no region begins there
  std::uint64_t bytes = 0;
  std::uint32_t first_offset = 0, log_page_bytes = 12;
};

constexpr auto region_rows = [] {
  using attributes = region;
  return attributes_of<attributes>(
      {required(ROW_AT(to.pd, mr::domain)), ROW(mr, page_addresses), ROW(mr, device_address),
       required(ROW(mr, bytes)), ROW(mr, first_offset), ROW(mr, log_page_bytes),
       ROW_AT(to.virtual_address, mr::virtual_address),
       ROW_AT(to.access.local_write, mr::local_write),
       ROW_AT(to.access.remote_read, mr::remote_read),
       ROW_AT(to.access.remote_write, mr::remote_write),
       ROW_AT(to.access.remote_atomic, mr::remote_atomic), ROW_AT(to.memory.first, mr::memory)});
}();

// Returns the attribute that excludes a list of pages, or 0. The kind checks the other attributes.
unsigned refused(const region& r, bool contiguous) {
  if (r.to.memory.first != nullptr)
    return contiguous || r.page_addresses != nullptr ? mr::memory.identifier : 0;
  if (r.log_page_bytes < 12 || r.log_page_bytes > 31) return mr::log_page_bytes.identifier;
  const std::uint64_t page = std::uint64_t{1} << r.log_page_bytes;
  // The size, rounded up to pages, would not fit into 64 bits.
  if (r.bytes > ~std::uint64_t{0} - 2 * page) return mr::bytes.identifier;
  if (r.first_offset >= page) return mr::first_offset.identifier;
  if (!contiguous) return 0;
  if (r.page_addresses != nullptr || (r.bytes != 0 && r.bytes - 1 > ~r.device_address))
    return mr::device_address.identifier;
  return r.first_offset != 0 ? mr::first_offset.identifier : 0;
}

status read_region(const attribute_list& list, region& r) {
  FREEHCA_TRY(read(list, region_rows, r));
  const bool contiguous = r.device_address != ~std::uint64_t{0};
  if (const unsigned what = refused(r, contiguous); what != 0)
    return status(driver_error::bad_argument, what);
  const std::size_t bytes = static_cast<std::size_t>(r.bytes);
  if (r.to.memory.first != nullptr) r.to.memory.bytes = bytes;
  else if (contiguous) r.to.pages = page_list({nullptr, r.device_address, bytes}, r.log_page_bytes);
  else if (r.page_addresses == nullptr)
    return status(driver_error::missing_attribute, mr::page_addresses.identifier);
  else r.to.pages = page_list(r.page_addresses, r.log_page_bytes, r.first_offset, r.bytes);
  return {};
}

status create_region(verbs& in, operation_room& room, const attribute_list& list) {
  region r;
  FREEHCA_TRY(usable(in, room, read_region(list, r)));
  place<create_memory_region>(room, &kind_of<memory_region>).start(in, r.to);
  return {};
}

constexpr protection_domain_interface domains{
    .create =
        [](verbs& in, const attribute_list& list, pd_handle& made) {
          // A protection domain has no attributes.
          return create_now(in, read_attributes(list, nullptr, 0, nullptr), {}, made);
        },
    .destroy = &destroy_now<protection_domain>};

constexpr address_handle_interface addresses{
    .create =
        [](verbs& in, const attribute_list& list, ah_handle& made) {
          address_handle_attributes a;
          return create_now(in, read(list, address_rows, a), a, made);
        },
    .destroy = &destroy_now<address_handle>};

constexpr memory_region_interface regions{.create = &create_region,
                                          .made = &made<memory_region>,
                                          .destroy = &destroy<memory_region>,
                                          .key = &key_of};

constexpr completion_queue_interface completion_queues{
    .create = &create<completion_queue, completion_queue_rows>,
    .made = &made<completion_queue>,
    .destroy = &destroy<completion_queue>};

constexpr shared_receive_queue_interface shared_receive_queues{
    .create = &create<shared_receive_queue, shared_receive_queue_rows>,
    .made = &made<shared_receive_queue>,
    .destroy = &destroy<shared_receive_queue>};

constexpr queue_pair_interface queue_pairs{
    .create = &create<queue_pair, queue_pair_rows>,
    .made = &made<queue_pair>,
    .destroy = &destroy<queue_pair>,
    .number = &qpn_of,
    .modify = [](verbs& in, operation_room& room, qp_handle which, layouts::qp_state to,
                 const attribute_list& list) -> status {
      connection_attributes a;
      FREEHCA_TRY(usable(in, room, read(list, connection_rows, a)));
      place<modify_queue_pair>(room, nullptr).start(in, which, to, a);
      return {};
    }};

/// Returns the description of a table that the library offers.
template <class Interface>
constexpr offered_interface offered(const Interface& operations) {
  return {Interface::name, Interface::version, sizeof(Interface), &operations.head};
}

}  // namespace

constexpr offered_interface protection_domain_offered = offered(domains),
                            address_handle_offered = offered(addresses),
                            memory_region_offered = offered(regions),
                            completion_queue_offered = offered(completion_queues),
                            shared_receive_queue_offered = offered(shared_receive_queues),
                            queue_pair_offered = offered(queue_pairs);

status query_interface(const char* name, std::uint32_t version, interface_head* table,
                       std::uint32_t bytes) {
  static constexpr const offered_interface* every_interface[] = {
      &protection_domain_offered, &address_handle_offered,       &memory_region_offered,
      &completion_queue_offered,  &shared_receive_queue_offered, &queue_pair_offered};
  return find_interface(every_interface, name, version, table, bytes);
}

}  // namespace freehca
