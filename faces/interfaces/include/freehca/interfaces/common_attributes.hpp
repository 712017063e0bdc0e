// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The attributes that several kinds of objects have. Their identifiers are 0x0001 to 0x00ff. Each
// kind has 256 identifiers of its own.
#pragma once

#include <cstdint>

#include <freehca/interfaces/attributes.hpp>

#include <freehca/hca/objects/handle.hpp>

namespace freehca::common {

/// The protection domain.
inline constexpr attribute_name<0x0001, pd_handle> domain;
/// A value of the user that is passed back in events of the object. Default: null.
inline constexpr attribute_name<0x0002, void*> cookie;
/// Receives outstanding at the same time, at least. Default: 0.
inline constexpr attribute_name<0x0003, std::uint32_t> receives;
/// Data entries of one receive. Default: 1.
inline constexpr attribute_name<0x0004, std::uint32_t> scatter;

}  // namespace freehca::common
