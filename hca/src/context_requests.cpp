// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests for context memory: references to chunks, and when a request is fulfilled.
#include <freehca/hca/context_tables.hpp>

namespace freehca {

void context_tables::map(context_request& r, context_group group, std::uint32_t first,
                         std::uint32_t count) {
  start(r, group, first, count, true);
}

void context_tables::unmap(context_request& r, context_group group, std::uint32_t first,
                           std::uint32_t count) {
  start(r, group, first, count, false);
}

void context_tables::start(context_request& r, context_group group, std::uint32_t first,
                           std::uint32_t count, bool maps) {
  r.begin(&on_cancel, this);
  r.group_ = group;
  r.maps_ = maps;
  r.trouble_ = {};
  r.first_chunk_ = r.end_chunk_ = 0;
  waiting_.push_back(r);

  const std::uint32_t objects = std::uint32_t{1}
                                << layout_->log_objects[static_cast<unsigned>(group)];
  if (count == 0 || first >= objects || count > objects - first) {
    r.trouble_ = driver_error::bad_argument;
    return;
  }
  const unsigned log_chunk = context_layout::shape(group).log_chunk;
  const std::uint32_t first_chunk = first >> log_chunk,
                      end_chunk = ((first + count - 1) >> log_chunk) + 1;
  if (maps)
    for (std::uint32_t i = first_chunk; i < end_chunk; ++i)
      if (const chunk_state s = at(group, i).state;
          s == chunk_state::doubtful || s == chunk_state::stuck) {
        r.trouble_ = driver_error::busy;
        return;
      }
  r.first_chunk_ = first_chunk;
  r.end_chunk_ = end_chunk;
  for (std::uint32_t i = first_chunk; i < end_chunk; ++i) {
    if (maps) reference(at(group, i));
    else release(at(group, i));
  }
}

void context_tables::reference(chunk& c) {
  ++c.references;
  if (c.state == chunk_state::absent) {
    c.state = chunk_state::wanted;
    push(wanted_, c);
  } else if (c.state == chunk_state::unwanted && c.unmapped_ranges == 0) {
    c.state = chunk_state::mapped;  // it stays in the queue, and is passed over there
  }
}

void context_tables::release(chunk& c) {
  FREEHCA_ASSERT(c.references > 0);
  if (c.references == 0 || --c.references > 0) return;
  if (c.state == chunk_state::mapped) {
    c.state = chunk_state::unwanted;
    push(unwanted_, c);
  }
}

void context_tables::fail_requests_on(const chunk& c, status why) {
  for (context_request* r = waiting_.front(); r != nullptr; r = waiting_.next(*r))
    if (r->group_ == c.group && c.index >= r->first_chunk_ && c.index < r->end_chunk_ &&
        r->trouble_.ok())
      r->trouble_ = why;
}

bool context_tables::fulfilled(context_request& r) const {
  for (std::uint32_t i = r.first_chunk_; i < r.end_chunk_; ++i) {
    const chunk_state s = at(r.group_, i).state;
    if (r.maps_ ? s != chunk_state::mapped
                : s == chunk_state::unwanted || s == chunk_state::unmapping)
      return false;
  }
  return true;
}

void context_tables::finish_requests() {
  list<context_request> ended;
  for (context_request *r = waiting_.front(), *next = nullptr; r != nullptr; r = next) {
    next = waiting_.next(*r);
    if (r->trouble_.ok() && !fulfilled(*r)) continue;
    if (!r->trouble_.ok() && r->maps_)
      for (std::uint32_t i = r->first_chunk_; i < r->end_chunk_; ++i) release(at(r->group_, i));
    r->unlink();
    ended.push_back(*r);
  }
  while (context_request* r = ended.pop_front()) r->complete(r->trouble_);
}

void context_tables::on_cancel(operation& op, void*) noexcept {
  auto& r = static_cast<context_request&>(op);
  if (r.trouble_.ok()) r.trouble_ = driver_error::cancelled;
}

}  // namespace freehca
