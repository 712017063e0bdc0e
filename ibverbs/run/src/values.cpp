// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "values.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <regex>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace freehca::run {
namespace {

constexpr std::size_t longest_name = 64;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_usable(const in_addr& address) {
  const std::uint32_t number = ntohl(address.s_addr);
  constexpr std::uint32_t this_network = 0;
  return number >> 24 != this_network && number >> 24 != IN_LOOPBACKNET && !IN_MULTICAST(number) &&
         number != INADDR_BROADCAST;
}

bool is_usable(const in6_addr& address) {
  return !IN6_IS_ADDR_UNSPECIFIED(&address) && !IN6_IS_ADDR_LOOPBACK(&address) &&
         !IN6_IS_ADDR_MULTICAST(&address) && !IN6_IS_ADDR_LINKLOCAL(&address) &&
         !IN6_IS_ADDR_V4MAPPED(&address) && !IN6_IS_ADDR_V4COMPAT(&address);
}

}  // namespace

std::string check_link(const std::string& name) {
  if (name == "infiniband" || name == "roce") return "";
  return fmt::format("'{}' is no link layer: infiniband or roce", name);
}

std::string check_ip(const std::string& address) {
  in_addr ipv4{};
  in6_addr ipv6{};
  const bool is_ipv4 = inet_pton(AF_INET, address.c_str(), &ipv4) == 1;
  if (!is_ipv4 && inet_pton(AF_INET6, address.c_str(), &ipv6) != 1)
    return fmt::format(
        "'{}' is no IP address: an IPv4 address as 10.0.0.1, or an IPv6 address as "
        "fd00::1, without a prefix length",
        address);
  if (is_ipv4 ? is_usable(ipv4) : is_usable(ipv6)) return "";
  return fmt::format(
      "a port cannot have the IP address {}: no group, no loopback, link-local or "
      "unspecified address, and an IPv4 address as 10.0.0.1",
      address);
}

std::string check_vlan(const std::string& value) {
  static const std::regex form("([1-9][0-9]{0,3})=(.*)");
  constexpr int most_vlan = 4094;  // IEEE 802.1Q
  std::smatch parts;
  if (!std::regex_match(value, parts, form) || std::stoi(parts[1]) > most_vlan)
    return fmt::format("'{}' is no VLAN=ADDRESS: a VLAN from 1 to {}, as 100=192.0.2.1", value,
                       most_vlan);
  return check_ip(parts[2]);
}

std::string address_twice(const std::vector<std::string>& addresses) {
  std::set<std::string> seen;
  for (const std::string& address : addresses) {
    // One address has several texts.
    char same[sizeof(in6_addr)] = {};
    // As in a GID, an IPv4 address stands behind ::ffff.
    const bool is_address = inet_pton(AF_INET6, ("::ffff:" + address).c_str(), same) == 1 ||
                            inet_pton(AF_INET6, address.c_str(), same) == 1;
    if (is_address && !seen.insert(std::string(same, sizeof same)).second) return address;
  }
  return "";
}

std::string check_fabric(const std::string& name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
  });
  if (good && !name.empty() && name.size() <= longest_name) return "";
  return fmt::format("'{}' is no name of a fabric: 1 to {} letters, digits, '.', '_' and '-'", name,
                     longest_name);
}

std::string check_device(const std::string& device) {
  static const std::regex form(
      "vfio:([0-9a-fA-F]{1,8}:)?[0-9a-fA-F]{1,2}:[0-9a-fA-F]{1,2}[.][0-7]");
  if (std::regex_match(device, form)) return "";
  return fmt::format("'{}' names no adapter: vfio:ADDRESS, with an address as lspci -D prints it",
                     device);
}

std::string check_part_id(const std::string& number) {
  static const std::regex form("0x[0-9a-fA-F]{1,4}|[1-9][0-9]{0,4}");
  constexpr unsigned long none = 0xffff;  // what an empty slot answers
  if (std::regex_match(number, form)) {
    const unsigned long value = std::stoul(number, nullptr, 0);
    if (value != 0 && value < none) return "";
  }
  return fmt::format("'{}' is no part number: 1 to 65534, or 0x1 to 0xfffe", number);
}

std::string check_output(const std::string& path) {
  const std::filesystem::path file(path);
  std::error_code unknown;
  if (path.empty() || !file.has_filename() || std::filesystem::is_directory(file, unknown))
    return fmt::format("'{}' is no name of a file", path);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  if (!std::filesystem::is_directory(folder, unknown))
    return fmt::format("{}: there is no folder {}", path, folder);
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return fmt::format("{}: the folder {} cannot be written: {}", path, folder,
                       std::strerror(errno));
  if (access(path.c_str(), W_OK) != 0 && errno != ENOENT)
    return fmt::format("{} cannot be written: {}", path, std::strerror(errno));
  return "";
}

}  // namespace freehca::run
