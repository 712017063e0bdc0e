// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "file_locks.hpp"

#include <fcntl.h>
#include <time.h>

#include <cerrno>

namespace freehca::wires::shm {
namespace {

// False: the kernel refused.
bool ask(int file, int command, short type, off_t first, off_t bytes, struct flock* answer) {
  struct flock request {};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  request.l_start = first;
  request.l_len = bytes;
  int done;
  do done = fcntl(file, command, &request);
  while (done != 0 && errno == EINTR);
  if (answer != nullptr) *answer = request;
  return done == 0;
}

}  // namespace

bool try_lock(int file, off_t byte) {
  return ask(file, F_SETLK, F_WRLCK, byte, 1, nullptr);
}
void unlock(int file, off_t byte) {
  ask(file, F_SETLK, F_UNLCK, byte, 1, nullptr);
}

bool lock_within(int file, off_t byte, unsigned milliseconds) {
  for (unsigned waited = 0; !try_lock(file, byte); ++waited) {
    if (waited >= milliseconds) return false;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

bool locked_by_another(int file, off_t first, off_t bytes) {
  struct flock found {};
  // A kernel that cannot answer is not taken for a proof that nobody lives.
  return !ask(file, F_GETLK, F_WRLCK, first, bytes, &found) || found.l_type != F_UNLCK;
}

pid_t lock_owner(int file, off_t byte) {
  struct flock found {};
  if (!ask(file, F_GETLK, F_WRLCK, byte, 1, &found) || found.l_type == F_UNLCK) return 0;
  return found.l_pid > 0 ? found.l_pid : 0;
}

}  // namespace freehca::wires::shm
