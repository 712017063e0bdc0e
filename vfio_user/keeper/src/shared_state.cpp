// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/keeper/shared_state.hpp>

#include <sys/mman.h>

#include <new>

namespace freehca::keeper {

shared_state* make_shared_state() {
  void* at = mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
  return at == MAP_FAILED ? nullptr : new (at) shared_state{};
}

}  // namespace freehca::keeper
