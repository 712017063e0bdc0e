// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

namespace freehca::device_server {

/// Memory in reserve for the model. The model is compiled without exceptions, so that an allocation
/// that fails there ends the process. While there is a reserve, an allocation that fails frees it
/// and is tried again. Until the reserve could be allocated again memory is short: the server then
/// gives the model no work that a client could refuse it, and answers such requests by ENOMEM.
///
/// There is one reserve in a process.
class memory_reserve {
 public:
  /// More than one request and the following turn of the model allocate.
  static constexpr std::size_t bytes = 4u << 20;

  memory_reserve();
  ~memory_reserve();
  memory_reserve(const memory_reserve&) = delete;
  memory_reserve& operator=(const memory_reserve&) = delete;

  /// Tries to allocate a reserve that was used. Returns true if that fails. Returns false if the
  /// process keeps no reserve.
  static bool memory_is_short();
};

}  // namespace freehca::device_server
