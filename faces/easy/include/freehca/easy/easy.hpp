// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The facade of the driver, for whole programs.
#pragma once

#include <freehca/easy/adapter.hpp>
#include <freehca/easy/task.hpp>
