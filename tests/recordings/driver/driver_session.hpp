// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A recording at the driver's side, of the session that `hcactl record` makes, with the modelled
// adapter in this process.
#pragma once

#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <freehca/hca/every_kind.hpp>
#include <freehca/recorder/recorder.hpp>
#include <freehca/recording/driver_replay.hpp>

#include <in_process_host.hpp>
#include <record_steps.hpp>

namespace freehca::testing {

/// Identities that no table and no replacement has.
inline constexpr std::uint64_t own_guid = 0x0002c90311223340;
inline constexpr std::uint64_t own_mac = 0x0002c9112233;

class recorded_host final : public blocking::in_process_host {
 public:
  recorded_host(const in_process::machine_options& machine_how,
                const recorder::recording_options& how)
      : in_process_host(machine_how), listening(machine.platform(), how) {}
  freehca::platform platform() override { return listening.platform(); }

  recorder::recorder listening;
};

/// The identities are put into `machine_how`. `port`: by which data must have moved; 0: by none.
inline std::string record_driver(in_process::machine_options machine_how,
                                 bool keep_identity = false, unsigned port = 1) {
  machine_how.model.node_guid = own_guid;
  machine_how.model.mac = own_mac;
  recorded_host host(machine_how, {.label = "in process", .keep_identity = keep_identity});
  loopback_traffic::traffic_memory memory;
  {
    blocking::session driver(host, {.budget = {}, .objects = every_kind()});
    EXPECT_TRUE(driver.open().ok());
    const hcactl::recorded_session went =
        hcactl::run_recorded(driver, memory, 0, 2, host.listening);
    EXPECT_TRUE(went.outcome.ok()) << went.doing;
    EXPECT_EQ(went.port, port);
    EXPECT_EQ(went.wrong, "");
  }
  EXPECT_EQ(host.machine.counter("complaints"), 0u);
  return host.listening.text();
}

inline std::string record_driver(model::variant kind, bool keep_identity = false) {
  in_process::machine_options machine_how;
  machine_how.model.kind = kind;
  return record_driver(machine_how, keep_identity);
}

/// Of the default variant, made once.
inline const std::string& driver_recording() {
  static const std::string text = record_driver(model::variant::connectx3_pro);
  return text;
}

inline recording::recording load_text(const std::string& text) {
  std::istringstream from(text);
  return recording::load(from, "test");
}

inline std::string all_words(const recording::driver_replay_result& r) {
  std::string text;
  std::size_t n = 0;
  for (const recording::difference& d : r.differences)
    if (n++ < 40) text += words_of(d) + "\n";
  for (const std::string& s : r.remarks) text += "remark: " + s + "\n";
  return text;
}

}  // namespace freehca::testing
