// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <concepts>
#include <cstdint>

#include <freehca/firmware_cmds/lease.hpp>
#include <freehca/hal/crossing.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/list.hpp>

#include <freehca/hca/objects/kind.hpp>

namespace freehca {

/// The base of all objects. Only the driver writes its fields.
struct object_record : list_node {
  using stands_in_for = void;  ///< the kind whose handles find objects of this kind too
  /// All states of an object that occur.
  enum class phase : std::uint8_t {
    free,
    live,
    blank,  ///< live, but the device does not have the object: a queue pair in RESET
    // An operation works on the object.
    creating,
    changing,  ///< a command modifies or reads the object
    destroying,
    settled,            ///< the end of the doubt arrived before the answer that reports the doubt
    forgotten,          ///< a reset came: only the object itself is left to release
    forgotten_settled,  ///< both of the last two
    // A command was not answered: the object is in doubt, and no operation works on it.
    doubtful_creation,     ///< the creating command; the user has no handle
    doubtful_change,       ///< a modification
    doubtful_destruction,  ///< the destroying command
    doubtful_unwinding,    ///< the same, of an object whose creation is being undone
    doubtful_forgotten,    ///< any of the last four; a reset came since
    // No operation works on the object, and it has no user.
    reclaimable,        ///< waits until the verbs object destroys it
    reclaimable_blank,  ///< the same; the device does not have the object
    held_until_reset,   ///< could not be destroyed
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// The largest number of objects to which one object refers. A queue pair refers to a protection
  /// domain, two completion queues and an SRQ.
  static constexpr unsigned most_uses = 4;

  object_record() = default;

  const kind* what = nullptr;
  verbs* owner = nullptr;
  std::uint32_t index = 0;       ///< of its handle
  std::uint32_t generation = 0;  ///< of its handle; never 0
  std::uint32_t next_free = none;
  std::uint32_t number = none;  ///< QPN, CQN, MPT index ...; `none` while there is no such object
  std::uint32_t users = 0;      ///< objects that refer to this one
  phase state = phase::free;
  object_record* uses[most_uses] = {};

  bool under_change() const {
    return state >= phase::creating && state <= phase::forgotten_settled;
  }
  /// A command that was not answered may still act on the object. Until the lease of the object is
  /// settled, neither the object nor its resources are used.
  bool in_doubt() const {
    return state >= phase::doubtful_creation && state <= phase::doubtful_forgotten;
  }
  /// Makes this object refer to `other` until this object is released.
  void use(object_record& other);
};

/// An object that the device knows too. It has the lease of all resources that a command can put at
/// risk, because the lease must outlive the command and the operation.
struct device_object : object_record {
  device_object();
  ~device_object();
  // The control owner allocates and frees what these members name, and the ring and the record of a
  // queue_object. It writes them while it has a step of an operation on the object, or after the
  // object's owner has released a device that was reset. The object's owner reads them between two
  // steps. Before the first step of a creation it writes the sizes: K::plan(). A place of a slab
  // keeps the sizes of its last object, so a kind writes a size in each plan or never.
  std::uint32_t device_number = none;  ///< what `number` becomes
  std::uint32_t translations = none;   ///< the first MTT entry
  std::uint32_t translation_count = 0;
  /// The object has so many consecutive numbers, a power of two, and the first is a multiple of it.
  /// 0 if another object has the number and its context memory (receive_queue_range).
  std::uint16_t number_count = 1;
  std::uint8_t log_page = 12;  ///< log2 of the page size of a ring's translation entries

  /// The lease of the number, the translation entries and the memory. The control owner uses it
  /// from the step of an operation that puts it at risk until the answer to that step, or until it
  /// is settled.
  lease at_risk{lease_kind::number, 1, &settled, this};
  static void settled(lease& which, const settlement& end, void* self) noexcept;
  /// The settlement of the lease. The crossing `settling` brings it to the object's owner.
  settlement settled_by;
  crossing_of<device_object> settling{*this};
};

/// A device object with a ring in memory of the driver.
struct queue_object : device_object {
  dma_region ring;         ///< memory of the arena; no host address: not allocated yet
  dma_region record;       ///< the doorbell record
  dma_region slots;        ///< the driver's records of posted requests, in plain memory
  void* cookie = nullptr;  ///< a value of the user that is passed back in events
};

template <class K>
concept device_kind = std::derived_from<K, device_object>;

}  // namespace freehca
