// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/hal/page_list.hpp>

#include <freehca/hca/objects/object_operation.hpp>
#include <freehca/hca/objects/verbs.hpp>

namespace freehca {

/// How an object of kind K is created. `Family` is the creating command, or `nothing` if no command
/// creates the object. K::plan(verbs&, const attributes&, creation<K::creating>&) checks the
/// attributes and says what the object needs: how many translations, how large a ring. K::build(),
/// with the same parameters, is called when that is allocated and the object has its number. It
/// fills in the command and aims it at the object.
template <class Family>
struct creation {
  firmware_command<Family> command{std::uint32_t{0}};
  page_list pages;  ///< the pages to which the object's translation entries point

  freehca::command* creating() { return &command; }
};
template <>
struct creation<nothing> {
  page_list pages;

  freehca::command* creating() { return nullptr; }
};

/// Creates an object of a kind that the device knows.
template <device_kind K>
class create_object : public object_operation {
 public:
  create_object() {}
  ~create_object() { drop(); }

  // Not inline: each function of a program that creates an object would repeat the code.
  [[gnu::noinline]] void start(verbs& owner, const typename K::attributes& attributes) {
    if (!startable()) return;
    made_ = {};
    ::new (static_cast<void*>(&attributes_)) typename K::attributes(attributes);
    start_creation(owner, creator_of_kind, creation_.creating(), creation_.pages);
  }
  /// The handle of the object. Valid once the operation is done with the outcome ok.
  handle<K> made() const { return made_; }

 private:
  static status plan(object_operation& op, device_object& object) {
    auto& self = static_cast<create_object&>(op);
    return static_cast<K&>(object).plan(*object.owner, self.attributes_, self.creation_);
  }
  static status build(object_operation& op) {
    auto& self = static_cast<create_object&>(op);
    return static_cast<K&>(self.object()).build(self.owner(), self.attributes_, self.creation_);
  }
  static void finished(object_operation& op, status outcome) noexcept {
    auto& self = static_cast<create_object&>(op);
    K& object = static_cast<K&>(self.object());
    if (outcome.ok()) self.made_ = verbs::handle_of(object);
    // The creation of an object in another state was dropped.
    using phase = object_record::phase;
    [[maybe_unused]] const bool stays = object.state == phase::live || object.state == phase::blank;
    if constexpr (requires { object.resume(); })
      if (outcome.ok() && stays && self.owner().up()) object.resume();
  }
  static constexpr creator creator_of_kind{kind_of<K>, &plan, &build, &finished};

  creation<typename K::creating> creation_;
  union {
    typename K::attributes attributes_;  // written by start()
  };
  handle<K> made_;
};

/// Destroys an object. Fails with driver_error::busy while other objects refer to the object. If
/// the device refuses, or if the operation is cancelled before the firmware has the command, the
/// object stays as it was.
template <device_kind K>
class destroy_object : public object_operation {
 public:
  void start(verbs& owner, handle<K> which) {
    if (startable()) start_destruction(owner, owner.find(which));
  }
};

}  // namespace freehca
