// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "bench.hpp"

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/layouts/mtt.hpp>

namespace freehca::conformance {

namespace {

/// Translations are taken and looked at by lines of eight.
constexpr std::uint32_t translations_each = 1u << number_spaces::log_mtt_unit;
constexpr std::size_t record_bytes = 64;

constexpr context_group group_of(object o) {
  switch (o) {
    case object::region:
      return context_group::mpt;
    case object::event_queue:
      return context_group::eq;
    case object::completion_queue:
      return context_group::cq;
    case object::shared_queue:
      return context_group::srq;
    case object::queue_pair:
      break;
  }
  return context_group::qp;
}

constexpr object every_object[] = {object::region, object::event_queue, object::completion_queue,
                                   object::shared_queue, object::queue_pair};

}  // namespace

number_allocator& bench::numbers_of(object o) {
  number_spaces& n = adapter().numbers();
  switch (o) {
    case object::region:
      return n.mpts;
    case object::event_queue:
      return n.eqs;
    case object::completion_queue:
      return n.cqs;
    case object::shared_queue:
      return n.srqs;
    case object::queue_pair:
      break;
  }
  return n.qps;
}

status bench::finish(operation& op) {
  while (!op.done()) turn();
  // Objects of an adapter that died are gone, also those that were answered for in time.
  const status outcome =
      op.outcome().ok() && !adapter().up() ? status(transport_error::gone) : op.outcome();
  if (answer(outcome).is_trouble()) end(outcome);
  return outcome;
}

bool bench::wait(bool (*there)(void* of), void* of, std::uint64_t limit) {
  const std::uint64_t end = clock::after(now(), limit);
  for (; adapter().up(); turn()) {
    if (there(of)) return true;
    if (now() >= end) return false;
  }
  return false;
}

status bench::issue(const call& c) {
  FREEHCA_TRY(ended_);
  raw_command asked;
  command_request& r = asked.request;
  r.opcode = c.what;
  r.input_modifier = c.modifier;
  r.opcode_modifier = static_cast<std::uint8_t>(c.opcode_modifier);
  if (c.input) asked.set_input_mailbox(input_, sizeof input_);
  if (c.output) asked.set_output_mailbox(output_, sizeof output_);
  else r.output = command_request::form::immediate;
  if (c.immediate) {
    r.input = command_request::form::immediate;
    r.input_immediate = c.value;
  }
  user_.submit(asked);
  const status outcome = finish(asked);
  if (outcome.ok()) note_taken(c);
  if (outcome.ok() && !c.output) output_immediate_ = asked.output_immediate();
  return outcome;
}

status bench::map(context_group group, std::uint32_t first, std::uint32_t count, bool* done) {
  FREEHCA_TRY(ended_);
  context_request r;
  adapter().contexts().map(r, {group, first, count});
  FREEHCA_TRY(finish(r));
  *done = true;
  return {};
}

status bench::unmap(context_group group, std::uint32_t first, std::uint32_t count, bool* done) {
  FREEHCA_TRY(ended_);
  if (!*done) return {};
  *done = false;
  context_request r;
  adapter().contexts().unmap(r, {group, first, count});
  return finish(r);
}

status bench::write_translation(const scratch& s) {
  using layouts::mtt;
  const dma_region entry = adapter().contexts().memory(context_table::mtt, s.translation);
  if (entry.bytes < mtt::bytes) return driver_error::bad_state;
  layouts::image<mtt> e;
  e.set<&mtt::ptag>(s.buffer.device_address).set<&mtt::present>(true);
  cache::invalidate(entry.host, mtt::bytes);
  dma::store_be64(entry.host, layouts::load_be<std::uint64_t>(e.data()));
  cache::clean(entry.host, mtt::bytes);
  barrier::dma_store_to_dma_store();
  return {};
}

std::uint64_t bench::translation(object o) const {
  return adapter().contexts().translation_offset(of(o).translation);
}

status bench::open(object o) {
  scratch& s = of(o);
  const context_group group = group_of(o);
  const auto take = [](number_allocator& from, std::uint32_t count, std::uint32_t& to,
                       bool& taken) -> status {
    const result<std::uint32_t> n = from.allocate(count);
    if (!n.ok()) return n.error();
    to = n.value();
    taken = true;
    return {};
  };
  FREEHCA_TRY(take(numbers_of(o), 1, s.own, s.numbered));
  FREEHCA_TRY(take(numbers_of(o), 1, s.unmade, s.numbered_unmade));
  FREEHCA_TRY(map(group, s.own, 1, &s.mapped));
  FREEHCA_TRY(map(group, s.unmade, 1, &s.mapped_unmade));
  const result<dma_region> buffer = adapter().arena().allocate(dma_arena::page);
  if (!buffer.ok()) return buffer.error();
  s.buffer = buffer.value();
  dma::clear(s.buffer.host, s.buffer.bytes);
  cache::clean(s.buffer.host, s.buffer.bytes);
  const result<dma_region> record = adapter().doorbells().allocate(record_bytes);
  if (!record.ok()) return record.error();
  s.record = record.value();
  dma::clear(s.record.host, s.record.bytes);
  cache::clean(s.record.host, s.record.bytes);
  FREEHCA_TRY(take(adapter().numbers().mtts, translations_each, s.translation, s.translated));
  FREEHCA_TRY(map(context_group::mtt, s.translation, translations_each, &s.translation_mapped));
  return write_translation(s);
}

status bench::close(object o) {
  scratch& s = of(o);
  const context_group group = group_of(o);
  FREEHCA_TRY(unmap(context_group::mtt, s.translation, translations_each, &s.translation_mapped));
  if (s.translated) adapter().numbers().mtts.free(s.translation, translations_each);
  if (s.record.host != nullptr) adapter().doorbells().free(s.record);
  if (s.buffer.host != nullptr) adapter().arena().free(s.buffer);
  FREEHCA_TRY(unmap(group, s.unmade, 1, &s.mapped_unmade));
  FREEHCA_TRY(unmap(group, s.own, 1, &s.mapped));
  if (s.numbered_unmade) numbers_of(o).free(s.unmade);
  if (s.numbered) numbers_of(o).free(s.own);
  s = {};
  return {};
}

status bench::open() {
  for (const object o : every_object) FREEHCA_TRY(open(o));
  return map(context_group::mcg, group(), 1, &group_mapped_);
}

status bench::close() {
  if (!ended_.ok() || !adapter().up()) return {};
  FREEHCA_TRY(unmap(context_group::mcg, group(), 1, &group_mapped_));
  for (const object o : every_object) FREEHCA_TRY(close(o));
  return {};
}

left_memory bench::left() const {
  left_memory all = left_;
  for (const scratch& s : scratch_) {
    all.add_buffer(s.buffer);
    all.add_record(s.record);
  }
  return all;
}

std::uint32_t bench::number(object o, named which) const {
  const scratch& s = of(o);
  const auto group = static_cast<unsigned>(group_of(o));
  switch (which) {
    case named::unmade:
      return s.unmade;
    case named::past_the_table:
      return (1u << adapter().contexts().layout().log_objects[group]) | s.own;
    case named::own:
      break;
  }
  return s.own;
}

std::uint32_t bench::group() const {
  return static_cast<std::uint32_t>(can().raw.get<&layouts::query_dev_cap::num_rsvd_mcgs>());
}

std::uint32_t bench::group_past_the_table() const {
  constexpr auto groups = static_cast<unsigned>(context_group::mcg);
  return (1u << adapter().contexts().layout().log_objects[groups]) | group();
}

}  // namespace freehca::conformance
