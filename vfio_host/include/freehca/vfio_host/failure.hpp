// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace freehca::vfio_host {

/// The kinds of failure that a user can meet. The numbers are exit codes of hcactl and must not
/// change.
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
  wrong_data = 23,  ///< received data differs from the data that was sent
  port_down = 24,
  system = 25,         ///< another refusal of the operating system
  wanted_back = 26,    ///< the kernel requests the function: unbound or unplugged
  unlike_others = 27,  ///< its answers differ from those known of such adapters
  interrupted = 130,
};

/// A failure with one message for the user: the problem and the remedy.
struct failure {
  trouble kind = trouble::system;
  std::string message;
};

/// A T, or the failure that prevented it.
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
