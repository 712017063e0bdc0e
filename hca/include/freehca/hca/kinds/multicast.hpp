// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Multicast groups: datagram queue pairs join and leave them. The device has an entry for each
// group, with the numbers of the members, in the multicast table. A hash of the group's GID gives
// the first entry of a chain. Sources: Linux 6.1 mcg.c find_entry, mlx4_qp_attach_common,
// mlx4_qp_detach_common; hw/mlx4/main.c mlx4_ib_mcg_attach.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/multicast.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/operation.hpp>

#include <freehca/hca/context_tables.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/port_addresses.hpp>

namespace freehca {

struct group_membership;
struct multicast_table;
using multicast_table_handle = handle<multicast_table>;
using membership_handle = handle<group_membership>;

/// A join or a leave, as the table needs it when it ends.
struct multicast_change {
  group_membership* member = nullptr;
  std::uint32_t entry = 0;  ///< the index of the entry that has, or had, the member
  std::uint32_t first = 0;  ///< the index of the first entry of the chain
  /// The index of the entry that takes the place of `entry`, or object_record::none.
  std::uint32_t successor = 0;
  /// The entries whose memory the device does not need any more after the change, if they have no
  /// other member in their blocks, or object_record::none.
  std::uint32_t released[3] = {};
  bool joins = false;
};

/// What join_group and leave_group have in common. The caller owns the operation. It works on the
/// multicast table of the device, one at a time. A deadline and cancel() apply to all commands of
/// the operation. After either, the operation posts no further commands.
class group_change : public stepper {
 protected:
  group_change();
  ~group_change();
  void refuse(verbs& owner, status why);
  void begin_change(group_membership& member, bool joins);
  membership_handle made_;

 private:
  using phase = object_record::phase;
  friend struct multicast_table;
  enum class step : std::uint8_t {
    hash,            ///< MGID_HASH
    lend,            ///< maps context memory for the first entry of the chain
    lend_new,        ///< the same for an entry behind the chain
    read,            ///< READ_MCG of an entry of the chain
    read_successor,  ///< READ_MCG of the entry that takes the place of an empty one
    prepare,         ///< WRITE_MCG of an entry to which no other entry points yet
    change,          ///< the WRITE_MCG that makes the change
  };
  static void advance(stepper& self, status outcome) noexcept;
  status go_on();
  status visit();
  status join_entry(std::byte* entry, bool is_new);
  status leave_entry();
  std::uint32_t most_members() const;
  status lend(step next, std::uint32_t entry);
  command_request& request(step next, layouts::opcode code);
  void read(step next, std::uint32_t index);
  void write(step next, std::uint32_t index, const std::byte* from);
  void end(status outcome);
  void end_in_doubt(status outcome);

  verbs* owner_ = nullptr;
  multicast_table* table_ = nullptr;
  multicast_change change_;
  step step_ = step::hash;
  std::uint32_t index_ = 0;     // of the entry that was read last
  std::uint32_t previous_ = 0;  // of the entry before it in the chain; none: it is the first
  std::uint32_t visited_ = 0;   // entries of the chain
  command command_;
  context_request lending_;
};

struct group_attributes {
  multicast_table_handle table{};
  qp_handle pair{};  ///< its service is ud
  gid group{};       ///< a group: is_multicast()
  /// What the queue pair sends to the group does not come back to it.
  bool block_loopback = false;
};

/// A queue pair that is a member of a group. Only the driver knows the object. While it exists, the
/// queue pair is not destroyed (driver_error::busy). Made by join_group, destroyed by leave_group.
struct group_membership : object_record {
  static constexpr kind_facts facts{.name = "group membership", .item = 0x61};

  gid group{};
  std::uint32_t qpn = 0;
  bool block_loopback = false;
  bool unwanted = false;  ///< the join was not answered in time, so that the user has no handle
  /// Indexes in the table of the device: of the group, and of the first entry of its chain.
  std::uint32_t entry = 0, first_entry = 0;
  multicast_table* table = nullptr;
};

/// The driver's part of the multicast table of a device. The control owner has one at most. The
/// driver lends the device the memory of those blocks of the table that have entries of chains with
/// members.
///
/// If a WRITE_MCG was not answered, the table is in doubt. Joins and leaves then fail with
/// driver_error::busy until the late answer or a reset. If the late answer says that a queue pair
/// has joined a group after all, the driver makes it leave. If it says that a queue pair has not
/// left, the membership is as before.
struct multicast_table : object_record {
  struct attributes {};
  static constexpr kind_facts facts{.name = "multicast table", .item = 0x60};

  /// Errors: driver_error::unsupported (not the control owner, the device has no multicast, or it
  /// steers by rules: group_rule()), ::busy (there is another multicast table).
  status build(verbs& in, const attributes&);

 private:
  friend class group_change;
  /// The largest entry: budget::log_mcg_entry_bytes.
  static constexpr std::size_t most_entry_bytes = 4096;

  std::size_t entry_bytes() const;
  std::uint32_t entries() const;
  bool is_free(std::uint32_t entry) const;
  std::uint32_t free_entry() const;
  context_range block_of(std::uint32_t entry) const;
  bool has_members(const context_range& block) const;
  void conclude(const multicast_change& of, bool done, bool kept);
  void undo_join(group_membership& member);
  void give_back(const std::uint32_t (&released)[3]);
  static void settled(lease& which, const settlement& end, void* self) noexcept;

  list<group_membership> members_;
  /// The entry that a WRITE_MCG names, with its memory.
  lease at_risk_{lease_kind::mapping, 1, &settled, this};
  multicast_change doubtful_;  // of the operation that has ended
  bool makes_change_ = false;  // the command in doubt makes the change
  group_change undo_;
  // The entry that was read last, and the one before it.
  std::byte* current_ = entries_[0];
  std::byte* other_ = entries_[1];
  alignas(8) std::byte entries_[2][most_entry_bytes];
};

/// Makes a queue pair a member of a group, whatever its state. The port to which the queue pair
/// belongs decides from where it gets datagrams. The control owner only.
///
/// Outcomes besides those of the commands: driver_error::bad_argument (the GID is no group:
/// verbs::refused() names it), ::stale_handle, ::unsupported (the service of the queue pair is not
/// ud), ::busy (the queue pair is a member of the group already, another join or leave is under
/// way, the table is in doubt, or an operation works on the queue pair), ::exceeds_limits (the
/// group has as many members as an entry holds: budget::log_mcg_entry_bytes), ::no_resource
/// (`where`: group_membership::facts.item, or budget::item::multicast_groups), ::no_memory
/// (budget::item::lent_pages), ::bad_state, ::cancelled, transport_error::timeout, ::bad_reply (the
/// table is not as the driver has written it).
class join_group : public group_change {
 public:
  join_group() = default;
  ~join_group() { drop(); }

  void start(verbs& owner, const group_attributes& attributes);
  /// The handle of the membership. Valid once the operation is done with the outcome ok.
  membership_handle made() const { return made_; }

 private:
  result<group_membership*> plan(verbs& owner, const group_attributes& attributes);
};

/// Ends a membership. If the firmware refuses, the queue pair stays a member. The outcomes are
/// those of join_group.
class leave_group : public group_change {
 public:
  leave_group() = default;
  ~leave_group() { drop(); }

  void start(verbs& owner, membership_handle which);
};

}  // namespace freehca
