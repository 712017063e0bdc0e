// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <freehca/blocking/session.hpp>
#include <freehca/loopback_traffic/scattered_memory.hpp>
#include <freehca/vfio_host/failure.hpp>

#include "commands.hpp"

namespace freehca::hcactl {

/// What a command works with. Nothing of it is tied to VFIO, so that tests bring an adapter of
/// their own.
struct workplace {
  blocking::session& driver;
  loopback_traffic::traffic_memory& memory;  ///< of what is moved
  std::string address;                       ///< in messages
  bool json = false;  ///< then nobody but run() writes to standard output, and only once
  std::function<bool()> wanted_back;  ///< by the kernel
  verbs_events events{};              ///< who is told of those on objects
  /// What a status means for the user. `doing`: "bring-up", "teardown" ...
  std::function<vfio_host::failure(status, const char* doing)> verdict;
  /// What was found out although the work ends with an error: goes into the document.
  nlohmann::json found = nlohmann::json::object();
};

/// What came of it: the document for `json`, or what went wrong.
using findings = vfio_host::outcome<nlohmann::json>;
using work = std::function<findings(workplace&)>;

/// Opens the adapter, has the work done, takes everything back, says how it went; returns the exit
/// code.
int run(workplace& at, bool take_over, const work& doing);

/// Brings the adapter up ahead of the work.
work with_adapter(work doing);

/// `about`: what is known of the adapter already, and printed.
findings inform(workplace& at, nlohmann::json about);
findings report_adapter(workplace& at);
findings stay_up(workplace& at, const up_options& what);
findings move_data(workplace& at, const ping_options& traffic);
/// What stands in the way of traffic on a port.
std::optional<vfio_host::failure> unusable_port(const workplace& at, unsigned port);
findings reset_adapter(workplace& at);

}  // namespace freehca::hcactl
