// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Source: Linux's Documentation/networking/tuntap.rst.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include <freehca/wires/frame_wire.hpp>

namespace freehca::wires {

std::unique_ptr<wire> frame_wire::tap(const std::string& options, std::string& why) {
  const std::string beginning = "ifname=";
  const std::string name =
      options.starts_with(beginning) ? options.substr(beginning.size()) : std::string();
  ifreq request{};
  if (name.empty() || name.size() >= sizeof request.ifr_name ||
      name.find_first_of("/, %") != std::string::npos) {
    why = fmt::format("tap:{}: tap:ifname=NAME, with a name of 1 to {} bytes", options,
                      sizeof request.ifr_name - 1);
    return nullptr;
  }
  constexpr const char* path = "/dev/net/tun";
  wires::descriptor device(::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!device.open()) {
    why = fmt::format("tap:{}: {}: {}", options, path, std::strerror(errno));
    return nullptr;
  }
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  std::memcpy(request.ifr_name, name.c_str(), name.size() + 1);
  if (ioctl(device.get(), TUNSETIFF, &request) != 0) {
    const int error = errno;
    why = fmt::format("tap:{}: {}", options, std::strerror(error));
    if (error == EPERM)
      why += fmt::format("; as root: ip tuntap add mode tap user USER name {}", name);
    if (error == EBUSY) why += ": another program has the device";
    return nullptr;
  }
  // A persistent device keeps the offloads of its last user: frames without checksums, and frames
  // of many segments. Switch them off.
  if (ioctl(device.get(), TUNSETOFFLOAD, 0) != 0) {
    why = fmt::format("tap:{}: offloads: {}", options, std::strerror(errno));
    return nullptr;
  }
  return std::make_unique<frame_wire>(std::move(device));
}

}  // namespace freehca::wires
