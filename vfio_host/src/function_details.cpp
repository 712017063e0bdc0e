// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_host/function_details.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace freehca::vfio_host {
namespace {

namespace fs = std::filesystem;

/// The first line of a file in sysfs, without blanks at its end.
std::string line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  line.erase(line.find_last_not_of(" \t\n") + 1);
  return line;
}

/// The entries of a folder, sorted by name.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code none;
  for (fs::directory_iterator i(folder, none); !none && i != fs::directory_iterator();
       i.increment(none))
    all.push_back(i->path());
  std::sort(all.begin(), all.end());
  return all;
}

kernel_port read_port(const fs::path& at) {
  kernel_port p;
  const std::string name = at.filename().string();
  std::from_chars(name.data(), name.data() + name.size(), p.number);
  p.link_layer = line_of(at / "link_layer");
  p.state = line_of(at / "state");
  p.physical_state = line_of(at / "phys_state");
  p.rate = line_of(at / "rate");
  p.lid = line_of(at / "lid");
  p.sm_lid = line_of(at / "sm_lid");
  return p;
}

}  // namespace

function_details read_details(const sysfs& from, const pci_address& address) {
  const fs::path at = fs::path(from.root) / "bus/pci/devices" / address.text();
  function_details d;
  d.revision = line_of(at / "revision");
  d.link_speed = line_of(at / "current_link_speed");
  d.link_width = line_of(at / "current_link_width");
  d.greatest_link_speed = line_of(at / "max_link_speed");
  d.greatest_link_width = line_of(at / "max_link_width");
  if (const auto devices = entries_of(at / "infiniband"); !devices.empty()) {
    const fs::path& rdma = devices.front();
    d.rdma_device = rdma.filename().string();
    d.firmware = line_of(rdma / "fw_ver");
    d.board = line_of(rdma / "board_id");
    d.node_guid = line_of(rdma / "node_guid");
    d.system_image_guid = line_of(rdma / "sys_image_guid");
    for (const fs::path& port : entries_of(rdma / "ports")) d.ports.push_back(read_port(port));
  }
  for (const fs::path& interface : entries_of(at / "net"))
    d.interfaces.push_back({interface.filename().string(), line_of(interface / "address"),
                            line_of(interface / "operstate")});
  return d;
}

}  // namespace freehca::vfio_host
