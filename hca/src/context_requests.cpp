// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests for context memory, their references to blocks, and the end of requests.
#include <freehca/hca/context_tables.hpp>

namespace freehca {

/// Iterates over the blocks of all tables that have entries of the request's objects. Returns the
/// first block if `b` is null, else the block after `b`. Returns null after the last block.
context_tables::block* context_tables::next_block(const context_request& r, const block* b) const {
  const context_range* range = r.ranges_;
  if (b != nullptr) {
    if (range->group != context_layout::group_of(b->table)) ++range;
    if (b->index != (range->first + range->count - 1) >> layout_->table(b->table).log_block)
      return &at(b->table, b->index + 1);
    const auto next = static_cast<context_table>(static_cast<unsigned>(b->table) + 1);
    const context_layout::group_shape s = context_layout::shape(range->group);
    if (static_cast<unsigned>(next) != static_cast<unsigned>(s.first) + s.tables)
      return &at(next, range->first >> layout_->table(next).log_block);
    ++range;
  }
  for (; range != r.ranges_ + context_request::most_ranges; ++range) {
    const context_table table = context_layout::shape(range->group).first;
    if (range->count != 0) return &at(table, range->first >> layout_->table(table).log_block);
  }
  return nullptr;
}

void context_tables::start(context_request& r, const context_range& objects,
                           const context_range& more, bool maps) {
  if (!r.startable()) return;
  r.begin(&on_cancel, this);
  r.maps_ = maps;
  r.trouble_ = {};
  r.held_ = false;
  r.ranges_[0] = objects;
  r.ranges_[1] = more;
  fresh_ = true;
  waiting_.push_back(r);
  commands_->reactor().watch(r);

  for (const context_range& o : r.ranges_) {
    const std::uint32_t all = 1u << layout_->log_objects[static_cast<unsigned>(o.group)];
    if (o.first >= all || o.count > all - o.first) r.trouble_ = driver_error::bad_argument;
  }
  if (r.trouble_.ok() && maps)
    for (block* b = nullptr; (b = next_block(r, b)) != nullptr;)
      if (!usable(*b)) r.trouble_ = driver_error::busy;
  if (!r.trouble_.ok()) {
    for (context_range& o : r.ranges_) o = {};
    return;
  }
  const std::uint32_t count = objects.count + more.count;
  if (maps) objects_held_ += count;
  else objects_held_ -= count;
  for (block* b = nullptr; (b = next_block(r, b)) != nullptr;) {
    if (maps) reference(*b);
    else release(*b);
  }
}

bool context_tables::usable(const block& b) {
  return b.state < block_state::doubtful_mapping;
}

std::uint32_t context_tables::first_usable(context_group group, std::uint32_t first,
                                           std::uint32_t count) const {
  const context_layout::group_shape s = context_layout::shape(group);
  for (unsigned i = 0; i < s.tables;) {
    const auto table = static_cast<context_table>(static_cast<unsigned>(s.first) + i);
    const unsigned log = layout_->table(table).log_block;
    const std::uint32_t blocks = layout_->blocks(table);
    std::uint32_t behind = first;
    for (std::uint32_t b = first >> log; b < blocks && b <= (first + count - 1) >> log; ++b)
      if (!usable(at(table, b))) behind = (b + 1) << log;
    // If `first` has moved, check all tables again.
    i = behind == first ? i + 1 : 0;
    first = behind;
  }
  return first;
}

void context_tables::reference(block& b) {
  ++b.references;
  switch (b.state) {
    case block_state::absent:
      b.state = block_state::map_pending;
      map_pending_.push_back(b);
      break;
    case block_state::spare:
      --spare_count_;
      [[fallthrough]];
    case block_state::unmap_pending:
      b.unlink();
      b.state = block_state::mapped;
      break;
    default:
      break;
  }
}

void context_tables::release(block& b) {
  FREEHCA_ASSERT(b.references > 0);
  if (b.references == 0 || --b.references > 0) return;
  if (b.state == block_state::mapped) give_up(b);
}

/// Makes a mapped block without references a spare block. If there are too many spare blocks, the
/// oldest is taken back.
void context_tables::give_up(block& b) {
  if (most_spares_ == 0) {
    b.state = block_state::unmap_pending;
    return unmap_pending_.push_back(b);
  }
  if (spares_.empty()) spares_due_ = clock::after(platform_.now(), spare_ns_);
  b.state = block_state::spare;
  spares_.push_back(b);
  if (++spare_count_ <= most_spares_) return;
  block& oldest = *spares_.pop_front();
  --spare_count_;
  oldest.state = block_state::unmap_pending;
  unmap_pending_.push_back(oldest);
}

void context_tables::release_spares() {
  if (spares_.empty()) return;
  fresh_ = true;
  while (block* b = spares_.pop_front()) {
    b->state = block_state::unmap_pending;
    unmap_pending_.push_back(*b);
  }
  spare_count_ = 0;
}

bool context_tables::concerns(const context_request& r, const block& b) const {
  const unsigned log = layout_->table(b.table).log_block;
  for (const context_range& o : r.ranges_)
    if (o.count != 0 && o.group == context_layout::group_of(b.table) && b.index >= o.first >> log &&
        b.index <= (o.first + o.count - 1) >> log)
      return true;
  return false;
}

void context_tables::fail_requests_on(const block& b, status why, which of) {
  for (context_request* r = waiting_.front(); r != nullptr; r = waiting_.next(*r))
    if ((r->maps_ || of == which::all) && r->trouble_.ok() && concerns(*r, b)) r->trouble_ = why;
}

bool context_tables::fulfilled(const context_request& r) const {
  for (const block* b = nullptr; (b = next_block(r, b)) != nullptr;) {
    const bool done =
        r.maps_ ? b->state == block_state::mapped
                : b->state != block_state::unmap_pending && b->state != block_state::unmapping;
    if (!done) return false;
  }
  return true;
}

unsigned context_tables::finish_requests() {
  for (context_request *r = waiting_.front(), *next = nullptr; r != nullptr; r = next) {
    next = waiting_.next(*r);
    if (r->trouble_.ok() && !fulfilled(*r)) continue;
    if (!r->trouble_.ok() && r->maps_) give_back(*r);
    r->held_ = r->maps_ && r->trouble_.ok();
    commands_->reactor().end(*r, r->trouble_);
  }
  return commands_->reactor().deliver();
}

/// Releases the objects that a request has mapped or is mapping.
void context_tables::give_back(context_request& r) {
  for (const context_range& o : r.ranges_) objects_held_ -= o.count;
  for (block* b = nullptr; (b = next_block(r, b)) != nullptr;) release(*b);
}

void context_tables::on_cancel(operation& op, void* self) noexcept {
  auto& r = static_cast<context_request&>(op);
  auto& tables = *static_cast<context_tables*>(self);
  tables.fresh_ = true;
  if (!r.dropped()) {
    if (r.trouble_.ok()) r.trouble_ = r.stop_reason();
    return;
  }
  const bool ended = r.where() == operation::phase::ended;
  if (!r.maps_ || (ended && !r.held_)) return;
  tables.give_back(r);
  r.complete(driver_error::cancelled);
}

context_request::~context_request() {
  drop();
}

}  // namespace freehca
