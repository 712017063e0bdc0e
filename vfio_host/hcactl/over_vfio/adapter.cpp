// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <fmt/format.h>

#include <freehca/blocking/wait_over_vfio.hpp>
#include <freehca/vfio_host/function_details.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

#include "print.hpp"
#include "tool_host.hpp"

namespace freehca::hcactl {
namespace {

using vfio_host::failure;
using vfio_host::outcome;
using vfio_host::pci_function;

class vfio_host_of_tool final : public tool_host {
 public:
  vfio_host_of_tool(std::string address, std::unique_ptr<vfio_host::vfio_device> device)
      : tool_host(std::move(address)), device_(std::move(device)) {}
  freehca::platform platform() override { return device_->platform(); }
  void wait(std::uint64_t deadline) override {
    if (deadline == 0) return device_->wait(0, -1);
    device_->wait(deadline, interruptions().descriptor());
  }
  int descriptor() override { return device_->descriptor(); }
  void wake() noexcept override { device_->wake(); }
  std::unique_ptr<blocking::owner_wait> wait_for(unsigned vector, std::string& why) override {
    return blocking::wait_over_vfio(*device_, vector, why);
  }
  bool wanted_back() const override { return device_->wanted_back(); }
  bool gone() const override { return device_->failed(); }
  std::string last_refusal() const override { return device_->last_refusal(); }
  std::size_t locked_bytes() const override { return device_->locked_bytes(); }

 private:
  std::unique_ptr<vfio_host::vfio_device> device_;
};

outcome<pci_function> find(const common_options& options) {
  const auto address = vfio_host::parse_pci_address(options.address);
  if (!address) return address.error();
  return vfio_host::sysfs{options.sysfs}.read(*address);
}

}  // namespace

std::optional<failure> malformed(const common_options& options) {
  const auto address = vfio_host::parse_pci_address(options.address);
  if (address) return std::nullopt;
  return address.error();
}

outcome<std::unique_ptr<tool_host>> open_adapter(const common_options& options, std::size_t bytes) {
  const auto function = find(options);
  if (!function) return function.error();
  auto device = vfio_host::vfio_device::open(*function, bytes, options.how);
  if (!device) return device.error();
  return std::unique_ptr<tool_host>(
      new vfio_host_of_tool(function->address.text(), std::move(*device)));
}

outcome<adapter_view> look_at_adapter(const common_options& options) {
  const auto function = find(options);
  if (!function) return function.error();
  if (function->model() == nullptr) return *unusable(*function);
  const vfio_host::function_details details =
      vfio_host::read_details(vfio_host::sysfs{options.sysfs}, function->address);
  adapter_view view{to_json(*function), to_text(*function),
                    vfio_host::vfio_device::obstacle(*function, options.how.way)};
  view.document.update(to_json(details));
  const vfio_host::door way = vfio_host::vfio_device::usable_door(*function, options.how.way);
  add_door(view.document, *function, way);
  if (!view.obstacle) view.text += fmt::format("door       {}\n", to_text(*function, way));
  view.text +=
      fmt::format("subsystem  {:04x}:{:04x}\n", function->subsystem_vendor, function->subsystem);
  for (const std::string& other : function->others)
    view.text += fmt::format("shares its IOMMU group with {}\n", other);
  view.text += to_text(details);
  return view;
}

}  // namespace freehca::hcactl
