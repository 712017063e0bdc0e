// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What happens in one run over a bad cable: everything is drawn from the seed before the run, so
// that a run can be repeated and its oracle knows what was sent.
#pragma once

#include <cstdint>
#include <ostream>
#include <random>
#include <vector>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/model/link_faults.hpp>

namespace freehca::testing {

enum class message_kind : std::uint8_t { send, send_immediate, write, write_immediate, read, add };

constexpr bool takes_receive(message_kind k) {
  return k != message_kind::write && k != message_kind::read && k != message_kind::add;
}

struct planned_message {
  message_kind kind = message_kind::send;
  std::uint32_t bytes = 0;
  bool signaled = true;
};

/// What else happens to a run, once `strike_after` messages have been posted.
enum class strike : std::uint8_t {
  none,          ///< the cable is bad, and nothing else
  no_receives,   ///< host 1 posts no more receives: RNR
  dead_cable,    ///< no packet arrives any more: retries are used up
  cable_pulled,  ///< the link goes down at both ends
  reset,         ///< host 1 resets its adapter
};
inline constexpr unsigned strikes = 5;

/// What the queue pairs of a connection are.
enum class lossy_form : std::uint8_t {
  plain,
  shared,    ///< with a shared receive queue
  extended,  ///< XRC: an initiator and a target at each host
  windows,   ///< the peer's keys are those of memory windows
  frames,    ///< raw Ethernet queue pairs
};

/// One queue pair at each host (of XRC two), and what each sends to the other.
struct planned_connection {
  layouts::qp_service service = layouts::qp_service::rc;
  lossy_form form = lossy_form::plain;
  // On Ethernet: the place of the GIDs in the tables of both ports, and the VLAN.
  std::uint8_t gid_index = 0;
  bool on_vlan = false;
  bool second_type = false;  // of windows
  std::uint8_t retry_count = 7, rnr_retry = 7, ack_timeout = 10, min_rnr_timer = 1;
  std::uint32_t first_psn[2] = {};
  std::uint32_t reads = 1;
  std::vector<planned_message> messages[2];  // by the sending host
};

struct lossy_plan {
  static constexpr unsigned messages_each = 16;
  static constexpr std::uint32_t most_bytes = 6000;
  /// Frames that need no padding, with a MTU of 1500.
  static constexpr std::uint32_t least_frame = 64, most_frame = 1514;
  static constexpr unsigned gids = 3;  // of a port: v1, v2 by IPv6, v2 by IPv4

  explicit lossy_plan(std::uint64_t seed_of_run) : seed(seed_of_run) {
    std::mt19937_64 engine(seed);
    // Not std::uniform_int_distribution: it differs between standard libraries.
    const auto below = [&engine](std::uint64_t n) { return engine() % n; };
    what = static_cast<strike>(below(strikes));
    strike_after = static_cast<unsigned>(below(messages_each * 6));
    ethernet = below(2) != 0;
    // An Ethernet port has frames of 1500 bytes.
    mtu = static_cast<layouts::ib_mtu>(1 + below(ethernet ? 3 : 5));
    // Of all packets 1 to 30 % meet some fault.
    const auto trouble = static_cast<std::uint32_t>(10'000 + below(290'001));
    std::uint32_t weight[4], sum = 0;
    for (std::uint32_t& w : weight) sum += w = static_cast<std::uint32_t>(below(4));
    const auto share = [&](unsigned i) {
      return sum == 0 ? trouble / 4
                      : static_cast<std::uint32_t>(std::uint64_t{trouble} * weight[i] / sum);
    };
    faults = {.loss = share(0),
              .corruption = share(1),
              .duplication = share(2),
              .reordering = share(3),
              .seed = engine()};
    using layouts::qp_service;
    using form = lossy_form;
    for (const auto& [service, of_form] :
         {std::pair{qp_service::rc, form::plain}, std::pair{qp_service::rc, form::shared},
          std::pair{qp_service::uc, form::plain}, std::pair{qp_service::ud, form::plain},
          std::pair{qp_service::rc, form::extended}, std::pair{qp_service::rc, form::windows},
          std::pair{qp_service::mlx, form::frames}}) {
      if (of_form == form::frames && !ethernet) continue;
      planned_connection c;
      c.service = service;
      c.form = of_form;
      c.gid_index = static_cast<std::uint8_t>(below(gids));
      c.on_vlan = below(2) != 0;
      c.second_type = below(2) != 0;
      // A run that nothing strikes has patience, so that most of these deliver everything.
      const bool patient = what == strike::none && below(4) != 0;
      c.retry_count = static_cast<std::uint8_t>(patient ? 7 : below(8));
      c.rnr_retry = static_cast<std::uint8_t>(what == strike::no_receives ? below(7) : 7);
      c.ack_timeout = static_cast<std::uint8_t>(8 + below(4));
      c.min_rnr_timer = static_cast<std::uint8_t>(1 + below(12));
      c.reads = 1u << below(4);
      for (unsigned from = 0; from < 2; ++from) {
        c.first_psn[from] =
            static_cast<std::uint32_t>(below(4) == 0 ? 0xfffff0 + below(16) : below(0x1000000));
        for (unsigned i = 0; i < messages_each; ++i) {
          planned_message m;
          switch (service) {
            case qp_service::rc:
              m.kind = static_cast<message_kind>(below(6));
              break;
            case qp_service::uc:
              m.kind = static_cast<message_kind>(1 + below(3));
              break;
            case qp_service::ud:
              m.kind = message_kind::send_immediate;
              break;
            default:
              m.kind = message_kind::send;
          }
          const std::uint32_t most = service == qp_service::ud ? mtu_bytes() : most_bytes;
          m.bytes = m.kind == message_kind::add ? 8
                    : below(2) == 0             ? static_cast<std::uint32_t>(below(64))
                                                : static_cast<std::uint32_t>(below(most + 1));
          if (of_form == form::frames)
            m.bytes = static_cast<std::uint32_t>(least_frame + below(most_frame - least_frame + 1));
          // A window is never full of requests that are not signaled, and the last one is, so that
          // no request waits for a later one.
          m.signaled = i % 4 == 3 || i + 1 == messages_each || below(3) != 0;
          c.messages[from].push_back(m);
        }
      }
      connections.push_back(std::move(c));
    }
  }

  std::uint32_t mtu_bytes() const { return 128u << static_cast<unsigned>(mtu); }

  std::uint64_t seed;
  strike what = strike::none;
  unsigned strike_after = 0;
  bool ethernet = false;
  layouts::ib_mtu mtu = layouts::ib_mtu::mtu_1024;
  model::link_faults faults;
  std::vector<planned_connection> connections;
};

inline std::ostream& operator<<(std::ostream& to, const lossy_plan& p) {
  static constexpr const char* names[] = {"none", "no_receives", "dead_cable", "cable_pulled",
                                          "reset"};
  return to << "seed " << p.seed << ", strike " << names[static_cast<unsigned>(p.what)] << " after "
            << p.strike_after << " messages, " << (p.ethernet ? "Ethernet" : "InfiniBand")
            << ", MTU " << p.mtu_bytes() << ", loss " << p.faults.loss << ", corruption "
            << p.faults.corruption << ", duplication " << p.faults.duplication << ", reordering "
            << p.faults.reordering << " in a million";
}

}  // namespace freehca::testing
