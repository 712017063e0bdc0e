// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace freehca::wires {

/// A file descriptor that the destructor closes.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor() { close(); }

  /// Another descriptor of the same file. Not open if that fails.
  descriptor copy() const {
    return descriptor(number_ < 0 ? -1 : fcntl(number_, F_DUPFD_CLOEXEC, 0));
  }

  bool open() const { return number_ >= 0; }
  int get() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace freehca::wires
