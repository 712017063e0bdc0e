// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "work.hpp"

#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <freehca/description/adapter.hpp>
#include <freehca/description/address_tables.hpp>
#include <freehca/loopback_traffic/report.hpp>

#include "print.hpp"

namespace freehca::hcactl {
namespace {

const device& hca(const workplace& at) {
  return at.driver.adapter().hardware();
}

// Begins a bring-up and undoes it: the device is reset, its semaphore is free, and it is down.
status reset(blocking::session& driver) {
  const device& adapter = driver.adapter().hardware();
  auto up = driver.adapter().bring_up();
  for (bool enough = false; !up.done(); driver.turn()) {
    if (enough || (adapter.step() <= bring_up_step::reset && !driver.host().interrupted()))
      continue;
    up.cancel();
    enough = true;
  }
  const bool was_reset = adapter.info().resets != 0;
  return was_reset && up.outcome().is(driver_error::cancelled) ? status() : up.outcome();
}

}  // namespace

using vfio_host::failure;
using vfio_host::trouble;

int run(workplace& at, bool take_over, const work& doing) {
  if (const status opened = at.driver.open(take_over, at.events); !opened.ok())
    return report(at.verdict(opened, "opening"), at.json);
  const findings found = doing(at);
  std::optional<failure> why;
  if (!found) why = found.error();
  const status down = at.driver.tear_down();
  if (!why && !down.ok()) why = at.verdict(down, "teardown");
  if (const device_holdings left = hca(at).holdings(); !why && !left.none())
    why = failure{trouble::system,
                  fmt::format("{} pages and {} numbers were left after teardown: a defect of this "
                              "program",
                              left.pages, left.numbers)};
  nlohmann::json document = found ? *found : at.found;
  if (why) return report(*why, at.json, std::move(document));
  if (at.json) fmt::print("{}\n", document.dump(2));
  return 0;
}

work with_adapter(work doing) {
  return [doing = std::move(doing)](workplace& at) -> findings {
    if (const status up = at.driver.wait(at.driver.adapter().bring_up()); !up.ok())
      return at.verdict(up, "bring-up");
    return doing(at);
  };
}

findings inform(workplace& at, nlohmann::json about) {
  const findings adapter = report_adapter(at);
  if (adapter) about["adapter"] = *adapter;
  return about;
}

findings report_adapter(workplace& at) {
  if (!at.json) fmt::print("{}", description::to_text(hca(at)));
  return description::to_json(hca(at));
}

findings stay_up(workplace& at, const up_options& what) {
  std::vector<description::port_tables> tables;
  if (what.tables)
    if (const status s = read_address_tables(
            at.driver.adapter().hardware(), [&](operation& op) { return at.driver.wait(op); },
            tables);
        !s.ok())
      return at.verdict(s, "reading the tables");
  nlohmann::json document = description::to_json(hca(at));
  if (what.tables) document["tables"] = description::to_json(tables);
  if (!at.json) fmt::print("{}{}", description::to_text(hca(at)), description::to_text(tables));
  if (!what.hold) return document;
  if (!at.json) fmt::print("held       until SIGINT or SIGTERM\n");
  std::fflush(stdout);
  while (!at.driver.host().interrupted()) {
    at.driver.turn();
    if (hca(at).state() != device_state::up)
      return at.verdict(transport_error::gone, "holding the adapter up");
  }
  if (at.wanted_back && at.wanted_back())
    return at.verdict(driver_error::cancelled, "holding the adapter up");
  return document;
}

std::optional<failure> unusable_port(const workplace& at, unsigned port) {
  const device_info i = hca(at).info();
  if (port > i.ports)
    return failure{trouble::port_down,
                   fmt::format("{} has {} ports, and no port {}", at.address, i.ports, port)};
  if (!i.port[port - 1].active())
    return failure{
        trouble::port_down,
        fmt::format("port {} of {} is not active; look at the cable and at the subnet manager",
                    port, at.address)};
  return std::nullopt;
}

findings move_data(workplace& at, const ping_options& traffic) {
  if (!at.json) fmt::print("{}", description::to_text(hca(at)));
  if (const auto why = unusable_port(at, traffic.port)) return *why;
  const auto r = loopback_traffic::run_traffic(at.driver, at.memory, traffic);
  if (!at.json)
    fmt::print("{}commands   {} issued by now\n", loopback_traffic::to_text(r),
               hca(at).info().commands_issued);
  if (!r.wrong.empty()) return failure{trouble::wrong_data, r.wrong};
  if (!r.outcome.ok()) return at.verdict(r.outcome, "traffic");
  return nlohmann::json{{"adapter", description::to_json(hca(at))},
                        {"traffic", loopback_traffic::to_json(r)}};
}

findings reset_adapter(workplace& at) {
  if (const status st = reset(at.driver); !st.ok()) return at.verdict(st, "reset");
  if (!at.json) fmt::print("{} was reset and belongs to nobody\n", at.address);
  return nlohmann::json{{"address", at.address}, {"reset", true}};
}

}  // namespace freehca::hcactl
