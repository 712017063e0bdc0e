// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "tap.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace freehca::hcactl {

using vfio_host::failure;
using vfio_host::trouble;

namespace {

failure cannot_create(const std::string& name, int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      return {
          trouble::no_permission,
          fmt::format("the TAP device {} needs CAP_NET_ADMIN: run hcactl as root, or create the "
                      "device for this user: ip tuntap add dev {} mode tap vnet_hdr user $USER",
                      name, name)};
    case EBUSY:
      return {trouble::in_use,
              fmt::format("{} is in use by another program; choose another name, or end that "
                          "program",
                          name)};
    case EINVAL:
      return {trouble::in_use, fmt::format("{} exists and is no TAP device; choose another "
                                           "name, or remove it: ip link delete {}",
                                           name, name)};
    default:
      return {trouble::system, fmt::format("the TAP device {}: {}", name, std::strerror(error))};
  }
}

ifreq request_of(const std::string& name) {
  ifreq r{};
  std::memcpy(r.ifr_name, name.data(), std::min(name.size(), sizeof r.ifr_name - 1));
  return r;
}

}  // namespace

vfio_host::outcome<tap> tap::open(const std::string& name) {
  if (name.empty() || name.size() >= IFNAMSIZ || name.find_first_of("/ %") != std::string::npos)
    return failure{trouble::system, fmt::format("'{}' is no name of a network device: 1 to {} "
                                                "characters, without blanks, '/' and '%'",
                                                name, IFNAMSIZ - 1)};
  vfio_host::file opened(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (opened.get() < 0) {
    if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
      return failure{trouble::system,
                     "/dev/net/tun is not there; load the kernel's module: modprobe tun"};
    return cannot_create(name, errno);
  }
  ifreq r = request_of(name);
  r.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  if (::ioctl(opened.get(), TUNSETIFF, &r) != 0) return cannot_create(name, errno);
  int header_bytes = sizeof(virtio_header);
  if (::ioctl(opened.get(), TUNSETVNETHDRSZ, &header_bytes) != 0) return cannot_create(name, errno);
  return tap(std::move(opened), name);
}

std::optional<failure> tap::set_up(std::uint64_t mac, unsigned mtu, offload left) const {
  constexpr unsigned features[] = {0, TUN_F_CSUM, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6};
  ifreq address = request_of(name_), limit = address;
  address.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  for (unsigned i = 0; i < 6; ++i)
    address.ifr_hwaddr.sa_data[i] = static_cast<char>(mac >> 8 * (5 - i) & 0xff);
  // The owner of the device needs no capability for these two.
  if (::ioctl(file_.get(), TUNSETOFFLOAD, features[static_cast<unsigned>(left)]) != 0 ||
      ::ioctl(file_.get(), SIOCSIFHWADDR, &address) != 0)
    return failure{trouble::system, fmt::format("the MAC address of the TAP device {}: {}", name_,
                                                std::strerror(errno))};
  const vfio_host::file any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::ioctl(any.get(), SIOCGIFMTU, &limit) == 0 && limit.ifr_mtu == static_cast<int>(mtu))
    return std::nullopt;
  limit.ifr_mtu = static_cast<int>(mtu);
  if (::ioctl(any.get(), SIOCSIFMTU, &limit) == 0) return std::nullopt;
  return failure{
      errno == EPERM ? trouble::no_permission : trouble::system,
      fmt::format("the TAP device {} does not take the MTU {}: {}; set it before, as root: ip link "
                  "set {} mtu {}",
                  name_, mtu, std::strerror(errno), name_, mtu)};
}

void tap::set_carrier(bool on) const {
  int value = on;
  static_cast<void>(::ioctl(file_.get(), TUNSETCARRIER, &value));  // Linux 4.20
}

std::size_t tap::read(virtio_header& header, std::byte* to, std::size_t bytes) const {
  const iovec parts[] = {{&header, sizeof header}, {to, bytes}};
  const ssize_t got = ::readv(file_.get(), parts, 2);
  return got > static_cast<ssize_t>(sizeof header) ? static_cast<std::size_t>(got) - sizeof header
                                                   : 0;
}

bool tap::write(const virtio_header& header, const std::byte* frame, std::size_t bytes) const {
  const iovec parts[] = {{const_cast<virtio_header*>(&header), sizeof header},
                         {const_cast<std::byte*>(frame), bytes}};
  return ::writev(file_.get(), parts, 2) >= 0;
}

bool tap::is_removed() const {
  pollfd state{file_.get(), 0, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP)) != 0;
}

namespace {

unsigned word_at(const std::byte* at) {
  return std::to_integer<unsigned>(at[0]) << 8 | std::to_integer<unsigned>(at[1]);
}

/// Completes a checksum that the kernel has begun with that of the pseudo header (RFC 1071).
void complete_checksum(std::byte* from, std::size_t bytes, std::size_t place) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes; i += 2) sum += word_at(from + i);
  if (bytes % 2 != 0) sum += std::to_integer<unsigned>(from[bytes - 1]) << 8;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  unsigned value = ~static_cast<unsigned>(sum) & 0xffff;
  if (value == 0) value = 0xffff;
  from[place] = static_cast<std::byte>(value >> 8);
  from[place + 1] = static_cast<std::byte>(value & 0xff);
}

}  // namespace

bool prepare(const network::interface& nic, const virtio_header& header, std::byte* at,
             std::size_t bytes, prepared_frame& to) {
  constexpr std::size_t addresses = 12, tag_bytes = 4;
  constexpr unsigned tagged = 0x8100, ipv4 = 0x0800, ipv6 = 0x86dd, drop_eligible = 0x1000;
  network::outgoing_frame& f = to.what;
  f = {};
  if (bytes < queues::least_frame_bytes + tag_bytes) return false;
  // The device reads headers behind a tag that it inserts.
  std::size_t tag = 0;
  if (const unsigned control = word_at(at + addresses + 2); word_at(at + addresses) == tagged &&
                                                            (control & drop_eligible) == 0 &&
                                                            (control & 0xfff) != 0xfff) {
    tag = tag_bytes;
    f.options.vlan = control & 0xfff;
    f.options.priority = static_cast<std::uint8_t>(control >> 13);
  }
  const unsigned type = word_at(at + addresses + tag);
  const std::size_t ip = addresses + tag + 2, start = header.checksum_start;
  std::size_t header_bytes = 0;  // of a large send
  if ((header.flags & header.needs_checksum) != 0) {
    if (start + header.checksum_offset + 2u > bytes) return false;
    // TCP or UDP directly behind IP.
    const bool v4 = type == ipv4 && bytes > ip + 20 &&
                    start == ip + (std::to_integer<unsigned>(at[ip]) & 15) * 4u;
    const bool v6 = type == ipv6 && start == ip + 40;
    const unsigned protocol = v4 || v6 ? std::to_integer<unsigned>(at[ip + (v4 ? 9 : 6)]) : 0;
    if (protocol == 6 || protocol == 17) f.options.ip_checksum = v4, f.options.l4_checksum = true;
    else complete_checksum(at + start, bytes - start, header.checksum_offset);
  }
  if (header.segmentation != 0) {
    if (!f.options.l4_checksum || start + 20 > bytes || header.segment_bytes == 0) return false;
    header_bytes = start + (std::to_integer<unsigned>(at[start + 12]) >> 4) * 4u;
    if (header_bytes >= bytes || header_bytes - tag > sizeof to.headers) return false;
    std::memcpy(to.headers, at, addresses);
    std::memcpy(to.headers + addresses, at + addresses + tag, header_bytes - addresses - tag);
    f.headers = {to.headers, static_cast<std::uint16_t>(header_bytes - tag), header.segment_bytes};
  }
  // What is in front of the tag, and what is behind it or behind the headers.
  unsigned count = 0;
  std::size_t rest = header_bytes;
  if (header_bytes == 0 && tag != 0) {
    to.pieces[count++] = nic.entry(at, addresses);
    rest = addresses + tag;
  }
  to.pieces[count++] = nic.entry(at + rest, bytes - rest);
  f.pieces = {to.pieces, count};
  return true;
}

}  // namespace freehca::hcactl
