// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <utility>

#include <freehca/blocking/host.hpp>
#include <freehca/blocking/wait_over_vfio.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

namespace freehca::blocking {
namespace {

class vfio final : public host {
 public:
  explicit vfio(std::unique_ptr<vfio_host::vfio_device> device) : device_(std::move(device)) {}
  freehca::platform platform() override { return device_->platform(); }
  void wait(std::uint64_t deadline) override { device_->wait(deadline, -1); }
  int descriptor() override { return device_->descriptor(); }
  void wake() noexcept override { device_->wake(); }
  std::unique_ptr<owner_wait> wait_for(unsigned vector, std::string& why) override {
    return wait_over_vfio(*device_, vector, why);
  }
  bool gone() const override { return device_->failed() || device_->wanted_back(); }

 private:
  std::unique_ptr<vfio_host::vfio_device> device_;
};

}  // namespace

std::unique_ptr<host> open_over_vfio(const std::string& pci_address, std::size_t locked_bytes,
                                     std::string& why) {
  const auto address = vfio_host::parse_pci_address(pci_address);
  const auto refuse = [&why](const vfio_host::failure& f) {
    why = f.message;
    return nullptr;
  };
  if (!address) return refuse(address.error());
  const auto function = vfio_host::sysfs{}.read(*address);
  if (!function) return refuse(function.error());
  auto device = vfio_host::vfio_device::open(*function, locked_bytes);
  if (!device) return refuse(device.error());
  return std::make_unique<vfio>(std::move(*device));
}

}  // namespace freehca::blocking
