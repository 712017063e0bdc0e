// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "work.hpp"

#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <freehca/verified_traffic/address_tables.hpp>
#include <freehca/verified_traffic/report.hpp>

#include "print.hpp"

namespace freehca::hcactl {

using vfio_host::failure;
using vfio_host::trouble;

int run(workplace& at, bool take_over, const work& doing) {
  if (const status opened = at.driver.open(take_over); !opened.ok())
    return report(at.verdict(opened, "opening"), at.json);
  const findings found = doing(at);
  std::optional<failure> why;
  if (!found) why = found.error();
  const status down = at.driver.tear_down();
  if (!why && !down.ok()) why = at.verdict(down, "teardown");
  if (const device_holdings left = at.driver.adapter().holdings(); !why && !left.none())
    why = failure{trouble::system,
                  fmt::format("{} pages and {} numbers were left after teardown: a defect of this "
                              "program",
                              left.pages, left.numbers)};
  nlohmann::json document = found ? *found : nlohmann::json::object();
  if (why) return report(*why, at.json, std::move(document));
  if (at.json) fmt::print("{}\n", document.dump(2));
  return 0;
}

work with_adapter(work doing) {
  return [doing = std::move(doing)](workplace& at) -> findings {
    if (const status up = at.driver.bring_up(); !up.ok()) return at.verdict(up, "bring-up");
    return doing(at);
  };
}

findings inform(workplace& at, nlohmann::json about) {
  const findings adapter = report_adapter(at);
  if (adapter) about["adapter"] = *adapter;
  return about;
}

findings report_adapter(workplace& at) {
  if (!at.json) fmt::print("{}", verified_traffic::to_text(at.driver.adapter()));
  return verified_traffic::to_json(at.driver.adapter());
}

findings stay_up(workplace& at, const up_options& what) {
  std::vector<verified_traffic::port_tables> tables;
  if (what.tables)
    if (const status s = read_address_tables(at.driver, tables); !s.ok())
      return at.verdict(s, "reading the tables");
  nlohmann::json document = verified_traffic::to_json(at.driver.adapter());
  if (what.tables) document["tables"] = verified_traffic::to_json(tables);
  if (!at.json)
    fmt::print("{}{}", verified_traffic::to_text(at.driver.adapter()),
               verified_traffic::to_text(tables));
  if (!what.hold) return document;
  if (!at.json) fmt::print("held       until SIGINT or SIGTERM\n");
  std::fflush(stdout);
  while (!at.driver.host().interrupted()) {
    at.driver.turn();
    if (at.driver.adapter().state() != device_state::up)
      return at.verdict(transport_error::gone, "holding the adapter up");
  }
  if (at.driver.host().wanted_back())
    return at.verdict(driver_error::cancelled, "holding the adapter up");
  return document;
}

findings move_data(workplace& at, const ping_options& traffic) {
  const device_info i = at.driver.adapter().info();
  if (!at.json) fmt::print("{}", verified_traffic::to_text(at.driver.adapter()));
  if (traffic.port > i.ports)
    return failure{trouble::port_down, fmt::format("{} has {} ports, and no port {}", at.address,
                                                   i.ports, traffic.port)};
  if (!i.port[traffic.port - 1].active())
    return failure{
        trouble::port_down,
        fmt::format("port {} of {} is not active; look at the cable and at the subnet manager",
                    traffic.port, at.address)};
  const auto r = verified_traffic::run_traffic(at.driver, traffic);
  if (!at.json)
    fmt::print("{}commands   {} issued by now\n", verified_traffic::to_text(r),
               at.driver.adapter().info().commands_issued);
  if (!r.wrong.empty()) return failure{trouble::wrong_data, r.wrong};
  if (!r.outcome.ok()) return at.verdict(r.outcome, "traffic");
  return nlohmann::json{{"adapter", verified_traffic::to_json(at.driver.adapter())},
                        {"traffic", verified_traffic::to_json(r)}};
}

findings reset_adapter(workplace& at) {
  if (const status st = at.driver.reset(); !st.ok()) return at.verdict(st, "reset");
  if (!at.json) fmt::print("{} was reset and belongs to nobody\n", at.address);
  return nlohmann::json{{"address", at.address}, {"reset", true}};
}

}  // namespace freehca::hcactl
