// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "file_registry.hpp"

#include <pthread.h>

#include <algorithm>
#include <vector>

#include "process_forks.hpp"

namespace freehca::wires::shm {

std::atomic<unsigned> process_forks{0};

namespace {

pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
// Not destroyed at exit: other threads may still use it then.
std::vector<std::shared_ptr<fabric_file>>* files = nullptr;

// Held across fork(), so that the child finds it free.
void before_fork() {
  pthread_mutex_lock(&guard);
}
void in_parent() {
  pthread_mutex_unlock(&guard);
}
void in_child() {
  process_forks.fetch_add(1, std::memory_order_relaxed);
  if (files != nullptr) {
    for (const auto& file : *files) file->abandon();
    files->clear();
  }
  pthread_mutex_unlock(&guard);
}

pthread_once_t handlers = PTHREAD_ONCE_INIT;
void install_handlers() {
  pthread_atfork(before_fork, in_parent, in_child);
}

}  // namespace

file_registry::file_registry() {
  pthread_once(&handlers, install_handlers);
  pthread_mutex_lock(&guard);
  if (files == nullptr) files = new std::vector<std::shared_ptr<fabric_file>>;
}

file_registry::~file_registry() {
  pthread_mutex_unlock(&guard);
}

std::shared_ptr<fabric_file> file_registry::find(const std::string& path) const {
  const auto found =
      std::find_if(files->begin(), files->end(), [&](const auto& f) { return f->path() == path; });
  return found == files->end() ? nullptr : *found;
}

void file_registry::add(const std::shared_ptr<fabric_file>& file) {
  files->push_back(file);
}

void file_registry::remove(const fabric_file& file) {
  std::erase_if(*files, [&](const auto& f) { return f.get() == &file; });
}

}  // namespace freehca::wires::shm
