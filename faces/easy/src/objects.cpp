// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/operations.hpp>
#include <freehca/hal/cache.hpp>

namespace freehca::easy {

namespace {
// Chosen; it has no source. The device writes the event directly after the completion.
constexpr std::uint64_t event_patience = clock::milliseconds(10);
}  // namespace

status memory_object::plan(verbs& in, const attributes& a, creation<creating>& to) {
  a.made->push_back(*this);
  memory = a.memory;
  address = reinterpret_cast<std::uintptr_t>(memory.first);
  if (memory.first != nullptr) return memory_region::plan(in, a, to);
  const result<dma_region> room = in.adapter().arena().allocate(memory.bytes, dma_arena::page);
  if (!room.ok()) return room.error();
  run_ = room.value();
  memory.first = run_.host;
  address = run_.device_address;
  dma::clear(run_.host, run_.bytes);
  cache::clean(run_.host, run_.bytes);
  memory_region_attributes of_run = a;
  of_run.memory = {};
  of_run.pages = page_list(run_.part(0, memory.bytes), 12);
  of_run.virtual_address = address;
  return memory_region::plan(in, of_run, to);
}

void memory_object::strip(verbs& in) {
  memory_region::strip(in);
  if (run_.bytes == 0) return;
  // The last stores of the program are in memory before the memory has another user. A cache that
  // is not coherent might write them back later, over what the device has stored by then.
  cache::clean(run_.host, run_.bytes);
  in.adapter().arena().free(run_);
  run_ = {};
}

status connection_object::plan(verbs& in, const attributes& a, creation<creating>& to) {
  pair = {};
  worked_on = true;
  take_event();
  return completion_queue::plan(in, a, to);
}

device_object& connection_object::last_made(const verbs& in) {
  if (device_object* const queues = in.find(pair)) return *queues;
  return *this;
}

void connection_object::notice(verbs& in, const object_event& event) {
  if (event.what != object_event::family::completion) return completion_queue::notice(in, event);
  rings.on_event();
  take_event();
}

void connection_object::strip(verbs& in) {
  completion_queue::strip(in);
  end_waiting(in, driver_error::stale_handle);
  list_place<adapter>::unlink();
  list_place<next_completion>::unlink();
}

void connection_object::take_event() {
  armed_ = false;
  event_due_ = clock::never;
}

void connection_object::end_waiting(verbs& in, status why) {
  while (next_completion* const first = waiting.front())
    in.adapter().commands().reactor().end(*first, why);
}

unsigned connection_object::look(verbs& in) {
  device& hca = in.adapter();
  const std::uint64_t now = hca.platform().now();
  const handle<connection_object> self = verbs::handle_of(*this);
  unsigned handed = 0;
  queues::work_completion w;
  // The number of entries bounds the loop, because a callback may wait for the next completion.
  for (std::uint32_t most = rings.entries(); handed != most && !waiting.empty(); ++handed) {
    if (rings.poll(&w, 1) == 0) break;
    waiting.front()->take(w);
    // The callback may have polled, and the connection may be closed since.
    if (in.find(self) == nullptr) return handed + 1;
  }
  // A completion was found before its event. The event normally arrives later and is handled then.
  // Until then the queue must not be armed for the next completion.
  if (handed != 0 && armed_ && event_due_ == clock::never)
    event_due_ = clock::after(now, event_patience);
  if (event_due_ <= now) {
    rings.on_event();
    take_event();
  }
  if (waiting.empty()) return handed;
  if (const status failure = hca.commands().failure(); !failure.ok()) {
    end_waiting(in, failure);
  } else if (!armed_ && rings.is_open()) {
    rings.arm();
    armed_ = true;
    if (rings.pending()) hca.commands().reactor().wake();  // it arrived before arm()
  }
  return handed;
}

}  // namespace freehca::easy
