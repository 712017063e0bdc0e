// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <fmt/format.h>

#include <freehca/vfio_host/pci_function.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

#include "commands.hpp"
#include "print.hpp"

namespace freehca::hcactl {

int list(const common_options& options) {
  const auto adapters = vfio_host::sysfs{options.sysfs}.adapters();
  if (options.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const vfio_host::pci_function& f : adapters) {
      nlohmann::json one = to_json(f);
      add_door(one, f, vfio_host::vfio_device::usable_door(f, options.how.way));
      all.push_back(std::move(one));
    }
    fmt::print("{}\n", all.dump(2));
  } else if (adapters.empty()) {
    fmt::print("no mlx4-class adapter in this machine\n");
  } else {
    for (const vfio_host::pci_function& f : adapters) {
      fmt::print("{}", to_text(f));
      if (f.driver == "vfio-pci")
        fmt::print("              door {}\n",
                   to_text(f, vfio_host::vfio_device::usable_door(f, options.how.way)));
    }
  }
  return 0;
}

}  // namespace freehca::hcactl
