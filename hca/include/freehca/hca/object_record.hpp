// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/lease.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/list.hpp>

#include <freehca/hca/context_layout.hpp>

namespace freehca {

class verbs;

/// What all objects of the firmware have in common: the cold part of a slab entry. Everything that
/// a command can put at risk is named here, so that it outlives the command and the operation.
struct object_record : list_node {
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

  object_record() = default;

  verbs* owner = nullptr;
  std::uint32_t index = 0;  ///< in its slab
  std::uint32_t generation = 1;
  std::uint32_t next_free = none;
  std::uint32_t number = none;        ///< QPN, CQN, MPT index
  std::uint32_t translations = none;  ///< the first MTT entry
  std::uint32_t translation_count = 0;
  std::uint32_t users = 0;  ///< objects that refer to this one
  context_group group{};
  phase state = phase::free;
  bool under_change = false;  ///< an operation works on it
  bool exists = false;        ///< the firmware has it, or may have it
  bool forgotten = false;     ///< a reset came while an operation worked on it
  dma_region ring;            ///< of the arena, or nothing
  dma_region record;          ///< doorbell record, or nothing

  static void settled(lease& which, const settlement& how, void* self) noexcept;
  lease number_at_risk{lease_kind::number, 1, &settled, this};
  lease mapping_at_risk{lease_kind::mapping, 0, &settled, this};
  lease buffer_at_risk{lease_kind::buffer, 0, &settled, this};

  bool at_risk() const {
    return number_at_risk.at_risk() || mapping_at_risk.at_risk() || buffer_at_risk.at_risk();
  }
  bool in_doubt() const { return number_at_risk.in_doubt(); }
};

}  // namespace freehca
