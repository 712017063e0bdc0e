// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "saving/reader.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace freehca::model::saving {

void reader::bytes(void* to, std::size_t count) {
  if (count == 0) return;
  if (!ok() || !has(count)) {
    std::memset(to, 0, count);
    return;
  }
  std::memcpy(to, left_.data(), count);
  left_ = left_.subspan(count);
}

bool reader::has(std::uint64_t count) {
  if (count <= left_.size()) return true;
  refuse("%llu bytes are wanted and %zu are left", static_cast<unsigned long long>(count),
         left_.size());
  return false;
}

void reader::refuse(const char* format, ...) {
  if (!ok()) return;
  for (const std::string_view member : path_) {
    if (!refusal_.empty()) refusal_ += '.';
    refusal_ += member;
  }
  char text[200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  refusal_ += ": ";
  refusal_ += text;
}

}  // namespace freehca::model::saving
