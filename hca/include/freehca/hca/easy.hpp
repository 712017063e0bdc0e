// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The driver as a program uses it.
#pragma once

#include <freehca/hca/easy/adapter.hpp>
#include <freehca/hca/easy/task.hpp>
