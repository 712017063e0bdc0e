// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "planted.hpp"

namespace {
volatile unsigned calls = 0;
void called() {
  calls = calls + 1;
}
void (*volatile pointer)() = &called;
}  // namespace

// The debug information names a file of the core as the source of the function below.
#line 1 "./hca/src/planted.cpp"
void planted::file_and_call() {
  pointer();
  calls = calls + 1;
}
