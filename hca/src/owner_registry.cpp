// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/owner_registry.hpp>

#include <freehca/hca/owner_link.hpp>

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
    owner->mail->put(owner->failed);
  }
}

bool owner_registry::ask_to_stop() {
  bool asked = false;
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is != owner_state::working) continue;
    asked = true;
    owner->is = owner_state::stopping;
    owner->mail->put(owner->stop);
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
    owner->mail->put(owner->release);
  }
}

const char* owner_registry::awaited() const {
  for (const owner_link* const owner : links_)
    if (owner != nullptr && owner->is == owner_state::releasing) return owner->name;
  return nullptr;
}

void owner_registry::begin_anew(device& from) {
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is != owner_state::released) continue;
    owner->why_anew = owner->cut(*owner, from);
    // Send the message even if the share could not be allocated. The event owner then takes part in
    // the next reset too, so this message has arrived before it is sent again.
    owner->is = owner_state::working;
    owner->failure_reported = false;
    owner->mail->put(owner->begin_anew);
  }
}

bool owner_registry::relay(const event_relay::entry& event) {
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is != owner_state::working) continue;
    // An event owner without a share has no objects. Other owners may use its former numbers.
    if (!owner->why_anew.ok() || !owner->has(*owner, event)) continue;
    owner->events.put(event);
    owner->mail->notify();
    return true;
  }
  return false;
}

}  // namespace freehca
