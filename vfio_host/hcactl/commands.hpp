// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/hca/every_kind.hpp>
#include <freehca/loopback_traffic/traffic.hpp>
#include <freehca/vfio_host/open_options.hpp>

namespace freehca::hcactl {

/// Options of all commands.
struct common_options {
  std::string address;  ///< as typed: of a PCI function, or the path of a server's socket
  bool json = false;
  std::string sysfs = "/sys";   ///< tests use their own
  vfio_host::open_options how;  ///< of a PCI function
};

using ping_options = loopback_traffic::traffic_options;

/// `ping` by several threads, each an event owner with its own objects.
struct threads_options {
  unsigned threads = 0;  ///< 0: ping without threads
  unsigned port = 1;
  unsigned messages = 20;   ///< minimum for each thread
  unsigned seconds = 0;     ///< not 0: time limit instead of a number of messages
  unsigned recoveries = 0;  ///< number of resets during the traffic
};

/// The sizes of the driver without options of the user.
constexpr easy::sizes usual_size() {
  return {.budget = {}, .objects = every_kind()};
}

/// Options of `conform`.
struct conform_options {
  bool yes = false;  ///< false: only print the list
  unsigned port = 1;
  std::string file;            ///< file for the report as JSON; empty: none
  bool keep_identity = false;  ///< keeps GUIDs in the report
};

struct info_options {
  /// Resets the adapter and brings it up, to report more. Other users of the adapter lose it.
  bool reset = false;
};

struct up_options {
  easy::sizes size = usual_size();
  bool tables = false;  ///< reads the GID and P_Key tables
  bool hold = false;    ///< stays up until SIGINT or SIGTERM
};

/// Options of `nic`.
struct nic_options {
  std::string tap;  ///< name of the TAP device
  unsigned port = 1;
  unsigned mtu = 1500;
  unsigned rings = 1;    ///< receive rings: a power of two
  unsigned seconds = 0;  ///< 0: until a signal
  bool offload = true;   ///< the adapter computes checksums, and cuts TCP payloads
  bool promiscuous = false;
  bool ethernet = false;  ///< makes a VPI port an Ethernet port
};

struct record_options {
  std::string file;
  std::string label;           ///< text for the recording's header
  bool keep_identity = false;  ///< keeps GUIDs, MAC addresses and descriptions
  unsigned port = 0;           ///< port of the traffic; 0: the first active port
  unsigned messages = 2;       ///< number of each operation and size
};

// Each prints its result to standard output, or one message to standard error, and returns the exit
// code: 0, or a vfio_host::trouble.
int list(const common_options& options);
int info(const common_options& options, const info_options& how);
int up(const common_options& options, const up_options& what);
int ping(const common_options& options, const ping_options& traffic);
int ping(const common_options& options, const threads_options& settings);
int nic(const common_options& options, const nic_options& what);
int conform(const common_options& options, const conform_options& how);
int reset(const common_options& options);
/// `arguments` are those of the program. hcactl runs hcactl-record for this command: the same
/// program with the routed flavour of the core, whose accesses can be recorded.
int record(const common_options& options, const record_options& what, char** arguments);

}  // namespace freehca::hcactl
