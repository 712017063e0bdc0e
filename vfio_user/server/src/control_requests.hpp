// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <string_view>

#include "client_memory.hpp"
#include "run_time_settings.hpp"
#include "session.hpp"

namespace freehca::device_server {

/// Whom requests of the control socket are about.
struct control_subject {
  served_adapter adapter;
  const session& client;
  const client_memory& memory;
};

/// Answers one request, a JSON object, by one line of JSON without its end. What is no request is
/// answered too: by what is wrong with it, and what there is. Not from inside the model.
std::string answer_control_request(control_subject& about, std::string_view line);

}  // namespace freehca::device_server
