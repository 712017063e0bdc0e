// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The greatest values of enumerations that are declared in public headers and in layouts.
#pragma once

#include <freehca/model/remark.hpp>

#include "saving/transfer.hpp"

namespace freehca::model::saving {

template <>
inline constexpr auto greatest<remark_kind> = remark_kind::complaint;

}  // namespace freehca::model::saving
