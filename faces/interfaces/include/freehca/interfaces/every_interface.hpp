// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// All interfaces, for programs that use most of them.
#pragma once

#include <freehca/interfaces/address_handle.hpp>
#include <freehca/interfaces/completion_queue.hpp>
#include <freehca/interfaces/memory_region.hpp>
#include <freehca/interfaces/protection_domain.hpp>
#include <freehca/interfaces/queue_pair.hpp>
#include <freehca/interfaces/shared_receive_queue.hpp>
