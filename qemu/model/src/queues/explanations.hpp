// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What explanations call packets, requests and failures: the first half of a line, before its
// reason.
#pragma once

#include <string>

#include "link/transport_packet.hpp"
#include "queues/queue_pair.hpp"
#include "queues/work_request.hpp"

namespace freehca::model {

/// "port 1: RC SEND_ONLY PSN 0x000010 from LID 0x1 to QP 0x000041".
std::string words_for(const transport_packet& v);
/// "QP 0x000041 send 17 (RDMA_WRITE): local protection error (vendor 0x57)".
std::string words_for(const queue_pair& qp, const send_request& r, failure why);
std::string words_for(const queue_pair& qp, const receive_request& r, failure why);

/// "QP 0x000041: work queue catastrophic error".
std::string words_for(const queue_pair& qp, layouts::event_type t);

/// "local protection error".
const char* name_of(layouts::cqe_syndrome s);
/// "work queue catastrophic error".
const char* name_of(layouts::event_type t);
/// "NAK: remote access error".
const char* name_of(layouts::nak_code c);
/// The remote accesses that the context allows (qp_access_flags of verbs): "remote read and
/// atomics".
const char* words_for_access(const queue_pair& qp);

}  // namespace freehca::model
