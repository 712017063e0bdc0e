// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/hca/every_kind.hpp>
#include <freehca/loopback_traffic/traffic.hpp>

namespace freehca::hcactl {

/// What all commands share.
struct common_options {
  std::string address;  ///< as typed: of a PCI function, or the path of a server's socket
  bool json = false;
  std::string sysfs = "/sys";  ///< tests bring their own
};

using ping_options = loopback_traffic::traffic_options;

/// `ping` by several threads, each an owner of objects of its own.
struct threads_options {
  unsigned threads = 0;  ///< 0: the usual ping
  unsigned port = 1;
  unsigned messages = 20;   ///< of each thread, at the least
  unsigned seconds = 0;     ///< not 0: so long, however many messages that are
  unsigned recoveries = 0;  ///< how often the device is reset meanwhile
};

/// How large the driver is made, as long as the user does not say.
constexpr easy::sizes usual_size() {
  return {.budget = {}, .objects = every_kind()};
}

/// The list of conformance.
struct conform_options {
  bool yes = false;  ///< else the list is told, and nothing is done
  unsigned port = 1;
  std::string file;            ///< where the report goes as JSON, too; empty: nowhere
  bool keep_identity = false;  ///< GUIDs stay in the report
};

struct info_options {
  /// Resets the adapter and brings it up, which tells more; whoever else uses it loses it.
  bool reset = false;
};

struct up_options {
  easy::sizes size = usual_size();
  bool tables = false;  ///< reads the GID and P_Key tables
  bool hold = false;    ///< stays up until SIGINT or SIGTERM
};

struct record_options {
  std::string file;
  std::string label;           ///< into the recording's header
  bool keep_identity = false;  ///< GUIDs, MAC addresses and descriptions stay
  unsigned port = 0;           ///< of the traffic; 0: the first that is active
  unsigned messages = 2;       ///< of each kind and size
};

// Each prints its result to standard output, or one message to standard error, and returns the exit
// code: 0, or a vfio_host::trouble.
int list(const common_options& options);
int info(const common_options& options, const info_options& how);
int up(const common_options& options, const up_options& what);
int ping(const common_options& options, const ping_options& traffic);
int ping(const common_options& options, const threads_options& wanted);
int conform(const common_options& options, const conform_options& how);
int reset(const common_options& options);
/// `arguments` are the program's: hcactl has it done by hcactl-record, which is the same program
/// over the flavour of the core whose accesses can be heard.
int record(const common_options& options, const record_options& what, char** arguments);

}  // namespace freehca::hcactl
