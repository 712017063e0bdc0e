// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/blocking/session.hpp>
#include <freehca/conformance/runner.hpp>
#include <freehca/hca/every_kind.hpp>

#include <in_process_host.hpp>

namespace freehca::conformance {

/// What a run of the list said.
struct told {
  std::vector<std::string> rows;
  std::vector<std::string> differing;
  summary sum;
  std::vector<std::string> complaints;  ///< of the model
};

/// The list on a modelled adapter that `prepare` may still change.
class conformance_rig {
 public:
  explicit conformance_rig(const in_process::machine_options& how = {})
      : host(how), driver(host, {.budget = {}, .objects = every_kind()}) {
    EXPECT_TRUE(driver.open(false, heard_.events()).ok());
    const status up = driver.wait(driver.adapter().bring_up());
    EXPECT_TRUE(up.ok()) << blocking::words(up);
  }

  told run() {
    told all;
    easy::adapter& a = driver.adapter();
    all.sum = run_all({.adapter = a.hardware(),
                       .objects = a.objects(),
                       .events = heard_,
                       .turn = [](void* d) { static_cast<blocking::session*>(d)->turn(); },
                       .context = &driver},
                      &note, &all);
    all.complaints = host.machine.complaints();
    left_ = all.sum.left;
    return all;
  }

  /// And what the run left with hardware is back when that was reset.
  status tear_down() {
    FREEHCA_TRY(driver.tear_down());
    left_.give_back(driver.adapter().hardware());
    return {};
  }

  blocking::in_process_host host;

 private:
  static void note(void* to, const row_report& r) {
    auto& all = *static_cast<told*>(to);
    char line[400];
    text_writer text(line);
    text << r;
    all.rows.emplace_back(line);
    if (r.how == verdict::differs) all.differing.emplace_back(line);
  }

  heard_events heard_;
  left_memory left_;

 public:
  blocking::session driver;
};

}  // namespace freehca::conformance
