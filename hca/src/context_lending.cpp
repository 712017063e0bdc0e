// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How chunks get to the device and back: one MAP_ICM for many chunks, one UNMAP_ICM for each table of a chunk.
#include <freehca/hca/context_tables.hpp>

namespace freehca {

void context_tables::start_mapping() {
  if (mapping_under_way_) return;
  unsigned entries = 0;
  while (chunk* c = wanted_.first) {
    if (c->references == 0) {
      pop(wanted_);
      if (c->pages.empty()) c->state = chunk_state::absent;
      else take_back(*c);
      continue;
    }
    if (const status s = lend(*c); !s.ok()) {
      // What is on its way back may be enough; else nothing will come.
      if (entries > 0 || unmapping_ != nullptr || unwanted_.first != nullptr) break;
      pop(wanted_);
      c->state = chunk_state::absent;
      fail_requests_on(*c, s);
      finish_requests();
      continue;
    }
    const unsigned used = write_entries(*c, entries);
    if (used == 0) break;
    entries += used;
    pop(wanted_);
    if (entries == used) map_.restart();
    c->state = chunk_state::mapping;
    c->unmapped_ranges = 0;
    c->pages_at_risk.set_amount(c->pages.pages);
    map_.put_at_risk(c->pages_at_risk);
    map_.put_at_risk(c->mapping_at_risk);
    push(mapping_, *c);
  }
  if (entries == 0) return;
  map_.set_input(entries_, entries);
  mapping_under_way_ = true;
  commands_->submit(map_);
}

status context_tables::lend(chunk& c) {
  if (!c.pages.empty()) return {};
  const context_layout::group_shape s = context_layout::shape(c.group);
  for (unsigned r = 0; r < s.tables; ++r) {
    const auto pages = static_cast<std::uint32_t>(range_bytes(c.group, r) / layouts::icm_page_size);
    if (const status t = lender_->take(pages, c.pages); !t.ok()) {
      lender_->give_back(c.pages);
      return t;
    }
  }
  ++chunks_lent_;
  return {};
}

/// Writes the entries of a chunk behind the `at` there are; returns their number, 0 when they do not fit.
unsigned context_tables::write_entries(const chunk& c, unsigned at) {
  unsigned runs = 0;
  for (std::uint32_t i = c.pages.first; i != page_run::none; i = lender_->run(i).next) ++runs;
  if (runs > layouts::map_entries_per_mailbox - at) return 0;
  unsigned range = 0;
  std::uint64_t done = 0;
  for (std::uint32_t i = c.pages.first; i != page_run::none; i = lender_->run(i).next) {
    if (done == range_bytes(c.group, range)) {
      ++range;
      done = 0;
    }
    const page_run& run = lender_->run(i);
    const dma_region memory = lender_->region(run);
    using entry = layouts::map_entry;
    entries_[at] = {};
    entries_[at]
        .set<&entry::va>(range_address(c, range) + done)
        .set<&entry::pa>(memory.device_address)
        .set<&entry::log2size>(run.log_pages);
    ++at;
    done += memory.bytes;
  }
  return runs;
}

void context_tables::end_mapping() {
  mapping_under_way_ = false;
  const status outcome = map_.outcome();
  while (chunk* c = pop(mapping_)) {
    if (outcome.ok()) {
      c->state = chunk_state::mapped;
      if (c->references == 0) {
        c->state = chunk_state::unwanted;
        push(unwanted_, *c);
      }
      continue;
    }
    if (c->pages_at_risk.in_doubt()) c->state = chunk_state::doubtful;
    else take_back(*c);
    fail_requests_on(*c, outcome);
  }
}

void context_tables::start_unmapping() {
  while (unmapping_ == nullptr) {
    chunk* c = pop(unwanted_);
    if (c == nullptr) return;
    if (c->state != chunk_state::unwanted) continue;
    c->state = chunk_state::unmapping;
    unmapping_ = c;
    submit_unmap(*c);
  }
}

void context_tables::submit_unmap(chunk& c) {
  const unsigned range = c.unmapped_ranges;
  unmap_.restart();
  unmap_.aim(range_address(c, range),
             static_cast<std::uint32_t>(range_bytes(c.group, range) / layouts::icm_page_size));
  c.pages_at_risk.set_amount(c.pages.pages);
  unmap_.put_at_risk(c.pages_at_risk);
  unmap_.put_at_risk(c.mapping_at_risk);
  commands_->submit(unmap_);
}

void context_tables::end_unmapping() {
  chunk& c = *unmapping_;
  const status outcome = unmap_.outcome();
  if (outcome.ok() && ++c.unmapped_ranges < context_layout::shape(c.group).tables)
    return submit_unmap(c);
  unmapping_ = nullptr;
  if (!outcome.ok()) {
    c.unmap_in_doubt = c.pages_at_risk.in_doubt();
    c.state = c.unmap_in_doubt ? chunk_state::doubtful : chunk_state::stuck;
    return fail_requests_on(c, outcome);
  }
  take_back(c);
  if (c.references > 0) {
    c.state = chunk_state::wanted;
    push(wanted_, c);
  }
}

void context_tables::take_back(chunk& c) {
  lender_->give_back(c.pages);
  c.state = chunk_state::absent;
  c.unmapped_ranges = 0;
  --chunks_lent_;
}

void context_tables::settled(lease&, const settlement& how, void* of) noexcept {
  chunk& c = *static_cast<chunk*>(of);
  context_tables& self = *c.owner;
  if (c.state != chunk_state::doubtful) return;
  if (how.by_reset) return self.take_back(c);
  const bool was_unmap = c.unmap_in_doubt;
  c.unmap_in_doubt = false;
  if (was_unmap && how.answer.ok() &&
      c.unmapped_ranges + 1u == context_layout::shape(c.group).tables)
    return self.take_back(c);
  if (was_unmap && !how.answer.ok()) {
    c.state = chunk_state::stuck;
    return;
  }
  if (!was_unmap && !how.answer.ok()) return self.take_back(c);
  // The device has it, and nobody wants it: the request failed when the answer did not come.
  if (was_unmap) ++c.unmapped_ranges;
  c.state = chunk_state::unwanted;
  self.push(self.unwanted_, c);
}

}  // namespace freehca
