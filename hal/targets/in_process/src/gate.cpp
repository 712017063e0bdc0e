// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/in_process/gate.hpp>

#include <mutex>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define FREEHCA_THREAD_SANITIZER
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define FREEHCA_THREAD_SANITIZER
#endif

#ifdef FREEHCA_THREAD_SANITIZER
// Functions of the sanitizer's run-time library (dynamic annotations).
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
}
#endif

namespace freehca::in_process {

namespace {

bool several = false;
std::recursive_mutex at_the_adapter;

void look_away() {
#ifdef FREEHCA_THREAD_SANITIZER
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

void look_again() {
#ifdef FREEHCA_THREAD_SANITIZER
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
#endif
}

}  // namespace

void let_threads_in() {
  several = true;
}

gate::gate() : closed_(several) {
  if (!closed_) return;
  look_away();
  at_the_adapter.lock();
}

gate::~gate() {
  if (!closed_) return;
  at_the_adapter.unlock();
  look_again();
}

}  // namespace freehca::in_process
