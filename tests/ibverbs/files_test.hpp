// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace files_test {

inline const std::string class_folder = "/sys/class/infiniband";
inline const std::string device = class_folder + "/freehca7";
inline const std::string port = device + "/ports/1";
inline const std::string function = "/sys/devices/pciffff:00/ffff:00:00.0";
inline const std::string real_device = function + "/infiniband/freehca7";
inline const std::string device_file = "/dev/infiniband/uverbs77";

/// The function that a program with this reference binds to, also of names that a linker of today
/// no longer offers.
template <class F>
F* named(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<F*>(found);
}

/// What the descriptor has to read; it is closed.
inline std::string rest_of(int descriptor) {
  EXPECT_GE(descriptor, 0) << errno;
  std::string text;
  char some[7];
  for (ssize_t n = 0; (n = read(descriptor, some, sizeof some)) > 0;)
    text.append(some, static_cast<std::size_t>(n));
  close(descriptor);
  return text;
}

/// The errno of a call that fails; 0: it succeeded.
template <class F>
int error_of(F call) {
  errno = 0;
  const auto result = call();
  if constexpr (std::is_pointer_v<decltype(result)>) return result == nullptr ? errno : 0;
  else return result < 0 ? errno : 0;
}

}  // namespace files_test
