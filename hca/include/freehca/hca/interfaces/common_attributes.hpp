// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Attributes that several kinds of objects have. Identifiers 0x0001 to 0x00ff; each kind has 256 of
// its own.
#pragma once

#include <cstdint>

#include <freehca/hal/attributes.hpp>

#include <freehca/hca/objects/handle.hpp>

namespace freehca::common {

/// The protection domain.
inline constexpr attribute_name<0x0001, pd_handle> domain;
/// The user's, comes with events of the object; null unless told.
inline constexpr attribute_name<0x0002, void*> cookie;
/// Receives outstanding at the same time, at least; 0 unless told.
inline constexpr attribute_name<0x0003, std::uint32_t> receives;
/// Entries of one receive, 1 unless told.
inline constexpr attribute_name<0x0004, std::uint32_t> scatter;

}  // namespace freehca::common
