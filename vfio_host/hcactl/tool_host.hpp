// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <freehca/blocking/host.hpp>
#include <freehca/vfio_host/failure.hpp>

#include "commands.hpp"
#include "interruption.hpp"

namespace freehca::hcactl {

/// The driver's host in this tool, over VFIO or behind a socket. A signal interrupts it.
class tool_host : public blocking::host {
 public:
  /// `address`: of the adapter, in messages.
  explicit tool_host(std::string address) : address_(std::move(address)) {}
  const std::string& address() const { return address_; }
  bool interrupted() const override { return interruption_.requested() || wanted_back(); }
  /// The kernel takes the function away.
  virtual bool wanted_back() const { return false; }
  /// What the operating system, or the server, refused last. Empty: nothing.
  virtual std::string last_refusal() const = 0;
  /// Bytes that have to be locked for the device.
  virtual std::size_t locked_bytes() const { return 0; }

 protected:
  const interruption& interruptions() const { return interruption_; }

 private:
  std::string address_;
  interruption interruption_;
};

/// What is known of an adapter that was neither opened nor reset.
struct adapter_view {
  nlohmann::json document;                     ///< for --json
  std::string text;                            ///< whole lines
  std::optional<vfio_host::failure> obstacle;  ///< in the way of opening it
};

// hcactl and hcactl-record define these over VFIO, hcactl-vfio-user over a socket.

/// Opens the adapter of the options, for a driver that lets it reach so many bytes.
vfio_host::outcome<std::unique_ptr<tool_host>> open_adapter(const common_options& options,
                                                            std::size_t bytes);
/// The same without opening it. A failure: there is no such adapter.
vfio_host::outcome<adapter_view> look_at_adapter(const common_options& options);
/// What is wrong with the address that was typed, without looking for an adapter there.
std::optional<vfio_host::failure> malformed(const common_options& options);

}  // namespace freehca::hcactl
