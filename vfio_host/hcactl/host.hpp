// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <memory>

#include <freehca/blocking/host.hpp>
#include <freehca/blocking/wait_over_vfio.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

#include "interruption.hpp"

namespace freehca::hcactl {

/// The driver's host over VFIO, which a signal interrupts.
class interruptible_host final : public blocking::host {
 public:
  explicit interruptible_host(std::unique_ptr<vfio_host::vfio_device> device)
      : device_(std::move(device)) {}
  freehca::platform platform() override { return device_->platform(); }
  void wait(std::uint64_t deadline) override {
    if (deadline == 0) return device_->wait(0, -1);
    device_->wait(deadline, interruption_.descriptor());
  }
  bool interrupted() const override { return interruption_.requested() || wanted_back(); }
  int descriptor() override { return device_->descriptor(); }
  void wake() noexcept override { device_->wake(); }
  std::unique_ptr<blocking::owner_wait> wait_for(unsigned vector, std::string& why) override {
    return blocking::wait_over_vfio(*device_, vector, why);
  }
  bool wanted_back() const { return device_->wanted_back(); }
  bool lost() const override { return device_->failed(); }
  const vfio_host::vfio_device& device() const { return *device_; }

 private:
  interruption interruption_;
  std::unique_ptr<vfio_host::vfio_device> device_;
};

}  // namespace freehca::hcactl
