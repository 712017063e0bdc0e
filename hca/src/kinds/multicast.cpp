// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The multicast table. Each change ends with one WRITE_MCG, after which the device has the change.
// What is written before it is an entry that the device cannot reach yet.
#include <freehca/hca/kinds/multicast.hpp>

#include <freehca/hal/storage.hpp>

namespace freehca {

using namespace layouts;

namespace {

constexpr std::uint32_t no_entry = object_record::none;

image<mcg_header>& head_of(std::byte* entry) {
  return *storage_for<image<mcg_header>>(entry);
}
std::byte* member_at(std::byte* entry, std::uint64_t place) {
  return entry + mcg_header::bytes + place * mcg_member::bytes;
}
std::uint32_t members_of(const image<mcg_header>& head) {
  return static_cast<std::uint32_t>(head.get<&mcg_header::members_count>());
}
std::uint32_t next_of(const image<mcg_header>& head) {
  return static_cast<std::uint32_t>(head.get<&mcg_header::next_gid_index>());
}

/// Returns the place of the member, or the number of members if it is none.
std::uint32_t place_of(std::byte* entry, std::uint32_t members, std::uint32_t qpn) {
  std::uint32_t place = 0;
  while (place < members &&
         image<mcg_member>::from_bytes(member_at(entry, place)).get<&mcg_member::qpn>() != qpn)
    ++place;
  return place;
}

}  // namespace

// ---- The table.

status multicast_table::build(verbs& in, const attributes&) {
  const device& d = in.adapter();
  // An event owner does not poll the device, and has only a part of the queue pairs.
  const bool here = in.is_control_owner() && !d.steers_by_rules() &&
                    d.capabilities().has(dev_cap_flag::ud_multicast);
  // This one counts too. Two tables would not know of each other's entries.
  if (here && in.held<multicast_table>() > 1) return driver_error::busy;
  return here ? status() : driver_error::unsupported;
}

std::size_t multicast_table::entry_bytes() const {
  return std::size_t{1} << owner->adapter().opened_with().log_mcg_entry_bytes;
}

std::uint32_t multicast_table::entries() const {
  return 1u << owner->adapter().opened_with().log_mcgs;
}

/// True if the entry has no member.
bool multicast_table::is_free(std::uint32_t entry) const {
  group_membership* m = members_.back();
  while (m != nullptr && m->entry != entry) m = members_.previous(*m);
  return m == nullptr;
}

/// Returns the lowest index behind the hash table that has no member, or no_entry.
std::uint32_t multicast_table::free_entry() const {
  const std::uint32_t end = entries();
  for (std::uint32_t i = 1u << owner->adapter().contexts().layout().log_mcg_hash; i < end; ++i)
    if (is_free(i)) return i;
  return no_entry;
}

/// Returns the entries that have context memory in common with `entry`, by one of them.
context_range multicast_table::block_of(std::uint32_t entry) const {
  const unsigned log = owner->adapter().contexts().layout().table(context_table::mcg).log_block;
  return {context_group::mcg, entry >> log << log, 1};
}

bool multicast_table::has_members(const context_range& block) const {
  for (group_membership* m = members_.back(); m != nullptr; m = members_.previous(*m))
    for (const std::uint32_t entry : {m->entry, m->first_entry})
      if (block_of(entry).first == block.first) return true;
  return false;
}

/// Takes back the memory of blocks that have no members any more.
void multicast_table::give_back(const std::uint32_t (&released)[3]) {
  std::uint32_t done[3] = {no_entry, no_entry, no_entry};
  for (unsigned i = 0; i < 3; ++i) {
    // A reset takes all of it back.
    if (released[i] == no_entry || !owner->up()) continue;
    const context_range block = block_of(released[i]);
    if (has_members(block) || block.first == done[0] || block.first == done[1]) continue;
    done[i] = block.first;
    // Nobody waits for the memory. The end of the request does not change that it comes back.
    context_request request;
    owner->adapter().contexts().unmap(request, block);
  }
}

void multicast_table::settled(lease&, const settlement& end, void* self) noexcept {
  auto& table = *static_cast<multicast_table*>(self);
  verbs& owner = *table.owner;
  const multicast_change& was = table.doubtful_;
  group_membership& member = *was.member;
  if (table.state == phase::doubtful_forgotten) {
    owner.release(member);
    return owner.release(table);
  }
  if (!end.by_reset) return table.conclude(was, end.answer.ok() && table.makes_change_, false);
  // verbs::forget() follows, and releases both.
  table.state = member.state = phase::live;
}

/// Ends a change, which was made if `done` is true. The user gets the handle of a new member if
/// `kept` is true.
void multicast_table::conclude(const multicast_change& of, bool done, bool kept) {
  group_membership& member = *of.member;
  state = phase::live;
  if (of.joins && done) {
    member.entry = of.entry;
    member.first_entry = of.first;
    member.state = phase::live;
    members_.push_back(member);
    if (!kept) return undo_join(member);
  } else if (of.joins || done) {
    owner->release(member);
    // The successor has taken the place of the entry.
    for (group_membership* m = members_.front(); m != nullptr; m = members_.next(*m))
      if (of.successor != no_entry && m->entry == of.successor) m->entry = of.entry;
  } else {
    member.state = member.unwanted ? phase::held_until_reset : phase::live;
  }
  give_back(of.released);
}

/// Makes a member leave of which no user has the handle.
void multicast_table::undo_join(group_membership& member) {
  member.unwanted = true;
  undo_.restart();
  undo_.begin_change(member, false);
}

// ---- Joining and leaving.

group_change::group_change() = default;
group_change::~group_change() {
  drop();
}

void group_change::refuse(verbs& owner, status why) {
  owner.reactor_->refuse(*this, why);
}

void group_change::begin_change(group_membership& member, bool joins) {
  owner_ = member.owner;
  table_ = member.table;
  change_ = {.member = &member,
             .successor = no_entry,
             .released = {no_entry, no_entry, no_entry},
             .joins = joins};
  table_->state = phase::changing;
  member.state = joins ? phase::creating : phase::destroying;
  previous_ = no_entry;
  visited_ = 0;
  begin_checked(*owner_->reactor_, {}, &advance);
  command_request& r = request(step::hash, commands::mgid_hash::code);
  commands::mgid_hash::aim(r);
  r.input = command_request::form::mailbox;
  r.input_data = reinterpret_cast<const std::byte*>(member.group.raw);
  r.input_bytes = mcg_gid::bytes;
  r.output = command_request::form::immediate;
  owner_->adapter().commands().submit(command_);
}

command_request& group_change::request(step next, opcode code) {
  step_ = next;
  command_request& r = part(command_).request = {};
  r.opcode = code;
  return r;
}

/// Starts to lend the memory of an entry if the device does not have it. Otherwise continues.
status group_change::lend(step next, std::uint32_t entry) {
  step_ = next;
  const context_range block = table_->block_of(entry);
  const bool lent =
      table_->has_members(block) ||
      (next == step::lend_new && table_->block_of(change_.first).first == block.first);
  if (lent) return go_on();
  owner_->adapter().contexts().map(part(lending_), block);
  return {};
}

/// Reads an entry into current_, or into other_ if it takes the place of the current one.
void group_change::read(step next, std::uint32_t index) {
  command_request& r = request(next, commands::read_mcg::code);
  commands::read_mcg::aim(r, index);
  r.output = command_request::form::mailbox;
  r.output_data = next == step::read ? table_->current_ : table_->other_;
  r.output_bytes = static_cast<std::uint16_t>(table_->entry_bytes());
  owner_->adapter().commands().submit(command_);
}

void group_change::write(step next, std::uint32_t index, const std::byte* from) {
  command_request& r = request(next, commands::write_mcg::code);
  commands::write_mcg::aim(r, index);
  r.input = command_request::form::mailbox;
  r.input_data = from;
  r.input_bytes = static_cast<std::uint16_t>(table_->entry_bytes());
  command_.put_at_risk(table_->at_risk_);
  owner_->adapter().commands().submit(command_);
}

void group_change::advance(stepper& self, status outcome) noexcept {
  auto& o = static_cast<group_change&>(self);
  if (o.table_->at_risk_.in_doubt()) return o.end_in_doubt(outcome);
  if (o.table_->state == phase::forgotten) {
    if (outcome.ok()) outcome = transport_error::reset;
    return o.end(outcome);
  }
  if (o.step_ == step::lend && outcome.ok()) o.change_.released[0] = o.change_.first;
  if (o.step_ == step::lend_new && outcome.ok()) o.change_.released[1] = o.change_.entry;
  if (o.step_ == step::change) return o.end(outcome);
  if (outcome.ok()) outcome = o.stop_reason();
  if (outcome.ok()) outcome = o.go_on();
  if (!outcome.ok()) o.end(outcome);
}

/// Starts the step behind one that has succeeded.
status group_change::go_on() {
  multicast_table& t = *table_;
  switch (step_) {
    case step::hash: {
      // The upper bits mean nothing (Linux 6.1 mcg.c mlx4_GID_HASH).
      const std::uint64_t first = command_.output_immediate() & 0xffff;
      if (first >> owner_->adapter().contexts().layout().log_mcg_hash != 0 ||
          (!change_.joins && first != change_.member->first_entry))
        return transport_error::bad_reply;
      index_ = change_.first = static_cast<std::uint32_t>(first);
      return lend(step::lend, index_);
    }
    case step::lend:
      read(step::read, index_);
      return {};
    case step::lend_new:
      return join_entry(t.other_, true);
    case step::read:
      return visit();
    case step::read_successor:
      write(step::change, index_, t.other_);
      return {};
    default:  // prepare
      head_of(t.current_).set<&mcg_header::next_gid_index>(change_.entry);
      write(step::change, index_, t.current_);
      return {};
  }
}

/// Looks at the entry that was read. Continues with the next entry of the chain, or changes it.
status group_change::visit() {
  multicast_table& t = *table_;
  const image<mcg_header>& head = head_of(t.current_);
  const std::uint32_t members = members_of(head), next = next_of(head);
  // A chain leads to entries with members alone. The device has the memory of no others.
  if (members > most_members() || (next != 0 && t.is_free(next)) || ++visited_ > t.entries())
    return transport_error::bad_reply;
  if (members == 0) {
    // Only the first entry of a chain can be empty.
    if (previous_ != no_entry || !change_.joins) return transport_error::bad_reply;
    change_.entry = index_;
    return join_entry(t.current_, true);
  }
  if (head.get<&mcg_header::protocol>() == mcg_protocol::ib_ipv6 &&
      __builtin_memcmp(head.bytes_of<&mcg_header::gid>(), change_.member->group.raw,
                       mcg_gid::bytes) == 0) {
    if (!change_.joins && index_ != change_.member->entry) return transport_error::bad_reply;
    change_.entry = index_;
    return change_.joins ? join_entry(t.current_, false) : leave_entry();
  }
  if (next != 0) {
    std::byte* const read_before = t.current_;
    t.current_ = t.other_;
    t.other_ = read_before;
    previous_ = index_;
    index_ = next;
    read(step::read, index_);
    return {};
  }
  if (!change_.joins) return transport_error::bad_reply;
  change_.entry = t.free_entry();
  if (change_.entry == no_entry)
    return status(driver_error::no_resource, static_cast<unsigned>(budget::item::multicast_groups));
  return lend(step::lend_new, change_.entry);
}

/// Adds the member to an entry, and writes the entry to `change_.entry`.
status group_change::join_entry(std::byte* entry, bool is_new) {
  const group_membership& member = *change_.member;
  image<mcg_header>& head = head_of(entry);
  if (is_new) {
    __builtin_memset(entry, 0, table_->entry_bytes());
    head.set<&mcg_header::protocol>(mcg_protocol::ib_ipv6);
    head.set_bytes<&mcg_header::gid>(reinterpret_cast<const std::byte*>(member.group.raw));
  }
  const std::uint32_t members = members_of(head);
  if (place_of(entry, members, member.qpn) != members) return driver_error::busy;
  if (members == most_members()) return driver_error::exceeds_limits;
  const auto added = image<mcg_member>()
                         .set<&mcg_member::qpn>(member.qpn)
                         .set<&mcg_member::block_loopback>(member.block_loopback);
  __builtin_memcpy(member_at(entry, members), added.data(), added.size());
  head.set<&mcg_header::members_count>(members + 1);
  write(change_.entry == index_ ? step::change : step::prepare, change_.entry, entry);
  return {};
}

/// Removes the member from the entry that was read. Removes the entry from its chain if it has no
/// other member.
status group_change::leave_entry() {
  multicast_table& t = *table_;
  image<mcg_header>& head = head_of(t.current_);
  const std::uint32_t members = members_of(head), next = next_of(head);
  const std::uint32_t place = place_of(t.current_, members, change_.member->qpn);
  change_.released[0] = change_.first;
  change_.released[1] = index_;
  change_.released[2] = next != 0 && previous_ == no_entry ? next : no_entry;
  if (place == members) return transport_error::bad_reply;
  if (members > 1) {
    std::byte* const last = member_at(t.current_, members - 1);
    __builtin_memmove(member_at(t.current_, place), last, mcg_member::bytes);
    __builtin_memset(last, 0, mcg_member::bytes);
    head.set<&mcg_header::members_count>(members - 1);
    write(step::change, index_, t.current_);
  } else if (previous_ != no_entry) {
    head_of(t.other_).set<&mcg_header::next_gid_index>(next);
    write(step::change, previous_, t.other_);
  } else if (next != 0) {
    change_.successor = next;
    read(step::read_successor, next);
  } else {
    __builtin_memset(t.current_, 0, t.entry_bytes());
    write(step::change, index_, t.current_);
  }
  return {};
}

std::uint32_t group_change::most_members() const {
  return mcg_members_per_entry(owner_->adapter().opened_with().log_mcg_entry_bytes);
}

void group_change::end(status outcome) {
  multicast_table& t = *table_;
  if (t.state == phase::forgotten) {
    owner_->release(*change_.member);
    owner_->release(t);
    return complete(outcome);
  }
  // Nobody has the handle of an operation that was dropped.
  t.conclude(change_, outcome.ok(), !dropped());
  if (outcome.ok() && change_.joins) made_ = verbs::handle_of(*change_.member);
  complete(outcome);
}

void group_change::end_in_doubt(status outcome) {
  multicast_table& t = *table_;
  t.doubtful_ = change_;
  t.makes_change_ = step_ == step::change;
  const bool forgotten = t.state == phase::forgotten;
  t.state = forgotten ? phase::doubtful_forgotten : phase::doubtful_change;
  change_.member->state = forgotten       ? phase::doubtful_forgotten
                          : change_.joins ? phase::doubtful_creation
                                          : phase::doubtful_destruction;
  complete(outcome);
}

result<group_membership*> join_group::plan(verbs& owner, const group_attributes& a) {
  multicast_table* const table = owner.find(a.table);
  queue_pair* const pair = owner.find(a.pair);
  for (const object_record* const needed :
       {static_cast<object_record*>(table), static_cast<object_record*>(pair)})
    if (const status s = verbs::usable(needed); !s.ok()) return s;
  if (pair->service->code != qp_service::ud) return status(driver_error::unsupported);
  // The first byte of an IPv6 group.
  if (!is_multicast(a.group))
    return owner.refused().refuse(attribute_id::multicast_gid, a.group.raw[0], 0xff);
  const result<object_record*> taken = owner.take(kind_of<group_membership>);
  if (!taken.ok()) return taken.error();
  auto& member = static_cast<group_membership&>(*taken.value());
  member.group = a.group;
  member.qpn = pair->number;
  member.block_loopback = a.block_loopback;
  member.unwanted = false;
  member.users = 1;  // the device has it: verbs::destroy() refuses
  member.table = table;
  member.use(*table);
  member.use(*pair);
  return &member;
}

void join_group::start(verbs& owner, const group_attributes& a) {
  if (!startable()) return;
  made_ = {};
  const result<group_membership*> planned = plan(owner, a);
  if (!planned.ok()) return refuse(owner, planned.error());
  begin_change(*planned.value(), true);
}

void leave_group::start(verbs& owner, membership_handle which) {
  if (!startable()) return;
  group_membership* const member = owner.find(which);
  status s = verbs::usable(member);
  if (s.ok()) s = verbs::usable(member->table);
  if (!s.ok()) return refuse(owner, s);
  begin_change(*member, false);
}

}  // namespace freehca
