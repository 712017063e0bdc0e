// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Barriers named for their use. docs/memory-order.md has the table per architecture and the
// reasons.
#pragma once

#include <freehca/hal/access_flavour.hpp>

#ifdef FREEHCA_ACCESS_ROUTED
namespace freehca {
namespace barrier {
/// Identifies one of the barriers below.
enum class use {
  dma_store_to_dma_store,
  dma_load_to_dma_load,
  dma_store_to_mmio_store,
  dma_store_to_mmio_copy,
  mmio_store_to_mmio_store,
  mmio_load_to_dma_load,
  dma_load_to_store,
};
}  // namespace barrier
namespace routed {
/// The routed flavour calls this function at every barrier, with the file and the line of the
/// barrier. The function is weak. Most targets do not define it, and then a barrier is its
/// instruction alone.
[[gnu::weak]] void passed_barrier(barrier::use which, const char* file, unsigned line) noexcept;
}  // namespace routed
}  // namespace freehca
#endif

namespace freehca::barrier {
#ifdef FREEHCA_ACCESS_ROUTED
namespace instruction {
#endif

/// Stores to DMA memory before it are seen by the device before stores to DMA memory behind it:
/// between a WQE's body and its owner word, between WQEs and a doorbell record.
[[gnu::always_inline]] inline void dma_store_to_dma_store() {
#if defined(__x86_64__)
  __asm__ __volatile__("" ::: "memory");
#elif defined(__aarch64__)
  __asm__ __volatile__("dmb oshst" ::: "memory");
#elif defined(__riscv)
  __asm__ __volatile__("fence w,w" ::: "memory");
#else
#error "name the barrier of this architecture"
#endif
}

/// Loads from DMA memory before it are done before loads behind it: between reading an owner bit
/// and reading the entry that it guards.
[[gnu::always_inline]] inline void dma_load_to_dma_load() {
#if defined(__x86_64__)
  __asm__ __volatile__("" ::: "memory");
#elif defined(__aarch64__)
  __asm__ __volatile__("dmb oshld" ::: "memory");
#elif defined(__riscv)
  __asm__ __volatile__("fence r,r" ::: "memory");
#endif
}

/// Stores to DMA memory before it are seen by the device before a register store behind it: before
/// a doorbell, before the GO word of a command.
[[gnu::always_inline]] inline void dma_store_to_mmio_store() {
#if defined(__x86_64__)
  __asm__ __volatile__("" ::: "memory");
#elif defined(__aarch64__)
  __asm__ __volatile__("dmb oshst" ::: "memory");
#elif defined(__riscv)
  __asm__ __volatile__("fence w,ow" ::: "memory");
#endif
}

/// Stores to DMA memory before it are seen by the device before a copy behind it through a
/// write-combining mapping (BlueFlame). Without this barrier, the stores of the copy may pass the
/// stores to memory.
[[gnu::always_inline]] inline void dma_store_to_mmio_copy() {
#if defined(__x86_64__)
  __asm__ __volatile__("sfence" ::: "memory");
#elif defined(__aarch64__)
  __asm__ __volatile__("dsb st" ::: "memory");
#elif defined(__riscv)
  __asm__ __volatile__("fence w,ow" ::: "memory");
#endif
}

/// Register stores before it reach the device before register stores behind it, also through a
/// write-combining mapping (BlueFlame).
[[gnu::always_inline]] inline void mmio_store_to_mmio_store() {
#if defined(__x86_64__)
  __asm__ __volatile__("sfence" ::: "memory");
#elif defined(__aarch64__)
  __asm__ __volatile__("dsb st" ::: "memory");
#elif defined(__riscv)
  __asm__ __volatile__("fence ow,ow" ::: "memory");
#endif
}

/// Register loads before it are done before loads from DMA memory behind it: between GO read as
/// clear and the output mailbox.
[[gnu::always_inline]] inline void mmio_load_to_dma_load() {
#if defined(__x86_64__)
  __asm__ __volatile__("" ::: "memory");
#elif defined(__aarch64__)
  __asm__ __volatile__("dmb oshld" ::: "memory");
#elif defined(__riscv)
  __asm__ __volatile__("fence i,r" ::: "memory");
#endif
}

/// Loads from DMA memory before it are done before any store behind it, to memory or to a register,
/// that lets the device overwrite the loaded data: before the store of a consumer index, before the
/// doorbell of an event queue.
[[gnu::always_inline]] inline void dma_load_to_store() {
#if defined(__x86_64__)
  __asm__ __volatile__("" ::: "memory");
#elif defined(__aarch64__)
  __asm__ __volatile__("dmb oshld" ::: "memory");
#elif defined(__riscv)
  __asm__ __volatile__("fence r,ow" ::: "memory");
#endif
}

#ifdef FREEHCA_ACCESS_ROUTED
}  // namespace instruction

inline void tell(use which, const char* file, unsigned line) {
  if (&routed::passed_barrier != nullptr) routed::passed_barrier(which, file, line);
}
[[gnu::always_inline]] inline void dma_store_to_dma_store(const char* file = __builtin_FILE(),
                                                          unsigned line = __builtin_LINE()) {
  instruction::dma_store_to_dma_store();
  tell(use::dma_store_to_dma_store, file, line);
}
[[gnu::always_inline]] inline void dma_load_to_dma_load(const char* file = __builtin_FILE(),
                                                        unsigned line = __builtin_LINE()) {
  instruction::dma_load_to_dma_load();
  tell(use::dma_load_to_dma_load, file, line);
}
[[gnu::always_inline]] inline void dma_store_to_mmio_store(const char* file = __builtin_FILE(),
                                                           unsigned line = __builtin_LINE()) {
  instruction::dma_store_to_mmio_store();
  tell(use::dma_store_to_mmio_store, file, line);
}
[[gnu::always_inline]] inline void dma_store_to_mmio_copy(const char* file = __builtin_FILE(),
                                                          unsigned line = __builtin_LINE()) {
  instruction::dma_store_to_mmio_copy();
  tell(use::dma_store_to_mmio_copy, file, line);
}
[[gnu::always_inline]] inline void mmio_store_to_mmio_store(const char* file = __builtin_FILE(),
                                                            unsigned line = __builtin_LINE()) {
  instruction::mmio_store_to_mmio_store();
  tell(use::mmio_store_to_mmio_store, file, line);
}
[[gnu::always_inline]] inline void mmio_load_to_dma_load(const char* file = __builtin_FILE(),
                                                         unsigned line = __builtin_LINE()) {
  instruction::mmio_load_to_dma_load();
  tell(use::mmio_load_to_dma_load, file, line);
}
[[gnu::always_inline]] inline void dma_load_to_store(const char* file = __builtin_FILE(),
                                                     unsigned line = __builtin_LINE()) {
  instruction::dma_load_to_store();
  tell(use::dma_load_to_store, file, line);
}
#endif

}  // namespace freehca::barrier
