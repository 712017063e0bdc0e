// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <type_traits>

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/hal/page_list.hpp>

#include <freehca/hca/objects/object_operation.hpp>
#include <freehca/hca/objects/verbs.hpp>

namespace freehca {

/// What a kind says, in K::build(verbs&, const attributes&, creation<K::creating>&), of how an
/// object of it comes into being: `Family` is the command that makes it, `nothing` where no command
/// does. build() refuses what is wrong, takes what the object is made of, aims the command and
/// fills in its input.
template <class Family>
struct creation {
  firmware_command<Family> command{std::uint32_t{0}};
  page_list pages;  ///< what the object's translations point to

  freehca::command* begin() {
    command.restart();
    return &command;
  }
};
template <>
struct creation<nothing> {
  page_list pages;

  freehca::command* begin() { return nullptr; }
};

/// Makes an object that the device knows.
template <device_kind K>
class create_object : public object_operation {
 public:
  create_object() = default;
  ~create_object() { drop(); }

  void start(verbs& owner, const typename K::attributes& attributes) {
    if (!startable()) return;
    made_ = {};
    const result<object_record*> taken = owner.take(kind_of<K>);
    if (!taken.ok()) return refuse(owner, taken.error());
    K& object = static_cast<K&>(*taken.value());
    command* const create = creation_.begin();
    if (const status s = object.build(owner, attributes, creation_); !s.ok()) {
      owner.release(object);
      return refuse(owner, s);
    }
    start_creation(object, create, creation_.pages, &finished);
  }
  /// Its handle, once done and ok.
  handle<K> made() const { return made_; }

 private:
  static void finished(object_operation& op, status outcome) noexcept {
    auto& self = static_cast<create_object&>(op);
    if (outcome.ok()) self.made_ = verbs::handle_of(static_cast<K&>(self.object()));
  }
  creation<typename K::creating> creation_;
  handle<K> made_;
};

/// Takes an object back. driver_error::busy while others refer to it. Where the device refuses, or
/// the operation is cancelled before the firmware has it, the object is there as before.
template <device_kind K>
class destroy_object : public object_operation {
 public:
  void start(verbs& owner, handle<K> which) {
    if (startable()) start_destruction(owner, owner.find(which));
  }
};

}  // namespace freehca
