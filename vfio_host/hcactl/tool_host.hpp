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

/// The driver's host in this tool, over VFIO or over a socket. A signal interrupts its wait().
class tool_host : public blocking::host {
 public:
  /// `address`: the adapter's address, for messages.
  explicit tool_host(std::string address) : address_(std::move(address)) {}
  const std::string& address() const { return address_; }
  bool interrupted() const override { return interruption_.requested() || wanted_back(); }
  /// The kernel requests the function back.
  virtual bool wanted_back() const { return false; }
  /// The last refusal of the operating system or of the server. Empty: none.
  virtual std::string last_refusal() const = 0;
  /// Bytes of memory that must be locked for the device.
  virtual std::size_t locked_bytes() const { return 0; }

 protected:
  const interruption& interruptions() const { return interruption_; }

 private:
  std::string address_;
  interruption interruption_;
};

/// Facts about an adapter that was neither opened nor reset.
struct adapter_view {
  nlohmann::json document;                     ///< for --json
  std::string text;                            ///< whole lines
  std::optional<vfio_host::failure> obstacle;  ///< obstacle to opening the adapter
};

// hcactl and hcactl-record define these over VFIO, hcactl-vfio-user over a socket.

/// Opens the adapter of the options, for a driver that maps that many bytes for it.
vfio_host::outcome<std::unique_ptr<tool_host>> open_adapter(const common_options& options,
                                                            std::size_t bytes);
/// Reads facts about the adapter without opening it. Fails if there is no such adapter.
vfio_host::outcome<adapter_view> look_at_adapter(const common_options& options);
/// Checks the form of the address, without searching for an adapter.
std::optional<vfio_host::failure> malformed(const common_options& options);

}  // namespace freehca::hcactl
