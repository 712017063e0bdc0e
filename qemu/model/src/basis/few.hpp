// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace freehca::model {

/// A list of elements, seldom more than `N`. Up to `N` of them are stored inside the object.
template <class T, std::size_t N>
class few {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void append(const T* from, std::size_t count) {
    if (size_ + count <= N) {
      std::copy_n(from, count, first_.begin() + static_cast<std::ptrdiff_t>(size_));
    } else {
      if (size_ <= N)
        all_.assign(first_.begin(), first_.begin() + static_cast<std::ptrdiff_t>(size_));
      all_.insert(all_.end(), from, from + count);
    }
    size_ += count;
  }
  void append(const T& one) { append(&one, 1); }

  std::size_t size() const { return size_; }
  const T* data() const { return size_ <= N ? first_.data() : all_.data(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  std::size_t size_ = 0;
  std::array<T, N> first_;  // the first `size_` of them have a value
  std::vector<T> all_;      // all elements, when there are more than N
};

}  // namespace freehca::model
