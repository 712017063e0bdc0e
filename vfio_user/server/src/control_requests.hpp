// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "client_memory.hpp"
#include "run_time_settings.hpp"
#include "session.hpp"

namespace freehca::device_server {

/// The objects that requests of the control socket read and change.
struct control_subject {
  served_adapter adapter;
  const session& client;
  const client_memory& memory;
  /// Hands over to a process of a new build. Returns "" and its version, or the reason for a
  /// refusal.
  std::function<std::string(std::string& version)> upgrade;
};

/// Answers one request, a JSON object, by one line of JSON without its line end. A malformed
/// request is answered too: by the reason, and by the permitted values. Must not be called from
/// inside the model.
std::string answer_control_request(control_subject& about, std::string_view line);

}  // namespace freehca::device_server
