// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

#include <freehca/vfio_host/pci_function.hpp>

namespace freehca::vfio_host {

/// A port as the kernel's RDMA driver shows it, in the kernel's words.
struct kernel_port {
  unsigned number = 0;
  std::string link_layer, state, physical_state, rate, lid, sm_lid;
};

/// A network interface of the function.
struct kernel_interface {
  std::string name, address, state;
};

/// Facts about a function in sysfs. Reading them does not open or reset the function, and has no
/// effect on its present user. A fact that the kernel does not show is empty. The kernel describes
/// the files in Documentation/ABI/testing/sysfs-bus-pci and
/// Documentation/ABI/stable/sysfs-class-infiniband.
struct function_details {
  std::string revision;
  std::string link_speed, link_width, greatest_link_speed, greatest_link_width;
  /// Facts of the kernel's RDMA device. Empty unless the kernel's driver has brought the function
  /// up.
  std::string rdma_device, firmware, board, node_guid, system_image_guid;
  std::vector<kernel_port> ports;
  std::vector<kernel_interface> interfaces;
};

function_details read_details(const sysfs& from, const pci_address& address);

}  // namespace freehca::vfio_host
