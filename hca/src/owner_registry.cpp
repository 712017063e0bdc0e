// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/owner_registry.hpp>

#include <freehca/layouts/qpc.hpp>

#include <freehca/hca/events.hpp>

namespace freehca {

using owner_state = owner_link::owner_state;

void owner_registry::add(owner_link& owner) {
  links_[owner.context] = &owner;
  ++count_;
}

void owner_registry::remove(owner_link& owner) {
  links_[owner.context] = nullptr;
  --count_;
}

void owner_registry::fail(status why) {
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is != owner_state::working || owner->failure_reported) continue;
    owner->failure_reported = true;
    owner->why_failed = why;
    owner->mail.put(owner->failed);
  }
}

bool owner_registry::ask_to_stop() {
  bool asked = false;
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is != owner_state::working) continue;
    asked = true;
    owner->is = owner_state::stopping;
    owner->mail.put(owner->stop);
  }
  return asked;
}

bool owner_registry::all_have_stopped() const {
  for (const owner_link* const owner : links_)
    if (owner != nullptr && owner->is == owner_state::stopping) return false;
  return true;
}

void owner_registry::request_release() {
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is >= owner_state::releasing) continue;
    owner->is = owner_state::releasing;
    owner->mail.put(owner->release);
  }
}

const char* owner_registry::awaited() const {
  for (const owner_link* const owner : links_)
    if (owner != nullptr && owner->is == owner_state::releasing) return owner->name;
  return nullptr;
}

status owner_link::take_page(uar_pages& from) {
  const result<uar_page> page = from.allocate();
  if (!page.ok()) return page.error();
  uar = page.value();
  return {};
}

void owner_registry::begin_anew(uar_pages& from) {
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is != owner_state::released) continue;
    owner->why_anew = owner->take_page(from);
    // Send the message even if there was no UAR page (`why_anew` has the error). The event owner
    // then takes part in the next reset too. Its answer to `release` shows that this message has
    // arrived, so it can be sent again.
    owner->is = owner_state::working;
    owner->failure_reported = false;
    owner->mail.put(owner->begin_anew);
  }
}

bool owner_registry::relay(const number_spaces& numbers, const event_relay::entry& event) {
  using enum event_subject::kind;
  const event_subject subject = subject_of(event);
  const number_allocator* const space = subject.of == queue_pair             ? &numbers.qps
                                        : subject.of == completion_queue     ? &numbers.cqs
                                        : subject.of == shared_receive_queue ? &numbers.srqs
                                                                             : nullptr;
  const std::uint32_t number =
      subject.of == queue_pair ? subject.number & ~layouts::xrc_target_qpn_bit : subject.number;
  const unsigned id = space != nullptr ? space->owner_of(number) : 0u;
  owner_link* const owner = id != 0 ? links_[id - 1] : nullptr;
  if (owner == nullptr || owner->is != owner_state::working) return false;
  owner->events.put(event);
  owner->mail.notify();
  return true;
}

}  // namespace freehca
