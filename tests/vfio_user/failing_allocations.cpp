// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// All forms of `new` and `delete`, since what one form allocates another one may free.
#include "failing_allocations.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "memory_reserve.hpp"

namespace freehca::testing {
namespace {

thread_local bool armed = false, failed = false;
thread_local failing_allocations::how kind_of_failure{};
thread_local std::size_t good_left = 0, deadly_bytes = 0;

bool shall_fail(std::size_t bytes) {
  if (bytes == deadly_bytes && bytes != 0) kill(getpid(), SIGKILL);
  using how = failing_allocations::how;
  if (!armed) return false;
  if (kind_of_failure == how::once_and_the_reserve && bytes == device_server::memory_reserve::bytes)
    return true;
  if (failed) return kind_of_failure == how::always;
  if (good_left-- > 0) return false;
  failed = true;
  return true;
}

}  // namespace

failing_allocations::failing_allocations(std::size_t good, how kind) {
  failed = false;
  kind_of_failure = kind;
  good_left = good;
  armed = true;
}

failing_allocations::~failing_allocations() {
  armed = false;
}

void failing_allocations::end_process_at(std::size_t bytes) {
  deadly_bytes = bytes;
}

bool failing_allocations::has_failed() {
  return failed;
}

}  // namespace freehca::testing

namespace {

// As the standard has it: the new-handler is called until it throws, or an attempt succeeds.
void* allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t least = bytes == 0 ? 1 : bytes;
  while (true) {
    void* found = nullptr;
    if (!freehca::testing::shall_fail(bytes))
      found = alignment <= alignof(std::max_align_t)
                  ? std::malloc(least)
                  : std::aligned_alloc(alignment, (least + alignment - 1) / alignment * alignment);
    if (found != nullptr) return found;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  try {
    return allocate(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes, 1);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t a) {
  return allocate(bytes, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t bytes, std::align_val_t a) {
  return allocate(bytes, static_cast<std::size_t>(a));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete[](void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::size_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete(void* block, const std::nothrow_t&) noexcept {
  std::free(block);
}
void operator delete[](void* block, const std::nothrow_t&) noexcept {
  std::free(block);
}
