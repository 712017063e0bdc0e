// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <string>

#include <freehca/model/capability.hpp>
#include <freehca/model/command_fault.hpp>
#include <freehca/model/event_fault.hpp>
#include <freehca/model/request_fault.hpp>
#include <freehca/model/rule_set.hpp>

namespace freehca::model {

enum class variant : std::uint8_t { connectx3_pro, connectx3, connectx2 };
enum class link_layer : std::uint8_t { infiniband, ethernet };

/// Faults that the model is asked for. All off by default.
struct fault_options {
  std::uint64_t command_acceptance_ns =
      0;  ///< from GO's being set to acceptance, when an event command's GO drops
  std::uint64_t command_latency_ns = 0;  ///< from acceptance to completion
  bool commands_side_by_side = true;     ///< false: latencies add up, one command after the other
  /// From a send doorbell to the moment when the adapter looks at the queue for it; doorbells of
  /// the queue that come meanwhile are heard with it.
  std::uint64_t work_latency_ns = 0;
  /// From the write of the software reset register on, configuration space and registers are dead
  /// for so long: they read as all ones and take no writes. Cards: about 1 ms (iPXE 410566ce);
  /// Linux waits 1 s.
  std::uint64_t reset_latency_ns = 0;
  /// 0: all these times are as they stand. Any other: each is drawn afresh, from nothing up to what
  /// stands there.
  std::uint64_t time_seed = 0;
};

/// How the adapter is made. Fixed for the life of a device object.
struct options {
  variant kind = variant::connectx3_pro;
  unsigned ports = 2;  ///< 1 or 2
  link_layer link[2] = {link_layer::infiniband, link_layer::infiniband};
  /// A VPI port: it is of the kind that `link` says after a reset, and SET_PORT makes it one of the
  /// other kind, or of the first again.
  bool vpi[2] = {false, false};
  /// A cable leads out of the port: what it sends, packets or frames, goes to
  /// environment::link_send. Without one the built-in SM is at the other end of an InfiniBand port,
  /// and nobody at that of an Ethernet port.
  bool cable[2] = {false, false};
  /// Packets, or frames, of the port go to environment::packet_passed too: those of the kind that
  /// `link` says.
  bool capture[2] = {false, false};
  bool subnet_manager = true;  ///< built-in SM and SA on InfiniBand ports that no peer manages
  /// What the built-in SM gives the port, and has itself: those of the fabric that a recorded card
  /// was in.
  std::uint16_t lid[2] = {default_lid, default_lid};
  std::uint16_t sm_lid[2] = {default_sm_lid, default_sm_lid};
  static constexpr std::uint16_t default_lid = 2, default_sm_lid = 1;
  std::uint64_t node_guid = 0x0002c90300f0ca00;  ///< port n has +n, system image +3 (captures: 6)
  std::uint64_t mac = 0x0002c9f0ca01;            ///< of port 1; port 2 has +1
  unsigned log_max_commands = 4;                 ///< QUERY_FW: log2 of the commands in flight
  unsigned command_interface = 3;                ///< QUERY_FW: its revision, 16 bits; for tests
  /// QUERY_ADAPTER: inta_pin, at most 63, the bits of the clear-interrupt register; for tests. No
  /// source: chosen.
  unsigned interrupt_pin = 0;
  std::uint64_t uar_bar_bytes = 8u << 20;  ///< size of BAR2, a power of two, 8 MiB to 128 MiB
  /// Bytes of the host's memory that a guest can make the adapter take, least_host_memory or more;
  /// as long as the default all other limits come first.
  std::uint64_t host_memory_limit = std::uint64_t{4} << 30;
  static constexpr std::uint64_t least_host_memory = 32u << 20;
  capability_set without;  ///< of what adapters of the kind have
  capability_set with;     ///< of what is off unless asked for (capability.hpp)
  bool strict = false;     ///< refuse, too, what no source says that hardware refuses (rules.hpp)
  rule_set rules_off;      ///< rules that nobody is held to
  /// Send queues are read ahead, and what was read too early is executed, as cards may
  /// (docs/qemu-device.md).
  bool prefetch = false;
  /// Doorbells of one queue that may be on their way at a time: by so many entries the adapter may
  /// be ahead of them, without an owner bit that came too late. More than one where a processor
  /// does not wait for its stores to the adapter.
  std::uint32_t doorbells_under_way = 1;
  /// What one turn of the adapter's own work may cost before it ends, in units of about 50 ns
  /// (docs/qemu-device.md). It decides between which calls work is cut, so a recording has it.
  std::uint64_t turn_units = default_turn_units;
  static constexpr std::uint64_t default_turn_units = 2048, least_turn_units = 64;
  fault_options faults;
  /// Judges that hold for the life of the device. Each is asked before the judge of the same kind
  /// that device::judge_commands(), judge_events() or judge_requests() sets. That judge is asked
  /// only if the first one lets the command, event or request be.
  struct lasting_judges {
    command_judge commands;
    event_judge events;
    request_judge requests;
  } judges;
  bool record = false;       ///< what passes between adapter and host goes to environment::record()
  std::string record_label;  ///< free text for the recording's header: which host, which driver
};

}  // namespace freehca::model
