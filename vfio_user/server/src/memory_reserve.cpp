// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "memory_reserve.hpp"

#include <new>

namespace freehca::device_server {
namespace {

bool kept = false;
void* reserve = nullptr;

void free_reserve() {
  ::operator delete(reserve);
  reserve = nullptr;
}

// Called by operator new when it finds no memory. It tries again when this function returns.
void use_reserve() {
  if (reserve == nullptr) throw std::bad_alloc();
  free_reserve();
}

}  // namespace

memory_reserve::memory_reserve() {
  kept = true;
  memory_is_short();
  std::set_new_handler(use_reserve);
}

memory_reserve::~memory_reserve() {
  std::set_new_handler(nullptr);
  kept = false;
  free_reserve();
}

bool memory_reserve::memory_is_short() {
  if (kept && reserve == nullptr) reserve = ::operator new(bytes, std::nothrow);
  return kept && reserve == nullptr;
}

}  // namespace freehca::device_server
