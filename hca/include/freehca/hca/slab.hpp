// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/storage.hpp>

#include <freehca/hca/handle.hpp>

namespace freehca {

/// A fixed number of objects of type T in storage of the caller. T has the members of object_record
/// that say where it is: index, generation, next_free, state.
template <class T, class Handle>
class slab {
 public:
  static constexpr std::size_t storage_bytes_for(std::uint32_t count) { return count * sizeof(T); }

  slab() = default;
  slab(const slab&) = delete;
  slab& operator=(const slab&) = delete;

  /// `storage` is aligned to alignof(T).
  void open(std::byte* storage, std::uint32_t count) {
    FREEHCA_ASSERT(reinterpret_cast<std::uintptr_t>(storage) % alignof(T) == 0);
    entries_ = storage_for<T>(storage);
    count_ = count;
    out_ = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      T* const entry = ::new (static_cast<void*>(entries_ + i)) T;
      entry->index = i;
      entry->next_free = i + 1 < count ? i + 1 : T::none;
    }
    free_ = count == 0 ? T::none : 0;
  }
  void close() {
    FREEHCA_ASSERT(out_ == 0);
    for (std::uint32_t i = 0; i < count_; ++i) entries_[i].~T();
    entries_ = nullptr;
    count_ = 0;
    free_ = T::none;
  }

  /// Null: all are taken.
  T* take() {
    if (free_ == T::none || entries_ == nullptr) return nullptr;
    T& entry = entries_[free_];
    free_ = entry.next_free;
    ++out_;
    return &entry;
  }
  /// Makes handles to it stale.
  void give_back(T& entry) {
    if (++entry.generation == 0) entry.generation = 1;
    entry.next_free = free_;
    free_ = entry.index;
    --out_;
  }

  /// Null: stale, or names nothing.
  T* find(Handle h) const {
    if (h.index >= count_) return nullptr;
    T& entry = entries_[h.index];
    return entry.generation == h.generation ? &entry : nullptr;
  }
  static Handle handle_of(const T& entry) { return {entry.index, entry.generation}; }

  T& at(std::uint32_t i) const { return entries_[i]; }
  std::uint32_t count() const { return count_; }
  std::uint32_t out() const { return out_; }

 private:
  T* entries_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t free_ = T::none;
  std::uint32_t out_ = 0;
};

}  // namespace freehca
