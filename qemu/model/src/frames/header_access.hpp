// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include <freehca/layouts/layout.hpp>

namespace freehca::model {

/// The header at `at` of a frame. Trusts its caller that the frame holds it whole, which
/// frame_headers says.
template <class T>
layouts::image<T> header_at(std::span<const std::byte> bytes, std::size_t at) {
  return layouts::image<T>::from_bytes(bytes.data() + at);
}

/// The same, to be changed: `change` gets the header, and what it leaves is written back.
template <class T, class Change>
void change_header(std::span<std::byte> bytes, std::size_t at, Change&& change) {
  auto header = header_at<T>(bytes, at);
  change(header);
  std::memcpy(bytes.data() + at, header.data(), T::bytes);
}

}  // namespace freehca::model
