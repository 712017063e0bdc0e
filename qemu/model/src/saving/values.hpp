// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The greatest values of enumerations that are declared in public headers and in layouts.
#pragma once

#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/model/command_fault.hpp>
#include <freehca/model/options.hpp>
#include <freehca/model/remark.hpp>

#include "saving/transfer.hpp"

namespace freehca::model::saving {

template <>
inline constexpr auto greatest<remark_kind> = remark_kind::complaint;
template <>
inline constexpr auto greatest<command_verdict::fate> = command_verdict::fate::keep_go;
template <>
inline constexpr auto greatest<link_layer> = link_layer::ethernet;
template <>
inline constexpr auto greatest<layouts::roce_mode> = layouts::roce_mode::v2;
template <>
inline constexpr auto greatest<layouts::event_type> = layouts::event_type{0xff};

template <>
inline constexpr auto fields_of<command_verdict> =
    fields<&command_verdict::what, any_value(&command_verdict::status)>{};

}  // namespace freehca::model::saving
