// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// hcactl's adapter, served by freehca-device over a socket.
#include <cerrno>

#include <fmt/format.h>

#include <freehca/layouts/pci_devices.hpp>
#include <freehca/vfio_user_host/function_identity.hpp>
#include <freehca/vfio_user_host/remote_device.hpp>

#include "tool_host.hpp"

namespace freehca::hcactl {
namespace {

using vfio_host::failure;
using vfio_host::outcome;
using vfio_host::trouble;

class socket_host final : public tool_host {
 public:
  socket_host(std::string socket, std::unique_ptr<vfio_user_host::remote_device> device)
      : tool_host(std::move(socket)), device_(std::move(device)) {}
  freehca::platform platform() override { return device_->platform(); }
  void wait(std::uint64_t deadline) override { device_->wait(deadline); }
  int descriptor() override { return device_->descriptor(); }
  void wake() noexcept override { device_->wake(); }
  std::unique_ptr<blocking::owner_wait> wait_for(unsigned vector, std::string& why) override {
    return device_->wait_for(vector, why);
  }
  bool gone() const override { return device_->gone(); }
  std::string last_refusal() const override { return device_->last_refusal(); }

 private:
  std::unique_ptr<vfio_user_host::remote_device> device_;
};

}  // namespace

// Every path is a valid address.
std::optional<failure> malformed(const common_options&) {
  return std::nullopt;
}

outcome<std::unique_ptr<tool_host>> open_adapter(const common_options& options, std::size_t) {
  std::string why;
  auto device = vfio_user_host::remote_device::open(options.address, why);
  if (device == nullptr) return failure{trouble::absent, why};
  return std::unique_ptr<tool_host>(new socket_host(options.address, std::move(device)));
}

outcome<adapter_view> look_at_adapter(const common_options& options) {
  vfio_user_host::function_identity f;
  std::string why;
  const int code = vfio_user_host::read_identity(options.address, f, why);
  adapter_view view;
  view.document["address"] = options.address;
  if (code == EBUSY) {
    view.text = fmt::format("{}  served, to another client\n", options.address);
    view.obstacle = failure{trouble::in_use, why};
    return view;
  }
  if (code != 0) return failure{trouble::absent, why};
  const layouts::pci_device* const known = layouts::find_pci_device(f.vendor, f.device);
  const char* const model = known == nullptr ? "not mlx4-class" : known->name;
  view.document.update(
      {{"pci_id", fmt::format("{:04x}:{:04x}", f.vendor, f.device)},
       {"pci_subsystem", fmt::format("{:04x}:{:04x}", f.subsystem_vendor, f.subsystem)},
       {"model", model},
       {"revision", fmt::format("{:#04x}", f.revision)},
       {"interrupt_vectors", f.vectors}});
  view.text = fmt::format(
      "{}  {:04x}:{:04x}  {}\nsubsystem  {:04x}:{:04x}\nrevision   {:#04x}\nvectors    {}\n",
      options.address, f.vendor, f.device, model, f.subsystem_vendor, f.subsystem, f.revision,
      f.vectors);
  return view;
}

}  // namespace freehca::hcactl
