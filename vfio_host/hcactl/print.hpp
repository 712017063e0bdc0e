// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <freehca/vfio_host/failure.hpp>
#include <freehca/vfio_host/function_details.hpp>
#include <freehca/vfio_host/open_options.hpp>
#include <freehca/vfio_host/pci_function.hpp>

namespace freehca::hcactl {

nlohmann::json to_json(const vfio_host::pci_function& f);
std::string to_text(const vfio_host::pci_function& f);
/// A door with its file: "iommufd, /dev/vfio/devices/vfio0" or "group, /dev/vfio/7".
std::string to_text(const vfio_host::pci_function& f, vfio_host::door way);
/// Adds the member "door": null where vfio-pci does not have the function.
void add_door(nlohmann::json& to, const vfio_host::pci_function& f, vfio_host::door way);
nlohmann::json to_json(const vfio_host::function_details& d);
std::string to_text(const vfio_host::function_details& d);

/// A command line of hcactl, for messages: "hcactl info 0000:03:00.0 --reset". An address with a
/// slash is that of a socket.
std::string command_line_for(const std::string& command, const std::string& address,
                             const std::string& option = {});

/// Prints a failure, as text on standard error or as JSON on standard output, and returns the exit
/// code. `document` is an object with the results so far; it gets the members "error" and "code".
int report(const vfio_host::failure& why, bool json,
           nlohmann::json document = nlohmann::json::object());

/// The failure of writing a file that the user named, with the reason of `errno`.
vfio_host::failure cannot_write(const std::string& file);

}  // namespace freehca::hcactl
