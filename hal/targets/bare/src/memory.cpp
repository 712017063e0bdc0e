// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The four functions that a compiler may call by itself. Compiled so that they do not become calls
// of themselves.
#include <cstddef>

extern "C" {

void* memcpy(void* __restrict to, const void* __restrict from, std::size_t bytes) {
  auto* t = static_cast<unsigned char*>(to);
  const auto* f = static_cast<const unsigned char*>(from);
  while (bytes-- != 0) *t++ = *f++;
  return to;
}

void* memmove(void* to, const void* from, std::size_t bytes) {
  auto* t = static_cast<unsigned char*>(to);
  const auto* f = static_cast<const unsigned char*>(from);
  if (t <= f) {
    while (bytes-- != 0) *t++ = *f++;
  } else {
    while (bytes-- != 0) t[bytes] = f[bytes];
  }
  return to;
}

void* memset(void* to, int value, std::size_t bytes) {
  auto* t = static_cast<unsigned char*>(to);
  while (bytes-- != 0) *t++ = static_cast<unsigned char>(value);
  return to;
}

int memcmp(const void* a, const void* b, std::size_t bytes) {
  const auto* x = static_cast<const unsigned char*>(a);
  const auto* y = static_cast<const unsigned char*>(b);
  for (; bytes != 0; --bytes, ++x, ++y)
    if (*x != *y) return *x < *y ? -1 : 1;
  return 0;
}
}
