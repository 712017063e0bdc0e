// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string_view>

#include <freehca/model/command_fault.hpp>
#include <freehca/model/event_fault.hpp>
#include <freehca/model/link_faults.hpp>
#include <freehca/model/raised_event.hpp>
#include <freehca/model/request_fault.hpp>

namespace freehca::model {

/// The judge that `text` describes, in the words of freehca_model_set_command_fault (c_api.h).
/// Returns nullptr, or why the text describes none; `to` is then left alone.
const char* parse_command_fault(std::string_view text, command_judge& to);

/// The same for the words of freehca_model_set_event_fault.
const char* parse_event_fault(std::string_view text, event_judge& to);

/// The same for work requests: "OPCODE:refused" or "OPCODE:refused:N"; OPCODE is a number to 0x1f.
const char* parse_request_fault(std::string_view text, request_judge& to);

/// The same for the words of freehca_model_raise_event.
const char* parse_raised_event(std::string_view text, raised_event& to);

/// The same for the words of freehca_model_set_link_fault.
const char* parse_link_fault(std::string_view text, link_faults& to);

}  // namespace freehca::model
