// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "lock.hpp"

#include <pthread.h>

namespace freehca::ibverbs_files {
namespace {

constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
constinit pthread_once_t fork_handlers = PTHREAD_ONCE_INIT;

void before_fork() {
  pthread_mutex_lock(&mutex);
}
void after_fork() {
  pthread_mutex_unlock(&mutex);
}
void add_fork_handlers() {
  pthread_atfork(before_fork, after_fork, after_fork);
}

}  // namespace

lock::lock() noexcept {
  pthread_once(&fork_handlers, add_fork_handlers);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
  pthread_mutex_lock(&mutex);
}

lock::~lock() {
  pthread_mutex_unlock(&mutex);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace freehca::ibverbs_files
