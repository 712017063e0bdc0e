// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/objects/object.hpp>

namespace freehca {

/// A fixed number of objects of one kind. The caller provides the storage, aligned to 16. A place
/// of the storage is not touched before its object is taken for the first time.
class slab {
 public:
  /// The low bits of an index, which hold the place. The slab's number is above them.
  static constexpr unsigned place_bits = 24;
  static constexpr std::size_t storage_bytes_for(const kind& what, std::uint32_t count) {
    return std::size_t{count} * what.bytes;
  }

  /// `generation` is the generation of the first handle to each place.
  void open(const kind& what, std::byte* storage, std::uint32_t count, unsigned number,
            std::uint32_t generation, verbs& owner);
  void close();

  /// Returns null if all objects are taken.
  object_record* take();
  /// Makes the handles to the object stale.
  void give_back(object_record& object);

  /// The object in a place that was taken before, whether it is taken now or not.
  object_record& at(std::uint32_t place) const;

  const kind* what() const { return what_; }
  /// The number of places that were taken before: 0 to made() - 1.
  std::uint32_t made() const { return made_; }
  std::uint32_t out() const { return out_; }

 private:
  /// Constructs the object of the next place, which becomes free.
  void make();

  const kind* what_ = nullptr;
  verbs* owner_ = nullptr;
  std::byte* storage_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t made_ = 0;
  std::uint32_t number_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t free_ = object_record::none;  // a place
  std::uint32_t out_ = 0;
};

}  // namespace freehca
