// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <freehca/vfio_host/failure.hpp>
#include <freehca/vfio_host/function_details.hpp>
#include <freehca/vfio_host/pci_function.hpp>

namespace freehca::hcactl {

nlohmann::json to_json(const vfio_host::pci_function& f);
std::string to_text(const vfio_host::pci_function& f);
nlohmann::json to_json(const vfio_host::function_details& d);
std::string to_text(const vfio_host::function_details& d);

/// The command line that does something with the adapter: "hcactl info 0000:03:00.0 --reset". An
/// address with a slash is a socket's.
std::string command_line_for(const std::string& command, const std::string& address,
                             const std::string& option = {});

/// Says what is wrong, to people on standard error, as JSON on standard output; gives the exit
/// code. `document`: an object with what was found out all the same; it gets "error" and "code".
int report(const vfio_host::failure& why, bool json,
           nlohmann::json document = nlohmann::json::object());

/// Of a file that the user named; `errno` says why.
vfio_host::failure cannot_write(const std::string& file);

}  // namespace freehca::hcactl
