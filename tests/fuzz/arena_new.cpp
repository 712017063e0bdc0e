// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// `new`, `delete`, calloc and free of programs that keep machines: from the arena that is current,
// else from the process's heap. calloc and free stand here under the names that the linker's option
// --wrap has for them.
#include <cstdlib>
#include <new>

#include "arena.hpp"

extern "C" {
void* __real_calloc(std::size_t count, std::size_t bytes);
void __real_free(void* block);
void* __wrap_calloc(std::size_t count, std::size_t bytes);
void __wrap_free(void* block);
}

namespace {

using freehca::fuzz::arena;

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (arena* a = arena::current(); a != nullptr) return a->allocate(bytes, alignment);
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes == 0 ? 1 : bytes);
  return std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* p = allocate(bytes, alignment); p != nullptr) return p;
  throw std::bad_alloc();
}

void release(void* block) noexcept {
  if (block == nullptr) return;
  if (arena* a = arena::of(block); a != nullptr) a->free(block);
  else __real_free(block);
}

}  // namespace

void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  arena* a = arena::current();
  return a != nullptr ? a->allocate_zeroed(count * bytes) : __real_calloc(count, bytes);
}
void __wrap_free(void* block) {
  release(block);
}

void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes, 1);
}
void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t a) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t bytes, std::align_val_t a) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(a));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept {
  release(p);
}
void operator delete[](void* p) noexcept {
  release(p);
}
void operator delete(void* p, std::size_t) noexcept {
  release(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  release(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  release(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  release(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  release(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  release(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  release(p);
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
  release(p);
}
