// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Where an image lies in memory, and what it has of it: symbols of sections.ld, and what is counted
// from them.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
extern std::byte freehca_bare_image_begin[];
extern std::byte freehca_bare_loaded_end[];  ///< of what a loader brings
extern std::byte freehca_bare_data_end[];    ///< of what begins as zeros
extern std::byte freehca_bare_stack_low[];
extern std::byte freehca_bare_stack_high[];
extern std::byte freehca_bare_interrupt_stack_low[];
extern std::byte freehca_bare_interrupt_stack_high[];
extern std::byte freehca_bare_arena[];  ///< from here on to machine::memory_end()
}

namespace freehca::bare {

/// An image is one function; what it is called. True: it has done what it is for.
extern const char image_name[];
bool run_image();

/// Makes what is unused of the stacks recognisable. Once, ahead of all else.
void mark_stacks() noexcept;

struct stack_use {
  std::size_t bytes = 0;
  std::size_t most = 0;  ///< used at any time since mark_stacks()
};
stack_use main_stack() noexcept;
stack_use interrupt_stack() noexcept;

/// What the image takes of memory, but for the arena, and how deep the stacks were.
void tell_sizes();

/// Does the word stand on the command line?
bool asked_for(const char* word) noexcept;

}  // namespace freehca::bare
