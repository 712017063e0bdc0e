// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <type_traits>

namespace freehca::ibverbs_files {

/// The next definition of a function of the C library behind this object's own. It is looked up at
/// its first use, because a call may come before any constructor has run. Threads that look it up
/// at the same time find the same address. An object of this class is a constant-initialised
/// variable of static storage.
template <class F>
class system_call {
 public:
  constexpr explicit system_call(const char* name) noexcept : name_(name) {}

  /// Calls it. If the C library has no such function: nullptr or -1, with errno ENOSYS.
  template <class... B>
  auto operator()(B... arguments) const -> std::invoke_result_t<F*, B...> {
    using result = std::invoke_result_t<F*, B...>;
    void* found = at_.load(std::memory_order_acquire);
    if (found == nullptr) {
      found = dlsym(RTLD_NEXT, name_);
      if (found == nullptr) {
        errno = ENOSYS;
        if constexpr (std::is_void_v<result>) return;
        else if constexpr (std::is_pointer_v<result>) return nullptr;
        else return static_cast<result>(-1);
      }
      at_.store(found, std::memory_order_release);
    }
    return reinterpret_cast<F*>(found)(arguments...);
  }

 private:
  const char* name_;
  mutable std::atomic<void*> at_{nullptr};
};

}  // namespace freehca::ibverbs_files
