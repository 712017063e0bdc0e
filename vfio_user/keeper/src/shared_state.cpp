// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/keeper/shared_state.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace freehca::keeper {

// Sealed, so that no process can shorten the file under the mappings of others.
shared_state* make_shared_state(vfio_user::descriptor* file) {
  vfio_user::descriptor made(memfd_create("freehca keeper", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.open() || ftruncate(made.get(), sizeof(shared_state)) != 0 ||
      fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return nullptr;
  shared_state* const at = map_shared_state(made);
  if (at != nullptr && file != nullptr) *file = std::move(made);
  return at == nullptr ? nullptr : new (at) shared_state{};
}

shared_state* map_shared_state(const vfio_user::descriptor& file) {
  struct stat about {};
  if (fstat(file.get(), &about) != 0 || about.st_size != off_t{sizeof(shared_state)})
    return nullptr;
  void* at = mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return at == MAP_FAILED ? nullptr : static_cast<shared_state*>(at);
}

}  // namespace freehca::keeper
