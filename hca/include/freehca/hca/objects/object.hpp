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

/// What all objects have in common. Its fields are the driver's to write.
struct object_record : list_node {
  using stands_in_for = void;  ///< the kind whose handles find objects of this kind too
  enum class phase : std::uint8_t {
    free,
    creating,
    live,
    destroying,
    doubtful_creation,     ///< the creating command was not answered; nobody has a handle
    doubtful_change,       ///< a modification was not answered
    doubtful_destruction,  ///< the destroying command was not answered
    doubtful_unwinding,    ///< the same, of an object that nobody has a handle to
    unwanted,              ///< waits to be taken back, nobody has a handle
    lost,                  ///< could not be taken back: held until a reset
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// Of objects that one refers to: a queue pair has a domain, two completion queues and an SRQ.
  static constexpr unsigned most_uses = 4;

  object_record() = default;

  const kind* what = nullptr;
  verbs* owner = nullptr;
  std::uint32_t index = 0;       ///< of its handle
  std::uint32_t generation = 0;  ///< of its handle; never 0
  std::uint32_t next_free = none;
  std::uint32_t number = none;  ///< QPN, CQN, MPT index ...
  std::uint32_t users = 0;      ///< objects that refer to this one
  phase state = phase::free;
  bool under_change = false;  ///< an operation works on it
  bool forgotten = false;     ///< a reset came while an operation worked on it
  bool exists = false;        ///< the device has it, or may have it
  object_record* uses[most_uses] = {};

  /// Refers to another object until this one is released.
  void use(object_record& other) {
    for (object_record*& place : uses) {
      if (place != nullptr) continue;
      place = &other;
      ++other.users;
      return;
    }
    FREEHCA_ASSERT(false);
  }
};

/// An object that the device knows too. Everything that a command can put at risk is named here, so
/// that it outlives the command and the operation.
struct device_object : object_record {
  device_object();
  ~device_object();
  std::uint32_t translations = none;  ///< the first MTT entry
  std::uint32_t translation_count = 0;

  /// A command that was not answered may still act on it: neither it nor what it is made of is
  /// used until its leases are settled.
  bool in_doubt = false;
  /// With phase unwanted: of its context memory only that of its translations is still mapped.
  bool entry_unmapped = false;

  // The control owner's, from the step of an operation that puts them at risk until its answer, or
  // until they are settled.
  static void settled(lease& which, const settlement& end, void* self) noexcept;
  lease number_at_risk{lease_kind::number, 1, &settled, this};
  lease mapping_at_risk{lease_kind::mapping, 0, &settled, this};
  lease buffer_at_risk{lease_kind::buffer, 0, &settled, this};
  bool at_risk() const {
    return number_at_risk.at_risk() || mapping_at_risk.at_risk() || buffer_at_risk.at_risk();
  }
  /// How they were settled, on its way to the object's owner.
  settlement settled_by;
  bool settled_first = false;  ///< ... and it arrived ahead of the answer that told of the doubt
  crossing_of<device_object> settling{*this};
};

/// One with rings in memory of the driver.
struct queue_object : device_object {
  dma_region ring;         ///< of the arena
  dma_region record;       ///< the doorbell record
  dma_region slots;        ///< what the driver keeps of posted requests: plain memory
  void* cookie = nullptr;  ///< the user's: comes with events
};

template <class K>
concept device_kind = std::derived_from<K, device_object>;

}  // namespace freehca
