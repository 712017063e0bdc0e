// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <freehca/network/interface.hpp>
#include <freehca/vfio_host/failure.hpp>
#include <freehca/vfio_host/file.hpp>

namespace freehca::hcactl {

/// In front of each frame of a TAP device, in the byte order of the host (VIRTIO 1.1, 5.1.6).
/// Linux's header that has it is no C++.
struct virtio_header {
  static constexpr std::uint8_t needs_checksum = 1, checksum_is_right = 2;  // of `flags`
  std::uint8_t flags = 0;
  std::uint8_t segmentation = 0;  ///< 0: none
  std::uint16_t header_bytes = 0;
  std::uint16_t segment_bytes = 0;  ///< of the payload of each frame
  std::uint16_t checksum_start = 0, checksum_offset = 0;
};
static_assert(sizeof(virtio_header) == 10);

/// A TAP device of Linux: the kernel's end of an Ethernet cable whose other end is this program.
/// Each frame has a virtio_header in front of it, with what is left to do for its checksums.
class tap {
 public:
  /// The work on frames that the kernel leaves to this program.
  enum class offload : std::uint8_t { none, checksums, checksums_and_segmentation };

  /// Creates the device. The failure names the remedy.
  static vfio_host::outcome<tap> open(const std::string& name);

  /// Gives the device its MAC address and its MTU. The failure names the remedy.
  std::optional<vfio_host::failure> set_up(std::uint64_t mac, unsigned mtu, offload left) const;
  /// Tells the kernel whether the cable has a link.
  void set_carrier(bool on) const;
  int descriptor() const { return file_.get(); }
  /// Reads a frame of the kernel, without waiting. Returns its bytes, or 0 if there is none.
  std::size_t read(virtio_header& header, std::byte* to, std::size_t bytes) const;
  /// Gives the kernel a frame. Returns false if the kernel drops it.
  bool write(const virtio_header& header, const std::byte* frame, std::size_t bytes) const;
  /// True if the kernel has removed the device.
  bool is_removed() const;

 private:
  tap(vfio_host::file opened, std::string name)
      : file_(std::move(opened)), name_(std::move(name)) {}

  vfio_host::file file_;
  std::string name_;
};

/// A frame of the kernel, as the interface sends it. send() copies the pieces and the headers.
struct prepared_frame {
  network::outgoing_frame what;
  queues::data_entry pieces[2];
  std::byte headers[network::most_header_bytes];
};

/// Prepares a frame of `bytes` bytes at `at`, in the memory of `nic`. A VLAN tag becomes one that
/// the device inserts. A checksum that the device does not compute is written into the frame.
/// Returns false for a frame that cannot be sent: it is too short, or its headers are not sound.
bool prepare(const network::interface& nic, const virtio_header& header, std::byte* at,
             std::size_t bytes, prepared_frame& to);

}  // namespace freehca::hcactl
