// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

/// Declares a function under the name of a function of the C library. In C++ it has another name:
/// the library's headers declare the real one with attributes by which compilers drop checks.
#define FREEHCA_INTERPOSE(name) __asm__(#name) __attribute__((visibility("default"), used))
