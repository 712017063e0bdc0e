// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "commands.hpp"

#include <functional>

#include <fmt/format.h>

#include <freehca/verified_traffic/report.hpp>

#include "host.hpp"
#include "print.hpp"
#include "verdict.hpp"

namespace freehca::hcactl {
namespace {

using verified_traffic::session;
using vfio_host::failure;
using vfio_host::outcome;
using vfio_host::pci_function;
using vfio_host::trouble;

outcome<pci_function> find(const common_options& how) {
  const auto address = vfio_host::parse_pci_address(how.address);
  if (!address) return address.error();
  return vfio_host::sysfs{how.sysfs}.read(*address);
}

using work = std::function<std::optional<failure>(session&, const vfio_surroundings&,
                                                  const std::string& address)>;

// Opens the function, lets `doing` work, takes everything back. `more_bytes`: that the device is going to reach beside
// what the session needs.
int with_session(const common_options& how, bool take_over, std::size_t more_bytes,
                 const work& doing) {
  const auto function = find(how);
  if (!function) return report(function.error(), how.json);
  auto device = vfio_host::vfio_device::open(*function, session::dma_bytes() + more_bytes);
  if (!device) return report(device.error(), how.json);
  vfio_surroundings host(std::move(*device));
  const std::string address = function->address.text();
  session s(host);
  std::optional<failure> why;
  if (const status opened = s.open(take_over); !opened.ok()) {
    why = verdict(host, s, opened, "opening", address);
  } else {
    why = doing(s, host, address);
    const status down = s.tear_down();
    if (!why && !down.ok()) why = verdict(host, s, down, "teardown", address);
    if (const device_holdings left = s.adapter().holdings(); !why && !left.none())
      why =
          failure{trouble::system,
                  fmt::format("{} pages and {} numbers were left after teardown: a defect of this "
                              "program",
                              left.pages, left.numbers)};
  }
  return why ? report(*why, how.json) : 0;
}

// The same with an adapter that is up.
int with_adapter(const common_options& how, std::size_t more_bytes, const work& doing) {
  return with_session(how, false, more_bytes,
                      [&](session& s, const vfio_surroundings& host, const std::string& address) {
                        const status up = s.bring_up();
                        return up.ok() ? doing(s, host, address)
                                       : verdict(host, s, up, "bring-up", address);
                      });
}

}  // namespace

int list(const common_options& how) {
  const auto adapters = vfio_host::sysfs{how.sysfs}.adapters();
  if (how.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const pci_function& f : adapters) all.push_back(to_json(f));
    fmt::print("{}\n", all.dump(2));
  } else if (adapters.empty()) {
    fmt::print("no mlx4-class adapter in this machine\n");
  } else {
    for (const pci_function& f : adapters) fmt::print("{}", to_text(f));
  }
  return 0;
}

int info(const common_options& how) {
  const auto function = find(how);
  if (!function) return report(function.error(), how.json);
  if (function->model() == nullptr) return report(*unusable(*function), how.json);
  const auto obstacle = unusable(*function);
  nlohmann::json j = to_json(*function);
  j["usable"] = !obstacle;
  if (obstacle) j["obstacle"] = obstacle->message;
  if (!how.json) {
    fmt::print("{}subsystem  {:04x}:{:04x}\n", to_text(*function), function->subsystem_vendor,
               function->subsystem);
    for (const std::string& other : function->others)
      fmt::print("shares its IOMMU group with {}\n", other);
  }
  if (obstacle) {
    fmt::print("{}\n", how.json ? j.dump(2) : obstacle->message);
    return 0;
  }
  return with_adapter(how, 0, [&](session& s, const vfio_surroundings&, const std::string&) {
    j["adapter"] = verified_traffic::to_json(s.adapter());
    fmt::print("{}", how.json ? j.dump(2) + "\n" : verified_traffic::to_text(s.adapter()));
    return std::nullopt;
  });
}

int up(const common_options& how) {
  return with_adapter(how, 0, [&](session& s, const vfio_surroundings&, const std::string&) {
    fmt::print("{}", how.json ? verified_traffic::to_json(s.adapter()).dump(2) + "\n"
                              : verified_traffic::to_text(s.adapter()));
    return std::nullopt;
  });
}

int ping(const common_options& how, const ping_options& traffic) {
  return with_adapter(
      how, verified_traffic::traffic_bytes(),
      [&](session& s, const vfio_surroundings& host,
          const std::string& address) -> std::optional<failure> {
        const device_info i = s.adapter().info();
        if (!how.json) fmt::print("{}", verified_traffic::to_text(s.adapter()));
        if (traffic.port > i.ports)
          return failure{trouble::port_down, fmt::format("{} has {} ports, and no port {}", address,
                                                         i.ports, traffic.port)};
        if (!i.port[traffic.port - 1].active())
          return failure{
              trouble::port_down,
              fmt::format(
                  "port {} of {} is not active; look at the cable and at the subnet manager",
                  traffic.port, address)};
        const auto r =
            verified_traffic::run_traffic(s, {.port = traffic.port, .messages = traffic.messages});
        if (!how.json)
          fmt::print("{}commands   {} issued by now\n", verified_traffic::to_text(r),
                     s.adapter().info().commands_issued);
        if (!r.wrong.empty()) return failure{trouble::wrong_data, r.wrong};
        if (!r.outcome.ok()) return verdict(host, s, r.outcome, "traffic", address);
        if (how.json)
          fmt::print("{}\n", nlohmann::json{{"adapter", verified_traffic::to_json(s.adapter())},
                                            {"traffic", verified_traffic::to_json(r)}}
                                 .dump(2));
        return std::nullopt;
      });
}

int reset(const common_options& how) {
  return with_session(
      how, true, 0,
      [&](session& s, const vfio_surroundings& host,
          const std::string& address) -> std::optional<failure> {
        if (const status st = s.reset(); !st.ok()) return verdict(host, s, st, "reset", address);
        if (how.json)
          fmt::print("{}\n", nlohmann::json{{"address", address}, {"reset", true}}.dump(2));
        else fmt::print("{} was reset and belongs to nobody\n", address);
        return std::nullopt;
      });
}

}  // namespace freehca::hcactl
