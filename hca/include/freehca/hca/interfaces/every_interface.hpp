// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// All interfaces, for programs that use most of them.
#pragma once

#include <freehca/hca/interfaces/address_handle.hpp>
#include <freehca/hca/interfaces/completion_queue.hpp>
#include <freehca/hca/interfaces/memory_region.hpp>
#include <freehca/hca/interfaces/protection_domain.hpp>
#include <freehca/hca/interfaces/queue_pair.hpp>
#include <freehca/hca/interfaces/shared_receive_queue.hpp>
