// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// All interfaces: the attributes of each kind of objects, and its table of operations.
//
// Attributes that several kinds have, have identifiers from 0x0001 to 0x00ff. Each kind has 256
// identifiers of its own. The layout of a table is fixed: interface_head and pointers to functions.
//
// All calls are made on the owner thread of the verbs object. Each call with a room returns whether
// it has started an operation. Errors: driver_error::bad_state (the verbs object is not open),
// ::busy (the operation in the room is not done), and for an attribute list the errors of read().
// After an error, no operation is under way in the room because of the call. Otherwise `started` of
// the room completes inside verbs::poll(), with the outcomes of object_operation. made() returns
// the handle of the object that the last create() in the room has created. The handle is valid once
// that operation is done with the outcome ok, until the room is used again. Otherwise made()
// returns the default handle.
#pragma once

#include <freehca/layouts/qpc.hpp>

#include <freehca/hca/ports.hpp>
#include <freehca/interfaces/interface.hpp>

namespace freehca {

namespace common {
inline constexpr attribute_name<pd_handle> domain{0x0001};  ///< the protection domain
/// A value of the user that is passed back in events of the object. Default: null.
inline constexpr attribute_name<void*> cookie{0x0002};
/// receives: that can be outstanding at the same time, at least. Default: 0. scatter: data entries
/// of one receive. Default: 1.
inline constexpr attribute_name<std::uint32_t> receives{0x0003}, scatter{0x0004};
}  // namespace common

/// Protection domains. They have no attributes and need no firmware commands. They are created and
/// destroyed at once.
struct protection_domain_interface {
  static constexpr const char* name = "protection_domain";
  static constexpr std::uint32_t version = 1;
  interface_head head{sizeof(*this), sizeof(*this)};

  /// Errors: driver_error::bad_state (the verbs object is not open), ::no_resource, ::unsupported,
  /// and those of read(). After an error, `made` is unchanged.
  status (*create)(verbs& in, const attribute_list& attributes, pd_handle& made) = nullptr;
  /// Errors: driver_error::busy (other objects refer to the domain), ::stale_handle, ::bad_state.
  status (*destroy)(verbs& in, pd_handle which) = nullptr;
};

/// The path to the peer. Address handles use these attributes, and queue pairs use them from INIT
/// on. Default on InfiniBand: 1 for the port, 0 or false for the others. A list with mac_index has
/// a path by RoCE. Then the attributes of RoCE are known, with the defaults of roce_path, and those
/// of InfiniBand alone are not.
namespace path {
inline constexpr attribute_name<std::uint32_t> port{0x0501};
inline constexpr attribute_name<std::uint16_t> dlid{0x0502};
/// static_rate: layouts::ib_rate.
inline constexpr attribute_name<std::uint8_t> sl{0x0503}, path_bits{0x0504}, static_rate{0x0505};
/// global: packets have a GRH, as between subnets. The attributes below are fields of the GRH.
inline constexpr attribute_name<bool> force_loopback{0x0506}, global{0x0507};
inline constexpr attribute_name<std::uint8_t> sgid_index{0x0508}, hop_limit{0x0509};
inline constexpr attribute_name<std::uint8_t> traffic_class{0x050a};
inline constexpr attribute_name<std::uint32_t> flow_label{0x050b};
/// 16 bytes in wire order. The entry points to them.
inline constexpr attribute_name<gid> dgid{0x050c};
/// RoCE alone, see roce_path. Of InfiniBand alone are dlid, sl, path_bits, force_loopback, global.
inline constexpr attribute_name<std::uint8_t> mac_index{0x050d};
inline constexpr attribute_name<std::uint64_t> dmac{0x050e};
inline constexpr attribute_name<std::uint16_t> vlan{0x050f};
inline constexpr attribute_name<std::uint8_t> priority{0x0510};
}  // namespace path

struct address_handle;
/// The attributes of address handles: these, and those of `path`.
namespace ah {
using common::domain;  ///< required: the domain of the queue pairs that use the handle
}

/// The destinations of datagrams. They are created and destroyed at once.
struct address_handle_interface {
  static constexpr const char* name = "address_handle";
  static constexpr std::uint32_t version = 1;
  interface_head head{sizeof(*this), sizeof(*this)};

  /// Errors: driver_error::bad_state (the verbs object is not open), ::bad_argument, ::stale_handle
  /// (the domain), ::no_resource, ::unsupported, and those of read(). After an error, `made` is
  /// unchanged.
  status (*create)(verbs& in, const attribute_list& attributes,
                   handle<address_handle>& made) = nullptr;
  /// Errors: driver_error::stale_handle, ::bad_state.
  status (*destroy)(verbs& in, handle<address_handle> which) = nullptr;
};

/// The attributes of memory regions. The memory is given in one of three ways: by the addresses of
/// its pages, by its device address if it is contiguous for the device, or by a pointer of the
/// program.
namespace mr {
using common::domain;  ///< required
/// One device address for each page, aligned to the page. The caller keeps the array until the
/// operation is done.
inline constexpr attribute_name<const std::uint64_t*> page_addresses{0x0201};
/// device_address: of the first byte. bytes, required: the size of the region. The memory must
/// exist until the region is destroyed. virtual_address: of the first byte in data entries
/// (memory_region_attributes).
inline constexpr attribute_name<std::uint64_t> device_address{0x0202}, bytes{0x0203};
inline constexpr attribute_name<std::uint64_t> virtual_address{0x0206};
/// first_offset: of the region in its first page. Used with `page_addresses`. Default: 0.
/// log_page_bytes: log2 of the page size in bytes. Default: 12.
inline constexpr attribute_name<std::uint32_t> first_offset{0x0204}, log_page_bytes{0x0205};
/// The permitted accesses. Default: false. Local reads are always permitted. remote_write and
/// remote_atomic need local_write.
inline constexpr attribute_name<bool> local_write{0x0207}, remote_read{0x0208};
inline constexpr attribute_name<bool> remote_write{0x0209}, remote_atomic{0x020a};
/// Memory of the program (memory_region_attributes::memory). Excludes `virtual_address`.
inline constexpr attribute_name<std::byte*> memory{0x020b};
}  // namespace mr

struct memory_region_interface {
  static constexpr const char* name = "memory_region";
  static constexpr std::uint32_t version = 1;
  interface_head head{sizeof(*this), sizeof(*this)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  mr_handle (*made)(const operation_room& room) = nullptr;
  /// The keys of the region are invalid once the operation is done with the outcome ok.
  status (*destroy)(verbs& in, operation_room& room, mr_handle which) = nullptr;
  /// Returns the local and remote key, which are one number, or 0 for a stale handle.
  std::uint32_t (*key)(const verbs& in, mr_handle which) = nullptr;
};

namespace cq {
using common::cookie;
/// entries, required: at least that many completions fit. completion_context: the event context
/// that reports the completions (device::completion_context()). Default: 0.
inline constexpr attribute_name<std::uint32_t> entries{0x0101}, completion_context{0x0102};
}  // namespace cq

struct completion_queue_interface {
  static constexpr const char* name = "completion_queue";
  static constexpr std::uint32_t version = 1;
  interface_head head{sizeof(*this), sizeof(*this)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  cq_handle (*made)(const operation_room& room) = nullptr;
  /// The operation fails with driver_error::busy while a queue pair refers to the queue.
  status (*destroy)(verbs& in, operation_room& room, cq_handle which) = nullptr;
};

namespace srq {
using common::cookie, common::domain, common::receives, common::scatter;
}  // namespace srq

struct shared_receive_queue_interface {
  static constexpr const char* name = "shared_receive_queue";
  static constexpr std::uint32_t version = 1;
  interface_head head{sizeof(*this), sizeof(*this)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  srq_handle (*made)(const operation_room& room) = nullptr;
  /// The operation fails with driver_error::busy while a queue pair refers to the queue. Posted
  /// receives are dropped without a completion.
  status (*destroy)(verbs& in, operation_room& room, srq_handle which) = nullptr;
};

/// The attributes of queue pairs. create() takes the first group. modify() takes the other groups
/// and the attributes of `path`. All of them may be given to each transition. The defaults of the
/// attributes of modify() are in connection_attributes.
namespace qp {
/// domain is required. receives is 0 with `shared`.
using common::cookie, common::domain, common::receives, common::scatter;
inline constexpr attribute_name<cq_handle> send_cq{0x0401}, receive_cq{0x0402};  ///< required
inline constexpr attribute_name<layouts::qp_service> service{0x0403};            ///< default: rc
/// The SRQ. Default: the queue pair has its own receive queue.
inline constexpr attribute_name<srq_handle> shared{0x0405};
/// sends: requests that can be outstanding at the same time, at least. Default: 0. gather: data
/// entries of one request. Default: 1.
inline constexpr attribute_name<std::uint32_t> sends{0x0404}, gather{0x0406}, inline_bytes{0x0407};
inline constexpr attribute_name<bool> masked_atomics{0x0408};  ///< default: false

// INIT
inline constexpr attribute_name<std::uint16_t> pkey_index{0x0601};
inline constexpr attribute_name<bool> remote_read{0x0602}, remote_write{0x0603};
inline constexpr attribute_name<bool> remote_atomic{0x0604};
inline constexpr attribute_name<std::uint32_t> qkey{0x0605};
// RTR
inline constexpr attribute_name<layouts::ib_mtu> path_mtu{0x0606};
inline constexpr attribute_name<std::uint8_t> min_rnr_timer{0x0607};
inline constexpr attribute_name<std::uint32_t> remote_qpn{0x0608}, receive_psn{0x0609};
inline constexpr attribute_name<std::uint32_t> reads_as_responder{0x060a};
// RTS
inline constexpr attribute_name<std::uint32_t> send_psn{0x060b}, reads_as_requester{0x060c};
inline constexpr attribute_name<std::uint8_t> retry_count{0x060d}, rnr_retry{0x060e};
inline constexpr attribute_name<std::uint8_t> ack_timeout{0x060f}, log_ack_request{0x0610};
}  // namespace qp

struct queue_pair_interface {
  static constexpr const char* name = "queue_pair";
  static constexpr std::uint32_t version = 1;
  interface_head head{sizeof(*this), sizeof(*this)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  qp_handle (*made)(const operation_room& room) = nullptr;
  /// Completions that were not polled are dropped.
  status (*destroy)(verbs& in, operation_room& room, qp_handle which) = nullptr;
  /// Returns the QPN, or 0 for a stale handle.
  std::uint32_t (*number)(const verbs& in, qp_handle which) = nullptr;
  /// Moves the queue pair to INIT, RTR, RTS, ERROR or RESET. All attributes in the list are read. A
  /// transition ignores the attributes that it does not use. The operation fails with
  /// driver_error::bad_state if there is no such transition from the present state.
  status (*modify)(verbs& in, operation_room& room, qp_handle which, layouts::qp_state to,
                   const attribute_list& attributes) = nullptr;
};

// For find_interface().
extern const offered_interface protection_domain_offered, address_handle_offered,
    memory_region_offered, completion_queue_offered, shared_receive_queue_offered,
    queue_pair_offered;

}  // namespace freehca
