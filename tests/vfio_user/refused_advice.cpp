// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// This program uses the definition of madvise() below in place of the C library's.
#include "refused_advice.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace freehca::testing {
namespace {

std::atomic<bool> refuses = false;

}  // namespace

refused_advice::refused_advice() {
  refuses = true;
}
refused_advice::~refused_advice() {
  refuses = false;
}

}  // namespace freehca::testing

int madvise(void* at, std::size_t bytes, int advice) noexcept {
  if (freehca::testing::refuses) {
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(syscall(SYS_madvise, at, bytes, advice));
}
