// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <span>
#include <string_view>

namespace freehca::recording {

/// A field whose value says nothing about how an adapter answers.
struct volatile_field {
  std::string_view name;  ///< "cqe.timestamp"; with a star at the end: all that begin so
  std::string_view why;
};

/// All that a comparison of a driver's recording leaves out.
std::span<const volatile_field> volatile_fields();

/// Null: the field is compared.
const volatile_field* find_volatile(std::string_view name);

}  // namespace freehca::recording
