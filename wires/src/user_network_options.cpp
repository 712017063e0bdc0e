// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <arpa/inet.h>

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "user_network.hpp"

namespace freehca::wires {
namespace {

constexpr const char* forward_allowed =
    "hostfwd=tcp:ADDRESS:PORT-ADDRESS:PORT or udp, where an ADDRESS may be empty";

bool read_place(std::string_view text, in_addr& address, std::uint16_t& port) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string host(text.substr(0, colon));
  const std::string_view number = text.substr(colon + 1);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), port);
  if (read.ec != std::errc{} || read.ptr != number.data() + number.size() || port == 0)
    return false;
  return host.empty() || inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool read_forward(std::string_view text, forwarded_port& to) {
  const std::string_view protocol = text.substr(0, 4);
  const std::size_t dash = text.find('-');
  if ((protocol != "tcp:" && protocol != "udp:") || dash == std::string_view::npos) return false;
  to.udp = protocol == "udp:";
  return read_place(text.substr(4, dash - 4), to.host, to.host_port) &&
         read_place(text.substr(dash + 1), to.guest, to.guest_port);
}

}  // namespace

std::string read_options(const std::string& text, user_network_options& to) {
  const std::string_view forward = "hostfwd=", tftp = "tftp=", boot_file = "bootfile=";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view one = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (one.starts_with(forward)) {
      forwarded_port port;
      if (!read_forward(one.substr(forward.size()), port))
        return fmt::format("{}: {}", one, forward_allowed);
      to.forwarded.push_back(port);
    } else if (one.starts_with(tftp) && one.size() > tftp.size()) {
      to.tftp = one.substr(tftp.size());
    } else if (one.starts_with(boot_file) && one.size() > boot_file.size()) {
      to.boot_file = one.substr(boot_file.size());
    } else {
      return fmt::format("{}: tftp=FOLDER, bootfile=NAME or {}", one, forward_allowed);
    }
  }
  return "";
}

}  // namespace freehca::wires
