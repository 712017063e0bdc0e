// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "commands.hpp"

#include <fmt/format.h>

#include "conform.hpp"
#include "host.hpp"
#include "print.hpp"
#include "threads.hpp"
#include "verdict.hpp"
#include "work.hpp"

namespace freehca::hcactl {
namespace {

using blocking::session;
using vfio_host::outcome;
using vfio_host::pci_function;

outcome<pci_function> find(const common_options& options) {
  const auto address = vfio_host::parse_pci_address(options.address);
  if (!address) return address.error();
  return vfio_host::sysfs{options.sysfs}.read(*address);
}

// `more_bytes`: that the device is going to reach beside what the session needs.
int with_session(const common_options& options, bool take_over, std::size_t more_bytes,
                 const work& doing, const easy::sizes& size = usual_size(),
                 const verbs_events& events = {}) {
  const auto function = find(options);
  if (!function) return report(function.error(), options.json);
  auto device =
      vfio_host::vfio_device::open(*function, device::dma_bytes(size.budget) + more_bytes);
  if (!device) return report(device.error(), options.json);
  interruptible_host host(std::move(*device));
  loopback_traffic::traffic_memory memory;
  session s(host, size);
  workplace at{.driver = s,
               .memory = memory,
               .address = function->address.text(),
               .json = options.json,
               .wanted_back = [&host] { return host.wanted_back(); },
               .events = events,
               .verdict = {}};
  at.verdict = [&](status outcome, const char* task) {
    return verdict(host, s, outcome, task, at.address);
  };
  return run(at, take_over, doing);
}

}  // namespace

int list(const common_options& options) {
  const auto adapters = vfio_host::sysfs{options.sysfs}.adapters();
  if (options.json) {
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

int info(const common_options& options) {
  const auto function = find(options);
  if (!function) return report(function.error(), options.json);
  if (function->model() == nullptr) return report(*unusable(*function), options.json);
  const auto obstacle = unusable(*function);
  nlohmann::json j = to_json(*function);
  j["usable"] = !obstacle;
  if (obstacle) j["obstacle"] = obstacle->message;
  if (!options.json) {
    fmt::print("{}subsystem  {:04x}:{:04x}\n", to_text(*function), function->subsystem_vendor,
               function->subsystem);
    for (const std::string& other : function->others)
      fmt::print("shares its IOMMU group with {}\n", other);
  }
  if (obstacle) {
    fmt::print("{}\n", options.json ? j.dump(2) : obstacle->message);
    return 0;
  }
  return with_session(options, false, 0,
                      with_adapter([&j](workplace& at) { return inform(at, j); }));
}

int up(const common_options& options, const up_options& what) {
  return with_session(options, false, 0,
                      with_adapter([&what](workplace& at) { return stay_up(at, what); }),
                      what.size);
}

int ping(const common_options& options, const ping_options& traffic) {
  return with_session(options, false, loopback_traffic::traffic_bytes(),
                      with_adapter([&traffic](workplace& at) { return move_data(at, traffic); }));
}

int ping(const common_options& options, const threads_options& wanted) {
  return with_session(
      options, false, threads_bytes(wanted.threads),
      with_adapter([&wanted](workplace& at) { return move_data_by_threads(at, wanted); }),
      size_for_threads(wanted.threads));
}

int conform(const common_options& options, const conform_options& how) {
  if (!how.yes) {
    // The list ends with a command to type, which is to be one that can be done.
    const auto address = vfio_host::parse_pci_address(options.address);
    if (!address) return report(address.error(), options.json);
    if (options.json) fmt::print("{}\n", list_to_json().dump(2));
    else fmt::print("{}", list_to_text(options.address));
    return 0;
  }
  conformance::heard_events heard;
  return with_session(options, false, 0,
                      with_adapter([&](workplace& at) { return run_conformance(at, heard, how); }),
                      usual_size(), heard.events());
}

int reset(const common_options& options) {
  return with_session(options, true, 0, reset_adapter);
}

}  // namespace freehca::hcactl
