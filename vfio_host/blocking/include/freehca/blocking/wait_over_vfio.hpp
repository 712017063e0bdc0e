// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <freehca/blocking/host.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

namespace freehca::blocking {

/// host::wait_for() of a host over VFIO. `device` must outlive the returned object.
inline std::unique_ptr<owner_wait> wait_over_vfio(vfio_host::vfio_device& device, unsigned vector,
                                                  std::string& why) {
  class over_vfio final : public owner_wait {
   public:
    explicit over_vfio(std::unique_ptr<vfio_host::vector_wait> wait) : wait_(std::move(wait)) {}
    void wait(std::uint64_t deadline) override { wait_->wait(deadline); }
    void wake() noexcept override { wait_->wake(); }

   private:
    std::unique_ptr<vfio_host::vector_wait> wait_;
  };
  auto wait = device.wait_for(vector);
  if (wait) return std::make_unique<over_vfio>(std::move(*wait));
  why = wait.error().message;
  return nullptr;
}

}  // namespace freehca::blocking
