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

/// The objects that a command uses. None depends on VFIO, so that tests can use an adapter of their
/// own.
struct workplace {
  blocking::session& driver;
  loopback_traffic::traffic_memory& memory;  ///< memory of the traffic
  std::string address;                       ///< in messages
  bool json = false;                         ///< then only run() writes to standard output, once
  std::function<bool()> wanted_back;         ///< whether the kernel requests the function
  verbs_events events{};                     ///< callbacks for events of objects
  /// The message and exit code for a status. `doing`: "bring-up", "teardown" ...
  std::function<vfio_host::failure(status, const char* doing)> verdict;
  /// Results for the document if the work ends with an error.
  nlohmann::json found = nlohmann::json::object();
};

/// The result of a command: the document for `json`, or the failure.
using findings = vfio_host::outcome<nlohmann::json>;
using work = std::function<findings(workplace&)>;

/// Opens the adapter, does the work, takes the adapter down and prints the result. Returns the exit
/// code.
int run(workplace& at, bool take_over, const work& doing);

/// Returns work that brings the adapter up first.
work with_adapter(work doing);

/// `about`: facts about the adapter that are known and printed already.
findings inform(workplace& at, nlohmann::json about);
findings report_adapter(workplace& at);
findings stay_up(workplace& at, const up_options& what);
findings move_data(workplace& at, const ping_options& traffic);
/// The obstacle to traffic on a port, if there is one.
std::optional<vfio_host::failure> unusable_port(const workplace& at, unsigned port);
findings reset_adapter(workplace& at);

}  // namespace freehca::hcactl
