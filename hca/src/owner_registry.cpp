// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/owner_registry.hpp>

#include <freehca/hca/owner_link.hpp>

namespace freehca {

using standing = owner_link::standing;

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
    if (owner == nullptr || owner->is != standing::working || owner->told_of_failure) continue;
    owner->told_of_failure = true;
    owner->why_failed = why;
    owner->mail->put(owner->failed);
  }
}

bool owner_registry::ask_to_stop() {
  bool asked = false;
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is != standing::working) continue;
    asked = true;
    owner->is = standing::told_to_stop;
    owner->mail->put(owner->stop);
  }
  return asked;
}

bool owner_registry::all_have_stopped() const {
  for (const owner_link* const owner : links_)
    if (owner != nullptr && owner->is == standing::told_to_stop) return false;
  return true;
}

void owner_registry::ask_to_let_go() {
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is >= standing::told_to_let_go) continue;
    owner->is = standing::told_to_let_go;
    owner->mail->put(owner->let_go);
  }
}

const char* owner_registry::awaited() const {
  for (const owner_link* const owner : links_)
    if (owner != nullptr && owner->is == standing::told_to_let_go) return owner->name;
  return nullptr;
}

void owner_registry::begin_anew(device& from) {
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is != standing::let_go) continue;
    owner->why_anew = owner->cut(*owner, from);
    // Send the message even if the share could not be allocated. The event owner then takes part in
    // the next reset too, so this message has arrived before it is sent again.
    owner->is = standing::working;
    owner->told_of_failure = false;
    owner->mail->put(owner->begin_anew);
  }
}

bool owner_registry::relay(const event_relay::entry& event) {
  for (owner_link* const owner : links_) {
    if (owner == nullptr || owner->is != standing::working) continue;
    // An event owner without a share has no objects. Other owners may use its former numbers.
    if (!owner->why_anew.ok() || !owner->has(*owner, event)) continue;
    owner->events.put(event);
    owner->mail->notify();
    return true;
  }
  return false;
}

}  // namespace freehca
