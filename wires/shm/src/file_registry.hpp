// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <memory>
#include <string>

#include "fabric_file.hpp"

namespace freehca::wires::shm {

/// The files that ports of this process have open, by path. The lock is held for as long as an
/// object of this class lives; while it is held, no other thread opens or closes a fabric's file.
class file_registry {
 public:
  file_registry();
  ~file_registry();
  file_registry(const file_registry&) = delete;
  file_registry& operator=(const file_registry&) = delete;

  /// Null: the process has no port on the file of this path.
  std::shared_ptr<fabric_file> find(const std::string& path) const;
  void add(const std::shared_ptr<fabric_file>& file);
  void remove(const fabric_file& file);
};

}  // namespace freehca::wires::shm
