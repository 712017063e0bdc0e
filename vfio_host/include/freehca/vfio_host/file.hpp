// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <unistd.h>

#include <utility>

namespace freehca::vfio_host {

/// A file descriptor that the destructor closes.
class file {
 public:
  file() = default;
  explicit file(int descriptor) : descriptor_(descriptor) {}
  file(file&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  file& operator=(file&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~file() { close(); }

  bool open() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

 private:
  int descriptor_ = -1;
};

}  // namespace freehca::vfio_host
