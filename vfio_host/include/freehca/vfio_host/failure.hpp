// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace freehca::vfio_host {

/// What stands between a user and a working adapter. The numbers are exit codes of hcactl and stay
/// as they are.
enum class trouble {
  malformed_address = 10,
  absent = 11,
  not_mlx4 = 12,
  wrong_driver = 13,
  no_iommu = 14,
  group_not_viable = 15,
  no_permission = 16,
  locked_memory_limit = 17,
  in_use = 18,  ///< by another process
  owned = 19,   ///< the ownership semaphore is held
  firmware_error = 20,
  firmware_silent = 21,
  device_gone = 22,
  wrong_data = 23,  ///< the traffic arrived, but not as it was sent
  port_down = 24,
  system = 25,         ///< the operating system refused something else
  wanted_back = 26,    ///< the kernel takes the function away: unbound or unplugged
  unlike_others = 27,  ///< answers otherwise than is known of such adapters
  interrupted = 130,
};

/// One problem with one message for the user: what is wrong and what to do.
struct failure {
  trouble kind = trouble::system;
  std::string message;
};

/// A T, or why there is none.
template <class T>
class outcome {
 public:
  outcome(T value) : state_(std::move(value)) {}
  outcome(failure why) : state_(std::move(why)) {}
  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  T& operator*() { return std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  const failure& error() const { return std::get<failure>(state_); }

 private:
  std::variant<T, failure> state_;
};

}  // namespace freehca::vfio_host
