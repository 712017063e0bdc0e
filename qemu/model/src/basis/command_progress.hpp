// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/map.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

/// The progress of a command that runs in slices. Its continuation needs this and the command, and
/// keeps nothing elsewhere. It is plain data: no pointers and no functions. Values from the input
/// mailbox that a later slice needs are copied here, because software may change the mailbox
/// between two slices.
struct command_progress {
  /// MAP_FA, MAP_ICM_AUX, MAP_ICM: position in the list of chunks. Used by class map_walk.
  struct map_walk {
    struct chunk {
      std::uint64_t va = 0, pa = 0, pages = 0;
      std::uint64_t bytes() const { return pages << layouts::icm_page_shift; }

      using saved = saving::fields<&chunk::va, &chunk::pa, &chunk::pages>;
      // A chunk in a mailbox has at most 2^24 pages (tables/map_walk.hpp).
      const char* broken_invariant() const {
        return pages <= 1u << 24 ? nullptr : "a chunk of more than 2^24 pages";
      }
    };

    chunk at_hand;
    bool begun = false;             ///< the chunk at hand is valid, and its mapping has not ended
    std::uint64_t overwritten = 0;  ///< bytes of the chunk at hand
    std::uint32_t next_entry = 0;   ///< index of the next chunk in the mailbox
    std::uint64_t pages = 0;        ///< sum of all chunks up to the chunk at hand

    using saved = saving::fields<&map_walk::at_hand, &map_walk::begun, &map_walk::overwritten,
                                 &map_walk::next_entry, &map_walk::pages>;
  };
  map_walk mapping;

  /// MAP_ICM: pages of the chunk at hand were mapped before, so the chunk replaces them.
  bool replaces = false;
  /// MAP_ICM: the chunk at hand is mapped, and its multicast entries are zeroed below this ICM
  /// address.
  std::optional<std::uint64_t> zeroed;

  /// INIT_HCA: ICM address up to which the multicast table is zeroed. SW2HW_EQ: bytes of the queue
  /// that are written.
  std::uint64_t position = 0;
  /// SW2HW_CQ, MODIFY_CQ: entries of the queue that are written.
  std::uint32_t slot = 0;
  /// MODIFY_CQ: the completion number for which the next entry is written. It advances with
  /// completions that arrive between two slices.
  std::optional<std::uint32_t> first_number;
  /// SW2HW_EQ, SW2HW_CQ: the memory of the context was mapped when the command began.
  bool context_mapped = false;

  layouts::image<layouts::eqc> eq_context;  ///< SW2HW_EQ: as it is to be stored
  /// SW2HW_CQ: as it is to be stored. MODIFY_CQ: the input mailbox.
  layouts::image<layouts::cqc> cq_context;
  layouts::image<layouts::init_hca> init_parameters;  ///< INIT_HCA: the input mailbox

  using saved = saving::fields<&command_progress::mapping, &command_progress::replaces,
                               &command_progress::zeroed, &command_progress::position,
                               &command_progress::slot, &command_progress::first_number,
                               &command_progress::context_mapped, &command_progress::eq_context,
                               &command_progress::cq_context, &command_progress::init_parameters>;
};
static_assert(std::is_trivially_copyable_v<command_progress>);

}  // namespace freehca::model
